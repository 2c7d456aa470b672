"""Columns of the user's own files under other names than the fields that systems and evaluators
read."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from context_bench.errors import DatasetError

_INPUTS = ("question", "context", "messages", "turns", "sessions", "haystack_sessions", "prompt")
"""Fields of which a system needs one."""

_NAMES = {
    "question": ("question", "query", "instruction", "user_input", "input", "problem"),
    "context": ("context", "contexts", "retrieved_contexts", "passage", "document", "input"),
    "answer": (
        "answer",
        "output",
        "expected_output",
        "ground_truth",
        "reference",
        "target",
        "ideal",
    ),
}
"""Names that other tools give to fields, the most exact name first."""

_GOLD_BESIDE_ANSWER = ("ground_truth", "ground_truths", "expected_output", "reference_answer")
"""Columns that contain the gold answer where a column ``answer`` contains the reply of a system."""

_REPLIES = ("response", "prediction", "completion", "generation", "model_output")
"""Columns that contain the replies of a system, which then needs no input field."""

_RIGHT = ("answer", "label", "correct", "correct_answer", "correct_option", "gold", "target")
"""Columns that may contain the letter of the right option."""

_OPTION_LISTS = ("choices", "options")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_LISTS = ("answer", "answers", "choices", "options", "contexts")


def check_columns(
    examples: Iterable[Mapping[str, Any]], named_fields: Collection[str], path: str
) -> Iterator[Mapping[str, Any]]:
    """Yield the examples of a file. A list that is written as text in a cell is a list.

    Args:
        examples: The examples, with the fields that the user named.
        named_fields: These fields.
        path: What the file is called in errors.

    Raises:
        DatasetError: The first row has a field under another name, or two columns that could be
            the gold answer. The message contains the ``--field`` that names them. Names that only
            other tools use count where the user named no field, and the file has no replies.
    """
    lists: list[str] = []
    for position, example in enumerate(examples):
        if not isinstance(example, Mapping):  # the job source reports it, with its position
            yield example  # type: ignore[unreachable]
            continue
        if position == 0:
            has_replies = not example.keys().isdisjoint(_REPLIES)
            _check_inputs(example, path, any_name=not named_fields and not has_replies)
            if not {"answer", "answers"} & set(named_fields):
                _check_gold(example, path)
            lists = list(_lists_in(example, _LISTS))
            first = {**example, **_lists_in(example, lists)}
            if not {"answer", "answers", "correct_letter"} & set(named_fields):
                _check_letter(first, path)
        row = {**example, **_lists_in(example, lists)}
        yield _with_choices(row) if "correct_letter" in named_fields else row


def _check_inputs(example: Mapping[str, Any], path: str, *, any_name: bool) -> None:
    """Check that the input fields are not there under other names.

    Args:
        example: The first row.
        path: What the file is called in the error.
        any_name: Whether names count that other tools give to a field, and not only its own name
            in another case.
    """
    columns = {_plain(column): column for column in example}
    flags = {field: columns[field] for field in _NAMES if field in columns and field not in example}
    if any_name and example.keys().isdisjoint(_INPUTS):
        _add_other_names(flags, example, columns)
    if "question" in flags or "context" in flags:
        written = " ".join(f"--field {_quoted(f'{field}={name}')}" for field, name in flags.items())
        raise DatasetError(
            f"The columns of {path} are {', '.join(map(str, example))}. Name the fields that "
            f"systems and evaluators read: {written}"
        )


def _add_other_names(
    flags: dict[str, str], example: Mapping[str, Any], columns: Mapping[str, str]
) -> None:
    """Add the column of each missing field that has a name from another tool; no column twice."""
    for field, names in _NAMES.items():
        if field in example or field in flags:
            continue
        used = set(flags.values())
        free = [columns[name] for name in names if name in columns and columns[name] not in used]
        if free:
            flags[field] = free[0]


def _check_gold(example: Mapping[str, Any], path: str) -> None:
    other = next((name for name in _GOLD_BESIDE_ANSWER if name in example), None)
    if other is not None and "answer" in example:
        raise DatasetError(
            f"{path} has the columns answer and {other}, and either may be the gold answer. If "
            f"answer is the reply of a system: --field answer={other} --field response=answer. If "
            "it is the gold answer: --field answer=answer"
        )


def _check_letter(example: Mapping[str, Any], path: str) -> None:
    """Check that a row with options does not give their letter as the answer's text."""
    options = _options(example)
    if not options or "correct_letter" in example:
        return
    letters = _LETTERS[: len(options)]
    for column in example:
        value = str(example[column]).strip()
        if _plain(column) in _RIGHT and len(value) == 1 and value.upper() in letters:
            raise DatasetError(
                f"{path} has options, and their letter in {column}. To have the letter scored: "
                f"--field {_quoted(f'correct_letter={column}')} --evaluators multiple-choice. To "
                f"have {column} compared as a text: --field {_quoted(f'answer={column}')}"
            )


def _options(example: Mapping[str, Any]) -> list[str]:
    """Return the options of a row: a list, or the columns A, B, C ...; none where it has none."""
    for name in _OPTION_LISTS:
        if isinstance(example.get(name), list | tuple):
            return [str(option) for option in example[name]]
    columns = {_plain(column): column for column in example}
    for prefix in ("", "option_", "choice_", "op"):
        found = [
            columns[name] for letter in _LETTERS if (name := f"{prefix}{letter.lower()}") in columns
        ]
        first = [columns.get(f"{prefix}{letter.lower()}") for letter in _LETTERS[: len(found)]]
        if len(found) > 1 and found == first:
            return [str(example[column]) for column in found]
    return []


def _with_choices(example: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row with its options as ``choices``, and shown in its question."""
    options = _options(example)
    if not options:
        return example
    question = str(example.get("question") or "")
    shown = {}
    if question and not all(option in question for option in options):
        lines = [f"{letter}. {option}" for letter, option in zip(_LETTERS, options, strict=False)]
        shown["question"] = "\n".join([question, "", *lines])
        shown["instruction"] = str(example.get("instruction") or _ASKS_FOR_LETTER)
    letter = str(example.get("correct_letter") or "").strip().upper()
    return {**example, **shown, "choices": options, "correct_letter": letter}


_ASKS_FOR_LETTER = "Answer with the letter of the right option."


def _plain(column: Any) -> str:
    """Return a column's name in lower case, with underscores between its words.

    >>> _plain(" User-Input"), _plain("expectedOutput"), _plain("QUESTION")
    ('user_input', 'expected_output', 'question')
    """
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", str(column).strip())
    return re.sub(r"[\W_]+", "_", words).strip("_").lower()


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w.=-]+", text) else f"'{text}'"


def _lists_in(example: Mapping[str, Any], names: Iterable[str]) -> dict[str, list[Any]]:
    """Return the lists that the cells of some columns contain as text."""
    values = {name: _list_in(example.get(name)) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _list_in(value: Any) -> list[Any] | None:
    """Return the list that a cell contains as JSON text; None when it contains none."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(
        isinstance(item, str | int | float) for item in found
    ):
        return None
    return found
