"""What an example offers to compare an answer with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from context_bench.answers.values import plain_value, text_of

REFERENCE_FIELDS = ("answers", "answer", "answer_aliases", "aliases")
"""Fields of an example that :func:`references` reads."""


class Gold(NamedTuple):
    """What an example offers to compare an answer with.

    Attributes:
        values: All alternatives as the example has them, blank ones too: texts, numbers.
        texts: Those that are texts or numbers and are not blank, as texts, each once.
        reason: Why there is no such text; empty where there is one.
    """

    values: tuple[Any, ...]
    texts: tuple[str, ...]
    reason: str = ""


def references(example: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reference answers of an example, any of which is right; none of them is blank.

    They are those of ``answers``, or else of ``answer``, and those of ``answer_aliases`` and
    ``aliases``. Each field may hold a text, a number, a list or an array of them, or a mapping with
    ``text`` (SQuAD) or ``value`` and ``aliases`` (TriviaQA).

    >>> references({"answer": ["Paris", 7]})
    ('Paris', '7')
    >>> references({"answers": {"text": ["Paris"]}}), references({"answer": " "})
    (('Paris',), ())
    """
    return gold(example).texts


def gold(example: Mapping[str, Any]) -> Gold:
    """Return what an example offers to compare an answer with, and where that is nothing why.

    >>> gold({"answer": [["Paris"]]}).reason
    "the example's answer holds a list, which is no text"
    """
    only = example.get("answers")
    if (
        type(only) is list
        and len(only) == 1
        and type(only[0]) is str
        and only[0].strip()
        and not _has_aliases(example)
    ):
        return Gold((only[0],), (only[0],))  # one reference, as most examples have
    for field in ("answers", "answer"):
        values = tuple(_alternatives(example.get(field)))
        texts = _texts(values)
        if texts or (field == "answer" and values):
            break
    else:
        field = "answers"
        values = tuple(_alternatives(only))
    for alias in _ALIASES:
        values += tuple(_alternatives(example.get(alias)))
    texts = _texts(values)
    return Gold(values, texts, "" if texts else _why_none(field, values))


_ALIASES = REFERENCE_FIELDS[2:]


def _has_aliases(example: Mapping[str, Any]) -> bool:
    return any(alias in example for alias in _ALIASES)


def _alternatives(value: Any) -> Iterator[Any]:
    value = plain_value(value)
    if isinstance(value, Mapping):
        for name in ("text", "value", "aliases"):
            yield from _alternatives(value.get(name))
    elif isinstance(value, (list, tuple)):
        for item in map(plain_value, value):
            yield from _alternatives(item) if isinstance(item, Mapping) else (item,)
    elif value is not None:
        yield value


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    texts = [value if type(value) is str else text_of(value) for value in values]
    return tuple(dict.fromkeys([text for text in texts if text and not text.isspace()]))


def _why_none(field: str, values: Sequence[Any]) -> str:
    strange = [
        value
        for value in values
        if text_of(value) is None and not (isinstance(value, float) or value is None)
    ]
    if strange:
        return f"the example's {field} holds a {type(strange[0]).__name__}, which is no text"
    return f"the example's {field} is blank" if values else "the example has no answer or answers"
