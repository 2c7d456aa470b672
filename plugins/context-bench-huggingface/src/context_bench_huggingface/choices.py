"""Questions with options: shown to the model with letters, and shuffled where a benchmark lists the right one first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from context_bench_huggingface.columns import text_of
from context_bench_huggingface.layouts import rows_of

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def choice_example(
    question: str,
    options: Sequence[str],
    correct: int | None,
    *,
    context: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return an example whose question shows every option with its letter.

    Args:
        question: The question alone.
        options: The options in the order in which they are shown.
        correct: Index of the right one; None or -1 where the benchmark keeps it: such a row has no gold.
        context: What the question is about; None where the question is all there is, and its own context.
        more: Further fields, ``id`` first among them.

    Raises:
        ValueError: There is no such option, one is null, or the question is blank.
        TypeError: The options are no list of texts.

    >>> choice_example("Largest?", ["Mars", "Jupiter"], 1, id=7)["correct_letter"]
    'B'
    """
    if not question.strip():
        raise ValueError("the question is blank")
    texts = [_option(option) for option in rows_of(options)]
    lines = [f"{letter}. {text}" for letter, text in zip(LETTERS, texts, strict=False)]
    shown = "\n".join([question.strip(), "", *lines])
    example = {
        **more,
        "context": shown if context is None else context,
        "question": shown,
        "instruction": "Answer with the letter of the right option.",
        "choices": texts,
    }
    if correct is not None and correct != -1:
        if not 0 <= correct < len(texts):
            raise ValueError(
                f"The right option is number {correct + 1}, and there are {len(texts)}."
            )
        answer = (
            {"answer": texts[correct]} if texts[correct] else {}
        )  # a blank option is right by its letter alone
        example |= {**answer, "correct_letter": LETTERS[correct]}
    return example


def _option(option: Any) -> str:
    text = text_of(option, "an option")
    if text is None:
        raise ValueError("an option is null")
    return text.strip()


def index_of(label: Any, first: int = 0) -> int | None:
    """Return the index of the option that a label names; None where the benchmark keeps it: no label, a blank or negative one.

    Args:
        label: A letter, or a number, which may be written as a text.
        first: The number of the first option.

    Raises:
        ValueError: The label is neither.

    >>> index_of("B"), index_of("2", first=1), index_of(-1), index_of(" "), index_of(None)
    (1, 1, None, None, None)
    """
    text = "" if label is None else str(label).strip()
    if not text:
        return None
    if len(text) == 1 and text in LETTERS:
        return LETTERS.index(text)
    if text == "nan":  # a gap in a column of numbers
        return None
    number = re.fullmatch(r"(-?[0-9]+)(\.0)?", text)
    if number is None:
        raise ValueError(f"the label {label!r} names no option")
    return int(number[1]) - first if int(number[1]) >= first else None


def shuffled(options: Sequence[str], seed: object) -> list[int]:
    """Return the indexes of options in an order that an example's id decides, the same in every process.

    >>> shuffled(["a", "b", "c", "d"], "recb1") == shuffled(["w", "x", "y", "z"], "recb1")
    True
    """
    return sorted(
        range(len(options)), key=lambda index: sha256(f"{seed}\n{index}".encode()).digest()
    )
