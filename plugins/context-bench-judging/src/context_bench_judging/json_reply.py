"""JSON objects within a reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_MOST_STARTS = (
    100  # the first and the last: a reply may quote formulas or code before it ends with its object
)


def json_objects(reply: str) -> list[Mapping[str, Any]]:
    """Return the JSON objects of a reply, the last one first; what is inside another is not listed by itself.

    Line breaks inside a text and a comma behind the last field, which models write, spoil no object.

    >>> json_objects('So: {"rating": 3, "reasons": ["short", ],}')
    [{'rating': 3, 'reasons': ['short']}]
    """
    decoder = json.JSONDecoder(strict=False)
    readings = (reply, _TRAILING_COMMA.sub(" ", reply))
    found: list[Mapping[str, Any]] = []
    starts, end = [brace.start() for brace in re.finditer("{", reply)], 0
    if len(starts) > _MOST_STARTS:
        starts = starts[: _MOST_STARTS // 2] + starts[-_MOST_STARTS // 2 :]
    for at in starts:
        if at < end:
            continue
        for text in readings:
            with suppress(ValueError, RecursionError):
                value, end = decoder.raw_decode(text, at)
                found.append(value)
                break
    return found[::-1]


def is_json(text: str) -> bool:
    """Whether a text is nothing but JSON objects and lists, a comma behind a last field being allowed.

    >>> is_json('{"a": 1}'), is_json('[{"a": 1},]'), is_json("Rating: 4 {}")
    (True, True, False)
    """
    text = text.strip()
    if text[:1] not in ("{", "["):
        return False
    try:
        json.loads(_TRAILING_COMMA.sub(" ", text), strict=False)
    except (ValueError, RecursionError):
        return False
    return not re.fullmatch(r"[\[\d\s.\]]*", text)  # [[4]] and [4] are forms of a rating


def values_of(fields: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    """Return what an object holds under the first of several names; without one, what the objects inside it hold.

    Case, spaces and dashes in names do not count.

    >>> values_of({"Final Rating": 4, "rating": 3}, ["final_rating", "rating"])
    [4]
    """
    plain = {
        "_".join(str(name).lower().replace("-", " ").replace("_", " ").split()): name
        for name in fields
    }
    own = [fields[plain[name]] for name in names if name in plain]
    if own and not isinstance(own[0], Mapping):
        return own[:1]
    if own and (values := values_of(own[0], names)):
        return values
    return [value for inner in _inner(fields) for value in values_of(inner, names)]


def _inner(fields: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (value for value in fields.values() if isinstance(value, Mapping))
