"""The places of a response that name an option, by its letter or by its text, told apart from units, formulas and names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from context_bench.answers import without_emphasis
from context_bench_multiple_choice import words as w
from context_bench_multiple_choice.words import Token, after_markup, is_markup, plain, tokenize

LONGEST = 200  # words of an option's text that are compared, from its first 4,000 characters

# A letter by itself: not in "H2O", "I'm", "U.S.", "X-ray", "A/m", "C_p", "E(X)", "F = ma"; but in "B.Paris" and "<C>".
_LETTER = re.compile(
    r"(?<![A-Za-z0-9\u00c0-\u024f^°])(?<![A-Za-z][.'’])(?<!\w[-−+/])(?<![A-Za-z0-9]_)(?<![A-Za-z0-9]__)[A-Za-z]"
    r"(?![A-Za-z0-9\u00c0-\u024f^°]|['’][A-Za-z]|\.[A-Za-z](?![a-z])|[-−+/]\w|_+(?:[^\W_]|[{\\])|\(\w)"
    r"(?![ \t]*(?:=(?!>)|[+≈≤≥×·^±∝∈÷√∞]|<(?![/|]|\w+>)))"
)
_FORMULA = re.compile(
    r"\$\$[^$]{1,400}\$\$|\$(?![\s$])[^$\n]{0,300}?(?<![\s$])\$(?!\d)|\\\([^\n]{0,300}?\\\)|\\\[[^$]{0,400}?\\\]"
)
_BOXED = re.compile(r"\\(?:boxed|fbox|framebox)")
_DRESSING = re.compile(
    r"\\(?:text\w*|math[a-z]+|bf|bm|left|right|large|q?quad|[()\[\],;! ])|[${}()\[\]\s*.\"'`]"
)
_LABELLED = re.compile(
    r"[$\\(\[\s]*(?:\\[a-z]+\s*\{\s*)?\([A-Z]\)"
)  # "$\textbf{(C)}\ 42$" names an option
# What a unit or a symbol follows: a number or a degree, through commands and braces; "~"; a command such as `\vec`; "A$5".
_UNIT = re.compile(
    r"(?:\d|°|\\%|\\circ|\\degree)[ \t}~]*(?:\\[,;:! ])*[ \t}~]*(?:\\(?:text|math)[a-z]*\s*)?[ \t{~]*$|(?<!~)~ *$"
    r"|\\(?!boxed|fbox|framebox|text|math|bf|bm|rm|left|right|q?quad|emph|underline|large|item|implies|therefore|to\b|Right)"
    r"[A-Za-z]+\s*\{?\s*$"
)
_OPERATORS = frozenset("+=<>≤≥≈±×÷/^%°√∞∈")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?:\D|$))")
_DECIMALS = re.compile(r"(\d+)(?:(\.\d*[1-9])0+|\.0+)")
_NO_CONTENT = re.compile(
    r"\\(?:text\w*|math(?:rm|bf|it|bb|sf|cal)|left|right|quad|displaystyle|boxed|[^A-Za-z])"
)
_PAIRS = {"(": ")", "[": "]", "{": "}", "（": "）", "【": "】", "「": "」", "*": "*", "`": "`"}
_CLOSING = frozenset(")]}）】」』》*_`$\"'”’»")


class Name(NamedTuple):
    """A place that names an option.

    `at` is its first token, and `stop` the first one after it and the signs that close around it. `sure` means a capital, a
    letter in brackets or a text; `symbol` that the letter is a formula by itself, and names an option only in an explicit
    statement; `own` that the option's text follows its letter ("C. Paris"). The letter of "none of these" is empty.
    """

    letter: str
    at: int
    stop: int
    sure: bool = True
    enclosed: bool = True
    symbol: bool = False
    text: bool = False
    own: bool = False


class Texts:
    """The texts of the options, ready to be looked for whatever the case, the punctuation and the leading article.

    A text that two options share then identifies neither. Neither does one that is itself the letter of an option. Zeros that
    end the decimals of a number do not count ("2.50" is "2.5"), unless options differ in nothing else.
    """

    def __init__(self, choices: Mapping[str, str]) -> None:
        contents = {
            letter: [word for word, _ in _content(tokenize(plain(text[:4_000])))[:LONGEST]]
            for letter, text in choices.items()
        }
        self._word = _without_zeros if _as_many(contents.values(), _without_zeros) else str
        owners: dict[tuple[str, ...], set[str]] = {}
        for letter, content in contents.items():
            words = tuple(map(self._word, content))
            for variant in {words, words[words[:1] in (("a",), ("an",), ("the",)) :]}:
                owners.setdefault(variant, set()).add(letter)
        self._by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for words, letters in sorted(owners.items(), key=lambda item: -len(item[0])):
            if (
                words
                and len(letters) == 1
                and not (len(words) == 1 and words[0].upper() in choices)
            ):
                self._by_first.setdefault(words[0], []).append((words, min(letters)))

    def found(self, tokens: Sequence[Token]) -> dict[int, Name]:
        """The longest text of an option that begins at each token."""
        content = [(self._word(word), index) for word, index in _content(tokens)]
        names = {}
        for place, (word, index) in enumerate(content):
            for words, letter in self._by_first.get(word, ()):
                end = place + len(words)
                if tuple(other for other, _ in content[place:end]) == words:
                    names[index] = Name(
                        letter, index, after_markup(tokens, content[end - 1][1] + 1), text=True
                    )
                    break
        return names

    def whole(self, tokens: Sequence[Token]) -> str:
        """The letter of the option whose text all tokens are, or an empty string."""
        content = tuple(self._word(word) for word, _ in _content(tokens))
        return dict(self._by_first.get(content[0], ())).get(content, "") if content else ""


def _without_zeros(word: str) -> str:
    """A word, or a number without the zeros that end its decimals."""
    match = _DECIMALS.fullmatch(word)
    return match[1] + (match[2] or "") if match else word


def _as_many(contents: Collection[Sequence[str]], form: Callable[[str], str]) -> bool:
    """Whether texts that differ still do in another form of their words."""
    return len({tuple(words) for words in contents}) == len(
        {tuple(map(form, words)) for words in contents}
    )


def same_text(text: str, choices: Mapping[str, str]) -> str:
    """The letter of the one option that a text is, by its letters as they stand or else whatever their case."""
    for form in (str, _trimmed, lambda value: _trimmed(value).lower()):
        same = [
            letter
            for letter, choice in choices.items()
            if form(choice) and form(choice) == form(text)
        ]
        if len(same) == 1:
            return same[0]
    return ""


def is_letter(text: str, letters: str, choices: Collection[str]) -> bool:
    """Whether a text is nothing but an option's letter, which it means even where another option is called so.

    A small one that is an option as it stands is that option's text.
    """
    trimmed = _trimmed(text)
    return trimmed in tuple(letters) or (
        trimmed.upper() in tuple(letters) and trimmed not in choices
    )


def _trimmed(text: str) -> str:
    return (
        " ".join(plain(without_emphasis(text)).split())
        .strip("\"'“”‘’ ")
        .rstrip(".!。")
        .rstrip("\"'“”’ ")
    )


def find_names(text: str, tokens: Sequence[Token], texts: Texts) -> list[Name]:
    """Every place that names an option, in order; of a letter and a text that begin together the longer one."""
    options = texts.found(tokens)
    formulas = [_formula(match) for match in _FORMULA.finditer(text) if not _BOXED.search(match[0])]
    names: list[Name] = []
    index = 0
    while index < len(tokens):
        while formulas and formulas[0][1] <= tokens[index].start:
            formulas.pop(0)
        name, option = _letter(text, tokens, index, formulas), options.get(index)
        if option and (name is None or option.stop > name.stop or not name.sure):
            name = option
        if name is None and tokens[index].word in w.NONE:
            name = Name("", index, index + 1)
        if (
            name
            and name.text
            and names
            and names[-1].letter == name.letter
            and _is_apart(tokens, names[-1], name)
        ):
            name = names.pop()._replace(stop=name.stop, enclosed=True, own=True)
        names += [name] if name else []
        index = name.stop if name else index + 1
    names = [name for name in names if not _is_short_for_answer(tokens, name)]
    parts = {
        name.at: name.letter
        for name in names
        if name.enclosed and not name.text and _begins_part(tokens, name)
    }
    numbered = list(parts.values())[:2] == ["A", "B"]  # "(a) 11.1 amps, (b) 29.4 amps"
    return [name for name in names if name.at not in parts] if numbered else names


def _is_apart(tokens: Sequence[Token], letter: Name, option: Name) -> bool:
    between = tokens[letter.stop : option.at]
    return not letter.text and all(
        is_markup(token) or token.text in w.SEPARATORS for token in between
    )


def _is_short_for_answer(tokens: Sequence[Token], name: Name) -> bool:
    """Whether a line begins with an A that is no option: "A: 600"."""
    if (
        name.letter != "A"
        or name.own
        or name.text
        or name.at + 2 >= len(tokens)
        or tokens[name.at + 1].word != ":"
    ):
        return False
    return tokens[name.at - 1].word == "\n" if name.at else tokens[2].text[0].isdigit()


def _begins_part(tokens: Sequence[Token], name: Name) -> bool:
    return (
        len(tokens[name.at].text) == 1
        and tokens[name.at].text.islower()
        and name.stop < len(tokens)
        and tokens[name.stop].text[0].isdigit()
    )


def _formula(match: re.Match[str]) -> tuple[int, int, bool]:
    """Where a formula lies, and whether a letter in it may name an option: if it is alone, or first in parentheses."""
    return (
        match.start(),
        match.end(),
        len(_DRESSING.sub("", match[0])) == 1 or _LABELLED.match(match[0]) is not None,
    )


def _letter(
    text: str, tokens: Sequence[Token], index: int, formulas: Sequence[tuple[int, int, bool]]
) -> Name | None:
    token = tokens[index]
    if len(token.text) != 1 or not _LETTER.match(text, token.start):
        return None
    before, after = text[token.start - 1 : token.start], text[token.end : token.end + 1]
    capital = token.text.isupper()
    enclosed = after in (")", "）") or (
        _PAIRS.get(before) == after and (capital or before != "{")
    )  # "{b}" is code
    bracketed = before in ("(", "[", "*")
    if not bracketed and _UNIT.search(text[max(token.start - 60, 0) : token.start]):
        return None
    if index and not enclosed and _makes_a_name(tokens[index - 1], token):
        return None
    inside = formulas and formulas[0][0] <= token.start
    if inside and not formulas[0][2]:
        return None
    symbol = bool(inside) and not (enclosed and capital)
    return Name(
        token.text.upper(), index, _closed(tokens, index + 1), capital or enclosed, enclosed, symbol
    )


def _makes_a_name(previous: Token, letter: Token) -> bool:
    """Whether a letter belongs to the word before it: "Fund A", "vitamin C", "World War I"."""
    word = previous.text.isascii() and previous.text.isalpha() and len(previous.text) > 1
    return word and previous.end < letter.start and previous.word not in w.BEFORE_LETTERS


def _closed(tokens: Sequence[Token], index: int) -> int:
    """The first token after the signs that close around the one before `index`."""
    while index < len(tokens):
        token = tokens[index]
        if not (
            token.text[0] in _CLOSING or token.text in ("\\)", "\\]") or token.text.startswith("</")
        ):
            break
        if token.text[0] in "\"'*_`$" and token.start > tokens[index - 1].end:
            break  # it opens something else
        index += 1
    return index


def _content(tokens: Sequence[Token]) -> list[tuple[str, int]]:
    """The words of a text that count when texts are compared, each with its token."""
    content = []
    for index, token in enumerate(tokens):
        first, word = token.text[0], ""
        if first.isalnum():
            word = _THOUSANDS.sub("", token.text.lower().replace("’", "'"))
        elif first == "\\":
            word = "" if _NO_CONTENT.fullmatch(token.text) else token.text
        elif first in "-−" and index + 1 < len(tokens):
            # A sign and not a hyphen or a dash: a digit follows at once, and nothing that it could be taken from precedes.
            signed = tokens[index + 1].start == token.end and tokens[index + 1].text[0].isdigit()
            apart = (
                not index
                or tokens[index - 1].end < token.start
                or not tokens[index - 1].text[-1].isalnum()
            )
            word = "-" if signed and apart else ""
        elif first in _OPERATORS:
            word = token.text
        if word:
            content.append((word, index))
    return content
