"""What an import may do to the process of a run: it is told by its name, and the run ends or goes on as it should."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SYSTEM = """
    {first}

    class Odd:
        name = "odd"

        def process(self, example):
            return {{"response": "a"}}
"""
MANIFEST = """
    schema = 1
    api = "1.0"
    [systems.odd]
    summary = "Answers"
    class = "Odd"
"""


@pytest.fixture
def run(site: Any, workplace: Path) -> Callable[[str], Any]:
    """Return what runs a system whose package begins with some code, in a process of its own."""

    def call(first: str) -> Any:
        site.basics()
        code = SYSTEM.format(first=first)
        site.add("acme-odd", code=code, manifest=MANIFEST, entry_points={"systems": {"odd": "acme_odd:Odd"}})
        asked = ["run", "--system", "odd", "--dataset", "toy", "--format", "json", "--quiet"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        python = [sys.executable, "-m", "context_bench", *asked]
        return subprocess.run(python, capture_output=True, text=True, check=False, timeout=120, env=environment)

    return call


@pytest.mark.parametrize("code", ["0", "3"])
def test_an_import_that_ends_the_process_is_a_plugin_that_failed(run: Any, code: str) -> None:
    done = run(f"import os; os._exit({code})")
    assert done.returncode == 2
    assert f"it called os._exit({code})" in done.stderr
    assert "acme-odd" in done.stderr


CLOSES = {
    "closes it": "import sys; sys.stdout.close()",
    "detaches it": "import sys; sys.stdout.detach().close()",
    "puts another in its place": "import io, sys; sys.stdout = io.TextIOWrapper(sys.stdout.buffer); print('hi')",
}
if hasattr(os, "fork"):  # Windows cannot
    CLOSES["forks"] = "import os\n    os.fork() or os._exit(0)\n    os.wait()"


@pytest.mark.parametrize("first", CLOSES.values(), ids=CLOSES.keys())
def test_an_import_that_does_something_to_standard_output_costs_nothing(run: Any, first: str) -> None:
    done = run(first)
    assert done.returncode == 0, done.stderr
    assert '"odd"' in done.stdout
    assert "Run file: " in done.stderr


def test_an_import_that_takes_long_is_named_meanwhile(
    site: Any, workplace: Path, context_bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context_bench.plugins.loading._LONG", 0.01)
    site.basics()
    code = SYSTEM.format(first="import time; time.sleep(1.0)")
    site.add("acme-odd", code=code, manifest=MANIFEST, entry_points={"systems": {"odd": "acme_odd:Odd"}})
    done = context_bench("run", "--system", "odd", "--dataset", "toy", "--quiet")
    assert done.code == 0
    assert "Importing acme-odd/odd (module acme_odd) takes more than 0.01 s." in done.words


def test_an_import_that_closes_what_stands_below_standard_output_is_told_and_keeps_the_run(run: Any) -> None:
    done = run("import os; os.close(1)")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: The output cannot be written whole: Bad file descriptor." in done.stderr
    assert "Run file: " in done.stderr
    assert "Traceback" not in done.stderr
