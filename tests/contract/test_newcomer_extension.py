"""An extension with three hooks, written from the docstrings of ``context_bench.hookspecs`` alone, built and used as a wheel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

pytest.importorskip("hatchling", reason="the package is built")

PROJECT = {
    "pyproject.toml": """
        [build-system]
        requires = ["hatchling"]
        build-backend = "hatchling.build"

        [project]
        name = "acme-guard"
        version = "0.1.0"
        dependencies = ["context-bench>=1,<2"]

        [project.entry-points."context_bench.hooks"]
        guard = "acme_guard:Guard"
        [project.entry-points."context_bench.systems"]
        acme-loud = "acme_guard:Loud"

        [tool.hatch.build.targets.wheel]
        packages = ["src/acme_guard"]
    """,
    "src/acme_guard/__init__.py": '''
        """Allows a run a number of calls, repeats each answer in a whisper, and fails a run without good answers."""

        from threading import Lock

        from context_bench.errors import CallRefusedError
        from context_bench.hookspecs import hookimpl
        from context_bench.protocols import DerivedSystemSpec


        class Guard:
            def __init__(self, max_calls=100):
                self.left = max_calls
                self.lock = Lock()

            @hookimpl
            def admit_call(self, call):
                with self.lock:  # several threads call it at once
                    if self.left == 0:
                        raise CallRefusedError(f"{call.system} used all of its calls")
                    self.left -= 1

            @hookimpl
            def derived_systems(self, systems):
                return [
                    DerivedSystemSpec(f"{label} whisper", label, {"version": "1"}, whisper)
                    for label in systems
                ]

            @hookimpl
            def exit_code(self, result):
                if any(row.response == "ONE" for row in result.rows):
                    return 9
                return None


        def whisper(example, output):
            return {"response": output["response"].lower()}


        class Loud:
            name = "acme-loud"

            def process(self, example):
                return {"response": example["question"].upper()}
    ''',
    "src/acme_guard/context_bench_plugin.toml": """
        schema = 1
        api = "1.0"

        [hooks.guard]
        summary = "Limits the calls of a run"
        class = "Guard"
        implements = ["admit_call", "derived_systems", "exit_code"]
        options.max_calls = { type = "int", default = 100, flag = "--max-calls", help = "Calls that a run may make" }

        [systems.acme-loud]
        summary = "Answers in capitals"
        class = "Loud"
    """,
}
RUN = ("run", "-s", "acme-loud", "-d", "rows.jsonl", "-q", "--run-file", "r.sqlite")
Call = Callable[..., Any]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("project")
    site = tmp_path_factory.mktemp("site")
    for name, text in PROJECT.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(dedent(text), encoding="utf-8")
    (project / "built").mkdir()
    build = "import hatchling.build; hatchling.build.build_wheel('built')"
    subprocess.run([sys.executable, "-c", build], cwd=project, check=True, capture_output=True)
    [wheel] = (project / "built").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    return site


@pytest.fixture
def call(site: Path, tmp_path: Path) -> Call:
    """Run the command line in a process of its own, in a folder with two examples."""
    pytest.importorskip("context_bench_local", reason="it reads the examples")
    rows = [{"id": text, "question": text, "answer": text} for text in ("one", "two")]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "context_bench", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(site), "COLUMNS": "120"},
        )

    return run


def labels_of(call: Call) -> list[str]:
    report = json.loads(call("report", "r.sqlite", "--format", "json").stdout)
    return list(report["summary"])


def test_an_installed_extension_that_is_not_requested_changes_nothing(call: Call) -> None:
    done = call(*RUN)
    assert done.returncode == 0, done.stderr
    assert labels_of(call) == ["acme-loud"]


def test_the_three_hooks_take_part_when_an_option_is_given(call: Call) -> None:
    done = call(*RUN, "--max-calls", "5")
    assert done.returncode == 9, done.stderr
    assert labels_of(call) == ["acme-loud", "acme-loud whisper"]


def test_a_refused_call_stops_the_run_which_can_be_resumed_with_more_calls(call: Call) -> None:
    done = call(*RUN, "--max-calls", "1")
    assert done.returncode == 2
    assert "acme-loud used all of its calls" in done.stderr
    assert "context-bench resume r.sqlite" in done.stderr
    assert call("resume", "r.sqlite", "--max-calls", "5").returncode == 9
    assert labels_of(call) == ["acme-loud", "acme-loud whisper"]


def test_the_hooks_are_shown_without_an_import_and_compared_with_the_code(call: Call) -> None:
    shown = " ".join(call("plugins", "show", "guard").stdout.split())
    assert "admit_call, derived_systems, exit_code" in shown
    assert "--max-calls" in shown
    pytest.importorskip("context_bench_kit", reason="it compares the code with the manifest")
    assert call("plugins", "check", "acme-guard").returncode == 0


@pytest.mark.parametrize(
    ("declared", "fault"),
    [
        ('["admit_call", "derived_systems"]', "it implements exit_code"),
        ('["admit_call", "derived_systems", "exit_code", "should_stop"]', "names should_stop"),
    ],
)
def test_hooks_that_the_manifest_declares_wrongly_are_found_by_the_check(
    declared: str, fault: str, call: Call, site: Path
) -> None:
    pytest.importorskip("context_bench_kit", reason="it compares the code with the manifest")
    manifest = site / "acme_guard" / "context_bench_plugin.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(
        text.replace('["admit_call", "derived_systems", "exit_code"]', declared), encoding="utf-8"
    )
    try:
        checked = call("plugins", "check", "acme-guard")
        assert checked.returncode != 0
        assert fault in " ".join((checked.stdout + checked.stderr).split())
        done = call(*RUN, "--extension", "guard")
        assert done.returncode == 2
        assert "acme-guard/guard" in done.stderr
    finally:
        manifest.write_text(text, encoding="utf-8")
