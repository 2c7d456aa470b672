"""The command that compares the judge-free scorers with people."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.one_python

for _package in (
    "context_bench_rouge",
    "context_bench_scorers_embedding",
    "context_bench_scorers_text",
):
    pytest.importorskip(_package, reason="the command compares them")

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "scorer_agreement.py"


def test_ranks_and_correlations_are_spearman_s() -> None:
    command: dict[str, Any] = runpy.run_path(str(SCRIPT))
    assert command["ranks"]([3, 1, 3, 2]) == [3.5, 1, 3.5, 2]
    assert command["spearman"]([1, 2, 3], [10, 20, 30]) == pytest.approx(1.0)
    assert command["spearman"]([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1.0)
    assert command["spearman"]([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]) == pytest.approx(0.8207826817)
    assert command["spearman"]([1, 1], [1, 2]) is None


def test_it_reads_the_records_of_people(shared: Callable[[str], Path]) -> None:
    command: dict[str, Any] = runpy.run_path(str(SCRIPT))
    folder = shared("data/outputs")
    correlations = command["summeval"](folder / "summeval.jsonl.gz", 2)
    assert set(correlations) == {
        "rouge_l_f1",
        "bertscore",
        "word_count_match",
        "specificity",
        "readability",
    }
    assert all(-1 <= value <= 1 for aspects in correlations.values() for value in aspects.values())
    shares = command["llmbar"](folder / "llmbar", 2)
    assert all(set(sets) == {"natural", "gptinst", "manual"} for sets in shares.values())
    assert all(0 <= value <= 1 for sets in shares.values() for value in sets.values())
