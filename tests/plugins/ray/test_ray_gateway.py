"""The executor with a gateway whose ray is a module of the test: no cluster starts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from context_bench.errors import ConfigurationError, LostExecutorError
from context_bench_ray import executor
from context_bench_ray.cluster import RayExecutor

PATIENT = 60.0
"""Seconds within which all that is awaited comes, also on a busy machine."""

FAKE = {
    "__init__.py": '''
"""One worker, in threads of the gateway."""

import os
from concurrent.futures import Future

from ray.exceptions import NodeDiedError, WorkerCrashedError


def init(**options):
    print("noise")
    with open(os.environ["SEEN"], "a") as seen:
        names = ("RAY_USAGE_STATS_ENABLED", "RAY_AUTH_MODE")
        print({**options, **{name: os.environ.get(name) for name in names}}, file=seen)
    if os.environ.get("REFUSES"):
        raise ConnectionError("no\\n  such cluster")


def nodes():
    cpus = {"CPU": 2.0} if not os.environ.get("EMPTY") else {}
    return [{"NodeID": "a" * 40, "NodeManagerHostname": "here", "Alive": True, "Resources": cpus}]


def remote(**options):
    assert options == {"max_retries": 0, "max_calls": 0}
    return Remote


class Remote:
    def __init__(self, function):
        self.function = function

    def options(self, **options):
        return self

    def remote(self, payload):
        if b"dies" in payload:
            os._exit(1)
        task = Task()
        if b"hangs" in payload:
            pass
        elif b"vanishes" in payload:
            task.done.set_exception(NodeDiedError())
        elif b"crashes" in payload:
            task.done.set_exception(WorkerCrashedError())
        else:
            task.done.set_result(self.function(payload))
        return task


class Task:
    def __init__(self):
        self.done = Future()

    def future(self):
        return self.done


def get(tasks, timeout):
    return [task.done.result() for task in tasks]


def shutdown():
    pass
''',
    "exceptions.py": """
class RayError(Exception): pass
class RayTaskError(RayError): pass
class WorkerCrashedError(RayError): pass
class NodeDiedError(RayError): pass
""",
    "cloudpickle.py": "def register_pickle_by_value(module): pass\n",
    "util/__init__.py": "",
    "util/scheduling_strategies.py": """
def NodeAffinitySchedulingStrategy(node, soft): return node
""",
}


@pytest.fixture(autouse=True)
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the gateway find another ray, and lost clusters waited for a second."""
    for name, text in FAKE.items():
        path = tmp_path / "ray" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "1")
    return tmp_path


@pytest.fixture
def opened() -> Iterator[RayExecutor]:
    executor = RayExecutor("2", cores=1, resources={})
    try:
        yield executor
    finally:
        executor.close()


def test_batches_are_done_and_errors_are_raised(
    opened: RayExecutor, fake: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert (opened.slots, opened.link) == (2, None)
    assert len(opened.each(os.getpid)) == 1
    futures = [opened.submit(pow, 2, number) for number in range(20)]
    assert [future.result(PATIENT) for future in futures] == [2**number for number in range(20)]
    with pytest.raises(ValueError, match="'x'"):
        opened.submit(int, "x").result(PATIENT)
    with pytest.raises(ConfigurationError, match="Install the packages"):
        opened.each(int, "x")
    seen = (fake / "seen").read_text()
    for text in ("'num_cpus': 2", "'dashboard_host': '127.0.0.1'", "'log_to_driver': False"):
        assert text in seen
    assert "'RAY_USAGE_STATS_ENABLED': '0', 'RAY_AUTH_MODE': 'token'" in seen
    assert capfd.readouterr() == ("", "")


def test_a_worker_or_a_gateway_that_dies_costs_the_batches_in_flight(
    opened: RayExecutor, fake: Path
) -> None:
    for name in ("crashes", "vanishes", "dies"):
        with pytest.raises(opened.lost):
            opened.submit(str, name).result(PATIENT)
        assert opened.submit(pow, 2, 2).result(PATIENT) == 4
    assert (fake / "seen").read_text().count("num_cpus") == 3  # connected again twice


def test_resources_that_no_worker_has_are_an_error(opened: RayExecutor) -> None:
    with pytest.raises(LostExecutorError, match="FPGA=2"):
        opened.submit(str, "hangs", resources={"FPGA": 2}).result(PATIENT)


def test_a_cluster_that_does_not_come_back_is_an_error(
    opened: RayExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUSES", "1")
    with pytest.raises(opened.lost):
        opened.submit(str, "dies").result(PATIENT)
    with pytest.raises(LostExecutorError, match="of this machine is lost"):
        opened.submit(pow, 2, 2).result(PATIENT)


@pytest.mark.parametrize(
    ("address", "environ", "reason"),
    [
        ("nohost", {}, "not HOST:PORT"),
        ("host:port", {}, "not HOST:PORT"),
        ("127.0.0.1:9", {}, "127.0.0.1:9"),
        ("0", {}, "positive number"),
        ("auto", {"REFUSES": "1"}, "ConnectionError: no such cluster"),
        ("auto", {"EMPTY": "1"}, "has no workers"),
    ],
)
def test_what_is_no_cluster_is_refused_in_one_sentence(
    address: str, environ: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=reason) as raised:
        executor(address=address, cores=1, resources={})
    assert "\n" not in str(raised.value)


def test_importing_the_package_imports_no_ray() -> None:
    code = "import sys, context_bench_ray.cluster; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
