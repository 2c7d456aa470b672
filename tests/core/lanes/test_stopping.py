"""What stops a run: signals, which every wait hears, and a system that is plainly dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import RunStoppedError
from context_bench.run.stopping import CancelToken
from context_bench.store.runfile import RunFile

SCRIPT = """
import asyncio, signal, sys
from context_bench import evaluate
from context_bench.errors import RunStoppedError

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may start without it

class RefusedError(Exception):
    status, retry_after = 429, 60.0

class Full:
    name = "full"
    def fingerprint(self):
        return {"endpoint": "http://full.test"}
    def process(self, example):
        print("asked\\n", end="", flush=True)  # one write: the lines of threads must not mix
        raise RefusedError("too many requests")

class Afull(Full):
    async def aprocess(self, example):
        return self.process(example)

class One:
    name = "one"
    def score(self, original, processed):
        return {"one": 1.0}

system = {"thread": Full, "loop": Afull}[sys.argv[2]]()
try:
    evaluate(system, [{"id": str(n)} for n in range(50)], [One()], progress=False, max_workers=4, run_file=sys.argv[1])
except RunStoppedError as error:
    print("stopped", error.exit_code, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals differ there")
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("way", ["thread", "loop"])
def test_a_signal_ends_a_run_in_which_every_row_waits_for_retry_after(
    name: str, code: int, way: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.sqlite"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path), way], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    time.sleep(0.5)  # those that were in flight with it have been refused, too
    process.send_signal(getattr(signal, name))
    out, _ = process.communicate(timeout=30)
    assert out.splitlines()[-1] == f"stopped {code}"
    assert out.count("asked") <= 3  # of four; and none after the signal
    assert RunFile.open(path).run()["status"] == "interrupted"


def test_the_token_ends_every_wait() -> None:
    stop = CancelToken()
    ended = Event()

    def wait() -> None:
        stop.wait(60.0)
        ended.set()

    Thread(target=wait, daemon=True).start()
    assert not stop.wait(0.05)
    stop.set()
    assert ended.wait(5.0)
    assert stop.wait(60.0)


def unknown_length(examples: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield from examples


@pytest.mark.parametrize("workers", [1, 8])
def test_a_dead_system_stops_the_run_with_its_cause(
    workers: int, make_system: Callable[..., Any], make_examples: Callable[[int], Any], same: Any
) -> None:
    calls: list[str] = []

    def refuse(example: dict[str, Any]) -> Any:
        calls.append(example["id"])
        raise ConnectionRefusedError(f"[Errno 111] Connection refused: request {len(calls)}")

    with pytest.raises(RunStoppedError, match="Connection refused") as stopped:
        evaluate(
            make_system(refuse),
            unknown_length(make_examples(500)),
            [same],
            progress=False,
            max_workers=workers,
        )
    assert stopped.value.exit_code == 12
    assert len(calls) <= 30


def test_a_cause_of_a_hundred_thousand_dashes_is_compared_at_once(
    make_system: Callable[..., Any], make_examples: Callable[[int], Any], same: Any
) -> None:
    """Where numbers were looked for in all of it, each row took ten seconds and more."""

    def refuse(example: dict[str, Any]) -> Any:
        raise OSError(f"request {example['id']}: " + "-" * 100_000)

    with pytest.raises(RunStoppedError, match="request"):
        evaluate(make_system(refuse), unknown_length(make_examples(100)), [same], progress=False)


def test_a_system_that_dies_later_is_given_thirty_rows(
    make_system: Callable[..., Any], make_examples: Callable[[int], Any], same: Any
) -> None:
    calls: list[str] = []

    def die(example: dict[str, Any]) -> Any:
        calls.append(example["id"])
        if len(calls) > 5:
            raise OSError("gone")
        return {"response": "1"}

    with pytest.raises(RunStoppedError, match="30 rows in a row"):
        evaluate(make_system(die), make_examples(500), [same], progress=False)
    assert len(calls) == 35


def test_rows_that_fail_with_many_causes_stop_nothing(
    make_system: Callable[..., Any], make_examples: Callable[[int], Any], same: Any
) -> None:
    def vary(example: dict[str, Any]) -> Any:
        raise [ValueError, TypeError][int(example["question"]) % 2]("no")

    assert len(evaluate(make_system(vary), make_examples(60), [same], progress=False).rows) == 60


def test_keep_going_goes_on(
    make_system: Callable[..., Any], make_examples: Callable[[int], Any], same: Any
) -> None:
    def refuse(example: dict[str, Any]) -> Any:
        raise ConnectionRefusedError("refused")

    result = evaluate(
        make_system(refuse), make_examples(60), [same], progress=False, keep_going=True
    )
    assert len(result.rows) == 60


class BrokenTextError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "error",
    [SystemExit(0), GeneratorExit(), KeyboardInterrupt(), BrokenTextError(), StopIteration()],
)
@pytest.mark.parametrize(
    "place", ["system", "evaluator", "async system", "async evaluator", "batch"]
)
@pytest.mark.parametrize("workers", [1, 4])
def test_whatever_a_plugin_raises_is_a_failure_of_its_row(
    error: BaseException,
    place: str,
    workers: int,
    make_system: Callable[..., Any],
    make_examples: Callable[[int], Any],
) -> None:
    def broken(example: dict[str, Any]) -> None:
        if example["id"] == "e3":
            raise error

    def ask(example: dict[str, Any]) -> dict[str, str]:
        if "system" in place:
            broken(example)
        return {"response": "1"}

    async def aask(example: dict[str, Any]) -> dict[str, str]:
        return ask(example)

    class Scores:
        name = "scores"

        def score(self, original: dict[str, Any], processed: Any) -> dict[str, float]:
            if "system" not in place:
                broken(original)
            return {"one": 1.0}

    class Ascores(Scores):
        async def ascore(self, original: dict[str, Any], processed: Any) -> dict[str, float]:
            return self.score(original, processed)

    class Batches(Scores):
        def score_batch(self, pairs: Any) -> list[dict[str, float]]:
            return [self.score(*pair) for pair in pairs]

    evaluator = {"async evaluator": Ascores, "batch": Batches}.get(place, Scores)()
    system = make_system(aprocess=aask) if place == "async system" else make_system(ask)
    rows = evaluate(system, make_examples(7), [evaluator], progress=False, max_workers=workers).rows
    assert [row.example_id for row in rows if row.errors] == ["e3"]
    assert sum(row.scores == {"one": 1.0} for row in rows) == 6
