"""Evaluators that are bound to the processor score in processes that can be killed."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.run import deferred_scoring, jobs, said
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
def any_cost_is_high(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are started for whatever an evaluator costs."""
    monkeypatch.setattr(jobs, "_WORTH_A_PROCESS", 0.0)
    monkeypatch.setattr(jobs, "_WORTH_SENDING", 0.0)


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


@pytest.mark.usefixtures("any_cost_is_high")
def test_rows_that_are_sent_together_fail_alone(
    heavy: Any, process_is_there: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
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
@pytest.mark.usefixtures("any_cost_is_high")
def test_rows_are_scored_here_where_no_process_can_be_started(
    deadline: float | None, heavy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(child: Child, evaluator: bytes) -> None:
        raise OSError("no process is to be had")

    monkeypatch.setattr(Child, "__init__", refuse)
    examples = [{"id": str(number)} for number in range(100)]
    rows = evaluate(
        lambda example: "good", examples, [heavy], progress=False, row_timeout=deadline
    ).rows
    assert {row.scores["parent"] for row in rows} == {os.getppid()}


@pytest.mark.usefixtures("any_cost_is_high")
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


@pytest.mark.usefixtures("any_cost_is_high")
def test_one_processor_scores_here_what_is_not_limited_in_time(
    heavy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "usable_cores", lambda: 1)
    examples = [{"id": str(number)} for number in range(5)]
    rows = evaluate(lambda example: "good", examples, [heavy], progress=False).rows
    assert {row.scores["parent"] for row in rows} == {os.getppid()}


def test_an_error_that_cannot_be_sent_is_told_as_it_is(
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
    [error] = row.errors
    assert (error.kind, error.message) == ("PlaceError", "wrong at 3:4")
    assert "raise PlaceError(3, 4)" in error.traceback


SAYING = """
import os
from collections import UserDict
from types import MappingProxyType

class Scores(UserDict):
    details = {"why": "so", "lambda": 1}

class Saying:
    name, cpu_bound = "saying", True
    def score(self, original, processed):
        kinds = {
            "proxy": MappingProxyType({"saying": 1}),
            "user": Scores(saying=2.0),
            "function": {"saying": print},
            "number": 3,
        }
        return kinds[original["id"]]
"""


def test_a_process_says_what_would_be_said_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "saying_evaluator.py").write_text(SAYING)
    monkeypatch.syspath_prepend(tmp_path)
    from saying_evaluator import Saying  # type: ignore[import-not-found]

    def rows(row_timeout: float | None) -> list[Any]:
        examples = [{"id": kind} for kind in ("proxy", "user", "function", "number")]
        result = evaluate(
            lambda example: "x", examples, [Saying()], progress=False, row_timeout=row_timeout
        )
        return [(row.scores, row.details, row.errors) for row in result.rows]

    here, there = rows(None), rows(60.0)
    assert here == there
    assert [scores for scores, _, _ in there] == [{"saying": 1.0}, {"saying": 2.0}, {}, {}]
    assert [len(errors) for _, _, errors in there] == [0, 0, 1, 1]


class Odd:
    """What a process is in the tests below."""

    def score(self, what: str) -> Any:
        if what == "fork" and not os.fork():
            time.sleep(600)
        if what == "fork":
            os._exit(5)
        if what == "start":
            return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid
        return what


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> Iterator[Child]:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setitem(sys.modules, "test_children", sys.modules[__name__])
    monkeypatch.setattr(Odd, "__module__", "test_children")
    child = Child(pickle.dumps(Odd()))
    yield child
    child.kill()


def test_a_process_outlives_the_thread_that_asked_for_it(odd: Child) -> None:
    children: list[Child] = []
    thread = Thread(target=lambda: children.append(Child(pickle.dumps(Odd()))))
    thread.start()
    thread.join()
    assert children[0].score(("word",), None) == "word"
    children[0].kill()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_process_has_ended_though_a_fork_of_it_holds_its_output(odd: Child) -> None:
    with pytest.raises(EOFError, match="exit code 5"):
        odd.score(("fork",), 120.0)  # the fork sleeps for longer


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="processes cannot be looked at")
def test_what_an_evaluator_has_started_is_killed_with_its_process(odd: Child) -> None:
    def state() -> dict[str, str]:
        try:
            lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
        except OSError:  # it has been waited for
            return {"State": "X"}
        return dict(line.split(":\t", 1) for line in lines if ":\t" in line)

    pid = odd.score(("start",), None)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        assert not int(state()["SigIgn"], 16) >> (number - 1) & 1
    odd.kill()
    end = time.monotonic() + 120  # it sleeps for longer
    while state()["State"][0] not in "ZX" and time.monotonic() < end:
        time.sleep(0.05)
    assert state()["State"][0] in "ZX"


def test_rows_that_take_longer_than_those_before_them_are_not_waited_for_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = count()
    monkeypatch.setattr(said, "perf_counter", lambda: 0.06 * next(ticks))
    spoken = said.EachOf(Saying(), "saying").score(*[({}, {"response": "x"})] * 10)
    assert [one.scores for one in spoken if isinstance(one, said.Said)] == [{"saying": 1.0}] * 2


class Saying:
    name, cpu_bound = "saying", True

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"saying": 1.0}


@pytest.mark.usefixtures("any_cost_is_high")
def test_rows_that_a_batch_has_no_time_for_are_scored_in_the_next(
    heavy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "usable_cores", lambda: 2)
    monkeypatch.setattr(said, "BATCH_SECONDS", 0.0)
    monkeypatch.setattr(deferred_scoring, "usable_cores", lambda: 1)
    heavy.here = lambda: None  # cannot be pickled
    sizes: list[int] = []
    all_are_asked = Event()
    score = said.EachOf.score

    def score_and_tell(each: said.EachOf, *pairs: Any) -> Any:
        all_are_asked.wait(60)
        sizes.append(len(pairs))
        return score(each, *pairs)

    def answer(example: dict[str, Any]) -> str:
        if example["id"] == "199":
            all_are_asked.set()
        return "good"

    monkeypatch.setattr(said.EachOf, "score", score_and_tell)
    examples = [{"id": str(number)} for number in range(200)]
    rows = evaluate(answer, examples, [heavy], progress=False).rows
    assert [row.scores["heavy"] for row in rows] == [1.0] * 200
    assert max(sizes) > 1


def test_what_a_failing_evaluator_costs_counts(
    process_is_there: Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_evaluator.py").write_text(
        COSTLY.replace('return {"process": float(os.getpid())}', "raise ValueError(os.getpid())")
    )
    monkeypatch.syspath_prepend(tmp_path)
    from failing_evaluator import Costly  # type: ignore[import-not-found]

    examples = [{"id": str(n), "question": "why?", "cost": 0.05} for n in range(60)]

    def answer(example: dict[str, Any]) -> str:
        if int(example["id"]) >= 50:
            process_is_there.wait(60)
        return "1"

    result = evaluate(answer, examples, [Costly()], progress=False, keep_going=True)
    assert len({row.errors[0].message for row in result.rows}) > 1


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
