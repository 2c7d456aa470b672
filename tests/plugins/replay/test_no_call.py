"""A system that makes no call has no speed, and costs nothing now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench_replay import Replay

TIMES = ("latency_median", "latency_p95", "speed_rank", "rows_per_minute")


class Right:
    name = "right"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"right": float(processed["response"] == original["answer"])}


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": str(number),
            "answer": "a",
            "one": "a",
            "two": "b",
            "seconds": 2.0,
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.25},
        }
        for number in range(count)
    ]


def test_recorded_responses_have_no_percentiles_and_no_speed_rank(tmp_path: Path) -> None:
    systems = [Replay(field="one"), Replay(field="two")]
    result = evaluate(systems, rows(4), [Right()], progress=False, run_file=tmp_path / "r.sqlite")
    for values in result.summary.values():
        assert not values.keys() & set(TIMES)
    assert all(row.recorded and not row.is_called for row in result.rows)


def test_recorded_seconds_are_reported() -> None:
    system = Replay(field="one", latency_field="seconds")
    result = evaluate(system, rows(4), [Right()], progress=False)
    pytest.importorskip("context_bench_efficiency")
    assert result.summary[system.name]["latency_median"] == 2.0


def test_what_recorded_responses_have_cost_is_not_paid_again() -> None:
    pytest.importorskip("context_bench_cost")
    system = Replay(field="one")
    values = evaluate(system, rows(4), [Right()], progress=False).summary[system.name]
    assert (values["cost"], values["would_cost"]) == (0.0, 1.0)
