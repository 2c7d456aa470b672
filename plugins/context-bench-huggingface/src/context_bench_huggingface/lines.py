"""Records as the lines of a copy: JSON, in which what JSON lacks stands with the name of its type.

Parquet holds dates, durations, decimals, bytes and numbers that are not finite. A copy gives back each as it was, so that an
example is the same one, whether its record came from the hub or from a copy.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from context_bench_huggingface.strict import read_json

_TYPE = "$type"


def line_of(record: Mapping[str, Any]) -> bytes:
    r"""Return the line of a record.

    >>> line_of({"day": date(2024, 5, 1)})
    b'{"day": {"$type": "date", "value": "2024-05-01"}}\n'

    Raises:
        TypeError: It holds what cannot be written, such as a picture.
    """
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False)
        if _TYPE not in text:
            return text.encode() + b"\n"
    except (
        TypeError,
        ValueError,
    ):  # what JSON lacks, or half of a surrogate pair, which no UTF-8 has
        pass
    return json.dumps(_written(record), allow_nan=False).encode() + b"\n"


def record_of(line: bytes) -> Any:
    """Return what a line holds.

    Raises:
        ValueError: It is no JSON, or names a type that copies do not have.
        RecursionError: It is nested too deeply.
    """
    found = read_json(line)
    return _read(found) if _TYPE.encode() in line else found


def _written(value: Any) -> Any:
    if isinstance(value, Mapping):
        inner = {str(name): _written(each) for name, each in value.items()}
        return {_TYPE: "object", "value": inner} if _TYPE in inner else inner
    if isinstance(value, list | tuple):
        return [_written(each) for each in value]
    if (
        value is None
        or isinstance(value, str | int)
        or (isinstance(value, float) and math.isfinite(value))
    ):
        return value
    for name, (kind, write, _) in _KINDS.items():
        if isinstance(value, kind):
            return {_TYPE: name, "value": write(value)}
    raise TypeError(type(value).__name__)


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(each) for each in value]
    if not isinstance(value, dict):
        return value
    if _TYPE not in value:
        return {name: _read(each) for name, each in value.items()}
    kind, inner = value[_TYPE], value.get("value")
    if kind == "object" and isinstance(inner, dict):
        return {name: _read(each) for name, each in inner.items()}
    if not isinstance(kind, str) or kind not in _KINDS or not isinstance(inner, str):
        raise ValueError(f"it names the type {kind!r}, which copies do not have")
    return _KINDS[kind][2](inner)


_KINDS: Mapping[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "datetime": (
        datetime,
        datetime.isoformat,
        datetime.fromisoformat,
    ),  # before date, as each of them is one
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "timedelta": (
        timedelta,
        lambda value: f"{value.days} {value.seconds} {value.microseconds}",
        lambda text: timedelta(*map(int, text.split())),
    ),
    "decimal": (Decimal, str, Decimal),
    "bytes": (bytes, lambda value: b64encode(value).decode("ascii"), b64decode),
    "float": (float, repr, float),
}
"""By name: the type, and how its values are written and read."""
