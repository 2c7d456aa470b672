"""What may stand behind a number without changing it: units, and the words of a noun phrase."""

from __future__ import annotations

import re

_ALIASES = {
    "dollar": "dollar dollars usd buck bucks",
    "cent": "cent cents ¢",
    "euro": "euro euros eur",
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
    "mph": "mph",
}
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
_SCALE = re.compile("|".join(f"{word}s?(?![A-Za-z])" if word.isascii() else word for word in _SCALES))
_LITTLE_WORDS = frozenset(["a", "an", "of", "in", "on", "at", "to", "by", "sq", "cu", "am", "pm", "pc"])
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


def is_unit_phrase(text: str) -> str | None:
    """The name of the unit that a text is, ``""`` for another harmless phrase, ``None`` for anything that may be mathematics.

    >>> is_unit_phrase("cm"), is_unit_phrase("eggs a day"), is_unit_phrase("x"), is_unit_phrase("or six")
    ('centimetre', '', None, None)
    """
    if text in _CANONICAL:
        return _CANONICAL[text]
    if not _PHRASE.fullmatch(text):
        return None
    words = _WORD.findall(text)
    if len(words) > _MOST_WORDS or any(not _harmless(word.rstrip(".")) for word in words):
        return None
    if all(word.lower() in _LITTLE_WORDS for word in words):
        return None
    return _CANONICAL.get(words[0].lower(), "") if len(words) == 1 and text.isalpha() else ""


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
