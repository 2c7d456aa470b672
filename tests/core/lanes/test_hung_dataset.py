"""A dataset that hangs is left behind: the run stops with its name, keeps what was answered, and can be resumed."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import (
    ConfigurationError,
    ContextBenchError,
    DatasetError,
    RunStoppedError,
)
from context_bench.runs import open_run


class Hang:
    """Time passes only once a dataset hangs."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()
        self.now = 0.0

    def __call__(self) -> None:
        self.begun.set()
        self.ended.wait(60)

    def clock(self) -> float:
        self.now += self.begun.is_set()
        return self.now


@pytest.fixture
def hang(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hang]:
    hang = Hang()
    monkeypatch.setattr("context_bench.run.examples.monotonic", hang.clock)
    yield hang
    hang.ended.set()


@pytest.mark.parametrize(("workers", "sample"), [(1, None), (4, None), (1, 2)])
def test_a_run_stops_with_what_it_has_and_goes_on(
    workers: int,
    sample: int | None,
    hang: Hang,
    tmp_path: Path,
    make_system: Callable[..., Any],
    make_examples: Callable[[int], Any],
    same: Any,
) -> None:
    asked: list[str] = []

    def answer(example: dict[str, Any]) -> dict[str, Any]:
        asked.append(example["id"])
        return {"response": "0"}

    def four() -> Iterator[dict[str, Any]]:
        yield from make_examples(6)[:4]
        hang()

    path = tmp_path / "run.sqlite"
    system = make_system(answer, fingerprint=dict)
    told = {"progress": False, "run_file": path, "max_workers": workers, "sample": sample}
    with pytest.raises(RunStoppedError) as stopped:
        evaluate(system, None, [same], datasets={"slow": four()}, dataset_timeout=0.5, **told)
    [line] = str(stopped.value).splitlines()
    assert line.startswith(
        "Dataset 'slow' hangs after row 3: it gave no example within 0.5 seconds (--dataset-timeout)"
    )
    assert stopped.value.exit_code == 2
    if sample is not None:
        assert (stopped.value.path, asked) == (None, [])
        return
    assert stopped.value.path == str(path)
    with open_run(path) as run:
        assert len(list(run.rows())) == 4
    result = evaluate(
        system, None, [same], datasets={"slow": iter(make_examples(6))}, dataset_timeout=60, **told
    )
    assert len(result.rows) == 6
    assert sorted(asked) == [f"e{number}" for number in range(6)]


def test_the_thread_that_hangs_keeps_no_process_alive(tmp_path: Path) -> None:
    code = (
        "import time\nfrom context_bench import evaluate\n"
        "class One:\n    name = 'one'\n    def score(self, original, processed):\n        return {'one': 1.0}\n"
        "def hang():\n    yield {'question': '1'}\n    time.sleep(600)\n"
        "evaluate(lambda example: '1', hang(), [One()], progress=False, dataset_timeout=3, run_file='r.sqlite')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert (
        "RunStoppedError: The dataset hangs after row 0: it gave no example within 3 seconds"
        in done.stderr
    )


def test_an_iterable_whose_beginning_hangs_is_bounded_too(
    hang: Hang, make_system: Callable[..., Any], same: Any
) -> None:
    class Hangs:
        def __iter__(self) -> Iterator[dict[str, Any]]:
            hang()
            return iter(())

    with pytest.raises(RunStoppedError, match="hangs at its beginning"):
        evaluate(
            make_system(lambda example: "1"), Hangs(), [same], progress=False, dataset_timeout=0.5
        )


@pytest.mark.parametrize("where", ["revision", "__len__"])
def test_whatever_else_is_asked_of_a_dataset_is_bounded_too(
    where: str, hang: Hang, make_system: Callable[..., Any], same: Any
) -> None:
    hangs = type("Hangs", (list,), {where: lambda self: hang() or 0})([{"id": "1", "answer": "1"}])
    with pytest.raises(DatasetError, match=r"hangs before its first row: .*\(--dataset-timeout\)"):
        evaluate(
            make_system(lambda example: "1"), hangs, [same], progress=False, dataset_timeout=0.5
        )


def test_what_is_raised_before_the_first_row_is_told_as_without_a_timeout(
    make_system: Callable[..., Any],
) -> None:
    told = set()
    for timeout in (None, 60):
        with pytest.raises(ContextBenchError) as raised:
            evaluate(
                make_system(lambda example: "1"), "nowhere", progress=False, dataset_timeout=timeout
            )
        told.add((type(raised.value), str(raised.value)))
    assert len(told) == 1


def test_a_dataset_in_time_is_read_one_by_one_on_one_thread(
    make_system: Callable[..., Any], make_examples: Callable[[int], Any], same: Any
) -> None:
    threads: set[int] = set()
    ahead: list[int] = []
    answered: list[str] = []

    def examples() -> Iterator[dict[str, Any]]:
        for number, example in enumerate(make_examples(50)):
            threads.add(threading.get_ident())
            ahead.append(number - len(answered))
            yield example

    def answer(example: dict[str, Any]) -> dict[str, Any]:
        answered.append(example["id"])
        return {"response": "0"}

    system = make_system(answer)
    result = evaluate(system, examples(), [same], progress=False, dataset_timeout=60, max_workers=1)
    assert len(result.rows) == 50
    assert len(threads) == 1
    assert max(ahead) == 0


def test_what_a_dataset_raises_is_told_as_without_a_timeout(
    make_system: Callable[..., Any], same: Any
) -> None:
    def examples() -> Iterator[dict[str, Any]]:
        yield {"question": "1", "answer": "1"}
        raise OSError("the line is dead")

    for timeout in (None, 60):
        with pytest.raises(RunStoppedError, match="cannot be read after row 0: the line is dead"):
            evaluate(
                make_system(lambda example: "1"),
                examples(),
                [same],
                progress=False,
                dataset_timeout=timeout,
            )


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "5"])
def test_seconds_that_make_no_sense_are_refused(
    seconds: Any, make_system: Callable[..., Any], same: Any
) -> None:
    with pytest.raises(ConfigurationError, match="dataset_timeout must be"):
        evaluate(
            make_system(lambda example: "1"), [], [same], progress=False, dataset_timeout=seconds
        )
