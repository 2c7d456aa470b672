from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate

pytest.importorskip("context_bench_replay", reason="these runs need the replay plugin")
pytest.importorskip("context_bench_local", reason="these runs need the local plugin")
pytest.importorskip(
    "context_bench_answer_quality", reason="these runs need the answer-quality plugin"
)

ROWS = [
    {"id": "a", "question": "q", "answer": "Paris", "pred": "Paris", "alt": "Lyon"},
    {"id": "b", "question": "q", "answer": "Rome", "alt": "Rome"},
]
Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def run_file(context_bench: Run, jsonl: Run) -> None:
    context_bench(
        "run", "-s", "replay:field=pred", "-d", jsonl(ROWS), "-q", "--run-file", "r.sqlite"
    )


def test_a_row_tells_its_wiring_and_scores(context_bench: Run) -> None:
    done = context_bench("explain", "row", "r.sqlite", "a")
    assert done.code == 0
    for told in ("replay: a, score 1", "Paris", "wired", "f1 = 1 (the primary score)"):
        assert told in done.out


def test_a_failed_row_tells_its_failure_with_the_traceback(context_bench: Run) -> None:
    done = context_bench("explain", "row", "r.sqlite", "b")
    assert "failed" in done.out
    assert "failure    the system: " in done.out
    assert "Traceback" in done.out
    [story] = json.loads(context_bench("explain", "row", "r.sqlite", "b", "--json").out)
    assert story["errors"][0]["attempts"] == 1
    assert story["example"]["answer"] == "Rome"


def test_an_unknown_row_suggests_close_ones(context_bench: Run) -> None:
    done = context_bench("explain", "row", "r.sqlite", "A")
    assert done.code == 2
    assert "Did you mean 'a'?" in done.err


@pytest.mark.parametrize(
    ("rows", "system", "verdict"),
    [
        (ROWS, "replay:field=pred", "the same key"),
        (ROWS, "named=replay:field=pred", "the same key"),
        (
            ROWS,
            "replay:field=alt",
            "the system differs in fingerprint.field ('alt' there, 'pred' here)",
        ),
        ([{**ROWS[0], "pred": "Rome"}], "replay:field=pred", "the example has other content there"),
    ],
    ids=["equal", "another display name", "another option", "another example"],
)
def test_a_key_tells_why_another_run_has_or_has_not_the_same(
    context_bench: Run, jsonl: Run, rows: list[Any], system: str, verdict: str
) -> None:
    context_bench(
        "run", "-s", system, "-d", jsonl(rows, "other.jsonl"), "-q", "--run-file", "o.sqlite"
    )
    [story] = json.loads(
        context_bench("explain", "key", "r.sqlite", "a", "--reuse", "o.sqlite", "--json").out
    )
    assert verdict in story["earlier_runs"][0]["verdict"]
    assert story["made_of"]["system"]["fingerprint"]["field"] == "pred"


def test_the_keys_of_a_system_without_a_fingerprint_are_said_to_hold_in_their_run_only(
    context_bench: Run, tmp_path: Path
) -> None:
    evaluate(
        lambda example: "x",
        [ROWS[0]],
        ["answer-quality"],
        progress=False,
        run_file=tmp_path / "f.sqlite",
    )
    done = context_bench("explain", "key", "f.sqlite", "a")
    assert "never reused in other runs" in done.out


def test_a_row_without_an_answer_has_no_key(context_bench: Run) -> None:
    done = context_bench("explain", "key", "r.sqlite", "b")
    assert done.code == 2
    assert "explain row" in done.err
