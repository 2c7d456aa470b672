from __future__ import annotations

from typing import Any

import pytest

from context_bench_compress import BM25Passages, Head, Identity, LeadSentences, Tail

STORY = "Dr. Ash fell on Jan. 5. Time passed!  Was it late? It was.\n\nA new day began. Bells rang."


@pytest.mark.parametrize(
    ("system", "kept"),
    [
        (Identity(), STORY),
        (Head(tokens=0), ""),
        (Head(tokens=1), "Dr"),
        (Head(tokens=9), "Dr. Ash fell on Jan. 5."),
        (Head(tokens=12), "Dr. Ash fell on Jan. 5. Time passed!"),
        (Tail(tokens=0), ""),
        (Tail(tokens=3), "Bells rang."),
        (Tail(tokens=9), ".\n\nA new day began. Bells rang."),
        (LeadSentences(tokens=9), "Dr. Ash fell on Jan. 5."),
        (LeadSentences(tokens=11), "Dr. Ash fell on Jan. 5."),
        (LeadSentences(tokens=12), "Dr. Ash fell on Jan. 5. Time passed!"),
        (LeadSentences(tokens=3), "Dr. Ash"),
        (LeadSentences(sentences=1), "Dr. Ash fell on Jan. 5."),
        (LeadSentences(sentences=3), "Dr. Ash fell on Jan. 5. Time passed!  Was it late?"),
        (
            LeadSentences(sentences=5),
            "Dr. Ash fell on Jan. 5. Time passed!  Was it late? It was.\n\nA new day began.",
        ),
        (LeadSentences(sentences=99), STORY),
    ],
    ids=lambda value: f"{value.name} {value.fingerprint()}" if hasattr(value, "name") else "",
)
def test_a_story_is_cut_where_one_would_cut_it(system: Any, kept: str) -> None:
    assert system.process({"context": STORY})["context"] == kept


@pytest.mark.parametrize(
    ("system", "kept"),
    [
        (Head(tokens=2), ["Rain fell"]),
        (Head(tokens=4), ["Rain fell.", "Time"]),
        (Tail(tokens=4), ["passed.", "Bells rang"]),
        (Tail(tokens=2), ["Bells rang"]),
        (Head(tokens=0), []),
        (Tail(tokens=0), []),
        (LeadSentences(tokens=7), ["Rain fell.", "Time passed."]),
        (LeadSentences(sentences=2), ["Rain fell.", "Time passed."]),
        (LeadSentences(tokens=1), ["Rain"]),
        (BM25Passages(tokens=3), ["Time passed."]),
    ],
    ids=lambda value: f"{value.name} {value.fingerprint()}" if hasattr(value, "name") else "",
)
def test_a_list_stays_a_list_without_the_texts_that_are_gone(system: Any, kept: list[str]) -> None:
    example = {"context": ["Rain fell.", "Time passed.", "Bells rang"], "question": "What passed?"}
    assert system.process(example)["context"] == kept


@pytest.mark.parametrize(
    ("text", "tokens", "kept"),
    [
        ("你好。今天天气很好！", 2, "你好。"),
        ("cafe\u0301 noir", 1, ""),
        ("le cafe\u0301 noir", 2, "le"),
        ("le cafe\u0301 noir", 3, "le cafe\u0301"),
        ("hi 👍🏽 yes", 2, "hi"),
        ("hi 👍🏽 yes", 3, "hi 👍🏽"),
        ("a \ud83d\ude00 b", 2, "a"),
        ("a \ud83d\ude00 b", 3, "a \ud83d\ude00"),
        ("a 👩\u200d👧 b", 2, "a"),
        ("a 👩\u200d👧 b", 3, "a"),
        ("a 👩\u200d👧 b", 4, "a 👩\u200d👧"),
    ],
)
def test_head_keeps_what_belongs_together(text: str, tokens: int, kept: str) -> None:
    assert Head(tokens=tokens).process({"context": text})["context"] == kept


@pytest.mark.parametrize(
    ("text", "tokens", "kept"),
    [
        ("le cafe\u0301 noir", 2, "noir"),
        ("le cafe\u0301 noir", 3, "cafe\u0301 noir"),
        ("hi 👍🏽 yes", 2, "yes"),
        ("a \ud83d\ude00 b", 2, "b"),
        ("a 👩\u200d👧 b", 3, "b"),
        ("noir cafe\u0301", 1, ""),
    ],
)
def test_tail_keeps_what_belongs_together(text: str, tokens: int, kept: str) -> None:
    assert Tail(tokens=tokens).process({"context": text})["context"] == kept


def test_the_output_says_what_was_done() -> None:
    assert Identity().process({"context": "Rain fell."})["compression"] == {
        "tokens_before": 3,
        "tokens_after": 3,
        "budget": 3,
    }
    assert Head(ratio=0.7).process({"context": "Rain fell."})["compression"] == {
        "tokens_before": 3,
        "tokens_after": 2,
        "budget": 2,
    }
    assert LeadSentences(tokens=5).process({"context": "Rain fell. Time passed."})[
        "compression"
    ] == {
        "tokens_before": 6,
        "tokens_after": 3,
        "budget": 5,
        "sentences": 1,
    }
    assert LeadSentences(tokens=2).process({"context": "Rain fell. Time passed."})[
        "compression"
    ] == {
        "tokens_before": 6,
        "tokens_after": 2,
        "budget": 2,
        "sentences": 0,
        "cut": True,
    }


@pytest.mark.parametrize(
    ("ratio", "total", "budget"),
    [
        (0.29, 100, 29),
        (0.07, 100, 7),
        (0.1, 30, 3),
        (0.5, 1, 0),
        (0.5, 3, 1),
        (1, 7, 7),
        (1.0, 7, 7),
        (1e-9, 5, 0),
    ],
)
def test_a_ratio_counts_as_the_number_that_was_written(
    ratio: float, total: int, budget: int
) -> None:
    assert Head(ratio=ratio).process({"context": "x " * total})["compression"]["budget"] == budget


@pytest.mark.parametrize("kind", [Head, Tail, LeadSentences, BM25Passages])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"ratio": 0.5, "tokens": 5},
            ValueError,
            "both ratio=0.5 and tokens=5 are given; give one of them",
        ),
        ({"ratio": 0}, ValueError, "ratio is 0, and it must be above 0 and at most 1"),
        ({"ratio": 1.01}, ValueError, "ratio is 1.01, and it must be above 0 and at most 1"),
        ({"ratio": float("nan")}, ValueError, "ratio is nan"),
        (
            {"ratio": "half"},
            TypeError,
            "ratio is 'half', and a number above 0 and at most 1 is needed",
        ),
        ({"ratio": True}, TypeError, "ratio is True"),
        ({"tokens": -1}, ValueError, "tokens is -1, and it must be 0 or more"),
        ({"tokens": 1.5}, TypeError, "tokens is 1.5, and a whole number is needed"),
        ({"tokens": True}, TypeError, "tokens is True"),
    ],
    ids=str,
)
def test_a_wrong_budget_is_told_when_the_system_is_built(
    kind: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{kind.name}: {message}"):
        kind(**options)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda: LeadSentences(sentences=0),
            ValueError,
            "lead: sentences is 0, and it must be 1 or more",
        ),
        (
            lambda: LeadSentences(sentences=2, ratio=0.5),
            ValueError,
            "lead: sentences=2 is given together with ratio",
        ),
        (
            lambda: BM25Passages(passage_sentences=0),
            ValueError,
            "bm25: passage_sentences is 0, and it must be 1 or more",
        ),
        (
            lambda: BM25Passages(passage_tokens=0),
            ValueError,
            "bm25: passage_tokens is 0, and it must be 1 or more",
        ),
        (
            lambda: BM25Passages(passage_sentences=1, passage_tokens=1),
            ValueError,
            "bm25: both passage_sentences and passage_tokens are given",
        ),
        (lambda: BM25Passages(b=1.5), ValueError, "bm25: b is 1.5, and it must be from 0 to 1"),
        (lambda: BM25Passages(k1=-1), ValueError, "bm25: k1 is -1, and it must be 0 or more"),
        (lambda: BM25Passages(k1=float("inf")), ValueError, "bm25: k1 is inf"),
        (lambda: BM25Passages(k1="1"), TypeError, "bm25: k1 is '1', and a number is needed"),
        (
            lambda: BM25Passages(without_question="skip"),
            ValueError,
            "without_question is 'skip', and it is 'lead' or",
        ),
    ],
)
def test_other_wrong_options_are_told_too(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_fingerprints_tell_all_that_can_change_an_output() -> None:
    assert Identity().fingerprint() == {}
    assert Head().fingerprint() == Tail(ratio=0.5).fingerprint() == {"ratio": 0.5}
    assert Head(tokens=9).fingerprint() == {"tokens": 9}
    assert set(LeadSentences(sentences=3).fingerprint()) == {"sentences", "language", "splitter"}
    assert set(LeadSentences().fingerprint()) == {"ratio", "language", "splitter"}
    changes = (
        {},
        {"ratio": 0.4},
        {"tokens": 5},
        {"passage_tokens": 3},
        {"passage_sentences": 1},
        {"k1": 1},
        {"b": 0},
    )
    prints = [BM25Passages(**change).fingerprint() for change in (*changes, {"language": "de"})]
    assert all(first != second for at, first in enumerate(prints) for second in prints[:at])
    assert prints[0]["ranker"].startswith("bm25s ")
    assert prints[0]["splitter"].startswith("sentencex ")
