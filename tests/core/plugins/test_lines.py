"""The list that a team reads: one line for each component on a terminal, chosen, sorted and cut as it is asked for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def team(site: Any) -> Any:
    site.basics()
    site.evaluator("acme-old", "old", manifest='schema = 1\napi = "0.1"\n')
    site.evaluator("acme-dev", "dev", wire='[{ datasets = ["toy"] }]', editable=True)
    manifest = """
        schema = 1
        api = "1.0"
        [systems.fancy]
        summary = "Needs a library"
        class = "Fancy"
        extra = "things"
    """
    points = {"systems": {"fancy": "acme_extra:Fancy"}}
    requires = ('nowhere-to-be-found ; extra == "things"',)
    site.add("acme-extra", manifest=manifest, entry_points=points, requires=requires)
    return site


@pytest.fixture
def listed(team: Any, process: Run) -> Callable[..., list[list[str]]]:
    path = os.pathsep.join(map(str, [team.folder, team.folder.parent / "acme_dev_source"]))

    def call(*arguments: str) -> list[list[str]]:
        done = process("plugins", "list", *arguments, path=path)
        assert done.code == 0, done.err
        return [
            [cell.strip() for cell in line.split("  ") if cell.strip()]
            for line in done.out.splitlines()
        ]

    return call


def test_a_line_tells_the_fields_that_are_asked_for(listed: Callable[..., list[list[str]]]) -> None:
    heading, *lines = listed(
        "--fields", "name,kind,state,distribution,version,wired-to", "--kind", "evaluators"
    )
    assert heading == ["name", "kind", "state", "distribution", "version", "wired-to"]
    assert ["exact", "evaluator", "ok", "bench-basics", "1.0", "every dataset"] in lines
    assert ["dev", "evaluator", "ok", "acme-dev", "1.0 (editable)", "toy"] in lines
    assert [line[:5] for line in lines if line[0] == "old"] == [
        ["old", "evaluator", "incompatible", "acme-old", "1.0"]
    ]


def test_an_extra_that_is_not_installed_is_optional_and_no_trouble(
    listed: Callable[..., list[list[str]]],
) -> None:
    _, *lines = listed("--fields", "name,state", "--state", "optional")
    assert ["fancy", "optional"] in lines
    assert {state for _, state in lines} == {"optional"}
    blocks = [line for line in listed("--kind", "systems") if line and line[0] == "fancy"]
    assert blocks[0][:2] == ["fancy", "optional"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("--state", "incompatible"), ["old"]),
        (("--wired-to", "toy"), ["dev", "exact"]),
        (("--wired-to", "nothing-of-that-name"), ["exact"]),
        (("--kind", "datasets", "--sort", "name"), ["labelled", "toy"]),
    ],
    ids=" ".join,
)
def test_it_can_be_narrowed(
    listed: Callable[..., list[list[str]]], team: Any, arguments: tuple[str, ...], names: list[str]
) -> None:
    found = [
        line
        for line in listed("--fields", "name,distribution", *arguments)[1:]
        if line[1] in team.names
    ]
    assert sorted(line[0] for line in found) == names
    if "--sort" in arguments:
        assert [line[0] for line in found] == names


def test_json_marks_what_is_optional_and_editable(team: Any, context_bench: Run) -> None:
    told = {
        entry["id"]: entry for entry in json.loads(context_bench("plugins", "list", "--json").out)
    }
    assert told["acme-extra/fancy"]["optional"] is True
    assert told["bench-basics/exact"]["optional"] is False
    assert told["acme-dev/dev"]["editable"].endswith("acme_dev_source")
    assert told["bench-basics/exact"]["editable"] is None


def test_the_versions_of_everything_are_one_command(team: Any, context_bench: Run) -> None:
    done = context_bench("--version", "-v")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("context-bench, version ")
    assert lines[1].startswith("Python ")
    assert "bench-basics 1.0" in lines
    assert "acme-old 1.0: old incompatible" in lines
    assert "acme-extra 1.0" in lines


def test_a_lock_is_held_against_what_is_installed(
    team: Any, context_bench: Run, workplace: Path
) -> None:
    pytest.importorskip("context_bench_kit", reason="`plugins diff` comes with it")
    assert context_bench("lock", "-s", "echo", "-d", "toy").code == 0
    same = context_bench("plugins", "diff", "context-bench.lock")
    assert (same.code, "is installed as it was" in same.out) == (0, True)
    info = team.folder / "bench_basics-1.1.dist-info"
    (team.folder / "bench_basics-1.0.dist-info").rename(info)
    metadata = (info / "METADATA").read_text()
    (info / "METADATA").write_text(metadata.replace("Version: 1.0", "Version: 1.1"))
    other = context_bench("plugins", "diff", "context-bench.lock")
    assert other.code == 2
    assert "bench-basics/exact: distribution_version was '1.0', is '1.1'" in other.out
    import shutil

    shutil.rmtree(team.folder / "bench_basics-1.1.dist-info")
    gone = context_bench("plugins", "diff", "context-bench.lock", "--json")
    assert (gone.code, json.loads(gone.out)) == (
        2,
        ["bench-basics/exact: locked with 1.0, not installed"],
    )
    (workplace / "no.lock").write_text("[]")
    assert context_bench("plugins", "diff", "no.lock").code == 2
