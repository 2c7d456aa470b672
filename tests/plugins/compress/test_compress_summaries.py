"""LSA, LexRank and Luhn: sumy's ratings on our sentences."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import warnings
from typing import Any

import pytest

from context_bench_compress import LexRankSummary, LSASummary, LuhnSummary
from context_bench_compress.summarizers import SECTION, rate
from context_bench_compress.terms import terms_of

pytest.importorskip("sumy", reason="the library that rates sentences")
pytest.importorskip("threadpoolctl", reason="the library that keeps matrices on one thread")

SENTENCES = [
    "The old tower of the town stands on a hill above the harbour.",
    "Rain fell.",
    "From the tower one sees the harbour, the town and the hills around the town.",
    "Visitors climb the tower to see the harbour and the hills.",
    "Nobody spoke of the code.",
    "The tower keeper counts the visitors of the tower every day.",
    "Time passed slowly there.",
]
CONTEXT = " ".join(SENTENCES)
METHODS = {"lsa": LSASummary, "lexrank": LexRankSummary, "luhn": LuhnSummary}


def by_sumy(method: str, sentences: list[str]) -> list[float]:
    """Return the ratings of sumy's own classes as it ships them."""
    from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
    from sumy.nlp.stemmers import Stemmer
    from sumy.summarizers.lex_rank import LexRankSummarizer
    from sumy.summarizers.lsa import LsaSummarizer
    from sumy.summarizers.luhn import LuhnSummarizer
    from sumy.utils import get_stop_words

    class Words:
        @staticmethod
        def to_words(sentence: str) -> tuple[str, ...]:
            return tuple(terms_of(sentence))

    kind = {"lsa": LsaSummarizer, "lexrank": LexRankSummarizer, "luhn": LuhnSummarizer}[method]
    summarizer = kind(Stemmer("english"))
    summarizer.stop_words = get_stop_words("english")
    ratings: dict[int, float] = {}

    def note(found: Any) -> Any:
        ratings.update({each.order: float(each.rating) for each in found})
        return found

    with warnings.catch_warnings():  # of fewer words than sentences, and of a division by zero
        warnings.simplefilter("ignore")
        summarizer(
            ObjectDocumentModel([Paragraph([Sentence(text, Words) for text in sentences])]), note
        )
    return [
        rating if math.isfinite(rating := ratings.get(order, 0.0)) else 0.0
        for order in range(len(sentences))
    ]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "sentences",
    [SENTENCES, SENTENCES[:3], SENTENCES * 3, ["The cat sees a dog."] * 5],
    ids=["7", "3", "21", "same"],
)
def test_ratings_are_those_of_sumy(method: str, sentences: list[str]) -> None:
    assert rate(method, sentences, "en") == pytest.approx(by_sumy(method, sentences), abs=1e-9)


@pytest.mark.parametrize(
    ("method", "kept"),
    [
        ("lsa", [3]),
        ("lexrank", [1, 3]),
        ("luhn", [2]),
    ],
)
def test_the_sentences_that_sum_it_up_stay_as_they_were(method: str, kept: list[int]) -> None:
    output = METHODS[method](tokens=17).process({"context": CONTEXT})
    assert output["context"] == " ".join(SENTENCES[index] for index in kept)
    assert output["compression"]["sentences"] == len(kept)


@pytest.mark.one_python
def test_ratings_do_not_depend_on_the_process() -> None:
    """sumy numbers words in the order of a set, which differs from process to process."""
    names = [method.__name__ for method in METHODS.values()]
    code = (
        f"import json, sys, context_bench_compress as package; names = {names};"
        "print(json.dumps([getattr(package, name)(ratio=0.3).process({'context': sys.argv[1]}) for name in names]))"
    )
    context = " ".join(
        f"{sentence} Number {number} is here." for number in range(12) for sentence in SENTENCES
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, context],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
    assert all(output["compression"]["sentences"] > 3 for output in json.loads(outputs.pop()))


@pytest.mark.parametrize("method", METHODS)
def test_every_section_of_a_long_text_has_its_say(method: str) -> None:
    parts = [
        f"Part {part} tells of the tower and town {part} again and again."
        for part in range(SECTION * 3)
    ]
    output = METHODS[method](ratio=0.1).process({"context": " ".join(parts)})
    kept = [int(sentence.split()[1]) for sentence in output["context"].split(". ") if sentence]
    sections = [part // SECTION for part in kept]
    assert min(sections.count(section) for section in range(3)) >= len(kept) // 3 - 1
    assert kept == sorted(kept)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "context",
    ["One sentence only.", "?! … --", "\ud800 \udc00", ["", "Rain fell. Time passed."]],
    ids=repr,
)
def test_texts_with_little_to_rate_are_taken(method: str, context: Any) -> None:
    output = METHODS[method](ratio=0.9).process({"context": context})
    assert output["compression"]["tokens_after"] <= output["compression"]["budget"]


@pytest.mark.parametrize("language", ["de", "fr", "cs", "zh", "xx", "no such language"])
def test_a_language_that_sumy_does_not_know_has_no_stop_words_and_no_stems(language: str) -> None:
    for kind in METHODS.values():
        output = kind(ratio=0.5, language=language).process(
            {"context": "Der Turm steht. Der Turm fällt. Es regnet."}
        )
        assert output["compression"]["sentences"] >= 1


def test_the_versions_of_the_libraries_are_part_of_the_fingerprint() -> None:
    fingerprint = LSASummary(tokens=5).fingerprint()
    assert fingerprint["tokens"] == 5
    assert fingerprint["ranker"].startswith("sumy ")
    assert "nltk " in fingerprint["ranker"]
    assert "threadpoolctl" not in fingerprint["ranker"]
