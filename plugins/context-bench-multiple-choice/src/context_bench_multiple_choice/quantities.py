"""Letters that are no options whatever stands around: units, currencies, names, and the symbols of formulas."""

from __future__ import annotations

import re
from collections.abc import Sequence

from context_bench_multiple_choice import vocabulary as v
from context_bench_multiple_choice.tokens import Token

_BACK = 60  # characters before a letter that are looked at

_FORMULA = re.compile(
    r"\$\$[^$]{1,400}\$\$|\$(?![\s$])[^$\n]{0,300}?(?<![\s$])\$(?!\d)|\\\([^\n]{0,300}?\\\)|\\\[[^$]{0,400}?\\\]"
)
_DRESSING = re.compile(r"\\(?:text\w*|math[a-z]+|bf|bm|left|right|large|q?quad|[()\[\],;! ])|[${}()\[\]\s*.\"'`]")
_BOXED = re.compile(r"\\(?:boxed|fbox|framebox)")
# An option's letter in parentheses that begins a formula: "$\textbf{(C)}\ 42$".
_LABELLED = re.compile(r"[$\\(\[\s]*(?:\\[a-z]+\s*\{\s*)?\([A-Z]\)")
# What a unit follows, through the commands and braces that set it: "5 \mathrm{~", "5^{\circ}\text{", "\degree ", "79.5 °".
_MEASURED = re.compile(
    r"(?:\d[\d.,]*|\\%|°|\\circ|\\degree)\s*(?:\}|\\[,;:! ]|~|\s)*"
    r"(?:\\(?:text|textrm|mathrm|mathbf|mathit|mathsf|rm)\s*\{?(?:\s|~|\\[,;: ])*|°\s*|(?<=[}~,;])\s*)$|"
    r"(?:\\(?:text|textrm|mathrm|rm)\s*\{\s*(?:~|\\[,;: ]))\s*$|(?:\\circ|\\degree|°)[}\s]*$"
)
_COMMAND = re.compile(r"\\([A-Za-z]+)\s*\{?\s*$")
_HARMLESS = v.words(
    "boxed fbox framebox text textbf textit textrm textsf texttt mathrm mathbf mathit mathsf mathbb mathcal bf bm rm "
    "left right quad qquad emph underline large item implies therefore rightarrow Rightarrow to checkmark"
)
_CURRENCY = re.compile(r"\$ ?\d")

_LANGUAGE = (
    v.ANSWER | v.OPTION | v.BEST | v.CHOOSE | v.OPINION | v.FIRST_PERSON | v.SO | v.SURE | v.PRONOUN | v.CORRECTION
    | v.COPULAS | v.FILLERS | v.HEDGES | v.NONE | v.CLAUSES | v.RIGHT | v.WRONG | v.PREDICATES | v.NEGATIONS
    | v.SUPPOSING | v.ATTITUDES | v.OTHERS | v.DISCARDS | v.AND | v.CONTINUES
)  # fmt: skip
_POINTING = ("this", "that", "which", "each", "either")


def formulas(text: str) -> list[tuple[int, int, bool]]:
    r"""The formulas of a text: start, end, and whether a letter in them may name an option in an explicit statement.

    That holds for one with `\boxed`, for one that begins with a letter in parentheses, and for one that is a single letter.

    >>> formulas(r"so $E = mc^2$, hence $E$")
    [(3, 13, False), (21, 24, True)]
    """
    found: list[tuple[int, int, bool]] = []
    for match in _FORMULA.finditer(text):
        formula = match[0]
        if not _BOXED.search(formula):
            named = len(_DRESSING.sub("", formula)) == 1 or _LABELLED.match(formula) is not None
            found.append((match.start(), match.end(), named))
    return found


def is_unit_or_symbol(text: str, token: Token) -> bool:
    r"""Whether a letter is a unit set by LaTeX, the argument of a command such as `\vec`, or part of a currency's sign.

    >>> text = r"5 \mathrm{~J}"
    >>> is_unit_or_symbol(text, Token("J", "j", 11, 12))
    True
    """
    before = text[max(token.start - _BACK, 0) : token.start]
    if before[-1:] != "$" and _CURRENCY.match(text, token.end):
        return True
    if before[-1:] in ("(", "[", "*"):
        return False
    if _MEASURED.search(before):
        return True
    command = _COMMAND.search(before)
    return command is not None and command[1] not in _HARMLESS


def is_name(tokens: Sequence[Token], index: int, opens: bool) -> bool:
    """Whether a letter belongs to a name: "Fund A", "World War I", "vitamin C".

    Args:
        tokens: The tokens of the text.
        index: The place of the letter.
        opens: Whether the word before it begins the sentence, where every word has a capital.
    """
    previous = tokens[index - 1]
    if previous.end == tokens[index].start or not previous.text.isascii() or not previous.text.isalpha():
        return False
    if previous.word in v.NAMED:
        return index < 2 or tokens[index - 2].word not in _POINTING
    if len(previous.text) < 2 or not previous.text[0].isupper() or previous.word in _LANGUAGE:
        return False
    return not opens or tokens[index].text == "I"
