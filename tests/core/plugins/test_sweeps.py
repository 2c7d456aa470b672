"""Sweeps: one spec that gives an option several numbers is a system for each of them, through every door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from context_bench.results.reading import read_result

CODE = """
    class Knob:
        name = "knob"

        def __init__(self, ratio=0.5, top=1, model="m", parts=()):
            self.told = [ratio, top, model, list(parts)]

        def process(self, example):
            return {"response": repr(self.told)}
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [systems.knob]
    summary = "Answers with its options"
    class = "Knob"
    version = "1"
    options.ratio = { type = "float", default = 0.5, help = "A share" }
    options.top = { type = "int", default = 1, help = "A number" }
    options.model = { type = "str", default = "m", help = "A name" }
    options.parts = { type = "list", default = [], help = "A list" }
"""


@pytest.fixture
def run(site: Any, context_bench: Any) -> Any:
    site.basics()
    site.add(
        "acme-knob",
        code=CODE,
        manifest=MANIFEST,
        entry_points={"systems": {"knob": "acme_knob:Knob"}},
    )

    def call(*systems: str, code: int = 0) -> Any:
        asked = [part for system in systems for part in ("--system", system)]
        done = context_bench(
            "run", *asked, "--dataset", "toy", "-n", "1", "--run-file", "r.sqlite", "--quiet"
        )
        assert done.code == code, done.words
        return done

    return call


def answers() -> dict[str, str]:
    return {row.system: row.response for row in read_result(Path("r.sqlite")).rows}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            "knob:ratio=0.1/0.25",
            {"knob:ratio=0.1": [0.1, 1, "m", []], "knob:ratio=0.25": [0.25, 1, "m", []]},
        ),
        ("a=knob:top=1/20", {"a:top=1": [0.5, 1, "m", []], "a:top=20": [0.5, 20, "m", []]}),
        (
            "knob:ratio=1e-1/1",
            {"knob:ratio=1e-1": [0.1, 1, "m", []], "knob:ratio=1": [1.0, 1, "m", []]},
        ),
        ("knob:model=1/2", {"knob": [0.5, 1, "1/2", []]}),
        ("knob:parts=1/2", {"knob": [0.5, 1, "m", [1, 2]]}),
        ("knob:ratio=0.3", {"knob": [0.3, 1, "m", []]}),
    ],
)
def test_a_number_with_slashes_is_a_system_for_each(
    run: Any, spec: str, expected: dict[str, Any]
) -> None:
    run(spec)
    assert answers() == {label: repr(told) for label, told in expected.items()}


def test_two_sweeps_are_every_pair(run: Any) -> None:
    run("knob:ratio=0.1/0.2,top=3/4,model=x")
    assert sorted(answers().values()) == [
        repr([ratio, top, "x", []]) for ratio in (0.1, 0.2) for top in (3, 4)
    ]


def test_what_is_no_number_is_told_with_its_place(run: Any) -> None:
    assert "ratio must be a finite number" in run("knob:ratio=0.1/x", code=2).words
    assert "ratio must be a finite number" in run("knob:ratio=0.1/", code=2).words


def test_a_swept_run_is_resumed_reported_and_asked_for_by_a_project_file(
    run: Any, context_bench: Any
) -> None:
    Path("context-bench.toml").write_text(
        'baseline = "knob:ratio=0.1"\n[[systems]]\nspec = "knob:ratio=0.1/0.25"\n[[datasets]]\nname = "toy"\n'
    )
    done = context_bench("run", "--run-file", "r.sqlite", "--quiet")
    assert done.code == 0, done.words
    assert list(answers()) == ["knob:ratio=0.1", "knob:ratio=0.25"]
    for command in (("resume", "r.sqlite"), ("report", "r.sqlite"), ("run", "--dry-run")):
        assert context_bench(*command).code == 0
    assert "knob:ratio=0.25" in json.dumps(read_result(Path("r.sqlite")).config["systems"])
