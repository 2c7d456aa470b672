"""The cheap tier: equal writings, numbers and lists of numbers, decided exactly and without computer algebra."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from context_bench_math.forms import same_form
from context_bench_math.numerals import Numeral, in_cents
from context_bench_math.reading import EQUATION, Reading
from context_bench_math.units import is_same_unit

_MOST_TO_PAIR = 60
_BASED = re.compile(r"\d+_\d+")
_TIME = re.compile(r"(\d\d?)(?::(\d\d))?(?: ?([ap])\.? ?m\.?)?", re.IGNORECASE)


def same(reference: Reading, answer: Reading, places: int = 6) -> bool | None:
    """Whether an answer equals its reference; ``None`` where that takes more than this tier knows.

    Args:
        reference: The reading of the reference.
        answer: The reading of the answer.
        places: To how many decimal places a number with a decimal point has to agree.
    """
    if is_same_writing(reference.writing, answer.writing):
        return True
    if _BASED.fullmatch(reference.writing) and _BASED.fullmatch(answer.writing):
        return False
    for compare in (_same_time, same_form):
        verdict = compare(reference.writing, answer.writing)
        if verdict is not None:
            return verdict
    if reference.name == EQUATION or (
        reference.name and answer.name and reference.name != answer.name
    ):
        return None
    left, right = reference.value or reference, answer.value or answer
    if any(_is_same_number(a, b, places) for a in left.numerals for b in right.numerals):
        return True
    if left.items and right.items:
        return _is_same_list(left, right, places)
    if left.is_understood and right.is_understood:
        return _is_single(left, right, places)
    return False if left.is_understood and not right.writing else None


def is_same_writing(reference: str, answer: str) -> bool:
    """Whether two texts are written alike; case matters in single letters only, and ``(C)`` is ``C``."""
    if reference == answer:
        return bool(reference)
    left, right = (text.replace(" ", "") for text in (reference, answer))
    if "(" in left or "(" in right:
        left, right = (
            text[1:-1] if text[:1] == "(" and text[-1:] == ")" else text for text in (left, right)
        )
    if not left.isalpha():
        return False
    return left == right or (len(left) > 1 and left.lower() == right.lower())


def is_time(text: str) -> bool:
    """Whether a text is a time of day with its half of the day, ``10:30 p.m.``"""
    time = _TIME.fullmatch(text)
    return time is not None and time[3] is not None


def _same_time(reference: str, answer: str) -> bool | None:
    """Whether two times of day such as ``10:30 a.m.`` are the same; ``None`` where neither of them tells its half of the day."""
    if not (is_time(reference) or is_time(answer)):
        return None
    times = [time for time in map(_TIME.fullmatch, (reference, answer)) if time]
    if len(times) < 2:
        return None
    (one, is_whole), (other, is_other_whole) = map(_minutes, times)
    return one == other if is_whole and is_other_whole else one % 720 == other % 720


def _minutes(time: re.Match[str]) -> tuple[int, bool]:
    """Minutes since midnight, and whether they are known: ``3:00`` is in either half of the day, ``15:00`` in one."""
    hour, minute, half = int(time[1]), int(time[2] or 0), (time[3] or "").lower()
    if half and hour <= 12:
        hour = hour % 12 + 12 * (half == "p")
    return hour * 60 + minute, bool(half) or hour == 0 or hour > 12


def _is_same_number(a: Numeral, b: Numeral, places: int) -> bool:
    if a.unit and b.unit and not is_same_unit(a.unit, b.unit):
        if "cent" not in (a.unit, b.unit):
            return False
        a, b = in_cents(a), in_cents(b)
        if a.unit != b.unit:
            return False
    is_rounded = a.is_rounded or b.is_rounded
    if a.is_percent == b.is_percent:
        return _is_close(a.value, b.value, is_rounded, places)
    percent, number = (a, b) if a.is_percent else (b, a)
    if number.unit:
        return False
    return _is_close(percent.value, number.value, is_rounded, places) or _is_close(
        Fraction(percent.value) / 100, number.value, is_rounded, places
    )


def _is_close(a: int | Fraction, b: int | Fraction, is_rounded: bool, places: int) -> bool:
    """Whether two values are equal or, where one may be a rounding, agree in their decimal places and in size."""
    if a == b:
        return True
    if not is_rounded:
        return False
    left, right = Fraction(a), Fraction(b)
    difference, size = abs(left - right), max(abs(left), abs(right))
    return (
        difference <= 1
        and round(left, places) == round(right, places)
        and difference * 10**places <= 100 * size
    )


def _is_single(reference: Reading, answer: Reading, places: int) -> bool | None:
    """Compare a number with a list, which is equal if all that it lists is that number: ``{5}`` and ``5``."""
    items = reference.items or answer.items
    if not items:
        return False
    number, listed = (answer, reference) if reference.items else (reference, answer)
    if len(items) > 1 and listed.brackets not in ("", "{}"):
        return False
    return all(same(number, item, places) for item in items)


def _is_same_list(reference: Reading, answer: Reading, places: int) -> bool | None:
    """Compare two lists: sets in any order, others item by item; brackets that say different things are not equal."""
    sets = ("", "{}")
    if reference.brackets in sets and answer.brackets in sets:
        return _is_same_set(reference.items, answer.items, places)
    by_place = (
        answer.brackets in sets
        if reference.brackets == "()"
        else answer.brackets == "()" and reference.brackets in sets
    )
    if (
        reference.brackets == answer.brackets or by_place
    ):  # a list is a point only in the point's order
        return _is_same_sequence(reference.items, answer.items, places)
    return None if reference.brackets in sets else False


def _is_same_sequence(
    reference: Sequence[Reading], answer: Sequence[Reading], places: int
) -> bool | None:
    if len(reference) != len(answer):
        return False if all(item.is_understood for item in (*reference, *answer)) else None
    verdicts = [same(a, b, places) for a, b in zip(reference, answer, strict=True)]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _is_same_set(
    reference: Sequence[Reading], answer: Sequence[Reading], places: int
) -> bool | None:
    left, right = _distinct(reference), _distinct(answer)
    for writing in left.keys() & right.keys():
        del left[writing], right[writing]
    if not left and not right:
        return True
    if not all(item.is_understood for item in (*left.values(), *right.values())):
        return None
    numbers, others = _sorted_numbers(left), _sorted_numbers(right)
    if numbers is not None and others is not None:
        return _is_same_sequence(numbers, others, places)
    if len(left) > _MOST_TO_PAIR or len(right) > _MOST_TO_PAIR:
        return None
    return _pairs_up(list(left.values()), list(right.values()), places)


def _pairs_up(left: list[Reading], right: list[Reading], places: int) -> bool:
    """Whether each item of either list has an equal one in the other."""
    return all(any(same(a, b, places) for b in right) for a in left) and all(
        any(same(a, b, places) for a in left) for b in right
    )


def _distinct(items: Sequence[Reading]) -> dict[str, Reading]:
    return {item.writing: item for item in items}


def _sorted_numbers(items: dict[str, Reading]) -> list[Reading] | None:
    """The items by value and without repetition, or ``None`` where one of them is anything but a plain number."""
    by_value: dict[tuple[int | Fraction, str], Reading] = {}
    for item in items.values():
        if len(item.numerals) != 1 or item.items or item.numerals[0].is_percent:
            return None
        by_value.setdefault((item.numerals[0].value, item.numerals[0].unit), item)
    return [by_value[value] for value in sorted(by_value)]
