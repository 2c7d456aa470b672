"""What an import may do to the process of a run: it is told by its name, and the run ends or goes on as it should."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench import read_result
from context_bench.plugins.discovery import discover
from context_bench.plugins.loading import load

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
        site.add(
            "acme-odd",
            code=code,
            manifest=MANIFEST,
            entry_points={"systems": {"odd": "acme_odd:Odd"}},
        )
        asked = ["run", "--system", "odd", "--dataset", "toy", "--format", "json", "--quiet"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        python = [sys.executable, "-m", "context_bench", *asked]
        return subprocess.run(
            python, capture_output=True, text=True, check=False, timeout=120, env=environment
        )

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
def test_an_import_that_does_something_to_standard_output_costs_nothing(
    run: Any, first: str
) -> None:
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
    site.add(
        "acme-odd", code=code, manifest=MANIFEST, entry_points={"systems": {"odd": "acme_odd:Odd"}}
    )
    done = context_bench("run", "--system", "odd", "--dataset", "toy", "--quiet")
    assert done.code == 0
    assert "Importing acme-odd/odd (module acme_odd) takes more than 0.01 s." in done.words


MISBEHAVES = {
    "the import changes the folder": ("import os; os.chdir(os.path.dirname(__file__))", ""),
    "the import lowers the recursion limit": (
        "import inspect, sys; sys.setrecursionlimit(len(inspect.stack(0)) + 30)",
        "",
    ),
    "each call changes the folder": ("import os", "os.chdir(os.path.dirname(__file__))"),
}


@pytest.mark.parametrize(("first", "then"), MISBEHAVES.values(), ids=MISBEHAVES.keys())
def test_files_lie_where_the_command_was_called_whatever_a_system_does(
    first: str, then: str, site: Any, workplace: Path, context_bench: Callable[..., Any]
) -> None:
    site.basics()
    code = SYSTEM.format(first=first).replace("return", f"{then or 'pass'}\n            return")
    site.add(
        "acme-odd", code=code, manifest=MANIFEST, entry_points={"systems": {"odd": "acme_odd:Odd"}}
    )
    (workplace / "rows.labels").write_text("one two three")
    limit = sys.getrecursionlimit()
    flags = ("--run-file", "r.sqlite", "-o", "out.json", "-q")
    done = context_bench("run", "-s", "odd", "-d", "rows.labels", *flags)
    assert done.code == 0, done.words
    assert (len(json.loads(Path("out.json").read_text())["rows"]), sys.getrecursionlimit()) == (
        3,
        limit,
    )
    assert {"r.sqlite", "out.json"} <= set(os.listdir(workplace))
    assert Path.cwd() == workplace


def test_a_component_is_imported_where_the_current_folder_is_gone(
    site: Any, workplace: Path, context_bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> str:
        raise FileNotFoundError(2, "No such file or directory")

    site.basics()
    component = discover().find("systems", "echo")
    monkeypatch.setattr("os.getcwd", gone)
    assert load(component).name == "echo"


def test_the_rows_of_a_result_are_read_wherever_the_program_is_by_then(
    site: Any, workplace: Path, tmp_path: Path, context_bench: Callable[..., Any]
) -> None:
    site.basics()
    context_bench("run", "-s", "echo", "-d", "toy", "--run-file", "r.sqlite", "-q")
    result = read_result("r.sqlite")
    os.chdir(tmp_path)
    assert [row.example_id for row in result.rows] == ["1", "2"]


def test_an_import_that_closes_what_stands_below_standard_output_is_told_and_keeps_the_run(
    run: Any,
) -> None:
    done = run("import os; os.close(1)")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: The output cannot be written whole: Bad file descriptor." in done.stderr
    assert "Run file: " in done.stderr
    assert "Traceback" not in done.stderr
