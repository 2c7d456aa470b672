"""The letters in a response that may be names of options, told apart from units, formulas, compounds and contractions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from context_bench_multiple_choice import vocabulary as v
from context_bench_multiple_choice.quantities import formulas, is_name, is_unit_or_symbol
from context_bench_multiple_choice.tokens import Token


class Mark(NamedTuple):
    """A letter that may stand for an option.

    `at` is its token, and `stop` the first one after it and the signs that close around it. `enclosed` means brackets,
    emphasis or a closing parenthesis; `capital` that it was written as one; `formula` that it is a formula by itself, so
    that it names an option only in an explicit statement.
    """

    letter: str
    at: int
    stop: int
    enclosed: bool
    capital: bool
    formula: bool = False


def find_marks(text: str, tokens: Sequence[Token], letters: str, numbered: bool) -> dict[int, Mark]:
    """The marks of a text by the index of their token.

    Args:
        text: The text.
        tokens: Its tokens.
        letters: The letters that the options have.
        numbered: Whether "option 2" and "the second option" are names of options, too.
    """
    marks: dict[int, Mark] = {}
    spans = formulas(text)
    for index, token in enumerate(tokens):
        if len(token.text) == 1 and "A" <= token.text.upper() <= "Z":
            while spans and spans[0][1] <= token.start:
                spans.pop(0)
            mark = _in_formula(_letter(text, tokens, index), token, spans)
        else:
            mark = _number(tokens, index, letters) if numbered else None
        if mark:
            marks[mark.at] = mark
    parts = _parts(tokens, marks)
    return {at: mark for at, mark in marks.items() if at not in parts}


def _parts(tokens: Sequence[Token], marks: Mapping[int, Mark]) -> set[int]:
    """Where small letters number the parts of a result: "(a) 11.1 amps, (b) 29.4 amps"."""
    numbered = [
        mark
        for mark in marks.values()
        if mark.enclosed and not mark.capital and mark.stop < len(tokens) and tokens[mark.stop].text[0].isdigit()
    ]
    letters = [mark.letter for mark in numbered]
    return {mark.at for mark in numbered} if letters[:2] == ["A", "B"] else set()


def is_markup(token: Token) -> bool:
    """Whether a token is emphasis, a bracket, a quote, a tag or a LaTeX command around the text itself."""
    first = token.text[0]
    return token.text in _COMMANDS if first == "\\" else first in v.MARKUP


def after_markup(tokens: Sequence[Token], index: int) -> int:
    """The first token from a place on that is no markup; a bracket that opens is none."""
    while index < len(tokens) and is_markup(tokens[index]) and tokens[index].text not in ("(", "["):
        index += 1
    return index


def _in_formula(mark: Mark | None, token: Token, spans: Sequence[tuple[int, int, bool]]) -> Mark | None:
    """A mark as the formula around it leaves it: none at all among other symbols."""
    if mark is None or not spans or token.start < spans[0][0]:
        return mark
    return mark._replace(formula=not mark.enclosed or token.text != mark.letter) if spans[0][2] else None


def _letter(text: str, tokens: Sequence[Token], index: int) -> Mark | None:
    token = tokens[index]
    if not _is_apart(text, token, tokens[index + 1].text if index + 1 < len(tokens) else ""):
        return None
    before, after = text[token.start - 1 : token.start], text[token.end : token.end + 1]
    enclosed = _PAIRS.get(before) == after or after in (")", "）")
    letter = token.text.upper()
    if is_unit_or_symbol(text, token) or (not enclosed and index and is_name(tokens, index, _opens(tokens, index - 1))):
        return None
    return Mark(letter, index, _closed(tokens, index + 1), enclosed, token.text == letter)


def _opens(tokens: Sequence[Token], index: int) -> bool:
    """Whether a sentence begins with a token."""
    while index > 0 and is_markup(tokens[index - 1]):
        index -= 1
    return index == 0 or tokens[index - 1].word == "\n" or tokens[index - 1].text[0] in v.ENDS | {":"}


def _is_apart(text: str, token: Token, following: str) -> bool:
    before, after = text[max(token.start - 2, 0) : token.start], text[token.end : token.end + 3]
    left, right = before[-1:], after[:1]
    beyond_left, beyond_right = before[:-1], after[1:2]
    if left.isdigit() or right.isdigit() or "^" in (left, right) or "°" in (left, right):
        return False
    if (left in _QUOTES) != (right in _QUOTES) or (left == "_") != (right == "_"):
        return False
    for sign, beyond in ((left, beyond_left), (right, beyond_right)):
        if sign in ("-", "−", "/", "+") and beyond.isalnum() and not (sign == "/" and beyond.isupper()):
            return False  # "X-ray", "A/m", but "A/B"
    if left == "." and beyond_left.isalpha():
        return False  # "U.S"
    if right == "." and beyond_right.isalpha() and not after[2:].islower():
        return False  # "U.S", but "B.Paris"
    if right == "(" and beyond_right.isalnum():
        return False  # "E(X)"
    if before.upper() == "N/" or (after[:2].upper() == "/A" and token.text in "nN"):
        return False
    if following == "<":
        return right == "<" and beyond_right != " "
    return following not in v.MATHS


def _number(tokens: Sequence[Token], index: int, letters: str) -> Mark | None:
    """Options by number: "option 2", "the second option"."""
    word = tokens[index].word
    place = 0
    if word.isdecimal() and len(word) < 3 and index and tokens[index - 1].word in _NOUNS:
        place = int(word)
    elif word in v.ORDINALS and index + 1 < len(tokens) and tokens[index + 1].word in _NOUNS:
        place, index = v.ORDINALS.index(word) + 1, index + 1
    return (
        Mark(letters[place - 1], index, _closed(tokens, index + 1), True, True) if 1 <= place <= len(letters) else None
    )


def _closed(tokens: Sequence[Token], index: int) -> int:
    """The first token after the signs that close around the one before `index`."""
    while index < len(tokens):
        token = tokens[index]
        if not (token.text[0] in _CLOSING or token.text in ("\\)", "\\]") or token.text.startswith("</")):
            break
        if token.text[0] in "\"'*_`$" and token.start > tokens[index - 1].end:
            break  # it opens something else
        index += 1
    return index


_NOUNS = ("option", "choice", "alternative")
_PAIRS = {"(": ")", "[": "]", "{": "}", "（": "）", "【": "】", "「": "」", "*": "*", "`": "`"}
_CLOSING = frozenset(")]}）】」』》*_`$\"'”’»")
_QUOTES = ("'", "‘", "’")
_COMMANDS = v.words(
    "\\text \\textbf \\textit \\textrm \\textsf \\texttt \\mathrm \\mathbf \\mathit \\mathsf \\mathbb \\mathcal "
    "\\bf \\bm \\left \\right \\( \\) \\[ \\] \\, \\; \\! \\quad \\qquad \\{ \\} \\$ \\* \\_ \\emph \\underline "
    "\\large"
)
