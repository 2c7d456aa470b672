"""What scores a run may change between two of its sessions: a package is installed, upgraded or removed. No row goes without a
score because of it, and what no longer fits together is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from context_bench import EvalResult, evaluate
from context_bench.catalog import open_catalog
from context_bench.results.reading import read_result

CODE = """
    class Quick:
        name = "quick"

        def score(self, original, processed):
            return {"quick": VALUE}

    class Grouped(Quick):
        name = "grouped"

        def score(self, original, processed):
            return {"grouped": VALUE}

        def score_batch(self, pairs):
            return [{"grouped": VALUE} for _ in pairs]

    VALUE = 1.0
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [evaluators.quick]
    summary = "A score at once"
    class = "Quick"
    primary = "quick"
    version = "1"
    wire = [{ datasets = ["toy"] }]
    scores.quick = {}

    [evaluators.grouped]
    summary = "A score for many rows together"
    class = "Grouped"
    primary = "grouped"
    version = "1"
    wire = [{ datasets = ["toy"] }]
    scores.grouped = {}
"""
POINTS = {"evaluators": {"quick": "acme_scores:Quick", "grouped": "acme_scores:Grouped"}}
RUN = ("run", "-s", "echo", "-d", "toy", "--run-file", "r.sqlite", "--format", "none", "-q")


def _install(site: Any) -> Path:
    body: Path = site.add("acme-scores", code=CODE, manifest=MANIFEST, entry_points=POINTS)
    return body


def _upgrade(body: Path) -> None:
    manifest = body / "context_bench_plugin.toml"
    manifest.write_text(manifest.read_text().replace('version = "1"', 'version = "2"'))
    (body / "__init__.py").write_text(dedent(CODE).replace("VALUE = 1.0", "VALUE = 0.5"))


def _only_one_row_is_left(process: Callable[..., Any]) -> None:
    done = process(*RUN, "-n", "1")
    assert done.code == 0, done.err


def _stored(workplace: Path) -> EvalResult:
    return read_result(workplace / "r.sqlite", catalog=open_catalog())


def test_what_was_installed_since_scores_the_rows_that_are_done_too(
    site: Any, process: Callable[..., Any], workplace: Path, asked: Callable[[], int]
) -> None:
    site.basics()
    _only_one_row_is_left(process)
    _install(site)
    done = process("resume", "r.sqlite", "--format", "none", "-q")
    assert done.code == 0, done.err
    [row] = _stored(workplace).rows
    assert {"exact", "quick", "grouped"} <= set(row.scores)
    assert row.primary == "grouped"
    assert asked() == 1, "no system is asked for it"
    assert "the primary score is 'grouped' instead of 'exact'" in done.words


def test_another_version_is_told_with_what_makes_all_rows_alike(
    site: Any, process: Callable[..., Any], workplace: Path
) -> None:
    site.basics()
    body = _install(site)
    _only_one_row_is_left(process)
    _upgrade(body)
    done = process("resume", "r.sqlite", "--format", "none", "-q")
    assert done.code == 0, done.err
    assert "The evaluators of toy have changed since the run started" in done.words
    assert "acme-scores/quick has version 2 instead of 1" in done.words
    assert "`context-bench rescore r.sqlite` scores all rows again" in done.words
    assert process("rescore", "r.sqlite", "--format", "none").code == 0
    assert [row.scores["quick"] for row in _stored(workplace).rows] == [0.5]
    assert "has changed" not in process("resume", "r.sqlite", "--format", "none", "-q").words


def test_what_is_gone_is_told(site: Any, process: Callable[..., Any]) -> None:
    site.basics()
    _install(site)
    _only_one_row_is_left(process)
    done = process(
        "resume", "r.sqlite", "--format", "none", "-q", CONTEXT_BENCH_DISABLE_PLUGINS="quick"
    )
    assert "acme-scores/quick is gone" in done.words
    assert "acme-scores/grouped" not in done.words


def test_a_run_that_goes_on_as_it_began_tells_nothing(
    site: Any, process: Callable[..., Any]
) -> None:
    site.basics()
    _install(site)
    _only_one_row_is_left(process)
    assert "has changed" not in process("resume", "r.sqlite", "--format", "none", "-q").words


class Given:
    """An evaluator that is an object."""

    def __init__(self, name: str) -> None:
        self.name = name

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        """Return 1.0 under its name."""
        return {self.name: 1.0}


class Further(Given):
    """Another class, as two evaluators of one class have one id."""


@pytest.mark.parametrize("workers", [1, 2], ids=["on the caller's thread", "on threads"])
def test_an_evaluator_that_is_added_to_a_kept_run_scores_every_row(
    workers: int, tmp_path: Path
) -> None:
    rows = [{"id": str(number), "question": "q", "answer": "a"} for number in range(3)]
    asked = []

    def system(example: dict[str, Any]) -> str:
        asked.append(example["id"])
        return "a"

    kept: dict[str, Any] = {
        "run_file": tmp_path / "r.sqlite",
        "progress": False,
        "max_workers": workers,
    }
    evaluate(system, rows, [Given("first")], **kept)
    result = evaluate(system, rows, [Given("first"), Further("second")], **kept)
    assert [row.scores for row in result.rows] == [{"first": 1.0, "second": 1.0}] * 3
    assert sorted(asked) == ["0", "1", "2"]
