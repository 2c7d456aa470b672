from __future__ import annotations

import logging
import math
import threading
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_bench_compress import BM25Passages
from context_bench_compress.bm25 import bm25_scores
from context_bench_compress.terms import terms_of

DOCUMENT = (
    "The harbour was quiet. The tower stands on the hill. Rain fell all day. The code of the vault is 4711. "
    "Nobody spoke. The vault has no window. Time passed."
)


def one(**options: object) -> BM25Passages:
    return BM25Passages(passage_sentences=1, **options)  # type: ignore[arg-type]


def by_the_formula(
    documents: list[list[str]], query: list[str], k1: float, b: float
) -> list[float]:
    """Lucene's BM25 as the papers write it, over the documents that have terms."""
    filled = [document for document in documents if document]
    average = sum(map(len, filled)) / max(len(filled), 1)
    scores = []
    for document in documents:
        score = 0.0
        counts = Counter(document)
        for term in query:
            if counts[term]:
                n = sum(term in other for other in filled)
                idf = math.log(1 + (len(filled) - n + 0.5) / (n + 0.5))
                tf = counts[term] / (counts[term] + k1 * (1 - b + b * len(document) / average))
                score += idf * tf
        scores.append(score)
    return scores


terms = st.sampled_from(["a", "b", "c", "d", "e"])


@settings(deadline=None)
@given(
    documents=st.lists(st.lists(terms, max_size=8), max_size=8),
    query=st.lists(st.one_of(terms, st.just("unknown")), max_size=5),
    k1=st.sampled_from([0.0, 0.9, 1.5]),
    b=st.sampled_from([0.0, 0.4, 0.75, 1.0]),
)
def test_scores_are_those_of_the_formula(
    documents: list[list[str]], query: list[str], k1: float, b: float
) -> None:
    assert bm25_scores(documents, query, k1, b) == pytest.approx(
        by_the_formula(documents, query, k1, b), abs=1e-8
    )


@pytest.mark.parametrize(
    ("tokens", "kept"),
    [
        (8, "The code of the vault is 4711."),
        (14, "The code of the vault is 4711."),
        (15, "The tower stands on the hill. The code of the vault is 4711."),
        (
            21,
            "The tower stands on the hill. The code of the vault is 4711. The vault has no window.",
        ),
    ],
)
def test_the_best_passages_stay_in_document_order(tokens: int, kept: str) -> None:
    question = "What is the code of the vault on the hill?"
    assert (
        one(tokens=tokens).process({"context": DOCUMENT, "question": question})["context"] == kept
    )


def test_passages_that_fit_alike_are_taken_from_the_beginning() -> None:
    example = {"context": "Red sun. Blue sea. Red sun. Blue sea. Red sun.", "question": "red?"}
    assert one(tokens=3).process(example)["context"] == "Red sun."
    assert one(tokens=9).process(example)["context"] == "Red sun. Red sun. Red sun."
    assert one(tokens=12).process(example)["context"] == "Red sun. Blue sea. Red sun. Red sun."


def test_a_question_that_matches_nothing_leaves_the_first_passages_and_says_so() -> None:
    output = one(tokens=8).process(
        {"context": "Red sun. Blue sea. Green hill.", "question": "zebra"}
    )
    assert output["context"] == "Red sun. Blue sea."
    assert output["compression"]["passages_matching"] == 0
    assert "fallback" not in output["compression"]


@pytest.mark.parametrize("question", [None, "", "  ", "?!", 5, ["Red?"]], ids=repr)
def test_without_a_question_the_first_passages_stay_and_the_output_says_so(
    question: object,
) -> None:
    example = {"context": "Red sun. Blue sea. Green hill.", "question": question}
    output = one(tokens=8).process(example)
    assert output["context"] == "Red sun. Blue sea."
    assert output["compression"]["fallback"] == "no question"
    with pytest.raises(
        ValueError, match=r"bm25: the row has no question to search with.*without_question=lead"
    ):
        one(tokens=8, without_question="error").process(example)


def test_a_missing_question_is_like_an_empty_one() -> None:
    assert (
        one(tokens=3).process({"context": "Red sun. Blue sea."})["compression"]["fallback"]
        == "no question"
    )


def test_where_not_even_the_best_passage_fits_its_beginning_stays() -> None:
    example = {
        "context": "Red sun. The vault of the old tower is open. Blue sea.",
        "question": "vault",
    }
    output = one(tokens=4).process(example)
    assert output["context"] == "The vault of the"
    assert output["compression"]["cut"] is True
    assert output["compression"]["passages_kept"] == 0


def test_the_output_counts_the_passages() -> None:
    output = one(tokens=14).process({"context": DOCUMENT, "question": "vault code"})
    assert output["compression"] == {
        "tokens_before": 37,
        "tokens_after": 14,
        "budget": 14,
        "passages": 7,
        "passages_kept": 2,
        "passages_matching": 2,
    }


@pytest.mark.parametrize(
    ("options", "tokens", "kept"),
    [
        ({"passage_sentences": 2}, 17, "Rain fell all day. The code of the vault is 4711."),
        (
            {"passage_sentences": 3},
            17,
            "The code of the vault is 4711. Nobody spoke. The vault has no window.",
        ),
        ({"passage_tokens": 5}, 15, "day. The code of the vault is 4711. Nobody spoke. The vault"),
        ({"passage_tokens": 1}, 2, "code vault"),
    ],
)
def test_passages_have_the_size_asked_for(options: dict[str, int], tokens: int, kept: str) -> None:
    system = BM25Passages(tokens=tokens, **options)
    assert system.process({"context": DOCUMENT, "question": "vault code"})["context"] == kept


def test_words_on_both_sides_of_a_gap_stay_apart() -> None:
    example = {"context": "红日。蓝海。红山。" + "绿" * 9, "question": "红日 红山"}
    assert one(tokens=4).process(example)["context"] == "红日。 红山。"
    example = {"context": "red-blue-red", "question": "red"}
    assert BM25Passages(tokens=2, passage_tokens=1).process(example)["context"] == "red red"


def test_paragraphs_stay_paragraphs() -> None:
    example = {"context": "Red sun.\n\nBlue sea.\n\nRed hill. Old.\n\nRed mill.", "question": "red"}
    assert one(tokens=9).process(example)["context"] == "Red sun.\n\nRed hill. \n\nRed mill."
    assert one(tokens=3).process({**example, "question": "blue"})["context"] == "Blue sea."


def test_chinese_is_searched_by_pairs_of_characters() -> None:
    context = "北京大学很有名。今天天气很好。上海是大城市。"
    assert (
        one(tokens=2).process({"context": context, "question": "天气怎么样"})["context"]
        == "今天天气很好。"
    )


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The CODE, the code!", ["the", "code", "the", "code"]),
        ("amber-otter 4711", ["amber", "otter", "4711"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("ｃｏｄｅ", ["code"]),
        ("北京大学 is", ["北京", "京大", "大学", "is"]),
        ("東京タワー2", ["東京", "京タ", "タワ", "ワー", "2"]),
        ("山", ["山"]),
        ("서울 대학교", ["서울", "대학교"]),
        ("привет мир", ["привет", "мир"]),
        ("", []),
        ("?! …", []),
    ],
)
def test_terms_are_words_and_pairs_of_characters(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms


def test_a_long_table_is_cut_into_windows() -> None:
    rows = "".join(f"key{index} value{index}\n" for index in range(2000))
    output = one(tokens=300).process({"context": rows, "question": "What is the value of key1234?"})
    assert "key1234 value1234" in output["context"]
    assert output["compression"]["passages"] == 20


def test_nothing_is_logged_or_printed(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        one(tokens=5).process({"context": DOCUMENT, "question": "vault"})
    assert not [record for record in caplog.records if record.name.startswith("bm25s")]
    assert capsys.readouterr() == ("", "")


def test_threads_may_share_a_compressor() -> None:
    system = one(tokens=14)
    examples = [
        {"context": DOCUMENT * (1 + index % 3), "question": ["vault", "tower", "rain"][index % 3]}
        for index in range(30)
    ]
    alone = [system.process(example) for example in examples]
    together: dict[int, object] = {}
    threads = [
        threading.Thread(
            target=lambda at=index: together.update({at: system.process(examples[at])})
        )
        for index in range(len(examples))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[index] for index in range(len(examples))] == alone
