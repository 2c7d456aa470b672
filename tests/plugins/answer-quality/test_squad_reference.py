"""AnswerQuality against the definition of the SQuAD v1.1 evaluation, and against published scores."""

from __future__ import annotations

import gzip
import json
import random
import re
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_answer_quality import AnswerQuality

OUTPUTS = Path(__file__).resolve().parents[4] / "shared" / "data" / "outputs"


def records(name):
    path = OUTPUTS / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"the shared model outputs ({name}) do not lie beside this checkout")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def squad_words(text):
    """Lower case, then punctuation, then articles, then white space: one step a line, as the script's authors say."""
    text = text.lower()
    for mark in string.punctuation:
        text = text.replace(mark, "")
    text = re.sub(r"\b(a|an|the)\b", " ", text)
    return text.split()


def squad_scores(response, references):
    """Exact match and F1, each the maximum over the references."""
    words = squad_words(response)
    exact_match = f1 = 0.0
    for reference in references:
        wanted = squad_words(reference)
        exact_match = max(exact_match, float(" ".join(words) == " ".join(wanted)))
        unmatched = list(words)
        for word in wanted:
            if word in unmatched:
                unmatched.remove(word)
        same = len(words) - len(unmatched)
        if same:
            precision, recall = same / len(words), same / len(wanted)
            f1 = max(f1, 2 * precision * recall / (precision + recall))
    return {"f1": f1, "exact_match": exact_match}


def assert_agreement(response, references):
    scores = AnswerQuality().score({"answers": references}, {"response": response})
    expected = squad_scores(response, references)
    assert {key: scores[key] for key in expected} == pytest.approx(expected, abs=1e-12), (
        response,
        references,
    )


PIECES = [
    *(
        "a",
        "an",
        "the",
        "The",
        "Paris",
        "paris",
        "U.S.A.",
        "USA",
        "1,000",
        "1000",
        "well-known",
        "x",
        "’s",
        "“the”",
    ),
    *(
        "—",
        "東京",
        "the-end",
        "a.",
        ",",
        "...",
        "_",
        "\x00",
        "İ",
        "ﬁ",
        "e\u0301",
        "An\u00a0apple",
        "½",
        "ⅷ",
        "a\u200bb",
    ),
]


def test_agrees_with_the_definition_on_4000_random_pairs():
    rng = random.Random(1)

    def text(at_least):
        pieces = rng.choices(PIECES, k=rng.randint(at_least, 14))
        return "".join(piece + rng.choice([" ", " ", "  ", "\n", ""]) for piece in pieces)

    compared = 0
    while compared < 4000:
        response, references = text(1), [text(1) for _ in range(rng.randint(1, 3))]
        if response.strip() and all(map(str.strip, references)):
            assert_agreement(response, references)
            compared += 1


@given(st.text(), st.lists(st.text(), min_size=1, max_size=3))
def test_agrees_with_the_definition_on_any_text(response, references):
    if response.strip() and all(map(str.strip, references)):
        assert_agreement(response, references)


QA_TASKS = {
    "qasper": 21.82,
    "hotpotqa": 27.56,
    "2wikimqa": 32.46,
    "musique": 8.01,
    "narrativeqa": 18.99,
}


@pytest.mark.shared
@pytest.mark.parametrize(
    "task", [*QA_TASKS, "trec", "gov_report", "qmsum", "dureader", "vcsum", "passage_retrieval_zh"]
)
def test_agrees_with_the_definition_on_real_answers(task):
    for record in records(f"longbench-llama2-7b-chat-4k/{task}"):
        if record["pred"].strip():
            assert_agreement(record["pred"], record["answers"])


@pytest.mark.shared
@pytest.mark.parametrize(("task", "published"), QA_TASKS.items())
def test_published_longbench_scores(task, published):
    rows = records(f"longbench-llama2-7b-chat-4k/{task}")
    evaluator = AnswerQuality()
    scores = [
        evaluator.score({"answers": row["answers"]}, {"response": row["pred"]})["f1"]
        for row in rows
    ]
    assert round(100 * sum(scores) / len(rows), 2) == published


@pytest.mark.shared
@pytest.mark.parametrize(
    ("task", "key", "published"),
    [
        ("longbook_qa_eng", "f1", 22.44),
        ("passkey", "contains", 100.0),
        ("kv_retrieval", "contains", 89.0),
    ],
)
def test_published_infinitebench_scores(task, key, published):
    rows = records(f"infinitebench-gpt4/{task}")
    evaluator = AnswerQuality()
    scores = [
        evaluator.score({"answers": row["ground_truth"]}, {"response": row["prediction"]})[key]
        for row in rows
    ]
    assert round(100 * sum(scores) / len(rows), 2) == published
