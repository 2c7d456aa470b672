"""A signal may come at any moment of a session: the run file then says so, and the exit code, and nothing keeps the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from context_bench import evaluate
from context_bench.errors import RunStoppedError
from context_bench.store.runfile import RunFile

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals differ there")

CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}

START = """
import asyncio, os, signal, sys, threading, time
from pathlib import Path
from context_bench import evaluate
from context_bench.session import rescoring
from context_bench.session import run as runs
from context_bench.session.session import RunSession
from context_bench.session import session as sessions
from context_bench.errors import RunStoppedError
from context_bench.run import loop, second_pass, stopping
from context_bench.store.runfile import Rescoring
from context_bench.store.runfile import RunFile

for each in ("SIGINT", "SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, each), signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
path, number = sys.argv[1], getattr(signal, sys.argv[2])

def send():
    os.kill(os.getpid(), number)

def before(owner, name, times=1):  # sends the signal as that is called
    function = getattr(owner, name)
    left = [times]
    def signalled(*args, **kwargs):
        if left[0]:
            left[0] -= 1
            send()
        return function(*args, **kwargs)
    setattr(owner, name, signalled)

class Plain:
    name = "plain"
    def process(self, example):
        return {"response": "x"}

class One:
    name = "one"
    def score(self, original, processed):
        return {"one": 1.0}

def session(system, workers=1, count=9):
    examples = [{"id": str(n)} for n in range(count)]
    try:
        evaluate(system, examples, [One()], progress=False, max_workers=workers, run_file=path)
        print("finished", flush=True)
    except RunStoppedError as error:
        print("stopped", error.exit_code, flush=True)
"""


def run(script: str, path: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", START + script, str(path), name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


class Plain:
    name = "plain"

    def process(self, example: object) -> dict[str, str]:
        return {"response": "x"}


class One:
    name = "one"

    def score(self, original: object, processed: object) -> dict[str, float]:
        return {"one": 1.0}


MOMENTS = {
    "as it begins": "before(RunFile, 'expect'); session(Plain())",
    "as limits are read": "before(sessions, 'admission_of'); session(Plain())",
    "between two loops": "before(loop.RunLoop, 'run'); session(Plain())",
    "as systems are closed": "before(sessions, 'close_systems'); session(Plain())",
    "as primary_scores are settled": "before(RunFile, 'settle_primary_scores'); session(Plain())",
    "as the end is told": "before(RunSession, '_show_end'); session(Plain())",
    "twice, and once more as hooks are told": "before(loop.RunLoop, 'run'); before(RunSession, '_show_end'); session(Plain())",
    "and again as the end is recorded": "before(loop.RunLoop, 'run'); before(RunFile, 'finish', 3); session(Plain())",
    "and again as the file is closed": "before(loop.RunLoop, 'run'); before(RunFile, 'close', 3); session(Plain())",
}


@pytest.mark.parametrize("name", CODES)
def test_a_signal_outside_the_rows_is_recorded(name: str, tmp_path: Path) -> None:
    script = f"""
folder = path
for number_of_moment, moment in enumerate({list(MOMENTS.values())!r}):
    child = os.fork()  # each in a process of its own, the imports made once
    if child == 0:
        path = os.path.join(folder, f"{{number_of_moment}}.sqlite")
        exec(moment)
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
    done = run(script, tmp_path, name)
    told = done.stdout.splitlines()
    for number, moment in enumerate(MOMENTS):
        assert told[2 * number : 2 * number + 2] == [f"stopped {CODES[name]}", "0"], (
            moment,
            done.stdout,
            done.stderr,
        )
        path = tmp_path / f"{number}.sqlite"
        store = RunFile.open(path)
        assert store.run()["status"] == "interrupted", moment
        store.close()
        evaluate(
            Plain(),
            [{"id": str(n)} for n in range(9)],
            [One()],
            progress=False,
            max_workers=1,
            run_file=path,
        )
        store = RunFile.open(path)
        assert store.run()["status"] == "finished", moment
        store.close()


def test_a_run_that_cannot_begin_is_recorded_as_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.sqlite"
    closed = []

    def fail(*_: object) -> None:
        from context_bench.errors import ConfigurationError

        raise ConfigurationError("no price is known")

    monkeypatch.setattr("context_bench.session.session.admission_of", fail)
    monkeypatch.setattr(
        "context_bench.session.session.close_systems", lambda slots: closed.append(1) or []
    )
    with pytest.raises(RunStoppedError, match="no price"):
        evaluate(Plain(), [{"id": "1"}], [One()], progress=False, run_file=str(path))
    assert closed
    assert not path.exists()


@pytest.mark.parametrize(
    "moment", ["before(Rescoring, 'publish', 2)", "before(second_pass.RescoreJobs, 'jobs')"]
)
@pytest.mark.parametrize("name", CODES)
def test_a_signal_in_a_rescore_leaves_a_whole_file(moment: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    again = f"""
from context_bench.catalog import open_catalog
from context_bench.runs import open_run
from attrs import evolve

session(Plain())
{moment}
one = {{"evaluators": ("answer-quality",)}}
try:
    rescoring.rescore(open_catalog(), Path(path), lambda request: evolve(request, **one))
    print("rescored")
except RunStoppedError as error:
    print("stopped", error.exit_code)
with open_run(path) as found:
    print(found.status)
"""
    done = run(again, path, name)
    told = "rescored" if "publish" in moment else f"stopped {CODES[name]}"
    assert done.stdout.splitlines() == ["finished", told, "finished"], done.stderr


@pytest.mark.parametrize("name", CODES)
def test_a_second_signal_behind_a_commit_commits_nothing_twice(name: str, tmp_path: Path) -> None:
    script = """
committed = []

def commit(self, items, done=RunFile.commit):
    done(self, items)
    committed.append(len(items))
    if len(committed) == 1:
        send()
        send()

RunFile.commit = commit
session(Plain())
print(len(committed))
"""
    done = run(script, tmp_path / "run.sqlite", name)
    assert done.stdout.splitlines() == [f"stopped {CODES[name]}", "1"], done.stderr


def test_blocking_calls_of_a_coroutine_keep_no_process(tmp_path: Path) -> None:
    script = """
stopping.LONGEST = 0.5
asked = threading.Semaphore(0)

def hang(example):
    asked.release()
    time.sleep(600)

class Async(Plain):
    async def aprocess(self, example):
        return await asyncio.to_thread(hang, example)

def watch():
    for _ in range(40):  # all of them, however few cores there are
        asked.acquire()
    send()

threading.Thread(target=watch, daemon=True).start()
session(Async(), 40, 40)
"""
    done = run(script, tmp_path / "run.sqlite", "SIGTERM")
    assert done.stdout.splitlines() == ["stopped 143"], done.stderr


def test_what_swallows_a_signal_gets_another(tmp_path: Path) -> None:
    script = """
stopping.LONGEST = 0.2

class Stubborn(Plain):
    def process(self, example):
        send()
        for _ in range(3):
            try:
                time.sleep(600)
            except BaseException:
                continue
        return {"response": "x"}

session(Stubborn())
"""
    done = run(script, tmp_path / "run.sqlite", "SIGTERM")
    assert done.stdout.splitlines() == ["stopped 143"], done.stderr


@pytest.mark.parametrize("name", CODES)
def test_a_signal_while_a_command_prepares_ends_it_in_order(name: str, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text('{"question": "q", "answer": "a"}\n')
    script = f"""
from context_bench.cli import main

def prepare(*_, **__):
    threading.Thread(target=time.sleep, args=(600,)).start()  # somebody else's, which Python would wait for
    try:
        send()
        time.sleep(600)
    finally:
        print("closed", flush=True)

runs.run = prepare
sys.argv = ["context-bench", "run", "--system", "identity", "--evaluators", "answer-quality", "-d", {str(data)!r}]
main()
"""
    done = run(script, tmp_path / "run.sqlite", name)
    assert done.returncode == CODES[name], done.stderr
    assert "closed" in done.stdout + done.stderr
    assert "Interrupted." in done.stderr
    assert "Traceback" not in done.stderr
