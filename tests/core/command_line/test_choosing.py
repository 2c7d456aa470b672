"""Which examples a run takes, and in which order systems meet them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.errors import ConfigurationError, RunStoppedError, UnknownNameError
from context_bench.run.examples import RandomSample

pytest.importorskip("context_bench_replay", reason="these runs need the replay plugin")
pytest.importorskip("context_bench_local", reason="these runs need the local plugin")
pytest.importorskip(
    "context_bench_answer_quality", reason="these runs need the answer-quality plugin"
)

Run = Callable[..., Any]
ROWS = [
    {"id": f"e{number}", "question": str(number), "answer": "x", "pred": "x"}
    for number in range(40)
]


class One:
    name = "one"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"one": 1.0}


def taken(**choice: Any) -> list[tuple[int, str]]:
    result = evaluate(lambda example: "x", iter(ROWS), [One()], progress=False, **choice)
    return [(row.position, row.example_id) for row in result.rows]


def test_a_sample_is_the_same_for_the_same_seed_and_keeps_places_and_order() -> None:
    one, again, other = taken(sample=10, seed=3), taken(sample=10, seed=3), taken(sample=10, seed=4)
    assert one == again
    assert one != other
    assert len(one) == 10
    assert one == sorted(one)
    assert all(name == f"e{position}" for position, name in one)


def test_a_seed_that_nothing_takes_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="--seed 3 has no effect"):
        taken(seed=3, max_examples=5)


@pytest.mark.parametrize(
    ("command", "code"),
    [(("run",), 2), (("lock",), 2), (("run", "--sample", "2"), 0)],
    ids=["run", "lock", "sample"],
)
def test_a_seed_of_the_project_file_is_for_runs_with_a_sample(
    context_bench: Run, jsonl: Run, tmp_path: Path, command: tuple[str, ...], code: int
) -> None:
    (tmp_path / "context-bench.toml").write_text("[run]\nseed = 3\n", encoding="utf-8")
    done = context_bench(*command, "-s", "replay:field=pred", "-d", jsonl(ROWS))
    assert done.code == code, done.err
    assert ("--seed 3 has no effect" in done.err) is bool(code)


def test_every_example_is_as_likely_as_any_other() -> None:
    counts = [0] * len(ROWS)
    for seed in range(200):
        for position, _ in RandomSample(10, seed).of(enumerate(ROWS)):
            counts[position] += 1
    assert max(counts) < 85
    assert min(counts) > 20


def test_a_sample_of_more_than_there_is_takes_all() -> None:
    assert len(taken(sample=100)) == 40


def test_ids_take_those_examples_in_the_order_of_the_dataset() -> None:
    assert taken(ids=["e7", "e2"]) == [(2, "e2"), (7, "e7")]
    with pytest.raises(RunStoppedError, match="no example 'nine'"):
        taken(ids=["e7", "nine"])


def test_ids_are_what_results_show() -> None:
    """Whatever the id is in the dataset: a text that begins with # has one more, and what is no text is written as JSON."""
    given = [{"question": "a"}, {"id": "#0"}, {"id": 7}, {"id": True}, {"id": [1, 2]}, {"id": "7a"}]
    examples = [{"question": "q", "answer": "x", **one} for one in given]
    shown = [
        row.example_id
        for row in evaluate(lambda example: "x", examples, [One()], progress=False).rows
    ]
    assert shown == ["#0", "##0", "7", "true", "[1,2]", "7a"]
    for position, name in enumerate(shown):
        result = evaluate(lambda example: "x", examples, [One()], progress=False, ids=[name])
        assert [(row.position, row.example_id) for row in result.rows] == [(position, name)]


@pytest.mark.parametrize(
    "choice",
    [
        {"max_examples": 3, "sample": 2},
        {"sample": 2, "ids": ["e1"]},
        {"max_examples": 3, "ids": ["e1"]},
    ],
    ids=str,
)
def test_ways_of_choosing_exclude_each_other(choice: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="cannot be used together"):
        taken(**choice)


@pytest.mark.parametrize(
    ("order", "asked"),
    [("interleaved", ["a0", "b0", "a1", "b1"]), ("system", ["a0", "a1", "b0", "b1"])],
)
def test_order(order: str, asked: list[str], tmp_path: Path) -> None:
    calls: list[str] = []

    class Noting:
        def __init__(self, name: str) -> None:
            self.name = name

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            calls.append(self.name + example["question"])
            return {"response": "x"}

        def fingerprint(self) -> dict[str, Any]:
            return {"name": self.name}

    path = tmp_path / "r.sqlite"
    for expected in (asked, []):
        calls.clear()
        systems = [Noting("a"), Noting("b")]
        result = evaluate(
            systems, iter(ROWS[:2]), [One()], progress=False, order=order, run_file=path
        )
        assert calls == expected
    assert [(row.position, row.system) for row in result.rows] == [
        (0, "a"),
        (0, "b"),
        (1, "a"),
        (1, "b"),
    ]


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="interleaved"):
        taken(order="random")


@pytest.mark.parametrize(
    "limits",
    [
        {"row_timeout": 0},
        {"requests_per_minute": -1},
        {"tokens_per_minute": 0.0},
        {"max_failed": 7},
    ],
    ids=str,
)
def test_limits_that_make_no_sense_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="must be"):
        taken(**limits)


def test_choices_of_the_command_line_are_kept_for_resume(context_bench: Run, jsonl: Run) -> None:
    file = jsonl(ROWS)
    flags = [
        "--sample",
        "5",
        "--seed",
        "1",
        "--order",
        "system",
        "--row-timeout",
        "30",
        "--rpm",
        "60000",
    ]
    done = context_bench(
        "run", "-s", "replay:field=pred", "-d", file, "-q", "--run-file", "r.sqlite", *flags
    )
    assert done.code == 0
    resumed = context_bench("resume", "r.sqlite", "-q", "--format", "json")
    assert resumed.code == 0
    told = json.loads(resumed.out)
    assert len(told["rows"]) == 5
    request = told["config"]["request"]
    assert (request["sample"], request["seed"], request["order"]) == (5, 1, "system")
    assert (request["row_timeout"], request["requests_per_minute"]) == (30, 60000)
    assert request["max_failed"] == 0.01
    done = context_bench(
        "run", "-s", "replay:field=pred", "-d", file, "-q", "--ids", "e3,e1", "--format", "json"
    )
    assert [row["example_id"] for row in json.loads(done.out)["rows"]] == ["e1", "e3"]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (
            ["--reader", "needle-oracle", "--reader", "echo"],
            "--reader is given 2 times (needle-oracle, echo), but takes one",
        ),
        (["-n", "2", "--max-examples", "3"], "is given 2 times (2, 3), but takes one value."),
        (
            ["--baseline", "a", "--baseline", "a"],
            "--baseline is given 2 times (a, a), but takes one value.",
        ),
        (
            ["--row-timeout", "1", "--row-timeout", "2"],
            "--row-timeout is given 2 times (1, 2), but takes one value.",
        ),
    ],
)
def test_a_flag_that_takes_one_value_refuses_a_second_one(
    flags: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["run", "--system", "identity", "--dataset", "needle", *flags]) == 2
    assert told in " ".join(capsys.readouterr().err.split())
