"""One way of writing for the many: LaTeX, Markdown and Unicode down to a plain line of mathematics."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

_UNICODE = {
    **dict.fromkeys("−–—﹣－", "-"),
    **dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
    **dict.fromkeys("，、﹐٬", ","),
    **dict.fromkeys("。．٫", "."),
    **dict.fromkeys("⁄∕／÷", "/"),
    **dict.fromkeys("％٪", "%"),
    **dict.fromkeys("×∙⋅", "\\times "),
    **dict.fromkeys("：", ":"),
    **dict.fromkeys("；", ";"),
    **dict.fromkeys("’‘ʼ", "'"),
    "（": "(", "）": ")", "［": "[", "］": "]", "｛": "{", "｝": "}", "＝": "=", "＋": "+", "＊": "*", "＄": "$", "￥": "¥",
    "²": "^2", "³": "^3", "½": " 1/2", "¼": " 1/4", "¾": " 3/4", "⅓": " 1/3", "⅔": " 2/3", "⅛": " 1/8",
    "π": "\\pi ", "∞": "\\infty ", "±": "\\pm ", "≤": "\\le ", "≥": "\\ge ", "≠": "\\ne ", "∪": "\\cup ", "∩": "\\cap ",
    "∈": "\\in ", "√": "\\sqrt ", "∅": "\\emptyset ", "≈": "\\approx ",
}  # fmt: skip
_DROPPED = re.compile(
    r"\\(?:left|right|bigg?[lrm]?|Bigg?[lrm]?|displaystyle|textstyle|limits|nolimits)(?![A-Za-z])\.?|\\!\s*"
)
_SPACES = re.compile(r"(?<!\\)\\(?:[,;:> ]|q?quad(?![A-Za-z])|hspace\{[^{}]*\}|\n)|~")
_WORDS = re.compile(
    r"\\(?:text(?:normal|bf|it|rm|sf|tt)?|mbox|hbox|math(?:rm|bf|it|sf|tt)|operatorname)\s*\{([^{}]*)\}"
)
_DEGREE = re.compile(
    r"(?<!\s)\s*(?:\^\s*(?:\\circ(?![A-Za-z])|\{\s*\\circ\s*\}|°)|°|\\degrees?(?![A-Za-z]))(?:\s*[CF](?![A-Za-z]))?"
)
_DOLLARS = re.compile(r"\\\$(?=[ ]?[-+]?\.?\d)")
_LONE_DOLLAR = re.compile(r"\$(?![ ]?[-+]?\.?\d)")
_DELIMITERS = re.compile(r"(?<!\\)\\[()\[\]]|\$\$?")
_NAMES = re.compile(r"\\(?:d|t|c)frac(?![A-Za-z])")
_DOUBLED = re.compile(r"\\\\(?=[A-Za-z])")
_QUOTES = ' \t"“”'
_EQUALS = re.compile(r"\A(?:=|\\approx(?![A-Za-z]))\s*")
_REPEATING = re.compile(
    r"""
    (?<![\d.])(?P<whole>\d{1,3}(?:,\d{3})+|\d*)\.
    (?:(?P<once>\d*)\s*
        (?:\\(?:overline|bar)\s*(?:\{\s*(?P<under>\d+)\s*\}|(?P<digit>\d))
          |\\dot\s*\{?\s*(?P<first>\d)\s*\}?(?:(?P<between>\d*)\s*\\dot\s*\{?\s*(?P<last>\d)\s*\}?)?)
      |(?<=\d\.)\((?P<inside>\d+)\))
    (?![\d.]*\d)
    """,
    re.VERBOSE | re.ASCII,
)
_MOST_REPEATED = 60
_DOLLAR = "\ue024"  # of Unicode's private use: in no text that means anything
_NUMBER_AND_DOLLAR = re.compile(r"[-+]?[\d., ]*\d ?\$")
_LONE_INDEX = re.compile(r"_\{(\w+)\}")
_BLANK = re.compile(r"(?<![0-9A-Za-z]) +| +(?![0-9A-Za-z])")


def plain(text: str) -> str:
    """The text with its typesetting taken off, and nothing that changes its value.

    >>> plain(r"$\\left( \\dfrac{1}{2},\\, 1{,}000 \\right)$.")
    '( \\\\frac{1}{2}, 1,000 )'
    """
    text = without_repeating(" ".join(ascii_signs(text).split()))
    if "\\" in text or "$" in text:
        if "\\\\" in text and "\\begin" not in text:
            text = _DOUBLED.sub(r"\\", text)
        if "$" in text:
            text = _with_dollars(text)
        text = text.replace("\\%", "%").replace("\\#", "#").replace("\\&", "&").replace('\\"', '"')
        text = _DELIMITERS.sub(" ", text).replace(_DOLLAR, "$")
        text = _DROPPED.sub("", text)
        text = _SPACES.sub(" ", text)
        text = _NAMES.sub(r"\\frac", text)
        text = _WORDS.sub(r" \1 ", text)
        text = (
            text.replace("\\{", "{")
            .replace("\\}", "}")
            .replace("\\lbrace", "{")
            .replace("\\rbrace", "}")
        )
    text = text.replace("\\varnothing", "\\emptyset")
    if "{,}" in text:
        text = text.replace("{,}", ",")
    if "°" in text or "\\" in text:
        text = _DEGREE.sub("", text)
    text = (
        text.replace("**", " ")
        if "**" in text and not re.search(r"[0-9A-Za-z)]\*\*[0-9A-Za-z(]", text)
        else text
    )
    text = _EQUALS.sub("", " ".join(text.split()).strip(_QUOTES))
    return text.rstrip(".,;:").strip(_QUOTES)


def canonical(text: str) -> str:
    """A plain text with the blanks gone that mean nothing: what two equal writings have in common."""
    return _LONE_INDEX.sub(r"_\1", _BLANK.sub("", text))


def without_repeating(text: str) -> str:
    """The text with its repeating decimals as fractions; math-verify leaves their repeating digits out.

    >>> without_repeating(r"0.\\overline{36}"), without_repeating(r"2.1\\bar{6}"), without_repeating("0.(3)")
    ('\\\\frac{4}{11}', '\\\\frac{13}{6}', '\\\\frac{1}{3}')
    """
    return _REPEATING.sub(_as_fraction, text)


def _with_dollars(text: str) -> str:
    """The text with the ``$`` that are dollars set apart from those that delimit mathematics.

    An escaped one before a number is a dollar. Those that are not escaped are dollars where all stand before numbers, or where
    a lone one stands behind a number.
    """
    text = _DOLLARS.sub(_DOLLAR, text).replace("\\$", "")
    if _LONE_DOLLAR.search(text) is None:
        return text.replace("$", _DOLLAR)
    return f"{text[:-1]}{_DOLLAR}" if _NUMBER_AND_DOLLAR.fullmatch(text) else text


def _as_fraction(decimal: re.Match[str]) -> str:
    part = {name: found or "" for name, found in decimal.groupdict().items()}
    whole, once = part["whole"].replace(",", ""), part["once"]
    dotted = part["first"] + part["between"] + part["last"]
    repeated = part["under"] or part["digit"] or dotted or part["inside"]
    if len(whole) + len(once) + len(repeated) > _MOST_REPEATED:
        return decimal[0]
    before = int(f"0{whole}{once}")
    value = Fraction(
        int(f"{before}{repeated}") - before, 10 ** len(once) * (10 ** len(repeated) - 1)
    )
    return (
        str(value)
        if value.denominator == 1
        else rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
    )


def ascii_signs(text: str) -> str:
    """Digits of any script as 0-9, and the signs of mathematics as their ASCII or LaTeX forms."""
    if text.isascii():
        return text
    return "".join(character if character < "\x80" else _sign(character) for character in text)


def _sign(character: str) -> str:
    if character in _UNICODE:
        return _UNICODE[character]
    if "\uff21" <= character <= "\uff5a":
        return unicodedata.normalize("NFKC", character)
    return str(unicodedata.decimal(character, character))
