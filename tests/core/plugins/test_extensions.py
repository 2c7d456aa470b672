"""Extensions of packages: loaded when they are requested, and recorded in plan, lock and run file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

CODE = """
    import os

    from attrs import evolve

    from context_bench.hookspecs import hookimpl

    with open(os.environ["EXTENSIONS_LOG"], "a") as log:
        log.write("imported\\n")

    class Twice:
        @hookimpl
        def prepare_systems(self, systems):
            return [*systems, *(evolve(system, label=f"{system.name}-again") for system in systems)]

    class Stopper:
        def __init__(self, rows=1, code=0):
            self.left, self.code = rows, code

        @hookimpl
        def should_stop(self, row):
            self.left -= 1
            return "that is enough" if self.left == 0 else None

        @hookimpl
        def exit_code(self, result):
            return self.code or None

    class Miser:
        def __init__(self, calls=1):
            self.left, self.settled = calls, 0

        @hookimpl
        def admit_call(self, call):
            from context_bench.errors import CallRefusedError

            if self.left == 0:
                raise CallRefusedError(f"{call.system} may not be asked about {call.identity.position} any more")
            self.left -= 1

        @hookimpl
        def call_settled(self, call):
            self.settled += 1

    class Nothing:
        pass
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [hooks.twice]
    summary = "Ask every system twice"
    class = "Twice"
    implements = ["prepare_systems"]
    version = "3"

    [hooks.stopper]
    summary = "Stop after some rows"
    class = "Stopper"
    implements = ["should_stop", "exit_code"]
    options.rows = { type = "int", flag = "--stop-after", help = "Rows" }
    options.code = { type = "int", help = "Exit code" }

    [hooks.miser]
    summary = "Admit some calls"
    class = "Miser"
    implements = ["admit_call", "call_settled"]
    options.calls = { type = "int", flag = "--most-calls", help = "Calls" }

    [hooks.nothing]
    summary = "Nothing at all"
    class = "Nothing"
    implements = ["admit_call"]
"""
POINTS = {
    "hooks": {
        "twice": "acme_extensions:Twice",
        "stopper": "acme_extensions:Stopper",
        "miser": "acme_extensions:Miser",
        "nothing": "acme_extensions:Nothing",
    }
}
RUN = ("run", "--system", "echo", "--dataset", "toy", "--quiet", "--run-file", "r.sqlite")


@pytest.fixture
def imported(site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    site.basics()
    site.add("acme-extensions", code=CODE, manifest=MANIFEST, entry_points=POINTS)
    log = tmp_path / "extensions.log"
    monkeypatch.setenv("EXTENSIONS_LOG", str(log))
    return log.exists


def recorded() -> dict[str, Any]:
    with closing(sqlite3.connect("r.sqlite")) as connection:
        [(text,)] = connection.execute("SELECT provenance FROM run").fetchall()
    return json.loads(text).get("extensions", {})


def test_an_extension_that_is_not_requested_is_neither_imported_nor_recorded(
    imported: Any, context_bench: Any
) -> None:
    assert context_bench(*RUN).code == 0
    assert not imported()
    assert recorded() == {}


def test_prepare_systems_adds_systems_and_the_run_file_names_the_extension(
    imported: Any, context_bench: Any
) -> None:
    done = context_bench(*RUN, "--extension", "twice", "--format", "json")
    assert done.code == 0, done.err
    assert set(json.loads(done.out)["summary"]) == {"echo", "echo-again"}
    assert recorded()["acme-extensions/twice"]["version"] == "3"
    assert recorded()["acme-extensions/twice"]["implements"] == ["prepare_systems"]


def test_should_stop_stops_the_run_resumably_by_a_flag(imported: Any, context_bench: Any) -> None:
    done = context_bench(*RUN, "--stop-after", "1")
    assert done.code == 2
    assert "stopper stopped the run: that is enough" in done.err
    assert "context-bench resume r.sqlite" in done.err
    assert recorded()["acme-extensions/stopper"]["options"] == {"rows": "1"}


def test_admit_call_refuses_a_call_and_the_run_stops_resumably(
    imported: Any, context_bench: Any
) -> None:
    done = context_bench(*RUN, "--most-calls", "1")
    assert done.code == 2
    assert "echo may not be asked about 1 any more" in done.err
    assert "context-bench resume r.sqlite" in done.err
    assert recorded()["acme-extensions/miser"]["implements"] == ["admit_call", "call_settled"]


def test_exit_code_sets_the_exit_code_by_the_project_file(
    imported: Any, context_bench: Any
) -> None:
    Path("context-bench.toml").write_text(
        "[extensions.stopper]\nrows = 99\ncode = 11\n", encoding="utf-8"
    )
    assert context_bench(*RUN).code == 11


def test_the_plan_names_the_extensions_and_imports_none(imported: Any, context_bench: Any) -> None:
    done = context_bench(*RUN, "--extension", "twice", "--stop-after", "5", "--dry-run")
    assert done.code == 0, done.err
    assert "extension acme-extensions/twice 1.0: prepare_systems" in done.out
    assert "extension acme-extensions/stopper 1.0: should_stop, exit_code (rows=5)" in done.out
    assert not imported()


def test_an_extension_that_is_not_locked_is_not_imported(imported: Any, context_bench: Any) -> None:
    plan = ("--system", "echo", "--dataset", "toy")
    assert context_bench("lock", *plan).code == 0
    done = context_bench(*RUN, "--locked", "--extension", "twice")
    assert done.code == 2
    assert "acme-extensions/twice" in done.words
    assert not imported()
    assert context_bench("lock", *plan, "--extension", "twice").code == 0
    assert context_bench(*RUN, "--locked", "--extension", "twice").code == 0
    done = context_bench(*RUN[:-1], "s.sqlite", "--locked")
    assert (done.code, "acme-extensions/twice" in done.words) == (2, True)


def test_an_extension_without_a_declared_hook_is_refused(imported: Any, context_bench: Any) -> None:
    done = context_bench(*RUN, "--extension", "nothing")
    assert done.code == 2
    assert "'acme-extensions/nothing' cannot be registered" in done.words
    assert "admit_call, which it does not implement" in done.words


def test_a_misspelt_extension_suggests_a_close_name(imported: Any, context_bench: Any) -> None:
    done = context_bench(*RUN, "--extension", "twise")
    assert done.code == 2
    assert "Unknown extension 'twise'. Did you mean 'twice'" in done.words


EXTENDING = """
    schema = 1
    api = "1.0"
    [commands.shout]
    summary = "Shout after the run"
    extends = "run"
    options.word = { flag = "--shout", help = "What" }
    [commands.tally]
    summary = "A section below the table"
    extends = "table"
"""


def test_a_package_adds_an_option_of_run_and_a_section_of_the_table(
    site: Any, context_bench: Any
) -> None:
    site.basics()
    site.add(
        "acme-more",
        code="def shout(result, word):\n    return 11 if word == 'high' else None\n"
        "def tally(result):\n    return f'tally: {len(result.rows)} rows \\x1b[31m'\n",
        manifest=EXTENDING,
        entry_points={"commands": {"shout": "acme_more:shout", "tally": "acme_more:tally"}},
    )
    assert "--shout VALUE" in context_bench("run", "--help-all").words
    done = context_bench(*RUN, "--shout", "high")
    assert done.code == 11, done.err
    assert "tally: 2 rows \\x1b[31m" in done.out
    assert context_bench(*RUN[:-1], "s.sqlite", "--shout", "low").code == 0
    assert "tally" not in context_bench(*RUN[:-1], "t.sqlite", "--format", "json").out
    assert "tally" not in context_bench(*RUN[:-1], "u.sqlite", "-p", "no:acme-more").out


def test_every_door_that_writes_the_table_shows_the_sections(site: Any, context_bench: Any) -> None:
    site.basics()
    site.add(
        "acme-more",
        code="def tally(result):\n    return f'tally: {len(result.rows)} rows held against {result.config.get(\"baseline\")}'\n",
        manifest=EXTENDING.partition("    [commands.shout]")[0]
        + "    [commands.tally]"
        + EXTENDING.partition("[commands.tally]")[2],
        entry_points={"commands": {"tally": "acme_more:tally"}},
    )
    two = (
        "run",
        "--system",
        "first=echo",
        "--system",
        "second=echo",
        "--dataset",
        "toy",
        "--baseline",
        "first",
        "-q",
    )
    shown = context_bench(*two, "--run-file", "r.sqlite").out
    assert "tally: 4 rows held against first" in shown
    table, told = shown.partition("tally")[::2]
    for command in (("report",), ("resume",), ("rescore", "--force")):
        done = context_bench(command[0], "r.sqlite", *command[1:])
        assert done.code == 0, done.err
        assert done.out.partition("tally")[2] == told, command
        assert "tally" in context_bench(command[0], "r.sqlite", *command[1:], "--brief").out
        for other in ("json", "none"):
            assert (
                "tally"
                not in context_bench(command[0], "r.sqlite", *command[1:], "--format", other).out
            )
    assert table.splitlines()[0] in context_bench("report", "r.sqlite").out
    assert "held against second" in context_bench("report", "r.sqlite", "--baseline", "second").out
