"""How a run ends: in time, drained at the first Ctrl-C, at once at the second, and scored when it is resumed."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import RunStoppedError
from context_bench.run.concurrent_runner import ConcurrentRunner, finish_tasks
from context_bench.run.progress import Progress
from context_bench.run.systems import RunSystem
from context_bench.store.keys import RowId
from context_bench.store.reader import RunReader
from context_bench.store.rows import StoredRow
from context_bench.store.runfile import RunFile

SCRIPT = """
import signal, sys, time
from context_bench import evaluate

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may start without it

class Slow:
    name = "slow"
    def process(self, example):
        seconds = float(example["question"])
        print("asked\\n", end="", flush=True)  # one write: the lines of threads must not mix
        time.sleep(seconds)
        return {"response": "1"}

class One:
    name = "one"
    def score(self, original, processed):
        return {"one": 1.0}

seconds, deadline, rows = sys.argv[2:5]
examples = [{"id": str(n), "question": seconds if n == 0 or deadline == "None" else "0"} for n in range(int(rows))]
result = evaluate(
    Slow(), examples, [One()], progress=False, max_workers=4, run_file=sys.argv[1],
    row_timeout=None if deadline == "None" else float(deadline),
)
print("finished", len(result.rows), flush=True)
"""


def start(path: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(path), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_process_ends_after_the_last_row_though_a_call_hangs(tmp_path: Path) -> None:
    process = start(tmp_path / "run.sqlite", "600", "1", "20")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("finished"):
            break
    assert line == "finished 20\n"
    assert process.wait(60) == 0, "the call hangs for 600 s"
    process.communicate()


@pytest.mark.skipif(os.name == "nt", reason="signals differ there")
@pytest.mark.parametrize(
    ("signals", "seconds", "kept"), [(1, 2, 4), (2, 600, 0)], ids=["once drains", "twice stops"]
)
def test_ctrl_c(signals: int, seconds: int, kept: int, tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    process = start(path, str(seconds), "None", "100")
    assert process.stdout is not None
    for _ in range(4):
        assert process.stdout.readline() == "asked\n"
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert len(list(RunReader(path).row_ids())) == kept


def test_a_row_that_ends_while_the_loop_ends_is_waited_for_no_more() -> None:
    """Its task leaves the set of open ones before the wait for them begins: an empty set cannot be waited for."""
    loop = asyncio.new_event_loop()
    open_tasks: set[asyncio.Task[None]] = set()
    task = loop.create_task(asyncio.sleep(0))
    open_tasks.add(task)
    task.add_done_callback(open_tasks.discard)
    while not task.done():
        loop.call_soon(loop.stop)
        loop.run_forever()
    assert open_tasks == {task}
    finish_tasks(loop, open_tasks)
    assert open_tasks == set()
    loop.close()


class Later:
    name = "later"

    async def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"later": 1.0}


@pytest.mark.parametrize("method", ["_do", "_do_group", "_end", "_end_deferred"])
def test_an_error_that_nobody_expected_ends_the_run(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = getattr(ConcurrentRunner, method)
    calls = []

    async def fail_at_third(*arguments: Any, **options: Any) -> None:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyError("nobody expected this")
        await original(*arguments, **options)

    monkeypatch.setattr(ConcurrentRunner, method, fail_at_third)
    errors: list[BaseException] = []

    def run() -> None:
        try:
            evaluate(
                lambda example: {"response": example["id"]},
                [{"id": str(number)} for number in range(400)],
                [Later()],
                progress=False,
                max_workers=4,
                run_file=tmp_path / "run.sqlite",
                row_timeout=60.0 if method == "_do" else None,
            )
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run, daemon=True)  # in a thread: a run that waits for ever fails here
    thread.start()
    thread.join(120)
    assert not thread.is_alive()
    assert [type(error) for error in errors] == [KeyError]


@pytest.mark.parametrize(("seconds", "is_tidy"), [(0.05, True), (60.0, False)])
def test_a_call_on_the_loop_may_tidy_up_in_the_end_but_not_for_long(
    seconds: float, is_tidy: bool, same: Any
) -> None:
    tidied, ended = Event(), Event()

    async def call(example: dict[str, Any]) -> str:
        try:
            await asyncio.sleep(60)
        finally:
            try:
                await asyncio.sleep(seconds)
                tidied.set()
            finally:
                ended.set()
        return "late"

    [row] = evaluate(call, [{"id": "0"}], [same], progress=False, row_timeout=0.5).rows
    assert [failure.kind for failure in row.errors] == ["TimeoutError"]
    assert ended.is_set()
    assert tidied.is_set() is is_tidy


def test_responses_that_were_committed_and_not_scored_are_scored_on_resume(
    tmp_path: Path, make_system: Callable[..., Any], make_examples: Callable[[int], Any]
) -> None:
    class Batches:
        name = "batches"
        works = False

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {"batched": 1.0}

        def score_batch(self, pairs: Any) -> list[dict[str, float]]:
            return [{"batched": 1.0} for _ in pairs]

        def fingerprint(self) -> dict[str, Any]:
            return {}

    calls: list[str] = []

    def ask(example: dict[str, Any]) -> dict[str, Any]:
        calls.append(example["id"])
        return {"response": "1"}

    path = tmp_path / "run.sqlite"
    system = make_system(ask, fingerprint=dict)
    evaluate(system, make_examples(30), [Batches()], progress=False, run_file=path)
    store = RunFile.open(path)
    with store._connection as connection:  # as if the run had been killed between the two commits
        connection.execute("DELETE FROM evaluations WHERE response > 5000000")
        connection.execute("DELETE FROM scores WHERE response > 5000000")
    store.close()
    result = evaluate(system, make_examples(30), [Batches()], progress=False, run_file=path)
    assert len(calls) == 30
    assert [row.scores for row in result.rows] == [{"batched": 1.0}] * 30


def test_a_run_stops_early_when_too_many_rows_have_failed(
    make_system: Callable[..., Any], make_examples: Callable[[int], Any], same: Any
) -> None:
    calls: list[str] = []

    def fail(example: dict[str, Any]) -> dict[str, Any]:
        calls.append(example["id"])
        raise RuntimeError("no")

    with pytest.raises(RunStoppedError, match="--max-failed") as stopped:
        evaluate(
            make_system(fail),
            make_examples(2000),
            [same],
            progress=False,
            max_workers=4,
            max_failed=0.1,
            keep_going=True,
        )
    assert stopped.value.exit_code == 12
    assert 200 < len(calls) < 1000


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_progress_without_a_terminal_is_lines(log_format: str) -> None:
    stream = io.StringIO()
    slot = RunSystem(0, "gpt", None, b"", True)  # type: ignore[arg-type]
    progress = Progress([slot], 4, stream, log_format)
    for sample, output in enumerate(["{}", "{}", None]):
        progress.row(
            StoredRow(
                id=RowId(0, sample),
                key=b"",
                output=output,
                input_tokens=10,
                response_tokens=5,
                latency=0.2,
            )
        )
    progress.row(StoredRow(id=RowId(0, 3), key=b"", output="{}", reused=True))
    progress.close()
    [line] = stream.getvalue().splitlines()
    if log_format == "json":
        state = json.loads(line)
        assert {
            name: state[name]
            for name in ("system", "done", "total", "failed", "reused", "tokens", "p95")
        } == {
            "system": "gpt",
            "done": 4,
            "total": 4,
            "failed": 1,
            "reused": 1,
            "tokens": 30,
            "p95": 0.2,
        }
    else:
        assert line.startswith("gpt: 4/4 rows, 1 failed, ")
        assert "1 reused, p95 200 ms, 30 tokens" in line
