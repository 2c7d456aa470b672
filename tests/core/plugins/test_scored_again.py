"""Which rows a rescore asks an evaluator about again: what changed, and what it could not score before."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]

CODE = """
    import os
    from context_bench.records import Scores

    class Moody:
        name = "moody"

        def __init__(self, factor=1.0):
            self._factor = lambda: factor

        def score(self, original, processed):
            with open(os.environ["MOODY_LOG"], "a") as log:
                log.write(original["id"] + "\\n")
            if os.environ.get("MOODY") == "silent" and original["id"] == "1":
                return Scores({}, {"unscored": "no mood"})
            return {"mood": self._factor()}

    class Steady(Moody):
        name = "steady"

        def score(self, original, processed):
            found = super().score(original, processed)
            return Scores({"calm": found["mood"]} if found else {}, getattr(found, "details", {}))
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [evaluators.moody]
    summary = "Scores by mood"
    class = "Moody"
    primary = "mood"
    version = "1"
    deterministic = false
    scores.mood = {}
    options.factor = { type = "float", default = 1.0, help = "What it gives" }

    [evaluators.steady]
    summary = "Scores by mood, and says that it always gives the same"
    class = "Steady"
    primary = "calm"
    version = "1"
    deterministic = true
    scores.calm = {}
    options.factor = { type = "float", default = 1.0, help = "What it gives" }
"""


@pytest.fixture
def moods(site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Install both evaluators; return the ids that they were asked about since the last question."""
    site.basics()
    points = {"moody": "acme_moods:Moody", "steady": "acme_moods:Steady"}
    site.add("acme-moods", code=CODE, manifest=MANIFEST, entry_points={"evaluators": points})
    log = tmp_path / "moods.log"
    monkeypatch.setenv("MOODY_LOG", str(log))

    def asked() -> list[str]:
        found = sorted(log.read_text("utf-8").split()) if log.exists() else []
        log.write_text("", "utf-8")
        return found

    return asked


def scores(done: Any, key: str) -> list[float | None]:
    assert done.code == 0, done.err
    return [row["scores"].get(key) for row in json.loads(done.out)["rows"]]


@pytest.fixture
def run_file(
    moods: Callable[[], list[str]], context_bench: Call, monkeypatch: pytest.MonkeyPatch
) -> Call:
    """Run with an evaluator that cannot score the first row, and forget what it was asked."""

    def run(evaluator: str) -> str:
        monkeypatch.setenv("MOODY", "silent")
        command = (
            "run",
            "--system",
            "echo",
            "--dataset",
            "toy",
            "--evaluators",
            f"exact,{evaluator}",
            "-q",
        )
        done = context_bench(*command, "--run-file", "r.sqlite", "--format", "json")
        assert done.code == 0, done.err
        assert moods() == ["1", "2"]
        monkeypatch.delenv("MOODY")
        return "r.sqlite"

    return run


def test_what_an_evaluator_that_may_change_its_mind_left_unscored_is_asked_again(
    run_file: Call, context_bench: Call, moods: Callable[[], list[str]]
) -> None:
    done = context_bench("rescore", run_file("moody"), "--format", "json")
    assert scores(done, "mood") == [1.0, 1.0]
    assert moods() == ["1"]
    context_bench("rescore", "r.sqlite")
    assert moods() == []


def test_what_a_deterministic_evaluator_left_unscored_stays_so(
    run_file: Call, context_bench: Call, moods: Callable[[], list[str]]
) -> None:
    done = context_bench("rescore", run_file("steady"), "--format", "json")
    assert scores(done, "calm") == [None, 1.0]
    assert moods() == []


@pytest.mark.parametrize(("name", "key"), [("moody", "mood"), ("steady", "calm")])
def test_a_changed_option_scores_every_row_again_and_the_same_option_none(
    name: str, key: str, run_file: Call, context_bench: Call, moods: Callable[[], list[str]]
) -> None:
    option = ("--set", f"evaluators.{name}.factor=0.5")
    done = context_bench("rescore", run_file(name), *option, "--format", "json")
    assert scores(done, key) == [0.5, 0.5]
    assert moods() == ["1", "2"]
    done = context_bench("rescore", "r.sqlite", *option, "--format", "json")
    assert scores(done, key) == [0.5, 0.5]
    assert moods() == []
