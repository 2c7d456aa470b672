"""Numbers as people and models write them: ``1,000``, ``-\\frac{1}{2}``, ``2 1/2``, ``1e3``, ``$5``, ``5 dollars``, ``10%``."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from context_bench_math.units import currency, is_known_unit, is_unit_phrase, split_scale

_MOST_DIGITS = 1000
_LARGEST_EXPONENT = 400

_SIMPLE = re.compile(r"([-+]?)(\d+)(?:\.(\d*))?")
_NUMERAL = re.compile(
    r"""
    (?P<sign>[-+]?)\s*
    (?:(?P<currency>(?:US|CA|AU|NZ|HK|[CAS])?[$€£¥₹₽₩₦฿₫₴₱₪¢]|(?:US|CA|AU|NZ|HK)(?=\s)|Rs\.?|USD|EUR|GBP|INR|JPY|CNY)
       \s*(?P<sign_after>[-+]?))?
    (?:
        (?:(?P<whole>\d+)(?:\s+|\s*(?=\\frac)))?
        (?:\\frac\s*(?:\{\s*(?P<over>[-+]?\d+(?:\.\d+)?)\s*\}|\s*(?P<over_digit>\d))
                \s*(?:\{\s*(?P<under>[-+]?\d+(?:\.\d+)?)\s*\}|\s*(?P<under_digit>\d))
          |(?P<numerator>\d+)\s*/\s*(?P<denominator>-?\d+))
      |(?P<integer>\d{1,3}(?:,\d{3})+(?!\d)|\d{1,2}(?:,\d{2})+,\d{3}(?!\d)|\d{1,3}(?:[ ']\d{3})+(?!\d)|\d+)?(?P<fraction>\.\d*)?
       (?:[eE](?P<exponent>[-+]?\d{1,4})
         |\s*(?:\\times|\\cdot|\*|x)\s*10\s*(?:\^|\*\*)\s*(?:\{\s*(?P<power>[-+]?\d{1,4})\s*\}|(?P<bare_power>[-+]?\d{1,4})))?
    )
    (?:\s*(?P<percent>%|(?:percent(?:age)?|per\ cent|pct)\b)|\s*(?P<currency_after>[$€£¥₹₽₩₦฿₫₴₱₪¢]))?
    (?P<blank>\s*)(?P<unit>.*)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_HAVE_CENTS = ("dollar", "euro")
_POWER = re.compile(r"([-+]?)(\d{1,20}) ?(?:\^|\*\*) ?(?:\{ ?(-?\d{1,4}) ?\}|(-?\d{1,4}))")
_COMMA_DECIMAL = re.compile(r"(?<!\d)(?!(?!0)\d{1,3},\d{3}(?!\d))(\d+),(\d+)")
_MEASURE = re.compile(r"([-+]?[\d.,]*\d)([mgshlL])")
_POINT_GROUPS_AND_COMMA = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:\.\d{3})+,\d+(?![\d.,])")
_POINT_GROUPS = re.compile(r"(?:[^\w.,]*)[-+]?[1-9]\d{0,2}(?:\.\d{3})+(?![\d.])")


class Numeral(NamedTuple):
    """A number that was read from a text.

    Attributes:
        value: The exact value.
        is_rounded: Whether it was written with a decimal point, so that it may be a rounding of another number.
        is_percent: Whether a percent sign or the word stood behind it (the value is what stands before it).
        unit: The unit in one way of writing, ``kilometre·hour^-1`` say, where it consists of units that are known, else ``""``.
    """

    value: int | Fraction
    is_rounded: bool = False
    is_percent: bool = False
    unit: str = ""

    def latex(self) -> str:
        """The number as LaTeX, a decimal number as one; ``""`` for those that LaTeX has no equal writing for.

        >>> Numeral(Fraction(5, 2)).latex(), Numeral(Fraction(5, 2), is_rounded=True).latex()
        ('\\\\frac{5}{2}', '2.5')
        """
        if self.is_percent:
            return ""
        numerator, denominator = Fraction(self.value).as_integer_ratio()
        sign, numerator = "-" * (numerator < 0), abs(numerator)
        if self.is_rounded:
            places = denominator.bit_length()
            digits = str(numerator * 10**places // denominator).rjust(places + 1, "0")
            return f"{sign}{digits[:-places]}.{digits[-places:].rstrip('0') or '0'}"
        return (
            f"{sign}{numerator}"
            if denominator == 1
            else rf"{sign}\frac{{{numerator}}}{{{denominator}}}"
        )


def read_numeral(text: str) -> Numeral | None:
    """The number that a plain text consists of, or ``None`` where it is anything else.

    >>> read_numeral("-2 1/2").value
    Fraction(-5, 2)
    >>> read_numeral("2x") is None
    True
    """
    if simple := _SIMPLE.fullmatch(text):
        sign, integer, fraction = simple.groups()
        if len(text) > _MOST_DIGITS:
            return None
        if not fraction:
            value: int | Fraction = int(integer)
            return Numeral(-value if sign == "-" else value, fraction is not None)
        value = Fraction(int(integer + fraction), 10 ** len(fraction))
        return Numeral(-value if sign == "-" else value, True)
    if power := _POWER.fullmatch(text):
        base, exponent = int(power[2]), int(power[3] or power[4])
        if abs(exponent) * len(power[2]) > _MOST_DIGITS or (base == 0 and exponent <= 0):
            return None
        return Numeral(
            (-1 if power[1] == "-" else 1)
            * (base**exponent if exponent >= 0 else Fraction(base) ** exponent)
        )
    return _read_elaborate(text)


def in_cents(amount: Numeral) -> Numeral:
    """An amount of dollars or euros in cents, anything else as it is.

    >>> in_cents(Numeral(Fraction(1, 2), unit="dollar"))
    Numeral(value=Fraction(50, 1), is_rounded=False, is_percent=False, unit='cent')
    """
    return (
        amount._replace(value=amount.value * 100, unit="cent")
        if amount.unit in _HAVE_CENTS
        else amount
    )


def other_readings(
    text: str, is_answer: bool = True, point_groups: bool = False
) -> tuple[Numeral, ...]:
    """The numbers that a plain text may stand for under conventions other than the English one.

    Args:
        text: A plain text.
        is_answer: Whether ``2,5`` may mean two and a half and ``5m`` five metres, as people write; a reference means a list
            and a product. ``2,50`` and ``0,125`` are decimal numbers always: nobody would write a list so.
        point_groups: Whether ``2.125`` may mean two thousand. ``1.234.567`` always means a million.

    >>> [str(numeral.value) for numeral in other_readings("2,5")]
    ['5/2']
    """
    found = []
    if (
        text.count(",") == 1
        and (comma := _COMMA_DECIMAL.search(text))
        and (is_answer or len(comma[2]) > 1)
    ):
        found.append(read_numeral(text.replace(",", ".")))
    if is_answer and (measure := _MEASURE.fullmatch(text)):
        found.append(read_numeral(f"{measure[1]} {measure[2]}"))
    if _POINT_GROUPS_AND_COMMA.search(text):
        found.append(read_numeral(text.replace(".", "").replace(",", ".")))
    if (groups := _POINT_GROUPS.match(text)) and (point_groups or groups[0].count(".") > 1):
        found.append(read_numeral(groups[0].replace(".", "") + text[groups.end() :]))
    return tuple(numeral for numeral in found if numeral is not None)


def _read_elaborate(text: str) -> Numeral | None:
    if len(text) > _MOST_DIGITS or not any(character.isdigit() for character in text):
        return None
    match = _NUMERAL.fullmatch(text)
    if match is None:
        return None
    part = match.groupdict()
    value = _value(part)
    if value is None:
        return None
    if part["sign"] == "-" or part["sign_after"] == "-":
        value = -value
    unit, factor = "", 1
    if tail := (part["unit"] or "").strip():
        factor, tail = split_scale(tail)
        if tail:
            name = is_unit_phrase(tail)
            if name is None or (not part["blank"] and not is_known_unit(tail)):
                return None
            unit = name
    sign = part["currency"] or part["currency_after"]
    if sign and (
        not unit or sign != "$"
    ):  # a "$" before "5 cm" is a delimiter whose other half is lost
        unit = currency(sign)
    is_rounded = part["fraction"] is not None
    return Numeral(value * factor, is_rounded, part["percent"] is not None, unit)


def _value(part: dict[str, str | None]) -> int | Fraction | None:
    """The unsigned value of what the pattern found, or ``None`` where it found no number."""
    over, under = part["over"] or part["over_digit"], part["under"] or part["under_digit"]
    if over is None and part["numerator"] is not None:
        over, under = part["numerator"], part["denominator"]
    if over is not None and under is not None:
        below = Fraction(under)
        if below == 0 or (part["whole"] and over[0] in "-+"):
            return None
        return int(part["whole"] or 0) + Fraction(over) / below
    integer, fraction = part["integer"], (part["fraction"] or "")[1:]
    if integer is None and not fraction:
        return None
    digits = (integer or "0").replace(",", "").replace(" ", "").replace("'", "")
    exponent = int(part["exponent"] or part["power"] or part["bare_power"] or 0)
    if abs(exponent) > _LARGEST_EXPONENT:
        return None
    value = Fraction(int(digits + fraction), 10 ** len(fraction)) * Fraction(10) ** exponent
    return int(value) if value.denominator == 1 else value
