"""The right letters of an example, in any of the forms in which data sets give them."""

from __future__ import annotations

import re
import reprlib
import string
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from context_bench.answers import gold
from context_bench_multiple_choice.option_text import squash
from context_bench_multiple_choice.tokens import plain

_LETTER = re.compile(r"\W*(?:option|choice|answer)?\W*([A-Z])\W*", re.IGNORECASE)
_NUMBER = re.compile(r"\W*(\d{1,2})\W*")


class Gold(NamedTuple):
    """The letters that count as right, and the texts of the options; a row without letters has the reason why."""

    letters: frozenset[str]
    choices: tuple[str, ...]
    reason: str = ""


def gold_of(original: Mapping[str, Any], index_base: int | None = None) -> Gold:
    """The right letters of an example, from `correct_letter`, else from `answers`, else from `answer`.

    A letter may come as "B", "b", "(B)", "B." or "Option B". An index counts from `index_base`; without one it counts
    only where no doubt is left: the option at that index is the `answer`, or it is in range when counted from 0 or
    from 1 but not both ways. An `answer` may be the text of an option.

    >>> gold_of({"correct_letter": "(b)", "choices": ["x", "y"]}).letters
    frozenset({'B'})
    >>> gold_of({"answer": "y", "choices": ["x", "y"]}).letters
    frozenset({'B'})
    """
    choices = _choices(original.get("choices"))
    letter = original.get("correct_letter")
    if not _blank(letter):
        found = _letter(letter, choices, index_base, original.get("answer"))
        reason = "" if found else f"correct_letter {_short(letter)} names no option for certain"
        return Gold(frozenset(found), choices, reason)
    named = gold(original)
    values = [value for value in named.values if not _blank(value)]
    if not values:
        missing = "" if named.values else "the example has no correct_letter and no answer"
        return Gold(frozenset(), choices, missing or named.reason)
    letters = {found for value in values for found in _answer(value, choices, index_base)}
    return Gold(
        frozenset(letters), choices, "" if letters else f"the answer {_short(values[0])} is none of the choices"
    )


def _answer(value: Any, choices: Sequence[str], index_base: int | None) -> set[str]:
    """The letter of an answer: the option whose text it is, else a letter or an index."""
    by_text = _text(value, choices)
    if isinstance(value, str):
        return by_text or _letter(value, choices, index_base, None)
    if index_base is None and isinstance(value, int) and not isinstance(value, bool):
        # 2 may be the text of an option, or count from 0, or from 1.
        letters = by_text | _readings(value, choices, index_base)
        return letters if len(letters) == 1 else set()
    return _letter(value, choices, index_base, None) or by_text


def _choices(value: Any) -> tuple[str, ...]:
    if isinstance(value, Mapping):
        value = value["text"] if isinstance(value.get("text"), (list, tuple)) else list(value.values())
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray)):
        return ()
    return tuple(_written(choice) for choice in value[: len(string.ascii_uppercase)])


def _written(value: Any) -> str:
    """A text or a number of ordinary size as a text; anything else is none."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) and abs(value) < 10**18 else ""


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _letter(value: Any, choices: Sequence[str], index_base: int | None, answer: Any) -> set[str]:
    if isinstance(value, (list, tuple)):
        flat = [item for item in value[:26] if not isinstance(item, (list, tuple))]
        return {found for item in flat for found in _letter(item, choices, index_base, None)}
    if isinstance(value, str):
        written = plain(value[:40])
        if match := _LETTER.fullmatch(written):
            letter = match[1].upper()
            return {letter} if not choices or letter in string.ascii_uppercase[: len(choices)] else set()
        if match := _NUMBER.fullmatch(written):
            value = int(match[1])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _index(value, choices, index_base, answer)
    return set()


def _index(index: int, choices: Sequence[str], index_base: int | None, answer: Any) -> set[str]:
    letters = _readings(index, choices, index_base)
    if len(letters) > 1 and isinstance(answer, str):
        letters &= _text(answer, choices)
    return letters if len(letters) == 1 else set()


def _readings(index: int, choices: Sequence[str], index_base: int | None) -> set[str]:
    """The letters that an index can mean, counted from 0 and from 1."""
    bases = (0, 1) if index_base is None else (index_base,)
    return {string.ascii_uppercase[index - base] for base in bases if 0 <= index - base < len(choices)}


def _text(value: Any, choices: Sequence[str]) -> set[str]:
    """The letter of the one choice that a value is the text of."""
    written = "" if isinstance(value, bool) else _written(value)
    for form in (str, squash):
        wanted = form(written)
        letters = {
            letter for letter, choice in zip(string.ascii_uppercase, choices) if wanted and form(choice) == wanted
        }
        if len(letters) == 1:
            return letters
    return set()


def _short(value: Any) -> str:
    return reprlib.repr(value) if isinstance(value, str) else _written(value) or f"(of type {type(value).__name__})"
