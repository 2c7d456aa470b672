"""How specific the language of a text is."""

from __future__ import annotations

import re
from functools import lru_cache

from context_bench_scorers import Category, Scorer, ScoreResult
from context_bench_scorers_text.parity import is_arthur
from context_bench_scorers_text.words import counted_words, sentences_of, words_of

_EMPTY = Category("empty", "the text has no words")
_MOST_FREQUENT = 0.001
_VAGUE_WORDS_TEXT = """
about almost anything approximately around few generally kinda lots lot many may maybe might most mostly often perhaps
possibly probably several some somehow something sometimes somewhat stuff thing things typically usually various
"""
VAGUE_WORDS = frozenset(_VAGUE_WORDS_TEXT.split())
"""Words that leave open how much, how often, or what."""
_ARTHUR_VAGUE = (
    "around", "about", "almost", "basically", "approximately", "nearly", "roughly", "some", "most", "least", "good", "bad",
    "nice", "great", "may", "could", "certain", "most", "might", "usually", "typically", "like", "sure",
)  # fmt: skip
_ARTHUR_MARKS = re.compile(r"[^\w\s'/]")
_VAGUE_PHRASES = re.compile(r"\b(?:kind|sort) of\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<!\d)\d(?:[\d.,:/]{0,1000}\d)?(?:st|nd|rd|th|%)?\b")
_NUMBER_WORDS_TEXT = """
two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion
"""
_NUMBER_WORDS = frozenset(_NUMBER_WORDS_TEXT.split())
_CAPITALISED = re.compile(r"[^\W\d_][\w'’&-]*")


class Specificity(Scorer):
    """The mean of three parts, each from 0 to 1: few vague words, rare words, names and numbers.

    With v the share of vague words, f the mean frequency of the words in English (each at most 0.001) and n the share of names
    and numbers, they are ``max(0, (1 - v) / 0.2 - 4)``, ``min(1, max(0, 2 - f / 0.0004))`` and ``min(1, 5 n)``. Frequencies
    are those of `wordfreq`; names are found by their capitals. A text without words has no score.

    Args:
        parity: ``"arthur"`` weighs each part with 0.33, so that 0.99 is the most, has the predecessor's list of vague words and
            finds them inside of others, "some" in "awesome", and cuts words as it did. Names and numbers, for which it took
            NLTK's tagger, are found as ever.
    """

    def __init__(self, *, parity: str | None = None) -> None:
        self.parity = parity
        self._is_arthur = is_arthur(parity)

    @staticmethod
    def name() -> str:
        """Return the name of the scorer."""
        return "specificity"

    @staticmethod
    def requires_reference() -> bool:
        """Whether it compares with references: it does not."""
        return False

    def run_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> list[ScoreResult]:
        """Return a result for each candidate."""
        return [self._result(text) for text in candidate_batch]

    def get_mean_word_freq(self, candidate_output: str) -> float:
        """Return the mean frequency of the words in English, each at most 0.001; 0.001 for a text without words."""
        words = (
            _ARTHUR_MARKS.sub("", candidate_output).replace("/", " ").split()
            if self._is_arthur
            else words_of(candidate_output)
        )
        if not words:
            return _MOST_FREQUENT
        return sum(min(_MOST_FREQUENT, _frequency(word.lower())) for word in words) / len(words)

    def get_num_vague_words(self, candidate_output: str) -> int:
        """Return how many words or phrases of the text are vague.

        >>> Specificity().get_num_vague_words("An awesome talk about some things")
        3
        """
        if self._is_arthur:
            lowered = candidate_output.lower()
            return sum(lowered.count(word) for word in _ARTHUR_VAGUE)
        single = sum(word.lower() in VAGUE_WORDS for word in words_of(candidate_output))
        return single + len(_VAGUE_PHRASES.findall(candidate_output))

    def get_pn_and_num(self, candidate_output: str) -> int:
        """Return how many words of the text are proper names or numbers.

        >>> Specificity().get_pn_and_num("In 1998 Larry Page and his partner rented two rooms in Menlo Park.")
        6
        """
        numbers = len(_NUMBER.findall(candidate_output)) + sum(
            word.lower() in _NUMBER_WORDS for word in words_of(candidate_output)
        )
        return numbers + sum(_names(sentence) for sentence in sentences_of(candidate_output))

    def _result(self, text: str) -> ScoreResult:
        count = len(counted_words(text) if self._is_arthur else words_of(text))
        if not count:
            return ScoreResult(None, _EMPTY)
        precise = (count - self.get_num_vague_words(text)) / count
        parts = {
            "vagueness": max(0.0, precise / 0.2 - 4),
            "rarity": min(1.0, max(0.0, 2 - self.get_mean_word_freq(text) / 0.0004)),
            "names_and_numbers": min(1.0, 5 * self.get_pn_and_num(text) / count),
        }
        weight = 0.33 if self._is_arthur else 1 / 3
        return ScoreResult(min(1.0, weight * sum(parts.values())), details=parts)


@lru_cache(maxsize=65536)
def _frequency(word: str) -> float:
    from wordfreq import word_frequency

    return float(word_frequency(word, "en"))


def _names(sentence: str) -> int:
    """Return how many words of a sentence are written as names are.

    The first word of a sentence is one when the next is, or when English hardly knows it in lower case.
    """
    words = _CAPITALISED.findall(sentence)
    if len(words) > 3 and sum(word.isupper() for word in words) > len(words) / 2:
        return 0  # a text in capitals tells nothing
    is_name = [
        word[:1].isupper() and word.split("'")[0] not in ("I", "I’m", "I’d") for word in words
    ]
    if is_name and is_name[0]:
        first = words[0].lower()
        is_name[0] = first not in _STARTERS and (
            (len(is_name) > 1 and is_name[1]) or _frequency(first) < 1e-6
        )
    return sum(is_name)


_STARTERS_TEXT = """
a an and are as at but by can did do does for from had has have he her his how if in is it its my no not of on one or
our she so that the their then there these they this those to was we were what when where which who why will with you
your
"""
_STARTERS = frozenset(_STARTERS_TEXT.split())
