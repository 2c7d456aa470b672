"""Batches on a dask cluster that is in this process; test_dask.py has those of many processes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import LocalCluster

from context_bench.cli import execute
from context_bench.errors import ConfigurationError, LostExecutorError
from context_bench_dask import executor
from context_bench_dask.cluster import DaskExecutor

PATIENT = 60.0
"""Seconds within which all that is awaited comes, also on a busy machine."""


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """Have lost clusters waited for two seconds."""
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        yield


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two workers in this process, the second of which has a GPU."""
    with LocalCluster(
        n_workers=0, processes=False, dashboard_address=None, memory_limit=0
    ) as cluster:
        worker = dict(cluster.new_worker_spec()[0])
        for number, resources in enumerate(({}, {"GPU": 1})):
            options = {**worker["options"], "nthreads": 1, "resources": resources}
            cluster.worker_spec[number] = {**worker, "options": options}
        cluster.sync(cluster._correct_state)
        yield cluster


@pytest.fixture
def opened(cluster: Any) -> Iterator[DaskExecutor]:
    executor = DaskExecutor(cluster.scheduler_address, cores=1, resources={})
    try:
        yield executor
    finally:
        executor.close()


def worker_name(*_: Any) -> Any:
    from distributed import get_worker

    return get_worker().name


def broken() -> None:
    raise ValueError("no such model")


def test_batches_are_done_on_all_workers(cluster: Any, opened: DaskExecutor) -> None:
    assert opened.slots == 2
    assert list(opened.each(os.getpid).values()) == [os.getpid()] * 2
    futures = [opened.submit(pow, 2, number) for number in range(20)]
    assert [future.result(PATIENT) for future in futures] == [2**number for number in range(20)]


def test_what_a_function_raises_is_raised(opened: DaskExecutor) -> None:
    with pytest.raises(ValueError, match="no such model"):
        opened.submit(broken).result(PATIENT)
    with pytest.raises(ConfigurationError, match="no such model"):
        opened.each(broken)


def test_resources_choose_the_worker(opened: DaskExecutor) -> None:
    futures = [opened.submit(worker_name, n, resources={"gpus": 1}) for n in range(5)]
    assert [future.result(PATIENT) for future in futures] == [1] * 5


def test_resources_that_no_worker_has_are_an_error(opened: DaskExecutor) -> None:
    with pytest.raises(LostExecutorError, match="FPGA=2"):
        opened.submit(worker_name, resources={"FPGA": 2}).result(PATIENT)
    with pytest.raises(LostExecutorError):  # for what comes later, at once
        opened.submit(worker_name).result(PATIENT)


def test_a_lost_scheduler_is_an_error(cluster: Any, opened: DaskExecutor) -> None:
    assert opened.submit(pow, 2, 2).result(PATIENT) == 4
    cluster.sync(cluster.scheduler.close)
    with pytest.raises(LostExecutorError, match="is lost"):
        opened.submit(pow, 2, 2).result(PATIENT)


@pytest.mark.parametrize(
    ("address", "named"),
    [("0", "positive"), ("absent.json", "absent.json"), ("tcp://127.0.0.1:9", "127.0.0.1:9")],
)
def test_what_is_no_cluster_is_an_error(
    address: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=named):
        executor(address=address, cores=1, resources={})


def test_a_scheduler_without_workers_is_an_error() -> None:
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        pytest.raises(ConfigurationError, match="no workers"),
    ):
        executor(address=cluster.scheduler_address, cores=1, resources={})


def test_the_run_file_is_that_of_a_run_without_a_cluster(
    cluster: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("context_bench_local", "context_bench_replay", "context_bench_answer_quality"):
        pytest.importorskip(name, reason="it brings rows, a system and scores")
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"{n}", "answer": f"{n}", "response": f"is {n % 7}"} for n in range(30)]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["run", "-s", "replay", "-d", "rows.jsonl", "--format", "none", "-q", "--run-file"]
    assert execute([*words, "local.sqlite"]) == 0
    assert execute([*words, "d.sqlite", "--executor", f"dask:{cluster.scheduler_address}"]) == 0
    exports = []
    for path in ("local.sqlite", "d.sqlite"):
        capsys.readouterr()
        assert execute(["export", "--canonical", path]) == 0
        exports.append(capsys.readouterr().out)
    assert exports[0] == exports[1]
