"""mini-swe-agent behind real proxies, with the oracle in place of its model: the table of the plugin's README.

``CONTEXT_BENCH_HUNTS=20`` measures as many hunts as the README.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from math import inf, isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from context_bench_agents_live import Agent, AgentTask
from context_bench_http import HttpClient, Network
from context_bench_http.local_server import Guard, LocalRequest, LocalResponse, LocalServer
from context_bench_tasks import tasks

HUNTS = list(tasks(n=int(os.environ.get("CONTEXT_BENCH_HUNTS", "2")), seed=1, assets=8))
AGENT = "mini-swe-agent"
ARMS: Mapping[str, Mapping[str, Any]] = {
    "direct": {},
    "identity proxy": {},
    "kompact": {"controls": True},
    "headroom": {"controls": True},
    "first 5,000 characters": {"control": "head", "controls": True},
    "last four results": {"control": "clear-results"},
}
"""The arms, and the options of the agent in each."""

PROGRAMS = {
    AGENT: ("mini-swe-agent==2.4.6", "mini"),
    "kompact": ("kompact==0.4.0", "kompact"),
    "headroom": ("headroom-ai[proxy]==0.42.0", "headroom"),
}
PROXIES = {
    "kompact": "proxy --host 127.0.0.1 --port {port} --openai-base-url {upstream} --no-otel",
    "headroom": (
        "proxy --host 127.0.0.1 --port {port} --openai-api-url {upstream} --mode token"
        " --no-cache --no-rate-limit"
    ),
}
ENVIRONMENT = {
    "HEADROOM_SKIP_UPSTREAM_CHECK": "1",
    "HEADROOM_TELEMETRY": "off",
    "HF_HUB_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "PYTHONDONTWRITEBYTECODE": "",  # or each start compiles all that it imports
}
PATIENCE = 1200.0
"""Seconds for a start, a request and a hunt: what is measured does not depend on the speed of the machine."""

ALL = [1.0] * len(HUNTS)
NONE = [0.0] * len(HUNTS)
EXACT = ("task_success", "agent_turns", "agent_re_reads", "agent_bill")

Scores = Mapping[str, float]
Table = Mapping[tuple[str, bool], Sequence[Scores]]
"""The scores of each hunt, by arm and whether the oracle writes notes."""


class Address(NamedTuple):
    """Where a proxy listens, and the port to which it forwards."""

    base_url: str
    port: int


@pytest.fixture(scope="module")
def table(install_from_pypi: Callable[[str, str], Path], request: pytest.FixtureRequest) -> Table:
    """Measure and print the table: each arm on all hunts, one after the other, with a fresh proxy."""
    cells = [(arm, notes) for notes in (False, True) for arm in ARMS]
    began = monotonic()
    with ThreadPoolExecutor(2 + (os.cpu_count() or 2)) as pool:  # an arm waits for its processes
        paths = pool.map(lambda name: install_from_pypi(*PROGRAMS[name]), PROGRAMS)
        programs = dict(zip(PROGRAMS, paths, strict=True))
        started = monotonic()
        rows = list(pool.map(lambda cell: measure(cell[0], cell[1], programs), cells))
    measured = dict(zip(cells, rows, strict=True))
    capture = request.config.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        print(
            f"\n{AGENT}, {len(HUNTS)} hunts: {monotonic() - started:.0f} s, installed in {started - began:.0f} s"
        )
        print("\n".join(markdown(measured)))
    return measured


def measure(arm: str, notes: bool, programs: Mapping[str, Path]) -> list[Scores]:
    """Return the scores of an arm on each hunt."""
    with behind(arm, programs) as address:
        proxy = {} if address is None else address._asdict()
        program = str(programs[AGENT])
        options = {**proxy, **ARMS[arm], "timeout": PATIENCE, "transcript": 0}
        agent = Agent(AGENT, program=program, notes=notes, **options)
        try:
            return [scores_of(agent, hunt) for hunt in HUNTS]
        finally:
            agent.close()


def scores_of(agent: Agent, hunt: Mapping[str, Any]) -> Scores:
    """Return the scores of a hunt, after a check that the program's own log counts the same turns."""
    inputs = {key: hunt[key] for key in ("question", "files")}
    output = agent.process({**inputs, "limits": {**hunt["limits"], "seconds": PATIENCE}})
    counts = output["agent"]
    assert counts["ended"] in ("finished", "gave up"), output["response"]
    assert counts["logged"]["turns"] == counts["turns"]
    return AgentTask().score(hunt, output)


@contextmanager
def behind(arm: str, programs: Mapping[str, Path]) -> Iterator[Address | None]:
    """Start the proxy of an arm, and stop it; None where it has none."""
    if arm == "identity proxy":
        with identity() as address:
            yield address
    elif arm in PROXIES:
        with started_proxy(arm, programs[arm]) as address:
            yield address
    else:
        yield None


@contextmanager
def identity() -> Iterator[Address]:
    """Start a proxy that forwards each request as it is."""
    port = free_port()
    http = HttpClient(Network(is_local=True), PATIENCE)

    def forward(request: LocalRequest) -> LocalResponse:
        headers = {name: request.headers[name] for name in ("authorization", "content-type")}
        answer = http.fetch_url(f"http://127.0.0.1:{port}{request.path}", headers, request.body)
        return LocalResponse(answer.body, answer.status, "application/json")

    server = LocalServer(forward, 0, Guard(methods=("POST",)))
    try:
        yield Address(server.url, port)
    finally:
        server.close()
        http.close()


@contextmanager
def started_proxy(name: str, program: Path) -> Iterator[Address]:
    """Start a proxy without network and with an empty home folder, and kill it with all that it started."""
    port = free_port()
    upstream = free_port()
    words = PROXIES[name].format(port=port, upstream=f"http://127.0.0.1:{upstream}").split()
    with TemporaryDirectory() as home:
        own = {"HOME": home, "HEADROOM_WORKSPACE_DIR": home}
        log = Path(home) / "log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [str(program), *words],
                cwd=home,
                env={**os.environ, **ENVIRONMENT, **own},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            wait_until_healthy(process, port, log)
            yield Address(f"http://127.0.0.1:{port}", upstream)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until_healthy(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return when a proxy answers."""
    until = monotonic() + PATIENCE
    while process.poll() is None and monotonic() < until:
        with suppress(URLError, OSError), urlopen(f"http://127.0.0.1:{port}/health", timeout=10):
            return
        sleep(0.2)
    pytest.fail(f"The proxy did not start:\n{log.read_text(errors='replace')[-2000:]}")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def markdown(measured: Table) -> list[str]:
    """Return the lines of the table: success, turns, re-reads, and the bill for a success divided by that of direct."""
    lines = [
        "| arm | plain | with notes | kept of results | random deletion |",
        "|---|---|---|---|---|",
    ]
    for arm in ARMS:
        both = [measured[arm, notes] for notes in (False, True)]
        plain, noted = (
            cell_of(measured[arm, notes], measured["direct", notes]) for notes in (False, True)
        )
        kept = ", ".join(f"{mean(rows, 'agent_kept_share'):.2f}" for rows in both)
        matched = "-"
        if ARMS[arm].get("controls"):
            matched = "; ".join(
                f"{total(rows, 'random_success'):.0f}/{len(HUNTS)}, {mean(rows, 'random_turns'):.1f}"
                for rows in both
            )
        lines.append(f"| {arm} | {plain} | {noted} | {kept} | {matched} |")
    return lines


def cell_of(rows: Sequence[Scores], direct: Sequence[Scores]) -> str:
    bill = bill_per_success(rows) / bill_per_success(direct)
    values = (
        f"{total(rows, 'task_success'):.0f}/{len(rows)}",
        f"{mean(rows, 'agent_turns'):.1f}",
        f"{mean(rows, 'agent_re_reads'):.1f}",
        f"{bill:.2f}" if isfinite(bill) else "-",
    )
    return ", ".join(values)


def bill_per_success(rows: Sequence[Scores]) -> float:
    count = total(rows, "task_success")
    return total(rows, "agent_bill") / count if count else inf


def total(rows: Sequence[Scores], name: str) -> float:
    return sum(row[name] for row in rows)


def mean(rows: Sequence[Scores], name: str) -> float:
    return total(rows, name) / len(rows)


def values_of(rows: Sequence[Scores], name: str) -> list[float]:
    return [row[name] for row in rows]


def successes(rows: Sequence[Scores]) -> list[float]:
    return values_of(rows, "task_success")


@pytest.mark.parametrize("notes", [False, True], ids=["plain", "notes"])
def test_an_identity_proxy_changes_nothing(table: Table, notes: bool) -> None:
    for name in EXACT:
        direct = values_of(table["direct", notes], name)
        assert values_of(table["identity proxy", notes], name) == direct
    assert successes(table["direct", notes]) == ALL
    assert total(table["direct", notes], "agent_re_reads") == 0


def test_behind_kompact_only_notes_finish_at_a_higher_bill(table: Table) -> None:
    assert successes(table["kompact", False]) == NONE
    assert successes(table["kompact", True]) == ALL
    assert total(table["kompact", True], "agent_bill") > total(table["direct", True], "agent_bill")


@pytest.mark.parametrize("notes", [False, True], ids=["plain", "notes"])
def test_behind_headroom_all_finish_with_more_turns_and_re_reads(table: Table, notes: bool) -> None:
    assert successes(table["headroom", notes]) == ALL
    for row, direct in zip(table["headroom", notes], table["direct", notes], strict=True):
        assert row["agent_turns"] > direct["agent_turns"]
        assert row["agent_re_reads"] > direct["agent_re_reads"]


@pytest.mark.parametrize("notes", [False, True], ids=["plain", "notes"])
@pytest.mark.parametrize("arm", [arm for arm, options in ARMS.items() if options.get("controls")])
def test_random_deletion_at_the_tokens_of_an_arm_finishes_none(
    table: Table, arm: str, notes: bool
) -> None:
    assert values_of(table[arm, notes], "random_success") == NONE


def test_with_the_last_four_results_only_notes_finish_at_twice_the_bill(table: Table) -> None:
    noted = table["last four results", True]
    assert successes(table["last four results", False]) == NONE
    assert successes(noted) == ALL
    bill = total(noted, "agent_bill") / total(table["direct", True], "agent_bill")
    assert bill == pytest.approx(2.1, abs=0.2)
