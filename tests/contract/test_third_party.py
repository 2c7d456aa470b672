"""A package of somebody else's, built as a wheel and unpacked where Python looks: each thing that it brings is listed, used,
blocked and explained, as if it were ours."""

from __future__ import annotations

import csv
import io
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
        name = "acme-bench"
        version = "2.1.0"
        dependencies = ["context-bench>=1,<2"]

        [project.entry-points."context_bench.systems"]
        acme-echo = "acme_bench:Echo"
        [project.entry-points."context_bench.datasets"]
        acme-rows = "acme_bench:rows"
        [project.entry-points."context_bench.evaluators"]
        acme-exact = "acme_bench:Exact"
        [project.entry-points."context_bench.commands"]
        best = "acme_bench.tools:best"
        [project.entry-points."context_bench.metrics"]
        behind = "acme_bench.tools:Behind"
        [project.entry-points."context_bench.reporters"]
        acme-lines = "acme_bench.tools:Lines"
        [project.entry-points."context_bench.hooks"]
        acme-watch = "acme_bench.tools:Watch"

        [tool.hatch.build.targets.wheel]
        packages = ["src/acme_bench"]
    """,
    "src/acme_bench/__init__.py": """
        class Echo:
            name = "acme-echo"

            def __init__(self, suffix=""):
                self.suffix = suffix

            def process(self, example):
                return {"response": example["question"] + self.suffix}

        def rows(limit=None, config=None, split=None):
            yield {"id": "1", "question": "one", "answer": "one"}
            yield {"id": "2", "question": "two", "answer": "two"}

        class Exact:
            name = "acme-exact"

            def score(self, original, processed):
                return {"acme_exact": float(processed["response"] == original["answer"])}
    """,
    "src/acme_bench/tools.py": """
        from pathlib import Path

        import click

        from context_bench.console import echo
        from context_bench.hookspecs import hookimpl
        from context_bench.runs import open_run

        @click.command()
        @click.argument("run_file", type=click.Path(path_type=Path))
        def best(run_file):
            "Name the system that says most."
            with open_run(run_file) as run:
                rows = list(run.rows())
            echo(f"best: {max(rows, key=lambda row: len(row.response)).system}")

        class Behind:
            name = "behind"

            def compare(self, columns_by_system):
                sums = {label: sum(columns.values("score")) for label, columns in columns_by_system.items()}
                return {label: {"points_behind": max(sums.values()) - total} for label, total in sums.items()}

        class Lines:
            name = "acme-lines"

            def write(self, result, stream):
                for system, values in result.summary.items():
                    stream.write(f"{system} is {values['points_behind']:.0f} behind\\n")

        class Watch:
            @hookimpl
            def row_finished(self, row):
                with open("watched.txt", "a") as file:
                    file.write(f"{row.system} {row.example_id}\\n")
    """,
    "src/acme_bench/context_bench_plugin.toml": """
        schema = 1
        api = "1.0"

        [systems.acme-echo]
        summary = "Says the question again"
        class = "Echo"
        kind = "system"
        options.suffix = { help = "What it says behind it" }

        [datasets.acme-rows]
        summary = "Two rows"
        class = "rows"

        [evaluators.acme-exact]
        summary = "Whether the response is the answer"
        class = "Exact"
        primary = "acme_exact"
        version = "1"
        wire = [{ datasets = ["acme-rows"] }]
        scores.acme_exact = {}

        [commands.best]
        summary = "Name the system that says most"

        [metrics.behind]
        summary = "How many points a system is behind the best"
        default = true
        values.points_behind = { heading = "points behind", format = "count", better = "lower", order = 15 }

        [reporters.acme-lines]
        summary = "A line for each system"
        files = [".acme"]

        [hooks.acme-watch]
        summary = "Writes down which rows are finished"
        implements = ["row_finished"]
        default = "installed"
    """,
}
PARTS = {
    "best": "commands",
    "behind": "metrics",
    "acme-lines": "reporters",
    "acme-watch": "extensions",
}
RUN = (
    "run",
    "-s",
    "one=acme-echo",
    "-s",
    "two=acme-echo:suffix=!",
    "-d",
    "acme-rows",
    "-q",
    "--run-file",
    "r.sqlite",
)
Call = Callable[..., Any]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as an installer does, and unpack it."""
    project, site = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("site")
    for name, text in PROJECT.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(dedent(text), encoding="utf-8")
    build = "import hatchling.build; print(hatchling.build.build_wheel('built'))"
    (project / "built").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    [wheel] = (project / "built").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        assert "acme_bench/context_bench_plugin.toml" in packed.namelist()
        packed.extractall(site)
    return site


@pytest.fixture
def call(site: Path, tmp_path: Path) -> Call:
    """Run the command line in a process of its own, in an empty folder."""

    def run(*arguments: str, code: int = 0, **environ: str) -> subprocess.CompletedProcess[str]:
        own = {"PYTHONPATH": str(site), "COLUMNS": "120", "XDG_CACHE_HOME": str(tmp_path / "cache")}
        command = [sys.executable, "-m", "context_bench", *arguments]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **own, **environ},
        )
        assert done.returncode == code, done.stderr + done.stdout
        return done

    return run


def test_each_thing_is_listed_and_explained_without_an_import(call: Call, site: Path) -> None:
    (site / "acme_bench" / "tools.py").touch()
    listed = {one["id"]: one for one in json.loads(call("plugins", "list", "--json").stdout)}
    for name, kind in PARTS.items():
        one = listed[f"acme-bench/{name}"]
        assert (one["kind"] + "s", one["state"], one["distribution"]) == (
            kind,
            "ok",
            "acme-bench",
        ), one
        shown = " ".join(call("plugins", "show", name).stdout.split())
        assert one["summary"] in shown
        assert "acme-bench 2.1.0" in shown or "distribution version 2.1.0" in shown
    assert "Name the system that says most" in call("--help").stdout


def test_each_thing_is_used(call: Call, tmp_path: Path) -> None:
    done = call(*RUN, "-o", "r.acme", "-o", "r.json")
    assert "points behind" in done.stdout
    assert (tmp_path / "r.acme").read_text() == "one is 0 behind\ntwo is 2 behind\n"
    summary = json.loads((tmp_path / "r.json").read_text())["summary"]
    assert {system: values["points_behind"] for system, values in summary.items()} == {
        "one": 0.0,
        "two": 2.0,
    }
    watched = (tmp_path / "watched.txt").read_text().splitlines()
    assert sorted(watched) == ["one 1", "one 2", "two 1", "two 2"]
    assert call("best", "r.sqlite").stdout == "best: two\n"
    assert (
        call("report", "r.sqlite", "--format", "acme-lines").stdout
        == "one is 0 behind\ntwo is 2 behind\n"
    )
    explained = " ".join(call("explain", "wiring", "-d", "acme-rows").stdout.split())
    assert "acme-exact" in explained


def test_each_thing_is_blocked_and_says_so(call: Call, tmp_path: Path) -> None:
    for name in PARTS:
        off = {"CONTEXT_BENCH_DISABLE_PLUGINS": name}
        [one] = json.loads(call("plugins", "show", name, "--json", **off).stdout)
        assert one["state"] == "blocked", one
        assert "CONTEXT_BENCH_DISABLE_PLUGINS" in one["reason"]
    done = call(
        *RUN, "-o", "r.json", CONTEXT_BENCH_DISABLE_PLUGINS=",".join(["behind", "acme-watch"])
    )
    assert "points behind" not in done.stdout
    assert not (tmp_path / "watched.txt").exists()
    summary = json.loads((tmp_path / "r.json").read_text())["summary"]
    assert all("points_behind" not in values for values in summary.values())
    refused = call("best", "r.sqlite", code=2, CONTEXT_BENCH_DISABLE_PLUGINS="best")
    assert "blocked" in refused.stderr
    refused = call(
        "report",
        "r.sqlite",
        "--format",
        "acme-lines",
        code=2,
        CONTEXT_BENCH_DISABLE_PLUGINS="acme-lines",
    )
    assert "blocked" in refused.stderr
    refused = call(*RUN[:-1], "s.sqlite", "-p", "no:behind", "--add-metric", "behind", code=2)
    assert "behind" in refused.stderr


def test_the_metric_is_in_the_tables_of_packages_too(call: Call) -> None:
    pytest.importorskip("context_bench_reports", reason="it writes CSV and Markdown")
    call(*RUN)
    assert "points behind" in call("report", "r.sqlite", "--format", "markdown").stdout
    lines = list(csv.reader(io.StringIO(call("report", "r.sqlite", "--format", "csv").stdout)))
    assert len(lines) > 1
