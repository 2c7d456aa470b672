"""One real comparison for all tests: a model, kompact in front of it, and the command of the documentation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the modules beside the tests

import questions
from documented import arguments, steps
from relay import Relay
from workload import kompact, llm, missing_packages

LOGS = pytest.StashKey[Path]()
PATIENCE = 2700.0  # what one command may take on a machine that is busy with other things


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Comparison:
    """A finished run of the page's first command, and what it was run against.

    Attributes:
        done: What the command left.
        folder: Where it ran.
        addresses: What stands on the page for an address, and the address.
        direct: The relay between context-bench and the model.
        behind: The relay between kompact and the model.
    """

    done: Done
    folder: Path
    addresses: dict[str, str]
    direct: Relay
    behind: Relay

    def calls(self) -> tuple[int, int]:
        """Return how often the model was asked so far: directly, and by kompact."""
        return len(self.direct.calls), len(self.behind.calls)


@pytest.fixture(scope="session", autouse=True)
def packages() -> None:
    """Skips where the model and the proxy are not installed: they are what these tests are about. In CI they must be."""
    missing = missing_packages()
    if missing:
        leave = pytest.fail if os.environ.get("CI") else pytest.skip
        leave(
            f"{', '.join(missing)}: not installed here; `nox -s e2e` installs what these tests need"
        )


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """The folder with the logs of the servers, which are shown when a test fails."""
    pytestconfig.stash[LOGS] = folder = tmp_path_factory.mktemp("servers")
    return folder


@pytest.fixture(scope="session")
def model(packages: None, servers: Path) -> Iterator[str]:
    """Address of the model."""
    with llm(servers) as url:
        yield url


@pytest.fixture
def relay(model: str) -> Iterator[Relay]:
    """A relay of its own in front of the model."""
    with Relay(model) as relay:
        yield relay


@pytest.fixture(scope="session")
def context_bench() -> Callable[..., Done]:
    """Runs the real command line in a folder."""
    program = Path(sys.executable).with_name("context-bench")
    plain = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CONTEXT_BENCH", "OPENAI"))
        or name == "CONTEXT_BENCH_HOME"  # its key marks the run files of these tests as their own
    }
    environ = {**plain, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1"}

    def call(folder: Path, *arguments: str) -> Done:
        command = [str(program), *arguments]
        done = subprocess.run(
            command,
            cwd=folder,
            env=environ,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture(scope="session")
def comparison(
    model: str,
    servers: Path,
    context_bench: Callable[..., Done],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Comparison]:
    """The page's first command, run once against fresh servers, which stay."""
    folder = tmp_path_factory.mktemp("comparison")
    questions.write(folder / "questions.jsonl", questions.examples())
    with Relay(model) as direct, Relay(model) as behind, kompact(behind.url, servers) as proxy:
        addresses = {"http://127.0.0.1:7878": proxy, "http://127.0.0.1:8080": direct.url}
        done = context_bench(folder, *arguments(steps()[0], addresses))
        yield Comparison(done, folder, addresses, direct, behind)


@pytest.fixture(scope="session")
def rows(
    comparison: Comparison, context_bench: Callable[..., Done]
) -> dict[str, dict[str, dict[str, Any]]]:
    """The rows of the comparison, by system and example."""
    done = context_bench(comparison.folder, "export", "kompact.sqlite")
    assert (done.code, done.err) == (0, "")
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in map(json.loads, done.out.splitlines()):
        assert row["example_id"] not in found.setdefault(row["system"], {}), "a row twice"
        found[row["system"]][row["example_id"]] = row
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    folder = item.config.stash.get(LOGS, None)
    if report.failed and folder is not None:
        for log in sorted(folder.glob("*.log")):
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            report.sections.append((f"the end of {log.name}", "\n".join(lines[-30:])))
    return report
