"""Evaluators that are bound to the processor score in processes that can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.run import deferred_scoring, jobs
from context_bench.run.child import Child
from context_bench.run.deferred_scoring import ProcessScoring
from context_bench.runs import open_run

MODULE = """
import os, time

class Heavy:
    name, cpu_bound = "heavy", True
    def score(self, original, processed):
        print("noise")
        if processed["response"] == "hang":
            time.sleep(60)
        if processed["response"] == "die":
            os._exit(3)
        if processed["response"] == "raise":
            raise ValueError("no number")
        return {"parent": float(os.getppid()), "heavy": 1.0}
"""


@pytest.fixture
def heavy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "heavy_evaluator.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    from heavy_evaluator import Heavy  # type: ignore[import-not-found]

    return Heavy()


def test_a_hanging_and_a_dying_evaluation_fail_alone(heavy: Any) -> None:
    responses = ["good", "hang", "die", "raise", "good again"]
    examples = [{"id": response} for response in responses]
    rows = evaluate(
        lambda example: example["id"], examples, [heavy], progress=False, row_timeout=3.0
    ).rows
    found = {row.example_id: row for row in rows}
    assert found["good"].scores["heavy"] == found["good again"].scores["heavy"] == 1.0
    assert found["good"].scores["parent"] == os.getpid()
    assert [found[name].errors[0].kind for name in ("hang", "die", "raise")] == [
        "TimeoutError",
        "RuntimeError",
        "ValueError",
    ]
    assert "exit code 3" in found["die"].errors[0].message


@pytest.fixture
def process_is_there(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Scoring uses one process, on however many processors; this is set when it has been started."""
    is_there = Event()
    start = ProcessScoring._start_child

    def start_and_tell(scoring: ProcessScoring) -> Child | None:
        child = start(scoring)
        is_there.set()
        return child

    monkeypatch.setattr(ProcessScoring, "_start_child", start_and_tell)
    monkeypatch.setattr(deferred_scoring, "usable_cores", lambda: 1)
    monkeypatch.setattr(jobs, "usable_cores", lambda: 2)
    return is_there


def test_rows_that_are_sent_together_fail_alone(
    heavy: Any, process_is_there: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context_bench.run.jobs._WORTH_A_PROCESS", 0.0)
    monkeypatch.setattr("context_bench.run.jobs._WORTH_SENDING", 0.0)
    asked: list[int] = []
    ask = Child.score
    monkeypatch.setattr(
        Child, "score", lambda child, pairs, _: asked.append(len(pairs)) or ask(child, pairs, None)
    )
    odd = {50: "raise", 60: "die", 70: "raise"}
    examples = [{"id": f"{number}", "say": odd.get(number, "good")} for number in range(100)]

    def answer(example: dict[str, Any]) -> str:
        if int(example["id"]) >= 45:  # those before it have started a process
            process_is_there.wait(60)
        return str(example["say"])

    rows = evaluate(answer, examples, [heavy], progress=False, max_workers=1).rows
    failed = {row.position: row.errors[0].kind for row in rows if row.errors}
    assert failed == {50: "ValueError", 60: "RuntimeError", 70: "ValueError"}
    assert sum(row.scores.get("heavy", 0.0) for row in rows) == 97.0
    assert max(asked) > 1
    assert len(asked) < 100


def test_an_evaluator_that_cannot_be_pickled_scores_here() -> None:
    class Local:
        name, cpu_bound = "local", True

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {"process": float(os.getpid())}

    rows = evaluate(
        lambda example: "x", [{"id": "0"}], [Local()], progress=False, row_timeout=60
    ).rows
    assert [row.scores for row in rows] == [{"process": float(os.getpid())}]


@pytest.mark.parametrize("deadline", [None, 60.0])
def test_rows_are_scored_here_where_no_process_can_be_started(
    deadline: float | None, heavy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(child: Child, evaluator: bytes) -> None:
        raise OSError("no process is to be had")

    monkeypatch.setattr("context_bench.run.jobs._WORTH_A_PROCESS", 0.0)
    monkeypatch.setattr("context_bench.run.jobs._WORTH_SENDING", 0.0)
    monkeypatch.setattr(Child, "__init__", refuse)
    examples = [{"id": str(number)} for number in range(100)]
    rows = evaluate(
        lambda example: "good", examples, [heavy], progress=False, row_timeout=deadline
    ).rows
    assert {row.scores["parent"] for row in rows} == {os.getppid()}


def test_a_process_that_is_still_being_started_when_the_run_ends_is_ended(
    heavy: Any, process_is_there: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Child] = []
    may_start = Event()
    load = Child.__init__

    def load_late(child: Child, evaluator: bytes) -> None:
        may_start.wait(60)
        load(child, evaluator)
        started.append(child)

    monkeypatch.setattr("context_bench.run.jobs._WORTH_A_PROCESS", 0.0)
    monkeypatch.setattr("context_bench.run.jobs._WORTH_SENDING", 0.0)
    monkeypatch.setattr(Child, "__init__", load_late)
    examples = [{"id": str(number)} for number in range(100)]
    rows = evaluate(lambda example: "good", examples, [heavy], progress=False).rows
    assert {row.scores["parent"] for row in rows} == {os.getppid()}
    may_start.set()
    assert process_is_there.wait(60)
    assert [child.is_dead for child in started] == [True]


COSTLY = """
import os, time

class Costly:
    name = "costly"
    cpu_bound = True
    def score(self, original, processed):
        until = time.thread_time() + float(original["cost"])
        while time.thread_time() < until:
            pass
        return {"process": float(os.getpid())}
"""


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize(
    ("cost", "rows", "is_elsewhere"), [(0.05, 60, True), (0.0001, 60, False), (0.02, 5, False)]
)
def test_processes_score_what_has_cost_enough_and_only_that(
    cost: float,
    rows: int,
    is_elsewhere: bool,
    workers: int,
    process_is_there: Event,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "costly_evaluator.py").write_text(COSTLY)
    monkeypatch.syspath_prepend(tmp_path)
    from costly_evaluator import Costly  # type: ignore[import-not-found]

    examples = [{"id": str(n), "question": "why?", "cost": cost} for n in range(rows)]

    def answer(example: dict[str, Any]) -> str:
        if is_elsewhere and int(example["id"]) >= 50:
            process_is_there.wait(60)
        return "1"

    result = evaluate(answer, examples, [Costly()], progress=False, max_workers=workers)
    processes = {row.scores["process"] for row in result.rows}
    assert not any(row.errors for row in result.rows)
    assert len(result.rows) == rows
    assert float(os.getpid()) in processes
    assert (len(processes) > 1) is is_elsewhere


def test_one_processor_scores_here_what_is_not_limited_in_time(
    heavy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_WORTH_A_PROCESS", 0.0)
    monkeypatch.setattr(jobs, "_WORTH_SENDING", 0.0)
    monkeypatch.setattr(jobs, "usable_cores", lambda: 1)
    examples = [{"id": str(number)} for number in range(5)]
    rows = evaluate(lambda example: "good", examples, [heavy], progress=False).rows
    assert {row.scores["parent"] for row in rows} == {os.getppid()}


def test_an_error_that_cannot_be_sent_as_it_is_says_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "raising_evaluator.py").write_text(
        "class PlaceError(Exception):\n"
        "    def __init__(self, line, column):\n"
        "        super().__init__(f'wrong at {line}:{column}')\n"
        "class Raising:\n"
        "    name, cpu_bound = 'raising', True\n"
        "    def score(self, original, processed):\n"
        "        raise PlaceError(3, 4)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from raising_evaluator import Raising  # type: ignore[import-not-found]

    [row] = evaluate(
        lambda example: "x", [{"id": "0"}], [Raising()], progress=False, row_timeout=60
    ).rows
    assert row.errors[0].message == "PlaceError: wrong at 3:4"


INTERRUPTED = """
import signal, sys
from pathlib import Path
from context_bench import evaluate

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may start without it
sys.path.insert(0, str(Path(sys.argv[1]).parent))
from waiting_evaluator import Waiting

def answer(example):
    print("asked", flush=True)
    return "x"

result = evaluate(
    answer, [{"id": "0"}], [Waiting()], progress=False, run_file=sys.argv[1], row_timeout=600
)
print("scores", result.rows[0].scores, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals differ there")
def test_what_is_scored_when_the_run_is_ended_is_left_for_the_next_session(tmp_path: Path) -> None:
    (tmp_path / "waiting_evaluator.py").write_text(
        "import time\n"
        "from pathlib import Path\n"
        "PLACE = Path(__file__).parent\n"
        "class Waiting:\n"
        "    name, cpu_bound = 'waiting', True\n"
        "    def score(self, original, processed):\n"
        "        if not (PLACE / 'begun').exists():\n"
        "            (PLACE / 'begun').write_text('')\n"
        "            time.sleep(600)\n"
        "        return {'waiting': 1.0}\n"
    )
    path = tmp_path / "run.sqlite"
    command = [sys.executable, "-c", INTERRUPTED, str(path)]
    session = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "begun").exists() and session.poll() is None:
        time.sleep(0.05)
    while session.poll() is None:  # the first drains, the second does not wait
        session.send_signal(signal.SIGINT)
        time.sleep(0.3)
    output, _ = session.communicate(timeout=60)
    assert session.returncode != 0
    assert output == "asked\n"
    [row] = open_run(path).rows()
    assert (row.response, row.scores, row.errors) == ("x", {}, ())
    later = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert later.stdout == "scores {'waiting': 1.0}\n"
