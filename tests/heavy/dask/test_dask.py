"""Rows on dask clusters: those of a run without one, whatever is killed meanwhile."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import enumerate as threads

import dask
import psutil
import pytest
from clusters import (
    ANSWERS,
    FIRST_BATCH,
    NEEDY,
    ROWS,
    called,
    export,
    prepare,
    run,
    start,
    survive_kills,
    wait_until,
)

from context_bench.cli import execute
from context_bench.runs import open_run


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("CONTEXT_BENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "5s")
    sys.modules.pop("acme_remote", None)
    prepare(tmp_path)
    with dask.config.set({"distributed.comm.timeouts.connect": "5s"}):  # it reads the variable once
        yield tmp_path


class Cluster:
    """A scheduler and workers, each a process."""

    def __init__(self) -> None:
        self.file = Path("scheduler.json")
        self.workers: list[subprocess.Popen[bytes]] = []
        self.port = 0
        self.start_scheduler()

    def start_scheduler(self) -> None:
        self.file.unlink(missing_ok=True)
        where = ("--host", f"tcp://127.0.0.1:{self.port}", "--scheduler-file", str(self.file))
        self.scheduler = self._start("scheduler", *where, "--no-dashboard")
        wait_until(self.file.exists, "the scheduler")
        self.address = self._address()
        self.port = int(self.address.rpartition(":")[2])

    def _address(self) -> str:
        import json

        address: str = json.loads(self.file.read_text())["address"]
        return address

    def start_worker(self, *words: str, **environ: str) -> None:
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")
        local = ("--local-directory", str(Path("scratch").absolute()))
        worker = self._start("worker", self.address, *options, *local, *words, **environ)
        self.workers.append(worker)

    def kill_worker(self, number: int) -> None:
        worker = self.workers.pop(number)
        worker.kill()
        worker.wait()

    def replace_worker(self, chance: random.Random) -> None:
        self.kill_worker(chance.randrange(2))
        self.start_worker()

    def replace_head(self) -> None:
        self.kill_scheduler()
        while self.workers:
            self.kill_worker(0)
        self.start_scheduler()
        for _ in range(2):
            self.start_worker()

    def kill_scheduler(self) -> None:
        self.scheduler.kill()
        self.scheduler.wait()

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _start(self, kind: str, *words: str, **environ: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words],
            env={**os.environ, "SECONDS": "0.05", "PYTHONPATH": os.getcwd(), **environ},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@pytest.fixture
def cluster(here: Path) -> Iterator[Cluster]:
    cluster = Cluster()
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def local(here: Path) -> bytes:
    """The export of a run without a cluster."""
    assert run("local.sqlite", *ANSWERS) == 0
    Path("calls.txt").unlink()
    return export("local.sqlite")


def test_a_cluster_of_this_machine_gives_the_rows_of_one_process(
    local: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("dask.sqlite", *ANSWERS, "--executor", "dask:2") == 0
    assert export("dask.sqlite") == local
    assert sorted(called()) == list(range(ROWS))
    assert capfd.readouterr().out == ""
    assert [child for child in psutil.Process().children() if "spawn" in str(child.cmdline())] == []
    assert [thread.name for thread in threads() if thread.name == "context-bench-calls"] == []


def test_a_row_that_no_worker_survives_has_failed_and_the_others_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEADLY", "1")
    assert run("dask.sqlite", *ANSWERS, "--executor", "dask:1") == 0
    with open_run("dask.sqlite") as opened:
        failed = {row.position: row.errors[0].kind for row in opened.rows() if row.failed}
        assert failed == {17: "LostWorkerError"}
        assert len(opened) == ROWS


def test_thirty_kills_lose_nothing_and_repeat_at_most_what_was_in_flight(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "60s")
    for _ in range(2):
        cluster.start_worker()
    survive_kills(cluster, f"dask:{cluster.address}")


def test_a_scheduler_that_comes_back_is_waited_for_and_one_that_does_not_ends_the_run(
    cluster: Cluster, local: bytes
) -> None:
    cluster.start_worker()
    words = ("run", "-d", "rows.jsonl", "--run-file", "dask.sqlite", *ANSWERS)
    driver = start(*words, "--executor", f"dask:{cluster.address}")
    wait_until(lambda: len(called()) >= 3 * FIRST_BATCH, "the first batches")
    cluster.kill_scheduler()
    cluster.start_scheduler()
    cluster.start_worker()
    seen = len(called())
    wait_until(lambda: len(called()) > seen, "the first batch after the loss")
    cluster.kill_scheduler()
    _, errors = driver.communicate(timeout=60)
    assert driver.returncode == 3, errors
    assert cluster.address in errors
    assert "context-bench resume" in errors
    assert execute(["resume", "dask.sqlite", "--format", "none", "-q"]) == 0
    assert export("dask.sqlite") == local


def test_a_cluster_without_workers_is_an_error(cluster: Cluster, local: bytes) -> None:
    cluster.start_worker()
    words = ("run", "-d", "rows.jsonl", "--run-file", "dask.sqlite", *ANSWERS)
    driver = start(*words, "--executor", f"dask:{cluster.address}")
    wait_until(lambda: len(called()) >= 1, "the first batch")
    cluster.kill_worker(0)
    _, errors = driver.communicate(timeout=60)
    assert driver.returncode == 3, errors
    assert "no worker" in errors


def test_workers_with_other_versions_are_refused_with_a_table(
    cluster: Cluster, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = here / "other" / "context_bench_answer_quality-0.9.0.dist-info"
    other.mkdir(parents=True)
    text = "Metadata-Version: 2.1\nName: context-bench-answer-quality\nVersion: 0.9.0\n"
    (other / "METADATA").write_text(text)
    cluster.start_worker(PYTHONPATH=os.pathsep.join([str(here / "other"), str(here)]))
    assert run("dask.sqlite", *ANSWERS, "--executor", f"dask:{cluster.address}") == 2
    lines = [line.split() for line in capsys.readouterr().err.splitlines()]
    [difference] = [line for line in lines if line[:1] == ["context-bench-answer-quality"]]
    assert difference[1:3] == ["1.0.0", "0.9.0"]
    assert called() == []


def test_a_system_is_called_where_its_resources_are(cluster: Cluster) -> None:
    assert run("local.sqlite", *NEEDY) == 0
    Path("calls.txt").unlink()
    cluster.start_worker(WORKER="plain", SECONDS="0")
    cluster.start_worker("--resources", "GPU=1", WORKER="gpu", SECONDS="0")
    wait_until(lambda: _workers(cluster) == 2, "the second worker")
    assert run("dask.sqlite", *NEEDY, "--executor", f"dask:{cluster.address}") == 0
    assert export("dask.sqlite") == export("local.sqlite")
    lines = Path("calls.txt").read_text().split()
    assert set(lines[1::2]) == {"gpu"}


def _workers(cluster: Cluster) -> int:
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as client:
        return len(client.nthreads())


def test_an_interrupted_run_leaves_no_worker_behind(local: bytes) -> None:
    words = ("run", "-d", "rows.jsonl", "--run-file", "dask.sqlite", *ANSWERS)
    driver = start(*words, "--executor", "dask:1", seconds=0.2)
    wait_until(lambda: len(called()) >= 1, "the first batch")
    children = psutil.Process(driver.pid).children(recursive=True)
    driver.send_signal(signal.SIGINT)
    _, errors = driver.communicate(timeout=60)
    assert driver.returncode == 130, errors
    psutil.wait_procs(children, timeout=30)
    assert [child for child in children if child.is_running()] == []
    assert execute(["resume", "dask.sqlite", "--format", "none", "-q"]) == 0
    assert export("dask.sqlite") == local


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "absent.json", "0"])
def test_what_is_no_cluster_is_an_error(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("dask.sqlite", *ANSWERS, "--executor", f"dask:{address}") == 2
    assert "dask" in capsys.readouterr().err
    assert called() == []
