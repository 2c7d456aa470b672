"""ROUGE as the rouge-score package defines it, as an evaluator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any

from context_bench.answers import NO_ANSWER, answer_of, gold
from context_bench.records import Scores
from context_bench_rouge.bands import score_band
from context_bench_rouge.choices import Mode, RougeType, parse
from context_bench_rouge.measures import Score, score_lcs, score_ngrams, score_summary_lcs
from context_bench_rouge.sentences import Splitter, lines, punkt_splitter
from context_bench_rouge.tokenizers import TOKENIZERS, Tokenizer, stemmed, tokenizer_for


class RougeScore:
    """ROUGE-1, -2, -L or -Lsum: n-grams or the longest common subsequence that a text shares with its reference.

    For each type there are three keys. `rougeL` is the value that `mode` selects, the F-measure unless told otherwise;
    `rougeL_precision` and `rougeL_recall` stand beside it in every mode. With several references in `answers`, each
    type takes the one with the best F-measure. Without a reference, or with a blank one, the row is unscored: `{}`. An
    empty response scores 0.0.

    Precision, recall and F-measure equal those of rouge-score 0.1.2 for references in Latin letters.

    Args:
        rouge_type: ROUGE_1, ROUGE_2, ROUGE_L, ROUGE_LSUM, several of them, or "all". As a text in any spelling.
        mode: PRECISION, RECALL or FMEASURE. As a text in any spelling.
        stemmer: Whether to compare the stems of English words (Porter).
        tokenizer: "rouge-score" (runs of a-z and 0-9), "unicode" (words of any script), "whitespace", "auto" (the
            first, or the second where most of the reference's letters are not Latin or it has none of a-z and 0-9), or a
            function from a text to its words.
        split_summaries: Whether ROUGE-Lsum finds sentences with NLTK instead of taking each line for one.
        rougeType: Another name of rouge_type.

    Raises:
        ValueError: An option has a value that does not exist; the message lists those there are.
        ImportError: split_summaries is on, and NLTK or its Punkt model is not installed.

    >>> score = RougeScore(rouge_type="ROUGE_1", mode="recall").score
    >>> score({"answer": "the quick brown fox"}, {"response": "a quick fox"})
    {'rouge1': 0.5, 'rouge1_precision': 0.6666666666666666, 'rouge1_recall': 0.5}
    """

    name = "rouge_score"

    def __init__(
        self,
        rouge_type: RougeType | str | Iterable[RougeType | str] = RougeType.ROUGE_L,
        mode: Mode | str = Mode.FMEASURE,
        stemmer: bool | str = False,
        tokenizer: str | Tokenizer = "auto",
        *,
        split_summaries: bool = False,
        rougeType: RougeType | str | Iterable[RougeType | str] | None = None,  # noqa: N803 - the documented name
    ) -> None:
        self.rouge_types = _rouge_types(_one_of(rouge_type, rougeType))
        self.mode = parse(Mode, mode)
        self.stemmer = _stemmer(stemmer)
        self.tokenizer = _tokenizer(tokenizer)
        self.split_summaries = bool(split_summaries)
        # What is missing is said here, and not at the first row.
        self._split = (
            punkt_splitter()
            if self.split_summaries and RougeType.ROUGE_LSUM in self.rouge_types
            else lines
        )

    @property
    def primary(self) -> str:
        """The key of the main score."""
        return self.rouge_types[0].value

    @property
    def score_keys(self) -> tuple[str, ...]:
        """The keys that it gives with its options."""
        return tuple(
            key
            for kind in self.rouge_types
            for key in (kind.value, f"{kind.value}_precision", f"{kind.value}_recall")
        )

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score."""
        return {
            "rouge_type": [rouge_type.value for rouge_type in self.rouge_types],
            "mode": self.mode.value,
            "stemmer": self.stemmer,
            "tokenizer": self.tokenizer
            if isinstance(self.tokenizer, str)
            else _qualified_name(self.tokenizer),
            "split_summaries": self.split_summaries,
        }

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """The scores of the answer in `processed["response"]` against the references of the example."""
        response, found = answer_of(processed), gold(original)
        references = found.texts or tuple(
            text for text in found.values if isinstance(text, str) and text
        )
        if response is None or not references:
            return Scores({}, {"unscored": NO_ANSWER if response is None else found.reason})
        compared = [self.compare(response, reference) for reference in references]
        scores: dict[str, float] = {}
        details: dict[str, Any] = {}
        for rouge_type in self.rouge_types:
            key, value = (
                rouge_type.value,
                max([of[rouge_type] for of in compared], key=attrgetter("fmeasure")),
            )
            scores[key] = getattr(value, self.mode.value)
            scores[f"{key}_precision"], scores[f"{key}_recall"] = value.precision, value.recall
            details[key] = {**value._asdict(), "band": score_band(scores[key])}
        return Scores(scores, details)

    def compare(self, prediction: str, reference: str) -> dict[RougeType, Score]:
        """All three values of each type, for one text and one reference. An empty text gives zeros.

        >>> RougeScore("rouge2").compare("a quick brown fox", "the quick brown fox")[RougeType.ROUGE_2].recall
        0.6666666666666666
        """
        tokenize = self.tokenizer
        if isinstance(tokenize, str):
            tokenize = TOKENIZERS[tokenizer_for(tokenize, reference)]
        if self.stemmer:
            tokenize = stemmed(tokenize)
        texts = _Text(prediction, tokenize, self._split), _Text(reference, tokenize, self._split)
        return {rouge_type: _MEASURES[rouge_type](*texts) for rouge_type in self.rouge_types}


class _Text:
    def __init__(self, text: str, tokenize: Tokenizer, split: Splitter) -> None:
        self._text, self._tokenize, self._split = text, tokenize, split

    @cached_property
    def words(self) -> list[str]:
        return self._tokenize(self._text)

    @cached_property
    def sentences(self) -> list[list[str]]:
        return [self._tokenize(sentence) for sentence in self._split(self._text)]


_MEASURES: dict[RougeType, Callable[[_Text, _Text], Score]] = {
    RougeType.ROUGE_1: lambda prediction, reference: score_ngrams(
        prediction.words, reference.words, 1
    ),
    RougeType.ROUGE_2: lambda prediction, reference: score_ngrams(
        prediction.words, reference.words, 2
    ),
    RougeType.ROUGE_L: lambda prediction, reference: score_lcs(prediction.words, reference.words),
    RougeType.ROUGE_LSUM: lambda prediction, reference: score_summary_lcs(
        prediction.sentences, reference.sentences
    ),
}


def _one_of(rouge_type: Any, alias: Any) -> Any:
    if alias is None:
        return rouge_type
    if rouge_type not in (RougeType.ROUGE_L, RougeType.ROUGE_L.value) and _rouge_types(
        rouge_type
    ) != _rouge_types(alias):
        raise ValueError(
            f"RougeScore was given rouge_type={rouge_type!r} and rougeType={alias!r}, which are one option."
        )
    return alias


def _rouge_types(value: RougeType | str | Iterable[RougeType | str]) -> tuple[RougeType, ...]:
    if isinstance(value, str):
        value = RougeType if value.casefold() == "all" else value.split(",")
    elif isinstance(value, RougeType) or not isinstance(value, Iterable):
        value = (value,)
    types = tuple(dict.fromkeys(parse(RougeType, one) for one in value))
    if not types:
        raise ValueError("RougeScore was given no rouge_type. Name one, several, or 'all'.")
    return types


def _stemmer(value: bool | str) -> bool:
    if value in (True, False):
        return bool(value)
    if value in ("porter", "off"):
        return value == "porter"
    raise ValueError(
        f"RougeScore has no stemmer {value!r}. Choose one of: true or porter, false or off."
    )


def _tokenizer(value: str | Tokenizer) -> str | Tokenizer:
    names = ("auto", *TOKENIZERS)
    if value in names or callable(value):
        return value
    raise ValueError(
        f"RougeScore has no tokenizer {value!r}. Choose one of: {', '.join(names)}, or give a function."
    )


def _qualified_name(function: Tokenizer) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"
