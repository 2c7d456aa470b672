"""Whether what a reply concludes with is the reference: right in any wording, and no better for a list of guesses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.answers import NO_ANSWER, announced, answer_of, concluding, gold
from context_bench.records import Scores
from context_bench_answer_quality.normalization import UNSPACED, normalize_answer, spaced_marks

_VERDICTS = frozenset({"yes", "no", "true", "false"})
_NEGATIONS = frozenset(
    [
        "not",
        "no",
        "never",
        "neither",
        "nor",
        "without",
        "isnt",
        "wasnt",
        "arent",
        "werent",
        "cannot",
        "cant",
        "dont",
        "doesnt",
        "didnt",
        "instead",
    ]
)
_FUNCTION_WORDS = frozenset(
    [
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "am",
        "has",
        "have",
        "had",
        "do",
        "does",
        "did",
        "will",
        "would",
        "can",
        "could",
        "may",
        "might",
        "must",
        "should",
        "shall",
        "it",
        "its",
        "he",
        "she",
        "they",
        "them",
        "his",
        "her",
        "their",
        "this",
        "that",
        "these",
        "those",
        "who",
        "whom",
        "whose",
        "which",
        "what",
        "when",
        "where",
        "why",
        "how",
        "there",
        "here",
        "i",
        "we",
        "you",
        "my",
        "our",
        "your",
        "in",
        "on",
        "at",
        "by",
        "for",
        "from",
        "with",
        "to",
        "into",
        "as",
        "than",
        "then",
        "because",
        "since",
        "so",
        "if",
        "but",
        "while",
        "although",
        "though",
        "not",
        "no",
        "therefore",
        "thus",
        "hence",
        "finally",
        "however",
        "overall",
        "indeed",
        "probably",
        "maybe",
        "perhaps",
        "likely",
        "certainly",
        "about",
        "after",
        "before",
        "during",
        "between",
        "under",
        "over",
        "also",
        "both",
        "called",
        "known",
        "named",
    ]
)
"""Words of a sentence: a piece of text that has none of them is a name, a number or the like, and may be a guess."""

_OR = re.compile(
    r"(?:\s|,)+(?:or|oder|ou|или|または|或者|o|ou bien)\s+|\s+/\s+|\s*\|\s*", re.IGNORECASE
)
_PARTS = re.compile(
    r"\n+|;\s*|,\s+|[、，；。]|(?<=[^\W\d_]{2})[.!?]+\s+|\s+(?:and|und|et|y|и)\s+", re.IGNORECASE
)
_ENUMERATED = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,3}[.)]|\(?[A-Za-z][.)])\s+")
_LONG_TEXT = 60  # words; of a longer reply that announces nothing, the first and the last sentence can be its answer
_SENTENCES = re.compile(r"\n+|(?<=[^\W\d_]{2})[.!?]+\s+|[。！？]")
_LONGEST_GUESS = 6  # words
_BESIDE = 4  # words beside the reference without which a run of words is a list without commas
_ANY_UNSPACED = re.compile(f"[{UNSPACED}\uac00-\ud7a3]")  # Korean writes particles at the word


class ShortAnswer:
    """Scores whether a reply concludes with the reference, whatever its wording.

    What a reply concludes with is :func:`context_bench.answers.concluding`: what its last box or announcement holds, or all
    of it. The score is 1 where that is a reference or states one in a sentence, 1/k where it lists k candidates - what
    choosing one of them would give on average -, and 0 where it states none or denies it. With several references, any is
    enough.

    Score keys: ``short_answer``. Details: ``concluded``, the first 200 characters of what the reply concludes with.

    >>> ShortAnswer().score({"answer": "Paris"}, {"response": "I looked it up. The answer is **Paris**."})
    {'short_answer': 1.0}
    """

    name = "short_answer"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one response.

        Args:
            original: The example; any of its references is right (`context_bench.answers.references`).
            processed: The output: ``response``.

        Returns:
            ``short_answer``, from 0 to 1; ``{}`` where there is no reference or no response.
        """
        found, response = gold(original), answer_of(processed)
        if not found.texts or response is None:
            return Scores({}, {"unscored": found.reason or NO_ANSWER})
        score = short_answer(response, found.texts)
        return Scores({"short_answer": score}, {"concluded": concluding(response)[:_SHOWN]})

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score: there is none."""
        return {}


_SHOWN = 200


def short_answer(answer: str, references: Sequence[str]) -> float:
    """Return whether the concluding part of a reply states one of the references, from 0 to 1.

    It is 1 where that part is a reference, or states it in a sentence; 1/k where it lists k candidates, which is what
    choosing one of them would give on average; and 0 where it does not state a reference, or denies it.

    Args:
        answer: The answer part of a reply.
        references: The right answers, any of which is enough.

    >>> short_answer("The capital of France is **Paris**.", ["Paris"]), short_answer("Paris, Rome, Oslo or Bern", ["Paris"])
    (1.0, 0.25)
    """
    wanted = [text for text in dict.fromkeys(map(_normal, references)) if text]
    whole = answer.strip()
    if _normal(whole) in wanted or whole in map(str.strip, references):
        return 1.0
    conclusion = concluding(answer)
    if _normal(conclusion) in wanted:
        return 1.0
    if announced(answer) is None and len(conclusion.split()) > _LONG_TEXT:
        sentences = [part for part in _SENTENCES.split(conclusion) if part.strip()]
        ends = [sentences[0], sentences[-1]] if sentences else []
    else:
        ends = [conclusion]
    return max((_stated(end, wanted) for end in ends), default=0.0)


def _stated(statement: str, wanted: Sequence[str]) -> float:
    """Return what a statement is worth: 1 for a reference, less for one among others."""
    text = _normal(statement)
    if not text:
        return 0.0
    words = text.split()
    verdicts = [one for one in wanted if one in _VERDICTS]
    if any(words[0] == verdict for verdict in verdicts):
        return 1.0
    found = [one for one in wanted if one not in _VERDICTS and _is_in(one, text)]
    if not found:
        return 0.0
    return 1.0 / _candidates(statement, found, wanted)


def _is_in(reference: str, text: str) -> bool:
    """Whether a reference stands in a text on word boundaries, not denied there."""
    start = text.find(reference)
    while start >= 0:
        end = start + len(reference)
        is_apart = not _joins(text[start - 1 : start], reference[0]) and not _joins(
            reference[-1], text[end : end + 1]
        )
        if is_apart and _NEGATIONS.isdisjoint(text[:start].split()[-2:]):
            return True
        start = text.find(reference, start + 1)
    return False


def _joins(left: str, right: str) -> bool:
    if not (left and right) or left.isspace() or right.isspace():
        return False
    return not (_ANY_UNSPACED.match(left) or _ANY_UNSPACED.match(right))


def _candidates(statement: str, found: Sequence[str], wanted: Sequence[str]) -> int:
    """Return how many answers a statement offers, the reference among them."""
    known = [frozenset(reference.split()) for reference in wanted]
    alternatives = [part for part in _OR.split(statement) if part.strip()]
    is_hedged = len(alternatives) > 1
    others = 0
    is_first = True
    for part in (part for alternative in alternatives for part in _PARTS.split(alternative)):
        text = _normal(_ENUMERATED.sub("", part))
        words = text.split()
        if not words:
            continue
        if any(_is_in(reference, text) for reference in found):
            others += _unlisted(words, found)
            is_first = is_first and others == 0
        elif _is_guess(words) and not any(frozenset(words) <= reference for reference in known):
            others += 1
            if others == 1:
                is_first = is_first and _has_begun(statement, part, found)
    # one name behind the reference tells more of it: Paris, France
    if others == 1 and is_first and not is_hedged and "\n" not in statement.strip():
        return 1
    return 1 + others


def _has_begun(statement: str, part: str, found: Sequence[str]) -> bool:
    """Whether the reference stands before a part of a statement."""
    before = _normal(statement[: statement.find(part)])
    return any(_is_in(reference, before) for reference in found)


def _is_guess(words: Sequence[str]) -> bool:
    return len(words) <= _LONGEST_GUESS and _FUNCTION_WORDS.isdisjoint(words)


def _unlisted(words: Sequence[str], found: Sequence[str]) -> int:
    """Return how many guesses stand beside the reference in a run of words without a sentence in it."""
    beside = len(words) - min(len(reference.split()) for reference in found)
    return beside if beside >= _BESIDE and _FUNCTION_WORDS.isdisjoint(words) else 0


def _normal(text: str) -> str:
    """Return a text as references are compared with it: SQuAD's normalisation, every mark of punctuation a gap.

    A mark within a number is none: 1,000 is 1000, and 3.5 stays apart from 35.
    """
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(r"(?<=\d)\.(?=\d)", "\u00b7", text)
    return normalize_answer(spaced_marks(text.replace("'s", "s").replace("’s", "s")))
