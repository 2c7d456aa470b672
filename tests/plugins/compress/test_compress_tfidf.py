from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_bench_compress import TfidfPassages
from context_bench_compress.terms import terms_of
from context_bench_compress.tfidf import tfidf_scores

DOCUMENT = (
    "The harbour was quiet. The tower stands on the hill. Rain fell all day. The code of the vault is 4711. "
    "Nobody spoke. The vault has no window. Time passed."
)
QUESTION = "What is the code of the vault on the hill?"


@pytest.mark.parametrize(
    ("sublinear", "published"),
    [
        (False, [0.205239219, 0.603412872, 0.0, 0.793621216, 0.0, 0.3002687, 0.0]),
        (True, [0.159678772, 0.547165998, 0.0, 0.772524758, 0.0, 0.271445802, 0.0]),
    ],
    ids=["tf", "1 + ln(tf)"],
)
def test_scores_are_those_of_scikit_learn(sublinear: bool, published: list[float]) -> None:
    """Recorded from TfidfVectorizer(token_pattern=r"\\w+", sublinear_tf=...) of scikit-learn 1.9.1."""
    documents = [terms_of(sentence) for sentence in DOCUMENT.split(". ")]
    assert tfidf_scores(documents, terms_of(QUESTION), sublinear) == pytest.approx(
        published, abs=1e-8
    )


def by_the_formula(documents: list[list[str]], query: list[str]) -> list[float]:
    vocabulary = sorted({term for document in documents for term in document})
    n = {term: sum(term in document for document in documents) for term in vocabulary}

    def vector(terms: list[str]) -> list[float]:
        counts = Counter(terms)
        return [
            counts[term] * (math.log((1 + len(documents)) / (1 + n[term])) + 1)
            for term in vocabulary
        ]

    asked = vector(query)
    scores = []
    for document in documents:
        own = vector(document)
        product = sum(a * b for a, b in zip(asked, own))
        scores.append(product / (math.hypot(*asked) * math.hypot(*own)) if product else 0.0)
    return scores


terms = st.sampled_from(["a", "b", "c", "d", "e"])


@settings(deadline=None)
@given(
    documents=st.lists(st.lists(terms, max_size=8), max_size=8),
    query=st.lists(st.one_of(terms, st.just("unknown")), max_size=5),
)
def test_scores_are_those_of_the_formula(documents: list[list[str]], query: list[str]) -> None:
    scores = tfidf_scores(documents, query)
    assert scores == pytest.approx(by_the_formula(documents, query), abs=1e-8)
    assert all(0 <= score <= 1 for score in scores)


def test_the_best_passages_stay_in_document_order() -> None:
    system = TfidfPassages(tokens=15, passage_sentences=1)
    output = system.process({"context": DOCUMENT, "question": QUESTION})
    assert output["context"] == "The tower stands on the hill. The code of the vault is 4711."
    assert output["compression"]["passages_matching"] == 4


def test_a_long_passage_that_repeats_a_word_does_not_beat_a_short_one_about_it() -> None:
    context = "Vault. The vault, the old vault and many other things of the town were seen by us that day."
    assert (
        TfidfPassages(tokens=2, passage_sentences=1).process(
            {"context": context, "question": "vault"}
        )["context"]
        == "Vault."
    )


def test_options_of_other_types_are_refused() -> None:
    with pytest.raises(
        TypeError, match=r"^tfidf: sublinear is 'no', and true or false is needed\.$"
    ):
        TfidfPassages(sublinear="no")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"^tfidf: both passage_sentences and passage_tokens are given"
    ):
        TfidfPassages(passage_sentences=1, passage_tokens=1)
    with pytest.raises(ValueError, match=r"^tfidf: the row has no question to search with"):
        TfidfPassages(without_question="error").process({"context": "Rain fell. Time passed."})
