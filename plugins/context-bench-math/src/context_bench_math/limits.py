"""Expressions that are too large to be computed, told by their looks: power towers and factorials of large numbers."""

from __future__ import annotations

import math
import re

_MOST_DIGITS = 100_000
_LARGEST_FACTORIAL = 20_000
_LARGEST_DOUBLED = 7
_POWER = re.compile(r"\d{1,400}(?:[ )}]*\^[ ({]*-?\d{1,400})+")
_FACTORIAL = re.compile(r"(\d+)[ )}]*(!+)")


def is_too_large(text: str) -> bool:
    """Whether a plain text asks for a number of more digits than anybody would print.

    >>> is_too_large("9^{9^{9^9}}"), is_too_large("2^{10}"), is_too_large("3^{2^{10}}"), is_too_large("99999999!")
    (True, False, False, True)
    """
    return any(
        _digits_of_power(power.group()) > _MOST_DIGITS for power in _POWER.finditer(text)
    ) or any(_is_large_factorial(*factorial.groups()) for factorial in _FACTORIAL.finditer(text))


def _digits_of_power(power: str) -> float:
    """About how many digits a tower of powers has, read from its top."""
    base, *exponents = [float(number) for number in re.findall(r"\d+", power)]
    exponent = 1.0
    for number in reversed(exponents):
        is_huge = number > 1 and exponent * math.log10(number) > math.log10(_MOST_DIGITS) + 1
        exponent = math.inf if is_huge else number**exponent
    return exponent * math.log10(base) if base > 1 else 1


def _is_large_factorial(number: str, marks: str) -> bool:
    return (
        len(number) > 9
        or int(number) > _LARGEST_FACTORIAL
        or (len(marks) > 1 and int(number) > _LARGEST_DOUBLED)
    )
