"""What a large run takes, projected from a pilot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import ConfigurationError
from context_bench.runs import Run, open_run

capacity = pytest.importorskip("context_bench_compare.capacity").capacity

LATENCY = 0.5


def answer(example: dict[str, Any]) -> dict[str, Any]:
    usage = {"prompt_tokens": 90, "completion_tokens": 10}
    return {"response": example["question"] * 3, "latency": LATENCY, "usage": usage}


def again(example: dict[str, Any]) -> dict[str, Any]:
    return answer(example)


class Length:
    name = "length"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"length": float(len(processed["response"]))}


def pilot(path: Path, examples: int, **more: Any) -> Path:
    rows = [
        {"id": str(n), "question": f"How much is {n}? " * 8, "answer": "x"} for n in range(examples)
    ]
    more = {"max_workers": 4, **more}
    evaluate([answer, again], rows, [Length()], progress=False, run_file=path, **more)
    return path


@pytest.mark.parametrize(
    ("seconds", "busy", "hours_of_four", "hours_of_forty"),
    [
        (10.0, 1.0, 2000 * 10 / 80 / 3600, 2000 * 10 / 80 / 3600 / 10),  # systems are the limit
        (50.0, 0.2, 2000 * 50 / 80 / 3600, 2000 * 50 / 80 / 3600),  # the machine is the limit
    ],
)
def test_hours_follow_from_the_time_of_the_pilot(
    seconds: float,
    busy: float,
    hours_of_four: float,
    hours_of_forty: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Run, "seconds", seconds)
    with open_run(pilot(tmp_path / "pilot.sqlite", 40)) as run:
        same, more = capacity(run, 1000), capacity(run, 1000, workers=40)
    assert (same.rows, same.calls, same.tokens, same.cost) == (2000, 2000, 200_000, None)
    assert same.workers == 4
    assert same.busy == pytest.approx(busy)
    assert same.hours == pytest.approx(hours_of_four)
    assert more.hours == pytest.approx(hours_of_forty)
    assert more.memory == pytest.approx(10 * same.memory, abs=10)


def test_the_limit_of_the_endpoint_bounds_the_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "seconds", 10.0)
    with open_run(pilot(tmp_path / "pilot.sqlite", 40, max_workers=None)) as run:
        found = capacity(run, 3000, workers=1000, requests_per_minute=600)
    assert found.workers_at_limit == 5  # ten calls a second of half a second each
    assert found.hours == pytest.approx(6000 / 600 / 60)


def test_a_resume_that_finds_nothing_to_do_does_not_change_the_projection(tmp_path: Path) -> None:
    path = pilot(tmp_path / "pilot.sqlite", 40)
    with open_run(path) as run:
        before = capacity(run, 1000)
    with open_run(pilot(path, 40)) as run:
        assert capacity(run, 1000).hours == before.hours


def test_a_projection_leaves_no_file_beside_the_pilot(tmp_path: Path) -> None:
    with open_run(pilot(tmp_path / "pilot.sqlite", 40)) as run:
        capacity(run, 1000)
    assert [file.name for file in tmp_path.iterdir()] == ["pilot.sqlite"]


def test_a_merged_pilot_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "seconds", None)
    with (
        open_run(pilot(tmp_path / "pilot.sqlite", 40)) as run,
        pytest.raises(ConfigurationError, match="Pass one of the shards"),
    ):
        capacity(run, 10)


def test_a_run_of_ten_times_the_pilot_has_the_projected_size(tmp_path: Path) -> None:
    with open_run(pilot(tmp_path / "pilot.sqlite", 100)) as run:
        found = capacity(run, 1000)
    whole = pilot(tmp_path / "whole.sqlite", 1000)
    with open_run(whole) as run:
        assert found.rows == len(run)
        assert found.calls == sum(row.attempts for row in run.rows())
    assert found.disk == pytest.approx(whole.stat().st_size, rel=0.15)


def test_what_projects_nothing_is_refused(context_bench: Any, tmp_path: Path) -> None:
    pilot(tmp_path / "few.sqlite", 5)
    for words, message in (
        (["--rows", "1k"], "called systems for 10 rows; at least 20 are needed"),
        (["--rows", "1.5"], "'1.5' is not a number of examples"),
        (["--rows", "0"], "'0' is not a number of examples"),
        (["--rows", "nan"], "'nan' is not a number of examples"),
        ([], "Pass --margin to plan a decision, or --rows to plan a large run"),
        (["--rows", "1k", "--margin", "0.1"], "Pass --margin to plan a decision, or --rows"),
        (["--rows", "1k", "--rpm", "0"], "--rpm is 0.0, but must be above zero"),
    ):
        done = context_bench("plan", "few.sqlite", *words)
        assert done.code == 2, words
        assert message in " ".join(done.err.split()), words


def test_reused_rows_are_not_calls_of_the_pilot(tmp_path: Path) -> None:
    with (
        open_run(pilot(tmp_path / "pilot.sqlite", 5)) as run,
        pytest.raises(ConfigurationError, match="Reused and recorded rows do not count"),
    ):
        capacity(run, 10)


def test_the_table_names_every_quantity(context_bench: Any, tmp_path: Path) -> None:
    pilot(tmp_path / "pilot.sqlite", 40)
    done = context_bench("plan", "pilot.sqlite", "--rows", "10M", "--rpm", "6000")
    assert done.code == 0
    lines = dict(line.split("  ", 1) for line in done.out.splitlines() if "  " in line)
    values = {name: value.strip() for name, value in lines.items()}
    assert values["rows"] == "20,000,000"
    assert values["tokens"] == "2,000,000,000"
    assert values["workers at the limit"] == "50"
    assert values["disk"].endswith("GB")
