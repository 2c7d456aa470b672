"""Rows on ray clusters: those of a run without one, whatever is killed meanwhile."""

from __future__ import annotations

import compileall
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import enumerate as threads

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

PARTS = ("context_bench_ray.gateway", "gcs_server", "raylet", "ray::")
"""What is in the command lines of processes of ray."""

PATIENCE = "RAY_gcs_rpc_server_reconnect_timeout_s"


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    """Compile ray once: installers leave no bytecode, and each of its processes imports it."""
    found = find_spec("ray")
    assert found is not None
    for folder in found.submodule_search_locations or ():
        if not (Path(folder) / "__pycache__").is_dir():
            compileall.compile_dir(folder, quiet=2, maxlevels=5)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("CONTEXT_BENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    monkeypatch.setenv(PATIENCE, "60")
    sys.modules.pop("acme_remote", None)
    prepare(tmp_path)
    return tmp_path


class Cluster:
    """A head whose machine has two workers."""

    def __init__(self, *words: str, **environ: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp")
        self._words = words
        self._environ = environ
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])
        self.address = f"127.0.0.1:{self._port}"
        self.start_head()

    def start_head(self) -> None:
        head = ("--head", "--port", self._port, "--node-ip-address", "127.0.0.1", "--block")
        plain = ("--num-cpus", "2", "--include-dashboard", "false", "--disable-usage-stats")
        self._number = getattr(self, "_number", 0) + 1
        folder = Path(self._folder.name) / str(self._number)
        where = ("--temp-dir", str(folder))
        self._head = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from ray.scripts.scripts import main; main()",
                "start",
                *head,
                *plain,
                *where,
                *self._words,
            ],
            env={**os.environ, "SECONDS": "0.05", "PYTHONPATH": os.getcwd(), **self._environ},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        file = folder / "ray_current_cluster"  # is there when the head has started
        wait_until(file.exists, "the head")
        self.parts = psutil.Process(self._head.pid)

    def workers(self) -> list[psutil.Process]:
        found = []
        for process in self.parts.children(recursive=True):
            with suppress(psutil.Error):
                if process.cmdline()[:1] == ["ray::call"]:
                    found.append(process)
        return found

    def replace_worker(self, chance: random.Random) -> None:
        workers: list[psutil.Process] = []

        def is_there() -> bool:
            workers[:] = self.workers()
            return bool(workers)

        wait_until(is_there, "a worker")
        with suppress(psutil.NoSuchProcess):
            chance.choice(workers).kill()

    def kill_head(self) -> None:
        parts = [self.parts, *self.parts.children(recursive=True)]
        for part in parts:
            with suppress(psutil.NoSuchProcess):
                part.kill()
        self._head.wait()
        psutil.wait_procs(parts[1:], timeout=20)

    def replace_head(self) -> None:
        self.kill_head()
        self.start_head()

    def close(self) -> None:
        if self._head.poll() is None:
            self.kill_head()
        self._folder.cleanup()


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
    local: bytes, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tempfile.TemporaryDirectory(prefix="t-", dir="/tmp")
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder.name)
        assert run("ray.sqlite", *ANSWERS, "--executor", "ray:2") == 0
    assert export("ray.sqlite") == local
    assert sorted(called()) == list(range(ROWS))
    assert capfd.readouterr().out == ""
    children = [" ".join(child.cmdline()) for child in psutil.Process().children(recursive=True)]
    assert [line for line in children if any(part in line for part in PARTS)] == []
    assert [thread.name for thread in threads() if thread.name.startswith("context-bench")] == []
    assert list(Path(folder.name).glob("cb-ray-*")) == []
    folder.cleanup()


def test_thirty_kills_lose_nothing_and_repeat_at_most_what_was_in_flight(cluster: Cluster) -> None:
    kills = {"worker": 26, "head": 2, "driver": 2}  # ray starts in eight seconds, and dask in one
    survive_kills(cluster, f"ray:{cluster.address}", kills)


def test_a_head_that_does_not_come_back_ends_the_run(
    cluster: Cluster, local: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PATIENCE, "4")
    words = ("run", "-d", "rows.jsonl", "--run-file", "ray.sqlite", *ANSWERS)
    driver = start(*words, "--executor", f"ray:{cluster.address}")
    wait_until(lambda: len(called()) >= 3 * FIRST_BATCH, "the first batches")
    cluster.kill_head()
    _, errors = driver.communicate(timeout=90)
    assert driver.returncode == 3, errors
    assert cluster.address in errors
    assert "context-bench resume" in errors
    assert execute(["resume", "ray.sqlite", "--format", "none", "-q"]) == 0
    assert export("ray.sqlite") == local


def test_workers_with_other_versions_are_refused_with_a_table(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = here / "other" / "context_bench_answer_quality-0.9.0.dist-info"
    other.mkdir(parents=True)
    text = "Metadata-Version: 2.1\nName: context-bench-answer-quality\nVersion: 0.9.0\n"
    (other / "METADATA").write_text(text)
    cluster = Cluster(PYTHONPATH=os.pathsep.join([str(here / "other"), str(here)]))
    try:
        assert run("ray.sqlite", *ANSWERS, "--executor", f"ray:{cluster.address}") == 2
    finally:
        cluster.close()
    lines = [line.split() for line in capsys.readouterr().err.splitlines()]
    [difference] = [line for line in lines if line[:1] == ["context-bench-answer-quality"]]
    assert difference[1:3] == ["1.0.0", "0.9.0"]
    assert called() == []


def test_a_system_is_called_where_its_resources_are(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("local.sqlite", *NEEDY) == 0
    cluster = Cluster("--num-gpus", "1", SECONDS="0")
    try:
        assert run("ray.sqlite", *NEEDY, "--executor", f"ray:{cluster.address}") == 0
    finally:
        cluster.close()
    assert export("ray.sqlite") == export("local.sqlite")


def test_a_run_that_is_interrupted_or_killed_leaves_no_process_behind(local: bytes) -> None:
    words: tuple[str, ...] = ("run", "-d", "rows.jsonl", "--run-file", "ray.sqlite", *ANSWERS)
    for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
        seen = len(called())
        driver = start(*words, "--executor", "ray:1", seconds=0.2)
        wait_until(lambda wanted=seen + 1: len(called()) >= wanted, "the first batch")
        children = psutil.Process(driver.pid).children(recursive=True)
        driver.send_signal(number)
        _, errors = driver.communicate(timeout=60)
        assert driver.returncode == code, errors
        psutil.wait_procs(children, timeout=60)
        assert [child for child in children if child.is_running()] == []
        words = ("resume", "ray.sqlite")
    assert execute(["resume", "ray.sqlite", "--format", "none", "-q"]) == 0
    assert export("ray.sqlite") == local


def test_what_is_no_cluster_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ray.sqlite", *ANSWERS, "--executor", "ray:127.0.0.1:9") == 2
    assert "127.0.0.1:9" in capsys.readouterr().err
    assert called() == []
