"""The evaluator that answers are scored with when nothing else is asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeVar, get_args

from context_bench.answers import NO_ANSWER, answer_of, gold, text_of
from context_bench.records import Scores
from context_bench_answer_quality.normalization import (
    UNSPACED,
    character_tokens,
    spaced_marks,
    word_tokens,
)

Contains = Literal["substring", "word"]
Tokens = Literal["words", "characters"]
Rules = Literal["squad-1.1", "squad-2.0", "hotpotqa", "triviaqa"]

Chosen = TypeVar("Chosen", bound=str)

_VERDICTS = (["yes"], ["no"], ["noanswer"])
_UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")
_REMEMBERED_LENGTH = (
    2_000  # characters: gold answers are short, and a cache of books would cost more than it saves
)
_SEARCHED_TOKENS = 12  # a reference of more tokens is compared by counting


class AnswerQuality:
    """Scores an answer as SQuAD v1.1 does: `f1`, `exact_match`, and two more lenient scores, `recall` and `contains`.

    f1           harmonic mean of token precision and recall, after SQuAD's normalisation
    exact_match  1.0 if both texts are the same after normalisation
    recall       the share of the reference's tokens that the response has
    contains     1.0 if the reference stands in the response as it is, ignoring case

    What counts of a response is its answer (`context_bench.answers.part_answer`), what counts of an example are its
    `references`; with several of them, each score is that of its best one. Without a reference, or with an empty one, the
    row is unscored: `{}`, with the reason in the details. An empty answer scores 0.0.

    Args:
        contains: "word" finds the reference on word boundaries only, so that "no" is not in "know".
        tokens: "characters" makes each character of a script without spaces a token of its own.
        rules: Whose script scores. "squad-2.0" reads a reference of which normalisation leaves nothing as "there is no
            answer": right is then a response of which it leaves nothing. "hotpotqa" gives yes and no the whole `f1` or none.
            "triviaqa" parts words at punctuation, curly quotes too, where SQuAD deletes it.

    Raises:
        ValueError: An option has a value that does not exist.

    >>> AnswerQuality().score({"answer": "Paris"}, {"response": "The capital is Paris."})
    {'f1': 0.5, 'exact_match': 0.0, 'recall': 1.0, 'contains': 1.0}
    """

    name = "answer_quality"

    def __init__(
        self,
        *,
        contains: Contains = "substring",
        tokens: Tokens = "words",
        rules: Rules = "squad-1.1",
    ) -> None:
        self.contains = _choice("contains", contains, get_args(Contains))
        self.tokens = _choice("tokens", tokens, get_args(Tokens))
        self.rules = _choice("rules", rules, get_args(Rules))
        self._tokenize = _tokenizer(self.tokens, self.rules)
        self._has_verdicts = self.rules == "hotpotqa"

    def fingerprint(self) -> dict[str, str]:
        """Every parameter that can change a score."""
        return {"contains": self.contains, "tokens": self.tokens, "rules": self.rules}

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """The four scores of the answer in `processed["response"]` against the references of the example."""
        response = answer_of(processed)
        if response is None:
            return Scores({}, {"unscored": NO_ANSWER})
        _, texts, reason = gold(original)
        tokenize = self._tokenize
        if self.rules == "squad-2.0":
            is_named = bool(texts) or _is_unanswerable(original)
            texts = tuple(text for text in texts if tokenize(text.lower()))
            if is_named and not texts:
                return _all(float(not tokenize(response.lower())))
        if not texts:
            return Scores({}, {"unscored": reason})
        if not response or response.isspace():
            return _all(0.0)

        lowered = response.lower()
        tokens = tokenize(lowered)
        counted: Counter[str] | None = None
        f1 = exact_match = recall = contains = 0.0
        for text in texts:
            wanted_text, wanted = (_remembered if len(text) < _REMEMBERED_LENGTH else _read)(
                text, tokenize
            )
            if tokens == wanted:
                exact_match = 1.0
            if len(wanted) <= _SEARCHED_TOKENS:
                shared = _shared_by_search(tokens, wanted)
            else:
                counted = Counter(tokens) if counted is None else counted
                shared = _shared_by_count(counted, wanted)
            if shared and not (self._has_verdicts and _is_another_verdict(tokens, wanted)):
                of_response, of_reference = shared / len(tokens), shared / len(wanted)
                reference_f1 = 2 * of_response * of_reference / (of_response + of_reference)
                f1 = (
                    reference_f1 if reference_f1 > f1 else f1
                )  # max() would take a tenth of the whole time
                recall = of_reference if of_reference > recall else recall
            if not contains and wanted_text in lowered:
                contains = float(
                    self.contains == "substring" or _on_word_boundaries(wanted_text, lowered)
                )
        return {"f1": f1, "exact_match": exact_match, "recall": recall, "contains": contains}


def _tokenizer(tokens: Tokens, rules: Rules) -> Callable[[str], list[str]]:
    if rules == "triviaqa":
        return _spaced_words if tokens == "words" else _spaced_characters
    return word_tokens if tokens == "words" else character_tokens


def _is_another_verdict(tokens: list[str], wanted: list[str]) -> bool:
    """Whether one of two answers is nothing but a yes or a no, and the other is not the same."""
    return tokens != wanted and (tokens in _VERDICTS or wanted in _VERDICTS)


def _spaced_words(lowered: str) -> list[str]:
    return word_tokens(spaced_marks(lowered))


def _spaced_characters(lowered: str) -> list[str]:
    return character_tokens(spaced_marks(lowered))


def _is_unanswerable(original: Mapping[str, Any]) -> bool:
    """Whether an example names its answer, and the answer is that there is none."""
    return original.get("answers") is not None or text_of(original.get("answer")) is not None


def _read(text: str, tokenize: Callable[[str], list[str]]) -> tuple[str, list[str]]:
    """A reference as `contains` looks for it, and its tokens."""
    lowered = text.strip().lower()
    return lowered, tokenize(lowered)


_remembered = lru_cache(maxsize=4096)(_read)  # a run reads each reference once for every system


def _shared_by_search(tokens: list[str], wanted: list[str]) -> int:
    """How many tokens two texts share, each counted as often as it stands in both."""
    left = tokens
    for token in wanted:
        if token in left:
            if left is tokens:
                left = tokens.copy()
            left.remove(token)
    return len(tokens) - len(left)


def _shared_by_count(counted: Counter[str], wanted: list[str]) -> int:
    """The same, faster for a long reference."""
    return sum(
        min(counted[token], count) for token, count in Counter(wanted).items() if token in counted
    )


def _on_word_boundaries(needle: str, text: str) -> bool:
    """Whether a word of `text` begins where `needle` begins, and one ends where it ends."""
    start = text.find(needle)
    while start >= 0:
        end = start + len(needle)
        if not _joined(text[start - 1 : start], needle[0]) and not _joined(
            needle[-1], text[end : end + 1]
        ):
            return True
        start = text.find(needle, start + 1)
    return False


def _joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word. Characters of scripts without spaces never do."""
    if not (left and right) or not (_is_word(left) and _is_word(right)):
        return False
    return not (_UNSPACED_CHARACTER.match(left) or _UNSPACED_CHARACTER.match(right))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _all(value: float) -> dict[str, float]:
    return dict.fromkeys(("f1", "exact_match", "recall", "contains"), value)


def _choice(option: str, value: Chosen, choices: tuple[str, ...]) -> Chosen:
    if value not in choices:
        raise ValueError(
            f"AnswerQuality has no {option}={value!r}. Choose one of: {', '.join(choices)}."
        )
    return value
