"""The published compaction benchmark of pi, recomputed: its answers, and the literals that stand in what was kept."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from context_bench_survival.literals import holds, unescaped

DATA = Path(__file__).parents[4] / "shared" / "data" / "sessions" / "published"

pytestmark = pytest.mark.skipif(
    not DATA.exists(), reason="the shared recordings lie beside a developer's checkout only"
)


@pytest.fixture(scope="module")
def trials() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    with gzip.open(DATA / "pi-product-defaults.fixtures.json.gz", "rt") as file:
        fixtures = {fixture["id"]: fixture for fixture in json.load(file)}
    with gzip.open(DATA / "pi-product-defaults.trials.jsonl.gz", "rt") as file:
        return [(fixtures[trial["fixtureId"]], trial) for trial in map(json.loads, file)]


def test_the_published_answers_match_exactly_as_often_as_published(trials: list[Any]) -> None:
    right: Counter[str] = Counter()
    for fixture, trial in trials:
        for arm, found in trial["evaluations"].items():
            answers = found["parsedAnswers"]
            right[arm] += sum(
                answers.get(one["id"]) == one["expected"] for one in fixture["questions"]
            )
    assert right == {"full_context": 600, "pi_default": 288, "native_extension": 468}


def test_a_literal_that_was_kept_was_answered_and_one_that_was_lost_was_not(
    trials: list[Any],
) -> None:
    found: Counter[tuple[bool, bool]] = Counter()
    for fixture, trial in trials:
        compacted = trial["piDefault"]
        kept = fixture["messages"][compacted["summarizedMessageCount"] :]
        text = "\n".join(
            [compacted["summary"], json.dumps(kept), json.dumps(fixture["sharedTail"])]
        )
        text += "\n" + unescaped(text)
        answers = trial["evaluations"]["pi_default"]["parsedAnswers"]
        for one in fixture["questions"]:
            found[holds(text, one["expected"]), answers.get(one["id"]) == one["expected"]] += 1
    assert found == {(True, True): 288, (False, False): 312}
