"""Where threads, processes or open files are scarce, a run goes on with those that it gets, or says what it lacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = """
import asyncio, os, sys, threading, time
from context_bench import evaluate
from context_bench.errors import RunStoppedError

refused, lacking = sys.argv[1], range(*map(int, sys.argv[2].split("-")))
begin, begun = threading.Thread.start, []

def start(thread):
    if thread.name.startswith(f"context-bench-{refused}"):
        begun.append(thread)
        if len(begun) in lacking:
            raise RuntimeError("can't start new thread")
    begin(thread)

threading.Thread.start = start

class Plain:
    name = "plain"
    def score(self, original, processed):
        return {"plain": 1.0}

class InBatches(Plain):
    def score_batch(self, pairs):
        return [{"plain": 1.0} for _ in pairs]

class Async(Plain):
    async def score(self, original, processed):
        return {"plain": 1.0}

class Heavy(Plain):
    cpu_bound = True

async def answer(example):
    return "1"

def answer_when_a_second_thread_was_asked_for(example):
    while len(begun) < 2:
        time.sleep(0.001)
    return "1"

def run(system, evaluator, **options):
    examples = [{"id": str(n), "question": "why?"} for n in range(40)]
    try:
        result = evaluate(system, examples, [evaluator], progress=False, **options)
    except RunStoppedError as error:
        print("error:", error)
    else:
        failed = {str(failure.message) for row in result.rows for failure in row.errors}
        print(len(result.rows), "rows", sum("plain" in row.scores for row in result.rows), "scored", *sorted(failed))
"""

NONE = (
    "error: The operating system starts no more threads: their number (`ulimit -u`) or memory is limited. End other programs, "
    "or make fewer calls at once (--max-workers)."
)
PLAIN = "run(lambda example: '1', Plain(), max_workers=8, row_timeout=60)"
CASES = {
    "no thread for a call": ("worker", "1-999", PLAIN, NONE),
    "one thread for eight calls": (
        *(
            "worker",
            "2-3",
            "run(answer_when_a_second_thread_was_asked_for, Plain(), max_workers=8)",
        ),
        "40 rows 40 scored",
    ),
    "no thread that drives the rows": ("loop", "1-999", PLAIN, NONE),
    "no thread that writes": ("writer", "1-999", PLAIN, NONE),
    "no event loop": ("coroutines", "1-999", "run(answer, Plain())", NONE),
    "no thread for batches": (
        *("scoring", "1-999", "run(lambda example: '1', InBatches())"),
        "40 rows 0 scored can't start new thread",
    ),
    "no event loop for an evaluator": (
        *("coroutines", "1-999", "run(lambda example: '1', Async())"),
        "40 rows 0 scored can't start new thread",
    ),
    "no thread that leads a process": (
        *("scoring", "1-999", "run(lambda example: '1', Heavy(), row_timeout=60)"),
        "40 rows 0 scored can't start new thread",
    ),
}


def told_by(script: str, *arguments: str, **options: object) -> str:
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    return str(done.stdout).strip()


@pytest.mark.parametrize(("refused", "lacking", "call", "told"), CASES.values(), ids=CASES)
def test_a_run_that_gets_no_thread_ends(refused: str, lacking: str, call: str, told: str) -> None:
    assert told_by(f"{PRELUDE}\n{call}", refused, lacking) == told


@pytest.mark.parametrize(
    ("at_least", "elsewhere"), [(0, 0), (1, 1)], ids=["no process", "one process"]
)
@pytest.mark.parametrize("evaluator", ["Heavy", "Slow"])
def test_rows_are_scored_though_no_more_processes_can_be_begun(
    evaluator: str, at_least: int, elsewhere: int, tmp_path: Path
) -> None:
    (tmp_path / "heavy.py").write_text(
        "import os, time\n"
        "class Heavy:\n"
        "    name, cpu_bound, seconds = 'heavy', True, 0\n"
        "    def score(self, original, processed):\n"
        "        time.sleep(self.seconds)\n"
        "        return {'plain': 1.0, 'process': float(os.getpid())}\n"
        "class Slow(Heavy):\n"
        "    seconds = 0.02\n"
    )
    script = f"""{PRELUDE}
import errno, subprocess
sys.path.insert(0, {str(tmp_path)!r})
from heavy import {evaluator}

class Popen(subprocess.Popen):
    begun = 0
    def __init__(self, *arguments, **options):
        if Popen.begun == {at_least}:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        Popen.begun += 1
        super().__init__(*arguments, **options)

subprocess.Popen = Popen
examples = [{{"id": str(n), "question": "why?"}} for n in range(40)]
result = evaluate(lambda example: "1", examples, [{evaluator}()], progress=False, row_timeout=60, max_workers=8)
elsewhere = {{row.scores["process"] for row in result.rows}} - {{os.getpid()}}
print(len(result.rows), sum(bool(row.errors) for row in result.rows), len(elsewhere))
"""
    assert told_by(script, "nothing", "0-0") == f"40 0 {elsewhere}"


def test_an_evaluator_that_can_have_no_process_is_bounded_by_the_deadline() -> None:
    script = f"""{PRELUDE}
class Hanging(Heavy):
    def score(self, original, processed):
        if original["id"] == "3":
            time.sleep(600)
        return {{"plain": 1.0}}

run(lambda example: "1", Hanging(), row_timeout=1)
"""
    assert (
        told_by(script, "nothing", "0-0")
        == "40 rows 39 scored it took longer than the deadline of 1 s."
    )


def test_an_evaluator_that_blocks_the_event_loop_is_bounded_by_the_deadline() -> None:
    script = f"""{PRELUDE}
class Blocking(Async):
    async def score(self, original, processed):
        if original["id"] == "3":
            time.sleep(600)
        return {{"plain": 1.0}}

run(lambda example: "1", Blocking(), row_timeout=2)
"""
    told = told_by(script, "nothing", "0-0")
    assert told.startswith("40 rows")
    assert told.endswith("scored it took longer than the deadline of 2 s.")


def test_an_evaluator_that_cancels_itself_fails() -> None:
    script = f"""{PRELUDE}
class Cancelling(Async):
    async def score(self, original, processed):
        if original["id"] == "3":
            raise asyncio.CancelledError
        return {{"plain": 1.0}}

run(lambda example: "1", Cancelling())
"""
    assert (
        told_by(script, "nothing", "0-0")
        == "40 rows 39 scored the call was cancelled by the evaluator itself."
    )


@pytest.mark.skipif(
    sys.platform == "win32", reason="only POSIX numbers what is open, and bounds it"
)
def test_a_process_is_heard_though_more_than_a_thousand_files_are_open(tmp_path: Path) -> None:
    (tmp_path / "heavy.py").write_text(
        "class Heavy:\n"
        "    name, cpu_bound = 'heavy', True\n"
        "    def score(self, original, processed):\n"
        "        return {'plain': float(original['id'])}\n"
    )
    script = f"""{PRELUDE}
import resource
sys.path.insert(0, {str(tmp_path)!r})
from heavy import Heavy
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most), most))
kept = [open(os.devnull) for _ in range(1100)]
examples = [{{"id": str(n), "question": "why?"}} for n in range(40)]
result = evaluate(lambda example: "1", examples, [Heavy()], progress=False, row_timeout=60)
print(all(row.scores == {{"plain": float(row.example_id)}} for row in result.rows))
"""
    assert told_by(script, "nothing", "0-0") == "True"


@pytest.mark.parametrize("part", ["system", "evaluator"])
def test_code_that_cancels_every_task_of_its_event_loop_ends_no_row_in_silence(part: str) -> None:
    script = f"""{PRELUDE}
async def cancel_all():
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(0)

class Cancelling(Async):
    async def score(self, original, processed):
        await cancel_all()

async def cancelling(example):
    await cancel_all()

run(*(cancelling, Plain()) if {part == "system"} else (lambda example: "1", Cancelling()), keep_going=True)
"""
    assert (
        told_by(script, "nothing", "0-0")
        == f"40 rows 0 scored the call was cancelled by the {part} itself."
    )


def test_a_signal_ends_a_run_at_once_where_no_thread_can_keep_its_time() -> None:
    script = f"""{PRELUDE}
import signal
import context_bench.run.stopping

def refuse(*_):
    raise RuntimeError("can't start new thread")

def interrupt_and_hang(example):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(3600)

context_bench.run.stopping.start_new_thread = refuse
run(interrupt_and_hang, Plain())
"""
    assert told_by(script, "nothing", "0-0") == "error: Interrupted."
