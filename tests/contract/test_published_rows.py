"""The verdicts that were published, on the ten rows of each benchmark that lie in the repository: nothing beside it is needed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "published"
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (FOLDER / "rows.jsonl").read_text("utf-8").splitlines()
]
Score = Callable[[Any, Any], Any]


def scorer(package: str, name: str, **options: Any) -> Callable[[], Score]:
    return lambda: getattr(import_module(package), name)(**options).score  # type: ignore[no-any-return]


def rating() -> Score:
    read_rating = import_module("context_bench_judge").read_rating
    return lambda original, processed: {"rating": read_rating(processed["response"], (1, 10))}


def agreement() -> Score:
    read_verdict = import_module("context_bench_judge").read_verdict
    return lambda original, processed: {
        "agrees": float(read_verdict(processed["response"]) == original["label"])
    }


EVALUATORS: dict[str, Callable[[], Score]] = {
    "gsm8k": scorer("context_bench_math", "MathEquivalence"),
    "mmlu-pro": scorer("context_bench_multiple_choice", "MultipleChoiceAccuracy"),
    "mmlu-pro, as the leaderboard": scorer(
        "context_bench_multiple_choice", "MultipleChoiceAccuracy", parity="mmlu-pro"
    ),
    "ifeval": scorer("context_bench_ifeval", "IFEvalChecker"),
    "bbh": scorer("context_bench_bbh", "BBHExactMatch"),
    "mt-bench": rating,
    "longbench": scorer("context_bench_answer_quality", "AnswerQuality"),
    "infinitebench": scorer("context_bench_answer_quality", "AnswerQuality"),
    "summeval": scorer("context_bench_rouge", "RougeScore", rouge_type="all", stemmer=True),
    "humaneval": scorer("context_bench_code", "CodeExecution"),
    "llmbar": agreement,
    "nli": scorer("context_bench_nli", "NLILabelMatch"),
}


@pytest.mark.parametrize("name", EVALUATORS)
def test_every_row_has_its_published_verdict(name: str) -> None:
    score = EVALUATORS[name]()
    rows = [row for row in ROWS if row["benchmark"] == name.partition(",")[0]]
    assert len(rows) == 10
    for row in rows:
        found = score(row["original"], {"response": row["response"]})
        assert {key: found.get(key) for key in row["expected"]} == pytest.approx(row["expected"]), (
            row["response"]
        )
        if "letter" in row:
            assert found.details["letter"] == row["letter"]


def test_the_rows_are_right_and_wrong_ones_and_their_sources_are_named() -> None:
    verdicts = {name: Counter() for name in dict.fromkeys(row["benchmark"] for row in ROWS)}
    for row in ROWS:
        verdicts[row["benchmark"]][round(min(row["expected"].values()), 3)] += 1
    assert set(verdicts) == {name.partition(",")[0] for name in EVALUATORS}
    assert all(len(values) > 1 for values in verdicts.values()), verdicts
    page = (FOLDER / "README.md").read_text("utf-8")
    assert all(f"| `{name}` |" in page for name in verdicts)
