"""The right letters of an example, in any of the forms in which data sets give them."""

from __future__ import annotations

import re
import reprlib
import string
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from context_bench.answers import gold, plain_value, text_of
from context_bench_multiple_choice.names import same_text
from context_bench_multiple_choice.words import plain

_LETTER = re.compile(r"\W*(?:option|choice|answer)?\W*([A-Z])\W*", re.IGNORECASE)
_NUMBER = re.compile(r"\W*(\d{1,2})\W*")


class Gold(NamedTuple):
    """The letters that count as right, and the texts of the options; a row without letters has the reason why.

    Where the options are not known, `texts` are those of the right one, by its letter.
    """

    letters: frozenset[str]
    choices: tuple[str, ...]
    reason: str = ""
    texts: Mapping[str, str] = {}


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
    if choices is None:
        return Gold(frozenset(), (), _unread(original["choices"]))
    options = dict(zip(string.ascii_uppercase, choices))
    letter = plain_value(original.get("correct_letter"))
    if not _blank(letter):
        found = _letters(letter, options, index_base)
        if len(found) > 1 and not isinstance(letter, (list, tuple)):
            found &= _text(original.get("answer"), options)
        reason = "" if found else f"correct_letter {_short(letter)} names no option for certain"
        return Gold(
            frozenset(found), choices, reason, {} if choices else _texts_of(found, original)
        )
    named = gold(original)
    values = [value for value in named.values if not _blank(value)]
    if not values:
        missing = "" if named.values else "the example has no correct_letter and no answer"
        return Gold(frozenset(), choices, missing or named.reason)
    letters = {found for value in values for found in _answer(value, options, index_base)}
    return Gold(
        frozenset(letters),
        choices,
        "" if letters else f"the answer {_short(values[0])} is none of the choices",
    )


def _answer(value: Any, options: Mapping[str, str], index_base: int | None) -> set[str]:
    """The letter of an answer: the option whose text it is, else a letter or an index, where that leaves one."""
    by_text, read = _text(value, options), _letters(value, options, index_base)
    if isinstance(value, str) or index_base is not None:
        letters = (by_text or read) if isinstance(value, str) else (read or by_text)
    else:
        letters = by_text | read  # 2 may be the text of an option, or count from 0, or from 1
    return letters if len(letters) == 1 or isinstance(value, (list, tuple)) else set()


def _letters(value: Any, options: Mapping[str, str], index_base: int | None) -> set[str]:
    """The letters that a value can mean: the one that it is, or that of an index counted from 0 and from 1."""
    if isinstance(value, (list, tuple)):
        one = (
            _letters(item, options, index_base)
            for item in value[:26]
            if not isinstance(item, (list, tuple))
        )
        return {letter for letters in one if len(letters) == 1 for letter in letters}
    if isinstance(value, str):
        written = plain(value[:40])
        if match := _LETTER.fullmatch(written):
            return {match[1].upper()} if not options or match[1].upper() in options else set()
        match = _NUMBER.fullmatch(written)
        value = int(match[1]) if match else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return set()
    bases = (0, 1) if index_base is None else (index_base,)
    return {
        string.ascii_uppercase[value - base] for base in bases if 0 <= value - base < len(options)
    }


def _choices(value: Any) -> tuple[str, ...] | None:
    """The texts of the options in order, none where there are none, and None where they cannot be read."""
    value = plain_value(value)
    if isinstance(value, Mapping):
        texts = plain_value(value.get("text"))
        value = texts if isinstance(texts, (list, tuple)) else list(value.values())
    if value is None or (isinstance(value, str) and not value.strip()):
        return ()
    if not isinstance(value, (list, tuple)):
        return None
    options = [_option(plain_value(choice)) for choice in value[:26]]
    return None if None in options else tuple(map(str, options))


def _option(value: Any) -> str | None:
    """The text of one option; None where it has none."""
    if isinstance(value, Mapping):
        value = next((value[name] for name in ("text", "content", "label") if name in value), None)
        value = plain_value(value)
    is_plain = value is None or isinstance(value, (str, int, float))
    return _written(value) if is_plain else text_of(value)


def _unread(value: Any) -> str:
    """Why options cannot be read; the user sees it as a warning as well, since each row of the dataset will have it."""
    reason = f"the example's choices, of type {type(value).__name__}, cannot be read as options"
    warnings.warn(f"multiple-choice: {reason}; its rows are unscored.", stacklevel=4)
    return reason


def _written(value: Any) -> str:
    """A text or a number of ordinary size as a text; anything else is none."""
    if isinstance(value, str):
        return value
    is_number = isinstance(value, (int, float)) and abs(value) < 10**18
    return (text_of(value) or "") if is_number else ""


def _texts_of(letters: set[str], original: Mapping[str, Any]) -> dict[str, str]:
    """The text of the one right option, where the example tells its letter and its text and no other option."""
    texts = [text for text in gold(original).texts if not _LETTER.fullmatch(plain(text[:40]))]
    return dict.fromkeys(letters, texts[0]) if len(letters) == len(texts) == 1 else {}


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _text(value: Any, options: Mapping[str, str]) -> set[str]:
    """The letter of the one option that a value is the text of."""
    letter = "" if isinstance(value, bool) else same_text(_written(value), options)
    return {letter} if letter else set()


def _short(value: Any) -> str:
    return (
        reprlib.repr(value)
        if isinstance(value, str)
        else _written(value) or f"(of type {type(value).__name__})"
    )
