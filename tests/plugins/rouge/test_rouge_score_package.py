"""RougeScore against the rouge-score package, and against published numbers."""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path

import pytest

from context_bench_rouge import RougeScore, lcs_length

OUTPUTS = Path(__file__).resolve().parents[4] / "shared" / "data" / "outputs"
TYPES = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
STEMMED = pytest.mark.parametrize("stemmer", [False, True], ids=["words", "stems"])


def read(path):
    if not path.exists():
        pytest.skip(f"the shared records ({path.name}) do not lie beside this checkout")
    with gzip.open(path, "rt", encoding="utf-8") as text:
        return text.read()


def records(path):
    return [json.loads(line) for line in read(path).splitlines()]


def assert_agreement(pairs, stemmer, split_summaries=False, tokenizer="rouge-score"):
    package = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is the oracle")
    theirs = package.RougeScorer(TYPES, use_stemmer=stemmer, split_summaries=split_summaries)
    ours = RougeScore("all", stemmer=stemmer, tokenizer=tokenizer, split_summaries=split_summaries)
    for reference, prediction in pairs:
        expected = {key: tuple(value) for key, value in theirs.score(reference, prediction).items()}
        found = {
            key.value: tuple(value) for key, value in ours.compare(prediction, reference).items()
        }
        assert found == {key: pytest.approx(value, abs=1e-9) for key, value in expected.items()}, (
            reference,
            prediction,
        )


def random_pairs(seed, count):
    rng = random.Random(seed)
    words = [
        *(
            "the",
            "running",
            "runs",
            "Cats",
            "cat",
            "a",
            "Über",
            "α",
            "x9",
            "generously",
            "don't",
            "U.S.",
            "It",
            "e.g.",
        ),
        *("2010s", "flies", "dying", "naïve", "said", "(sic)"),
    ]
    ends = [" ", " ", " ", " ", ", ", ". ", ".\n", "\n", "\n\n", "! ", "\r\n", "\t"]

    def text():
        return "".join(rng.choice(words) + rng.choice(ends) for _ in range(rng.randint(0, 70)))

    return [(text(), text()) for _ in range(count)]


def real_pairs():
    summeval = records(OUTPUTS / "summeval.jsonl.gz")
    pairs = [
        (row["ref_summ"], system["sys_summ"])
        for row in summeval
        for system in row["sys_summs"].values()
    ]
    for task in ("gov_report", "qmsum", "qasper", "narrativeqa"):
        rows = records(OUTPUTS / f"longbench-llama2-7b-chat-4k/{task}.jsonl.gz")
        shorter = [(row["answers"][0][:1500], row["pred"][:1500]) for row in rows]
        pairs += [pair for pair in shorter if pair[0].strip()]
    return random.Random(0).sample(pairs, 1200)


@STEMMED
@pytest.mark.one_python
def test_900_random_pairs(stemmer):
    assert_agreement(random_pairs(1 + stemmer, 900), stemmer)


@pytest.mark.shared
@STEMMED
@pytest.mark.one_python
def test_1200_real_pairs(stemmer):
    assert_agreement(real_pairs(), stemmer, tokenizer="auto")


@STEMMED
def test_split_summaries_compares_the_sentences_that_nltk_finds(stemmer, monkeypatch):
    nltk = pytest.importorskip("nltk", reason="NLTK splits sentences")
    monkeypatch.setattr(nltk, "sent_tokenize", lambda text: re.split(r"(?<=[.!?])\s+", text))
    assert_agreement(random_pairs(3, 300), stemmer, split_summaries=True)


@STEMMED
def test_split_summaries_with_the_punkt_model(stemmer):
    nltk = pytest.importorskip("nltk", reason="NLTK splits sentences")
    try:
        nltk.sent_tokenize("One. Two.")
    except LookupError:
        pytest.skip("NLTK's Punkt model is not installed")
    assert_agreement(random_pairs(4, 300), stemmer, split_summaries=True)


@pytest.mark.one_python
def test_several_references_are_treated_as_in_the_package():
    package = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is the oracle")
    theirs, ours = package.RougeScorer(TYPES), RougeScore("all")
    texts = [text for pair in random_pairs(5, 300) for text in pair if text.strip()]
    for start in range(0, len(texts) - 4, 4):
        prediction, *references = texts[start : start + 4]
        found = ours.score({"answers": references}, {"response": prediction})
        for key, (precision, recall, fmeasure) in theirs.score_multi(
            references, prediction
        ).items():
            values = (found[f"{key}_precision"], found[f"{key}_recall"], found[key])
            assert values == pytest.approx((precision, recall, fmeasure), abs=1e-9)


def test_the_lengths_of_common_subsequences_are_those_of_the_package():
    package = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is the oracle")
    rng = random.Random(6)
    for _ in range(500):
        first, second = (
            [rng.choice("abcdefgh") for _ in range(rng.randint(1, 40))] for _ in range(2)
        )
        assert lcs_length(first, second) == package._lcs_table(first, second)[-1][-1]


@pytest.mark.shared
def test_published_scores_of_bart_on_dialogsum():
    dialogues = records(OUTPUTS.parent / "dialogsum.raw.jsonl.gz")
    outputs = read(OUTPUTS / "dialogsum.bart-large.txt.gz").splitlines()
    evaluator = RougeScore("all", stemmer=True)
    rows = [
        evaluator.score({"answer": dialogue["summary1"]}, {"response": output})
        for dialogue, output in zip(dialogues, outputs, strict=True)
    ]
    means = [
        round(100 * sum(row[key] for row in rows) / len(rows), 2)
        for key in ("rouge1", "rouge2", "rougeL")
    ]
    assert means == [45.19, 20.31, 38.07]


def ranks(values):
    """Ranks from 1, with the mean rank for ties."""
    return [
        sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values
    ]


def spearman(first, second):
    """The rank correlation; None where one side is constant."""
    first, second = ranks(first), ranks(second)
    mean = (len(first) + 1) / 2
    spread = sum((x - mean) ** 2 for x in first) * sum((y - mean) ** 2 for y in second)
    return (
        sum((x - mean) * (y - mean) for x, y in zip(first, second, strict=True)) / spread**0.5
        if spread
        else None
    )


@pytest.mark.shared
@pytest.mark.one_python
def test_published_correlations_with_human_judgement_on_summeval():
    evaluator = RougeScore(["rouge1", "rouge2"], stemmer=True)
    aspects = ("coherence", "consistency", "fluency", "relevance")
    correlations = {}
    for article in records(OUTPUTS / "summeval.jsonl.gz"):
        systems = article["sys_summs"].values()
        compared = [
            [evaluator.compare(one["sys_summ"], text) for text in article["ref_summs"]]
            for one in systems
        ]
        for rouge_type in evaluator.rouge_types:
            means = [sum(one[rouge_type].fmeasure for one in of) / len(of) for of in compared]
            for aspect in aspects:
                found = spearman(means, [one["scores"][aspect] for one in systems])
                correlations.setdefault((rouge_type.value, aspect), []).append(found)

    def mean(key):
        known = [value for value in correlations[key] if value is not None]
        return sum(known) / len(known)

    rouge_1 = [mean(("rouge1", aspect)) for aspect in aspects]
    rouge_2 = [mean(("rouge2", aspect)) for aspect in aspects]
    assert rouge_1 == pytest.approx([0.169, 0.160, 0.116, 0.328], abs=0.0006)
    assert rouge_2 == pytest.approx([0.184, 0.187, 0.159, 0.290], abs=0.0006)
