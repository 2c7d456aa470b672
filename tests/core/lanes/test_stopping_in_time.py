"""A run that is stopped waits for its calls in flight, but not for ever: what hangs is left, and asked again on resume."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from context_bench import evaluate
from context_bench.runs import open_run
from context_bench.store.runfile import RunFile

SCRIPT = """
import asyncio, os, signal, sys, threading, time
from context_bench import evaluate
from context_bench.errors import RunStoppedError
from context_bench.run import stopping

stopping.LONGEST = 0.5
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may start without it

asked = threading.Event()

def hang():
    asked.set()
    print("asked\\n", end="", flush=True)  # one write: the lines of threads must not mix
    time.sleep(600)

class Quick:
    name = "quick"
    def process(self, example):
        return {"response": "x"}

class Hangs(Quick):
    def process(self, example):
        hang()

class HangsOnTheLoop(Quick):
    async def aprocess(self, example):
        print("asked\\n", end="", flush=True)  # one write: the lines of threads must not mix
        await asyncio.sleep(600)

class One:
    name = "one"
    def score(self, original, processed):
        return {"one": 1.0}

class Waits(One):
    def score(self, original, processed):
        hang()

class Batches(One):
    def score_batch(self, pairs):
        hang()

class Asks(One):
    async def ascore(self, original, processed):
        print("asked\\n", end="", flush=True)  # one write: the lines of threads must not mix
        await asyncio.sleep(600)

class Source:  # brings the signal itself, while the run waits for an example and a call hangs
    def __iter__(self):
        yield {"id": "0"}
        while not asked.wait(0.01):
            pass
        os.kill(os.getpid(), getattr(signal, sys.argv[5]))
        time.sleep(600)

path, system, evaluator, workers = sys.argv[1], globals()[sys.argv[2]](), globals()[sys.argv[3]](), int(sys.argv[4])
examples = Source() if len(sys.argv) > 5 else [{"id": str(n)} for n in range(9)]
try:
    evaluate(system, examples, [evaluator], progress=False, max_workers=workers, run_file=path)
except RunStoppedError as error:
    print("stopped", error.exit_code, flush=True)
"""

HANGING = {
    "a system on the caller's thread": ("Hangs", "One", "1"),
    "a system on threads": ("Hangs", "One", "4"),
    "a system on the event loop": ("HangsOnTheLoop", "One", "4"),
    "an evaluator on the caller's thread": ("Quick", "Waits", "1"),
    "an evaluator on a thread": ("Quick", "Waits", "4"),
    "an evaluator of batches": ("Quick", "Batches", "1"),
    "an evaluator on the event loop": ("Quick", "Asks", "1"),
}


@pytest.mark.skipif(os.name == "nt", reason="signals differ there")
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize("hanging", HANGING.values(), ids=HANGING.keys())
def test_what_hangs_keeps_no_run_from_ending(
    hanging: tuple[str, ...], name: str, code: int, tmp_path: Path
) -> None:
    path = tmp_path / "run.sqlite"
    command = [sys.executable, "-c", SCRIPT, str(path), *hanging]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "asked\n"
        process.send_signal(getattr(signal, name))
        out, _ = process.communicate(timeout=120)  # it would hang for ten minutes
    finally:
        process.kill()
        process.communicate()
    assert f"stopped {code}" in out.splitlines()  # a thread that is left may still say that it asks
    assert RunFile.open(path).run()["status"] == "interrupted"


@pytest.mark.skipif(os.name == "nt", reason="signals differ there")
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_while_an_example_is_pulled_leaves_what_hangs(
    name: str, code: int, tmp_path: Path
) -> None:
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        str(tmp_path / "run.sqlite"),
        "Hangs",
        "One",
        "4",
        name,
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=120)
    assert f"stopped {code}" in done.stdout.splitlines()


@pytest.mark.skipif(os.name == "nt", reason="signals differ there")
def test_a_signal_takes_no_lock_that_the_main_thread_may_hold() -> None:
    from context_bench.run.stopping import Signals

    said: list[str] = []
    told = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        told.set()

    with Signals(say) as signals:
        signals.is_at_once, signals.in_flight = False, lambda: 2
        stop = signals.stop
        with stop._lock:
            os.kill(os.getpid(), signal.SIGTERM)
            while signals.number is None:
                time.sleep(0.001)
        assert stop.wait(60)
        assert told.wait(60)
    assert said == ["Finishing 2 calls in flight, for 10 s at most; again to stop now."]


def test_a_run_that_ends_in_time_hears_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from context_bench.errors import RunStoppedError
    from context_bench.run import stopping

    monkeypatch.setattr(stopping, "LONGEST", 3600.0)

    class Stops:
        name = "stops"

        def process(self, example: object) -> dict[str, str]:
            os.kill(os.getpid(), signal.SIGTERM)
            return {"response": "x"}

    class One:
        name = "one"

        def score(self, original: object, processed: object) -> dict[str, float]:
            return {"one": 1.0}

    path = tmp_path / "run.sqlite"
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(RunStoppedError):
        evaluate(
            Stops(),
            [{"id": str(n)} for n in range(9)],
            [One()],
            progress=False,
            max_workers=1,
            run_file=str(path),
        )
    assert signal.getsignal(signal.SIGTERM) is before
    with open_run(path) as run:
        assert not run.completeness.is_complete
