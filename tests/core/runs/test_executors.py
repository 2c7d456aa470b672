"""Rows are the same wherever they are done, and a worker that dies costs its batch and no more."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import pytest

from context_bench.cli import execute
from context_bench.errors import ConfigurationError, LostExecutorError, StoreError
from context_bench.installation import install_hint
from context_bench.run.cores import usable_cores
from context_bench.runs import open_run
from context_bench.session import executors
from context_bench.session.worker import require_equal_versions, versions_of

pytest.importorskip("context_bench_answer_quality", reason="it scores")
pytest.importorskip("context_bench_compress", reason="it brings the systems")
pytest.importorskip("context_bench_local", reason="it reads the rows")
pytest.importorskip("context_bench_python", reason="it brings the reader")
pytest.importorskip("context_bench_replay", reason="it fails where nothing is recorded")

ROWS = 40
QUIET = ("--format", "none", "-q", "--keep-going", "--max-failed", "50%")
SYSTEM = """
import os, time

def answer(question):
    number = int(question.split()[1])
    with open("calls.txt", "a") as calls:
        calls.write(f"{number}\\n")
    deadly = os.environ.get("DEADLY", "")
    if deadly and number == 17 and (deadly == "always" or not os.path.exists("died")):
        open("died", "w").close()
        os._exit(9)
    time.sleep(float(os.environ.get("SECONDS", "0")))
    return f"{question} {os.environ.get('ACME_TOKEN', '')}"
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("acme_remote", None)
    sys.modules.pop("acme_hungry", None)
    monkeypatch.setenv("CONTEXT_BENCH_HOME", str(tmp_path / "home"))
    rows = [
        {
            "id": f"e{number}",
            "context": "word " * 9 + str(number),
            "question": f"q {number}",
            "answer": f"q {number}" if number % 3 else "x",
            "response": None if number % 11 == 5 else f"Q {number}",
            "dataset": ("squad", "gsm8k")[number % 5 == 0],
        }
        for number in range(ROWS)
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("acme_remote.py").write_text(SYSTEM)
    return tmp_path


def run(path: str, *request: str) -> int:
    return execute(["run", "-d", "rows.jsonl", "--run-file", path, *QUIET, *request])


def export(path: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert execute(["export", "--canonical", path]) == 0
    return capsys.readouterr().out


ANSWERS = ("-s", "acme=python:target=acme_remote:answer,input=question,version=1")


@pytest.mark.parametrize(
    "request_of_run",
    [
        ("-s", "identity", "-s", "head:tokens=5", "--reader", ANSWERS[1].partition("=")[2]),
        ("-s", "replay", *ANSWERS, "--repeat", "2", "--order", "system"),
    ],
    ids=["a chain", "failures"],
)
def test_processes_give_the_rows_of_one(
    request_of_run: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("local.sqlite", *request_of_run) == 0
    Path("calls.txt").unlink()
    assert run("processes.sqlite", *request_of_run, "--executor", "processes:2") == 0
    assert Path("calls.txt").exists()
    assert export("processes.sqlite", capsys) == export("local.sqlite", capsys)
    with open_run("local.sqlite") as local, open_run("processes.sqlite") as processes:
        for row in local.rows():
            identity = (row.dataset_number, row.position)
            keys = [[key.scores for key in opened.keys(identity)] for opened in (local, processes)]
            assert keys[0] == keys[1]
        assert list(processes.faults()) == []


def test_a_worker_that_dies_is_replaced_and_its_batch_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("local.sqlite", *ANSWERS) == 0
    Path("calls.txt").unlink()
    monkeypatch.setenv("DEADLY", "once")
    assert run("processes.sqlite", *ANSWERS, "--executor", "processes:1") == 0
    assert Path("died").exists()
    assert export("processes.sqlite", capsys) == export("local.sqlite", capsys)
    calls = Path("calls.txt").read_text().split()
    assert set(calls) == {str(number) for number in range(ROWS)}
    assert len(calls) <= ROWS + 256


def test_a_row_that_no_worker_survives_has_failed_and_the_others_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEADLY", "always")
    assert run("processes.sqlite", *ANSWERS, "--executor", "processes:1") == 0
    with open_run("processes.sqlite") as opened:
        failed = {row.position: row.errors[0].kind for row in opened.rows() if row.failed}
        assert failed == {17: "LostWorkerError"}
        assert len(opened) == ROWS


class DiedError(Exception):
    """All that a worker did at once is lost."""


class SharedWorker:
    """An executor with one worker that does several batches at once, and dies of one row."""

    slots = 3
    lost = (DiedError,)
    deadly = 17

    def __init__(self, address: str = "") -> None:
        self._calls: SimpleQueue[Any] = SimpleQueue()
        self._thread = Thread(target=self._work)
        self._thread.start()

    def submit(
        self, function: Callable[..., Any], *arguments: Any, resources: Any = None
    ) -> Future[Any]:
        future: Future[Any] = Future()
        self._calls.put((future, function, arguments))
        return future

    def each(self, function: Callable[..., Any], *arguments: Any) -> Mapping[str, Any]:
        return {"worker": function(*arguments)}

    def close(self) -> None:
        self._calls.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            calls = [call]
            with suppress(Empty):
                while len(calls) < self.slots and calls[-1] is not None:
                    calls.append(self._calls.get(timeout=0.05))
            jobs = [job for call in calls if call for job in pickle.loads(call[2][1])[1]]
            is_dead = any(job.id.position == self.deadly for job in jobs)
            for future, function, arguments in filter(None, calls):
                if is_dead:
                    future.set_exception(DiedError())
                else:
                    future.set_result(function(*arguments))
            if calls[-1] is None:
                return


def test_no_row_fails_for_a_row_that_a_worker_does_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("context_bench.run.processes.ProcessExecutor", SharedWorker)
    assert run("shared.sqlite", *ANSWERS, "--executor", "processes") == 0
    with open_run("shared.sqlite") as opened:
        failed = {row.position: row.errors[0].kind for row in opened.rows() if row.failed}
        assert failed == {SharedWorker.deadly: "LostWorkerError"}
        assert len(opened) == ROWS


HUNGRY = """
class Hungry:
    name = "hungry"
    resources = {"gpus": 1}

    def process(self, example):
        return {"response": example["question"]}

class Greedy(Hungry):
    resources = {"gpus": 0}
"""


class ResourceWorker(SharedWorker):
    """An executor that notes what batches need."""

    deadly = -1
    needs: list[tuple[Any, set[int]]]

    def submit(
        self, function: Callable[..., Any], *arguments: Any, resources: Any = None
    ) -> Future[Any]:
        jobs = pickle.loads(arguments[1])[1]
        self.needs.append((resources, {job.slot for job in jobs}))
        return super().submit(function, *arguments)


def test_a_batch_needs_what_its_system_declares(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("acme_hungry.py").write_text(HUNGRY)
    hungry = ("-s", "hungry=python:target=acme_hungry:Hungry,version=1")
    assert run("local.sqlite", *ANSWERS, *hungry) == 0
    monkeypatch.setattr("context_bench.run.processes.ProcessExecutor", ResourceWorker)
    monkeypatch.setattr(ResourceWorker, "needs", [], raising=False)
    assert run("resources.sqlite", *ANSWERS, *hungry, "--executor", "processes") == 0
    assert all(
        need == ({"gpus": 1} if slots == {1} else {}) for need, slots in ResourceWorker.needs
    )
    assert {frozenset(slots) for _, slots in ResourceWorker.needs} == {
        frozenset({0}),
        frozenset({1}),
    }
    assert export("resources.sqlite", capsys) == export("local.sqlite", capsys)


def test_resources_are_positive_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    Path("acme_hungry.py").write_text(HUNGRY)
    greedy = ("-s", "greedy=python:target=acme_hungry:Greedy,version=1")
    assert run("greedy.sqlite", *greedy, "--executor", "processes:1") == 2
    message = capsys.readouterr().err
    assert "acme_hungry:Greedy" in message
    assert "'gpus': 0" in message


class LostExecutor(SharedWorker):
    """An executor that is lost after its first batch."""

    is_used = False

    def submit(
        self, function: Callable[..., Any], *arguments: Any, resources: Any = None
    ) -> Future[Any]:
        future: Future[Any] = Future()
        if not self.is_used:
            self.is_used = True
            future.set_result(function(*arguments))
            return future
        future.set_exception(LostExecutorError("The scheduler at tcp://node:1 is lost."))
        return future


def test_a_lost_executor_ends_the_run_and_resume_does_the_rest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("local.sqlite", *ANSWERS) == 0
    with monkeypatch.context() as patched:
        patched.setattr("context_bench.run.processes.ProcessExecutor", LostExecutor)
        assert run("lost.sqlite", *ANSWERS, "--executor", "processes") == 3
    message = capsys.readouterr().err
    assert "tcp://node:1" in message
    assert "context-bench resume" in message
    assert execute(["resume", "lost.sqlite", *QUIET]) == 0
    assert export("lost.sqlite", capsys) == export("local.sqlite", capsys)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this platform")
def test_a_driver_that_is_killed_repeats_at_most_the_batches_in_flight(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("local.sqlite", *ANSWERS) == 0
    Path("calls.txt").unlink()
    chance = random.Random(3)
    path = Path("processes.sqlite")
    rows = ["run", "-d", "rows.jsonl", *ANSWERS, "--run-file", str(path)]
    environ = {**os.environ, "SECONDS": "0.05", "PYTHONPATH": os.getcwd()}
    committed = 0
    for _ in range(3):
        words = ["resume", str(path)] if path.exists() else rows
        command = [sys.executable, "-m", "context_bench", *words, *QUIET]
        process = subprocess.Popen(
            [*command, "--executor", "processes:1"],
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wanted = committed + chance.randint(3, 10)
        while process.poll() is None and committed < wanted:
            time.sleep(0.01)
            if path.exists():
                with suppress(StoreError), open_run(path) as opened:  # "Read it again", it may say
                    committed = len(opened)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert execute(["resume", str(path), *QUIET, "--executor", "processes:1"]) == 0
    assert export(str(path), capsys) == export("local.sqlite", capsys)
    calls = Path("calls.txt").read_text().split()
    assert set(calls) == {str(number) for number in range(ROWS)}
    assert len(calls) <= ROWS + 3 * 2 * 8  # two batches of eight rows are in flight


def test_what_workers_return_loses_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("context_bench_openai", reason="it declares a secret variable")
    monkeypatch.setenv("OPENAI_API_KEY", "sesame-open-1234")
    monkeypatch.setenv("ACME_TOKEN", "sesame-open-1234")
    assert run("processes.sqlite", *ANSWERS, "--executor", "processes:1") == 0
    assert "***" in export("processes.sqlite", capsys)
    assert b"sesame" not in Path("processes.sqlite").read_bytes()


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("processes:0", "positive"),
        ("processes:x", "positive"),
        ("nosuch", "Unknown executor 'nosuch'. Choose from: "),
        ("proceses:2", "Unknown executor 'proceses'. Did you mean 'processes'?"),
        ("conversations", "Unknown executor 'conversations'. Choose from: "),
    ],
)
def test_what_is_no_executor_is_an_error(
    name: str, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("x.sqlite", "-s", "identity", "--executor", name) == 2
    error = capsys.readouterr().err
    assert named in error
    assert "gate" not in error, "an extension that is no executor is no choice"
    assert not Path("x.sqlite").exists()


def test_an_executor_whose_package_is_missing_names_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(executors, "_FIRST_PARTY", {"mist": "context-bench-dask"})
    assert run("x.sqlite", "-s", "identity", "--executor", "mist:tcp://h:1") == 2
    error = capsys.readouterr().err
    assert error.startswith("Error: --executor mist needs an extension that is not installed.")
    assert f"Install it: {install_hint('context-bench-dask')}." in error


class Workers:
    """An executor whose workers have some versions."""

    slots = 1
    lost: tuple[type[BaseException], ...] = ()

    def __init__(self, *versions: Mapping[str, Any]) -> None:
        self._versions = versions

    def submit(
        self, function: Callable[..., Any], *arguments: Any, resources: Any = None
    ) -> Future[Any]:
        raise AssertionError("no batch may be sent")

    def each(self, function: Callable[..., Any], *arguments: Any) -> Mapping[str, Any]:
        assert function is versions_of
        return {f"node-{number}": versions for number, versions in enumerate(self._versions)}

    def close(self) -> None:
        pass


def test_workers_with_other_versions_are_refused_with_a_table() -> None:
    names: Sequence[str] = ["context-bench", "context-bench-answer-quality"]
    own = versions_of(names)
    require_equal_versions(Workers(own, own), list(names))
    other = {**own, "attrs": "19.1.0"}
    absent = {name: value for name, value in own.items() if name != names[1]}
    with pytest.raises(ConfigurationError) as caught:
        require_equal_versions(Workers(own, other, absent), list(names))
    lines = [line.split() for line in str(caught.value).splitlines()]
    assert ["attrs", own["attrs"], "19.1.0", "node-1"] in lines
    assert [names[1], own[names[1]], "absent", "node-2"] in lines


@pytest.mark.parametrize(
    ("files", "group", "quota"),
    [
        ({"a/b/cpu.max": "150000 100000"}, "0::/a/b", 2),
        ({"a/cpu.max": "100000 100000", "a/b/cpu.max": "max 100000"}, "0::/a/b", 1),
        (
            {"cpu/a/cpu.cfs_quota_us": "50000", "cpu/a/cpu.cfs_period_us": "100000"},
            "4:cpu,cpuacct:/a",
            1,
        ),
        (
            {"cpu/a/cpu.cfs_quota_us": "-1", "cpu/a/cpu.cfs_period_us": "100000"},
            "4:cpu,cpuacct:/a",
            64,
        ),
        ({"a/cpu.max": "broken"}, "0::/a", 64),
        ({}, "", 64),
    ],
)
def test_the_quota_of_a_control_group_counts(
    files: dict[str, str], group: str, quota: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    groups = tmp_path / "groups"
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text)
    (tmp_path / "own").write_text(group)
    assert usable_cores(groups, tmp_path / "own") == quota


def test_the_affinity_of_the_process_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3}, raising=False)
    assert usable_cores(tmp_path, tmp_path / "own") == 1
