"""Sentences, by the Punkt algorithm with NLTK's English parameters.

The benchmark counts what `nltk.sent_tokenize` returns. NLTK takes longer to import than all of this package takes to
answer, and it wants its parameters downloaded, so the algorithm is applied here. The rules are those of NLTK up to
version 3.10.1, with which the published scores were made; later versions also end a sentence before a curly quote, which
changes some published verdicts.

Source: Tibor Kiss and Jan Strunk, Unsupervised Multilingual Sentence Boundary Detection (2006), section 4; `nltk.tokenize.punkt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from context_bench_ifeval.punkt_parameters import PunktParameters, punkt_parameters

_CLOSING = r"""[)";}\]*:@'({\[?!]"""
"""Signs that are never a part of a word."""

_STRETCHED = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
"""Dashes and ellipses, spaced ones included."""

_TOKEN = re.compile(
    rf"""{_STRETCHED}
    | [^\s("`{{\[:;&\#*@)}}\]\-,] \S*? (?= \s | $ | {_CLOSING} | {_STRETCHED} | ,(?: $ | \s | {_CLOSING} | {_STRETCHED} ) )
    | \S""",
    re.VERBOSE,
)
_CANDIDATE = re.compile(rf"[.?!](?=(?P<after>{_CLOSING}|\s+(?P<next>\S+)))")
_REALIGNED = re.compile(r"""["')\]}]+?(?:\s+|(?=--)|$)""", re.MULTILINE)
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*\.?$")
_INITIAL = re.compile(r"[^\W\d]\.")
_ELLIPSIS = re.compile(r"\.{2,}$")
_OTHER_SPACES = "\t\n\r\v\f"

Span = tuple[int, int]


def sentences(text: str) -> list[str]:
    """The sentences of `text`, without the white space between them.

    Example:
        >>> sentences("Mr. Brown went to Washington, D.C. He liked it (a lot!). Then he left.")
        ['Mr. Brown went to Washington, D.C.', 'He liked it (a lot!).', 'Then he left.']
    """
    return [text[start:end] for start, end in _realigned(text, _spans(text))]


def count_sentences(text: str) -> int:
    """How many sentences `text` has."""
    return len(_realigned(text, _spans(text)))


def _spans(text: str) -> Iterator[Span]:
    """Where the sentences are, closing quotes and brackets still with the sentence behind them."""
    start = 0
    parameters = punkt_parameters()
    for candidate, word in _candidates(text):
        if _is_plain_end(candidate[0], word, parameters) or _holds_a_break(
            word + candidate[0] + candidate["after"], parameters
        ):
            yield start, candidate.end()
            following = candidate.start("next")
            start = candidate.end() if following < 0 else following
    yield start, len(text.rstrip())


def _realigned(text: str, spans: Iterable[Span]) -> list[Span]:
    """The spans, with the quotes and brackets that close a sentence moved to its end."""
    result: list[Span] = []
    moved = 0
    previous_start, previous_end = 0, 0
    for start, end in spans:
        closing = _REALIGNED.match(text, start, end) if start else None
        previous_start += moved
        if closing:
            result.append((previous_start, start + len(closing[0].rstrip())))
        elif previous_start < previous_end:
            result.append((previous_start, previous_end))
        moved = len(closing[0]) if closing else 0
        previous_start, previous_end = start, end
    if previous_start + moved < previous_end:
        result.append((previous_start + moved, previous_end))
    return result


def _candidates(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Every sign that may end a sentence, with the word before it. Of several signs in one word only the last is a candidate."""
    word_start = word_end = 0
    pending: re.Match[str] | None = None
    for candidate in _CANDIDATE.finditer(text):
        end = candidate.start()
        space = text.rfind(" ", word_end, end)
        for other in _OTHER_SPACES:
            space = max(space, text.rfind(other, max(space, word_end), end))
        # A space at the very beginning is overlooked, as in the reference.
        start = space + 1 if space > word_end else word_start
        if pending is not None and word_end <= start:
            yield pending, text[word_start:word_end]
        word_start, word_end, pending = start, end, candidate
    if pending is not None:
        yield pending, text[word_start:word_end]


def _is_plain_end(sign: str, word: str, parameters: PunktParameters) -> bool:
    """Whether `sign` ends a sentence whatever follows: nearly all do, and this spares them the whole procedure.

    A question or exclamation mark always does. So does the period of a word of letters only, unless the word is an initial,
    an abbreviation or the first of a collocation.
    """
    if sign != ".":
        return True
    return len(word) > 1 and word.isalpha() and word.lower() not in parameters.words_before_a_period


class _Token:
    """A word or sign, and what is thought of the period at its end."""

    __slots__ = ("abbreviates", "breaks", "parameters", "text", "trails_off", "type")

    def __init__(self, text: str, parameters: PunktParameters) -> None:
        lowered = text.lower()
        self.text = text
        self.type = _NUMBER.sub("##number##", lowered) if _NUMBER.match(lowered) else lowered
        self.parameters = parameters
        self.breaks = text in (".", "?", "!")
        self.trails_off = not self.breaks and _ELLIPSIS.match(text) is not None
        self.abbreviates = False
        if (
            not (self.breaks or self.trails_off)
            and lowered.endswith(".")
            and not lowered.endswith("..")
        ):
            word = lowered[:-1]
            known = parameters.abbreviations
            self.abbreviates = word in known or word.rpartition("-")[2] in known
            self.breaks = not self.abbreviates

    @property
    def type_without_period(self) -> str:
        return self.type[:-1] if len(self.type) > 1 and self.type.endswith(".") else self.type

    def decide(self, following: _Token) -> None:
        """Revise what is thought of the period, knowing the token behind it."""
        if not self.text.endswith("."):
            return
        parameters = self.parameters
        word_type = self.type_without_period
        next_type = following.type_without_period if following.breaks else following.type
        initial = _INITIAL.fullmatch(self.text) is not None
        if (word_type, next_type) in parameters.collocations:
            self.breaks = False
            return
        starts = following.starts_a_sentence(next_type)
        capitalised = following.text[0].isupper()
        if (
            (self.abbreviates or self.trails_off)
            and not initial
            and (starts or (capitalised and next_type in parameters.sentence_starters))
        ):
            self.breaks = True
            return
        if (initial or word_type == "##number##") and (
            starts is False
            or (
                starts is None
                and initial
                and capitalised
                and not parameters.seen_in_lower_case(next_type)
            )
        ):
            self.breaks = False

    def starts_a_sentence(self, word_type: str) -> bool | None:
        """What the case of the first letter says, None if it says nothing."""
        if self.text in (";", ":", ",", ".", "!", "?"):
            return False
        if self.text[0].isupper() and self.parameters.begins_if_capitalised(word_type):
            return True
        if self.text[0].islower() and self.parameters.continues_if_small(word_type):
            return False
        return None


def _holds_a_break(context: str, parameters: PunktParameters) -> bool:
    """Whether a token of `context`, other than the last, ends a sentence."""
    previous: _Token | None = None
    for line in context.split("\n"):
        for word in _TOKEN.findall(line):
            token = _Token(word, parameters)
            if previous is not None:
                previous.decide(token)
                if previous.breaks:
                    return True
            previous = token
    return False
