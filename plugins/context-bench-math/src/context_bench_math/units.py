"""What may stand beside a number without changing it: units, signs of currencies, and the words of a noun phrase."""

from __future__ import annotations

import re
from functools import lru_cache

_ALIASES = {
    "dollar": "$ dollar dollars usd buck bucks",
    "cent": "¢ cent cents",
    "euro": "€ euro euros eur",
    "pound sterling": "£ gbp",
    "pound": "pound pounds",
    "yen or yuan": "¥",
    "yen": "yen jpy",
    "yuan": "yuan cny rmb",
    "rupee": "₹ Rs rupee rupees inr",
    "ruble": "₽ ruble rubles rouble roubles",
    "won": "₩ krw",
    "naira": "₦ naira",
    "baht": "฿ baht",
    "dong": "₫ dong",
    "hryvnia": "₴ hryvnia hryvnias",
    "peso": "₱ peso pesos",
    "shekel": "₪ shekel shekels",
    "kilometre": "km kilometer kilometers kilometre kilometres",
    "metre": "m meter meters metre metres",
    "centimetre": "cm centimeter centimeters centimetre centimetres",
    "millimetre": "mm millimeter millimeters millimetre millimetres",
    "mile": "mi mile miles",
    "yard": "yd yard yards",
    "foot": "ft foot feet",
    "inch": "in inch inches",
    "kilogram": "kg kilogram kilograms",
    "gram": "g gram grams",
    "milligram": "mg milligram milligrams",
    "tonne": "tonne tonnes ton tons",
    "pound weight": "lb lbs",
    "ounce": "oz ounce ounces",
    "litre": "l L liter liters litre litres",
    "millilitre": "ml mL milliliter milliliters millilitre millilitres",
    "second": "s sec secs second seconds",
    "minute": "min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "day days",
    "week": "week weeks",
    "month": "month months",
    "year": "yr yrs year years",
}
_MONEY = frozenset(
    [
        *(
            "dollar",
            "cent",
            "euro",
            "pound",
            "pound sterling",
            "yen or yuan",
            "yen",
            "yuan",
            "rupee",
            "ruble",
            "won",
        ),
        *("naira", "baht", "dong", "hryvnia", "peso", "shekel"),
        "pound weight",  # since "pounds per hour" may be either
    ]
)
_TIMES = frozenset(["second", "minute", "hour", "day", "week", "month", "year"])
_EITHER = {"pound": ("pound sterling", "pound weight"), "yen or yuan": ("yen", "yuan")}
_SPEEDS = {"mph": "mile/hour", "kph": "kilometre/hour", "kmh": "kilometre/hour"}
_MERIDIEM = re.compile(r"([ap])\.? ?m\.?", re.IGNORECASE)
_FACTOR = re.compile(
    r"""
    (?P<joint>\s*/\s*|\s+(?:per|an?)\s+|\s*·\s*|\s+)?
    (?:(?P<before>square|sq|cubic|cu)\.?\s+)?(?P<name>[^\W\d_]+)\.?
    (?:\s*\^\s*\{?(?P<power>[23])\}?|\s+(?P<after>squared|cubed)\b)?
    """,
    re.VERBOSE,
)
_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}
_GOES_ON = re.compile(
    r"\s+(?:each|every|per|an?|in|total|altogether|long|tall|wide|high|deep|away|apart|old|of|for|more|less|left)\b"
)
_CANONICAL = {alias: name for name, aliases in _ALIASES.items() for alias in aliases.split()}
_SCALES = {
    "hundred": 10**2,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "万": 10**4,
    "萬": 10**4,
    "만": 10**4,
    "亿": 10**8,
    "億": 10**8,
    "억": 10**8,
}
_SCALE = re.compile(
    "|".join(f"{word}s?(?![A-Za-z])" if word.isascii() else word for word in _SCALES)
)
_LITTLE_WORDS = frozenset(
    ["a", "an", "of", "in", "on", "at", "to", "by", "sq", "cu", "am", "pm", "pc"]
)
_ARITHMETIC = frozenset(
    [
        *(
            "and",
            "or",
            "not",
            "nor",
            "is",
            "are",
            "was",
            "were",
            "be",
            "if",
            "then",
            "than",
            "but",
            "so",
            "while",
            "because",
        ),
        *(
            "since",
            "either",
            "between",
            "versus",
            "except",
            "without",
            "mod",
            "choose",
            "plus",
            "minus",
            "times",
            "divided",
        ),
        *(
            "over",
            "squared",
            "cubed",
            "factorial",
            "root",
            "sqrt",
            "pi",
            "inf",
            "infinity",
            "sin",
            "cos",
            "tan",
            "log",
            "exp",
        ),
        *("half", "third", "quarter", "quarters", "thirds", "equal", "equals", "percent"),
    ]
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*\.?")
_PHRASE = re.compile(r"\(?[^\W\d_][^\d=<>+*_\\\[\]{}]*(?:\^\{?[23]\}?)?\)?")
_MOST_WORDS = 12


@lru_cache(maxsize=1024)
def is_unit_phrase(text: str) -> str | None:
    """The name of the unit that a text is, ``""`` for another harmless phrase, ``None`` for anything that may be mathematics.

    >>> is_unit_phrase("cm"), is_unit_phrase("eggs a day"), is_unit_phrase("x"), is_unit_phrase("or six")
    ('centimetre', '', None, None)
    """
    if text in _CANONICAL:
        return _CANONICAL[text]
    if half := _MERIDIEM.fullmatch(text):
        return f"{half[1].lower()}m"
    unit, rest = _leading_unit(text)
    if unit and not rest:
        return unit
    if not _PHRASE.fullmatch(text):
        return None
    words = _WORD.findall(text)
    if len(words) > _MOST_WORDS or any(not _harmless(word.rstrip(".")) for word in words):
        return None
    if all(word.lower() in _LITTLE_WORDS for word in words):
        return None
    return unit if unit in _MONEY or _GOES_ON.match(rest) else ""


def currency(sign: str) -> str:
    """The name of the unit that a sign or code in front of a number is: ``$``, ``US$``, ``EUR``; ``""`` for none.

    >>> currency("US$"), currency("Rs."), currency("EUR")
    ('dollar', 'rupee', 'euro')
    """
    word = sign.rstrip(".")
    return (
        _CANONICAL.get(sign[-1:])
        or _CANONICAL.get(word)
        or _CANONICAL.get(word.lower(), "dollar" if sign else "")
    )


def is_same_unit(one: str, other: str) -> bool:
    """Whether two units may be one: the pound is a currency and a weight, and ``¥`` the sign of two currencies.

    >>> is_same_unit("pound", "pound sterling"), is_same_unit("pound weight", "pound sterling")
    (True, False)
    """
    return one == other or other in _EITHER.get(one, ()) or one in _EITHER.get(other, ())


def _leading_unit(text: str) -> tuple[str, str]:
    """The unit that a text begins with, written in one way for ``km/h`` and ``kilometers per hour``, and what is behind it.

    What an amount of money or of time is counted by is no part of it: ``$5 per hour`` is the answer to a question for dollars.
    """
    powers: dict[str, int] = {}
    position = 0
    while factor := _FACTOR.match(text, position):
        joint, word = factor["joint"], factor["name"]
        name = _CANONICAL.get(word) or _CANONICAL.get(word.lower())
        speed = _SPEEDS.get(word.lower()) if name is None else None
        if (name is None and speed is None) or bool(joint) is not bool(powers):
            break
        power = int(factor["power"] or _POWERS.get(factor["before"] or factor["after"] or "", 1))
        sign = -1 if joint and joint.strip() not in ("", "·") else 1
        for part, one in zip((name or speed or "").split("/"), (1, -1), strict=False):
            powers[part] = powers.get(part, 0) + sign * one * power
        position = factor.end()
    rest = text[position:]
    if "inch" in powers and rest[:1].isspace() and text.startswith("in "):
        return "", text  # "5 in total"
    over = {name: power for name, power in powers.items() if power > 0}
    if over and over.keys() <= _MONEY | _TIMES:
        powers = over
    return "·".join(
        name if power == 1 else f"{name}^{power}" for name, power in sorted(powers.items())
    ), rest


def is_known_unit(text: str) -> bool:
    """Whether the text is a unit of more than one letter, or one with an exponent, that may touch its number.

    >>> is_known_unit("cm"), is_known_unit("m^2"), is_known_unit("m"), is_known_unit("ab")
    (True, True, False, False)
    """
    name = re.sub(r"\^\{?[23]\}?$", "", text)
    return (name in _CANONICAL and len(text) > 1) or not text.isascii()


def split_scale(text: str) -> tuple[int, str]:
    """The power of ten that a phrase begins with, and the rest of the phrase.

    >>> split_scale("million dollars")
    (1000000, 'dollars')
    """
    match = _SCALE.match(text)
    if match is None:
        return 1, text
    word = match.group().rstrip("s")
    return _SCALES[word], text[match.end() :].strip()


def _harmless(word: str) -> bool:
    lowered = word.lower()
    if lowered in _CANONICAL or lowered in _LITTLE_WORDS:
        return True
    return lowered not in _ARITHMETIC and (len(word) > 2 or not word.isascii())
