"""The pytest plugin: the fixture `context_bench_run`, one option, and a section at the end of the session.

pytest imports this module in every session of an environment, so that it imports nothing of context-bench until a test
uses the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from context_bench_pytest.runner import BenchmarkRunner

OPTION = "--context-bench-runs"
PLUGIN_NAME = "context-bench-session"
REPORT_FIELD = "context_bench_runs"
"""Attribute of a test report that carries what was run; pytest-xdist sends it from a worker to the terminal."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names a folder for run files."""
    group = parser.getgroup("context-bench")
    group.addoption(
        OPTION,
        metavar="FOLDER",
        help="Store the run files of benchmarks in a new folder below FOLDER, instead of a temporary folder.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the object that collects what was run."""
    config.pluginmanager.register(BenchmarkSession(config), PLUGIN_NAME)


class BenchmarkSession:
    """The benchmarks of one pytest process, and in the process with the terminal those of all workers.

    Args:
        config: Of the process.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.test_id = ""
        self.worker = str(getattr(config, "workerinput", {}).get("workerid", ""))
        self._finished: list[dict[str, Any]] = []
        self._reported: list[dict[str, Any]] = []

    def add(self, lines: list[dict[str, Any]]) -> None:
        """Note what a benchmark returned: one line for each system, as JSON values."""
        self._finished += lines

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Note which test comes, for the names of run files."""
        self.test_id = item.nodeid

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Iterator[None]:
        """Attach what was run in this phase of a test to the report of the phase."""
        report = yield
        setattr(report, REPORT_FIELD, self._finished)
        self._finished = []
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what was run from the reports of this process and of workers."""
        self._reported += getattr(report, REPORT_FIELD, [])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a section with each benchmark: its score with an interval, its rows, and its run file."""
        if not self._reported:
            return
        from context_bench_pytest.run_lines import text_lines

        terminalreporter.section("context-bench")
        for line in text_lines(self._reported):
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def context_bench_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> BenchmarkRunner:
    """Run a benchmark: `context_bench_run(system, dataset, ...)` takes the arguments of `context_bench.evaluate()`.

    The run file is in a temporary folder of this process, or below `--context-bench-runs`. The fixture has the scope of
    the session, so that fixtures of any scope can run a benchmark once for several tests.
    """
    from context_bench_pytest.runner import BenchmarkRunner

    session: Any = request.config.pluginmanager.get_plugin(PLUGIN_NAME)
    chosen = request.config.getoption(OPTION)
    if chosen is None:
        folder = tmp_path_factory.mktemp("context-bench")
    else:
        moment = datetime.now().strftime("%Y%m%d-%H%M%S")
        folder = _new_folder(
            Path(chosen).absolute(), "-".join(filter(None, (moment, session.worker)))
        )
    return BenchmarkRunner(folder, session)


def _new_folder(parent: Path, name: str) -> Path:
    """Create a folder that did not exist: two sessions never write to one file."""
    parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
        else:
            return folder
