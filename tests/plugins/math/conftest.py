"""What several test files of the plugin share."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from context_bench_math import MathEquivalence

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.fixture(scope="session")
def evaluator():
    """An evaluator whose deadline no slow machine misses; the tests of the deadline make their own."""
    return MathEquivalence(timeout=60)


@pytest.fixture(scope="session")
def score(evaluator):
    """The score of a response for a reference, through the front door."""

    def score_of(reference, response):
        return evaluator.score({"answer": reference}, {"response": response})["math_equiv"]

    return score_of


@pytest.fixture(scope="session")
def shared_lines():
    """A reader of the recorded benchmark files: the lines of one, or a skipped test."""

    def lines(name):
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"the recorded benchmark data are not beside the checkout: no {name}")
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return [
                json.loads(line) if name.endswith("jsonl.gz") else line.rstrip("\n")
                for line in file
            ]

    return lines
