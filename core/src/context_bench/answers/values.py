"""Values as data frames, databases and files hold them, in one form for every evaluator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

_LARGEST_WHOLE = 10**15
"""A float up to here is the whole number that it equals: above, neighboring whole numbers share a
float."""


_PLAIN = (str, int, float, list, tuple, Mapping, Decimal, Fraction)


def plain_value(value: Any) -> Any:
    """Return a value as Python's own types hold it: an array, a series or a set as a list, a scalar
    of a library as its number.

    ``Decimal`` and ``Fraction`` stay, since they are exact; so does everything that is not a
    container of a library.

    >>> plain_value({"b", "a"}), plain_value((1, 2)), plain_value(range(2))
    (['a', 'b'], (1, 2), [0, 1])
    """
    if isinstance(value, float) and type(value) is not float and hasattr(value, "item"):
        return value.item()  # numpy.float64 is a float
    if value is None or isinstance(value, _PLAIN):
        return value
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, range):
        return list(value)
    for method in (
        "tolist",
        "to_list",
        "as_py",
        "item",
    ):  # NumPy, pandas, Arrow, one-number tensors
        convert = getattr(value, method, None)
        if callable(convert):
            return convert()
    return value


def text_of(value: object) -> str | None:
    """Return a text, or a number as a text; None for what is neither, such as None, a list or NaN.

    A whole number is written as one whatever column it comes from: ``42``, ``42.0`` and
    ``Decimal("42.00")`` are "42". Bytes are text where they are UTF-8.

    >>> text_of(42.0), text_of(0.5), text_of(b"Paris"), text_of(float("nan"))
    ('42', '0.5', 'Paris', None)
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _decoded(bytes(value))
    value = plain_value(value)
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return _text_of_float(value)
    if isinstance(value, Decimal):
        return _text_of_decimal(value)
    if isinstance(value, Fraction):
        return str(value)
    # Python refuses to print an integer of more than 4,300 digits.
    return str(value) if isinstance(value, int) and value.bit_length() < 14_000 else None


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _text_of_float(value: float) -> str | None:
    if math.isnan(value):
        return None
    if value.is_integer() and abs(value) <= _LARGEST_WHOLE:
        return str(int(value))
    return str(value)


def _text_of_decimal(value: Decimal) -> str | None:
    if value.is_nan():
        return None
    if not value.is_finite() or abs(value.adjusted()) > 1000:
        return str(value)
    if value == value.to_integral_value():
        return str(int(value))
    return format(value, "f")
