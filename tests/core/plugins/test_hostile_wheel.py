"""A package that tries what a package must not: built as a wheel, installed, and refused or visible in every command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

Run = Callable[..., Any]
CANARY = "canary-99e0b1-secret"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

PROJECT = """
    [build-system]
    requires = ["hatchling"]
    build-backend = "hatchling.build"

    [project]
    name = "acme-hostile"
    version = "6.6.6"

    [project.entry-points."context_bench.evaluators"]
    exact = "bench_basics:Exact"
    eager = "acme_hostile:Eager"
    flagged = "acme_hostile:Eager"
    coloured = "acme_hostile:Eager"

    [project.entry-points."context_bench.hooks"]
    patch = "acme_hostile.patching:Patch"

    [project.entry-points."context_bench.systems"]
    leaky = "acme_hostile:Leaky"

    [tool.hatch.build.targets.wheel]
    packages = ["acme_hostile"]
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [hooks.patch]
    summary = "Only watches"
    implements = ["adjust_wiring", "run_started"]

    [evaluators.eager]
    summary = "Waits for a flag of somebody else's"
    class = "Eager"
    primary = "eager"
    version = "1"
    wire = [{ option = "judge-url" }]
    scores.eager = {}

    [evaluators.flagged]
    summary = "Takes a flag of core's"
    class = "Eager"
    primary = "eager"
    version = "1"
    wire = [{ datasets = ["elsewhere"] }]
    scores.eager = {}
    options.system = { flag = "--system", help = "mine now" }

    [evaluators.coloured]
    summary = "\\u001b]0;pwned\\u0007 \\u202e told"
    class = "Eager"
    primary = "eager"
    version = "1"
    scores.eager = {}

    [systems.leaky]
    summary = "Repeats its key"
    class = "Leaky"
    options.api_key = { help = "no word of a secret" }
"""
CODE = """
    class Eager:
        name = "eager"

        def score(self, original, processed):
            return {"eager": 1.0}

    class Leaky:
        name = "leaky"

        def __init__(self, api_key=""):
            self.api_key = api_key

        def process(self, example):
            return {"response": f"\\x1b[31m{example['question']} {self.api_key}"}
"""
PATCHING = """
    import bench_basics

    bench_basics.Exact.score = lambda self, original, processed: {"exact": 0.42}

    class Patch:
        pass
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="the package is built")
    source = tmp_path_factory.mktemp("source")
    (source / "acme_hostile").mkdir()
    (source / "pyproject.toml").write_text(dedent(PROJECT))
    (source / "acme_hostile" / "__init__.py").write_text(dedent(CODE))
    (source / "acme_hostile" / "patching.py").write_text(dedent(PATCHING))
    (source / "acme_hostile" / "context_bench_plugin.toml").write_text(dedent(MANIFEST))
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel"],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [built] = (source / "dist").glob("*.whl")
    return built


@pytest.fixture
def hostile(site: Any, wheel: Path) -> Any:
    site.basics()
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site.folder)
    site.names.append("acme-hostile")
    return site


def test_its_entries_are_listed_with_what_is_wrong(hostile: Any, process: Run) -> None:
    told = {entry["id"]: entry for entry in json.loads(process("plugins", "list", "--json").out)}
    assert told["bench-basics/exact"]["state"] == "ok"
    assert told["acme-hostile/exact"]["state"] == "conflict"
    assert "is none of its files" in told["acme-hostile/exact"]["reason"]
    assert told["acme-hostile/flagged"]["state"] == "conflict"
    assert "--system is a flag of core" in told["acme-hostile/flagged"]["reason"]
    assert told["acme-hostile/coloured"]["state"] == "invalid"
    assert "with control characters" in told["acme-hostile/coloured"]["reason"]
    assert told["acme-hostile/patch"]["active"] == "named"
    assert told["acme-hostile/leaky"]["options"]["api_key"]["secret"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        ("plugins", "list"),
        ("plugins", "list", "--fields", "name,summary"),
        ("plugins", "show", "acme-hostile"),
        ("evaluators", "list"),
        ("--help",),
        ("run", "--help"),
        ("explain", "wiring", "-d", "toy"),
        ("--version", "-v"),
    ],
    ids=" ".join,
)
def test_no_look_obeys_it_or_imports_it(
    hostile: Any, process: Run, arguments: tuple[str, ...]
) -> None:
    (hostile.folder / "acme_hostile" / "__init__.py").write_text(
        "raise BaseException('it was imported')"
    )
    done = process(*arguments)
    assert done.code == 0, done.err
    assert CONTROL.search(done.out + done.err) is None
    assert "it was imported" not in done.err


def test_a_run_of_something_else_is_what_it_was(hostile: Any, process: Run) -> None:
    done = process(
        "run", "-s", "echo", "-d", "toy", "-q", "--format", "json", "--run-file", "r.sqlite"
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["rows"][0]["scores"] == {"exact": 1.0}
    assert "acme-hostile/coloured (and 2 more of acme-hostile) is invalid and unused" in done.words
    assert CONTROL.search(done.err) is None


def test_a_wiring_that_waits_for_the_flag_of_another_gets_no_row(
    hostile: Any, process: Run
) -> None:
    explained = json.loads(
        process("explain", "wiring", "-d", "toy", "--given", "judge-url", "--json").out
    )
    wired = {entry["evaluator"] for entry in explained["toy"]["evaluators"] if entry["wired"]}
    assert wired == {"bench-basics/exact"}
    assert explained["toy"]["extensions"] == {}


def test_a_hook_that_is_named_is_seen_in_the_plan_and_refused_by_a_lock(
    hostile: Any, process: Run
) -> None:
    assert process("lock", "-s", "echo", "-d", "toy").code == 0
    done = process("run", "-s", "echo", "-d", "toy", "-q", "--locked", "--extension", "patch")
    assert (
        done.code,
        "acme-hostile/patch was asked for, but is not in the lock file" in done.words,
    ) == (2, True)
    done = process("run", "-s", "echo", "-d", "toy", "-q", "--locked", "--format", "json")
    assert json.loads(done.out)["rows"][0]["scores"] == {"exact": 1.0}
    explained = json.loads(
        process("explain", "wiring", "-d", "toy", "--extension", "patch", "--json").out
    )
    assert explained["toy"]["extensions"]["acme-hostile/patch"]["implements"] == [
        "adjust_wiring",
        "run_started",
    ]


def test_a_run_of_the_thing_itself_keeps_its_key_and_its_colours_to_itself(
    hostile: Any, process: Run, workplace: Path
) -> None:
    done = process(
        "run",
        "-s",
        f"leaky:api_key={CANARY}",
        "-d",
        "toy",
        "--run-file",
        "r.sqlite",
        "-o",
        "out.json",
    )
    assert done.code == 0, done.err
    exported = process("export", "r.sqlite")
    kept = b"".join(path.read_bytes() for path in workplace.iterdir() if path.is_file())
    assert CANARY.encode() not in kept
    assert CANARY not in done.out + done.err + exported.out
    assert CONTROL.search(done.out + done.err) is None
