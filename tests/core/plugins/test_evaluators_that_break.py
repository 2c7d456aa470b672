"""An evaluator that breaks on every row is told of beside the numbers, whether a manifest names its scores or nothing does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]

CODE = """
    class Breaks:
        name = "breaks"

        def score(self, original, processed):
            raise RuntimeError("no\\nluck")

    class Fair:
        name = "fair"

        def score(self, original, processed):
            return {"fair": 0.5, "beside": 0.25}
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [evaluators.declared]
    summary = "Breaks, and says which score it would give"
    class = "Breaks"
    primary = "luck"
    version = "1"
    deterministic = true
    scores.luck = {}
"""


@pytest.fixture
def command(site: Any, context_bench: Run) -> Run:
    """Run the command line where evaluators are installed that break, or give scores that no manifest names."""
    site.basics()
    site.add(
        "zeal-named",
        code=CODE,
        manifest=MANIFEST,
        entry_points={"evaluators": {"declared": "zeal_named:Breaks"}},
    )
    bare = {"bare": "acme_bare:Breaks", "fair": "acme_bare:Fair"}
    site.add("acme-bare", code=CODE, entry_points={"evaluators": bare})
    return context_bench


@pytest.mark.parametrize(
    ("evaluators", "broken", "code", "counts"),
    [
        ("declared", "zeal-named/declared", 12, (0, 0, 2)),
        ("bare", "acme-bare/bare", 12, (0, 0, 2)),
        ("exact,declared", "zeal-named/declared", 0, (2, 0, 0)),
        ("fair,bare", "acme-bare/bare", 0, (2, 0, 0)),
        ("fair", None, 0, (2, 0, 0)),
    ],
)
def test_an_evaluator_that_breaks_on_every_row_is_warned_of_and_fails_rows_that_nobody_else_scores(
    command: Run, evaluators: str, broken: str | None, code: int, counts: tuple[int, int, int]
) -> None:
    done = command(
        "run",
        "--system",
        "echo",
        "--dataset",
        "toy",
        "--evaluators",
        evaluators,
        "-q",
        "--format",
        "json",
    )
    told = json.loads(done.out)
    values = told["summary"]["echo"]
    warnings = (
        [] if broken is None else [f"{broken} scored none of 2 rows: RuntimeError: no luck (2)."]
    )
    assert told["warnings"] == warnings
    assert done.code == code, done.err
    assert tuple(values[f"num_{what}"] for what in ("scored", "unscored", "failed")) == counts


def test_rescoring_with_an_evaluator_without_a_manifest_makes_its_first_score_the_primary(
    command: Run,
) -> None:
    common = (
        "--system",
        "echo",
        "--dataset",
        "toy",
        "--evaluators",
        "exact",
        "-q",
        "--run-file",
        "r.sqlite",
    )
    assert command("run", *common, "--format", "none").code == 0
    told = json.loads(
        command("rescore", "r.sqlite", "--evaluators", "fair", "--format", "json").out
    )
    assert {row["primary"] for row in told["rows"]} == {"beside"}
    assert told["summary"]["echo"]["mean_score"] == 0.25
    again = json.loads(
        command("rescore", "r.sqlite", "--evaluators", "bare", "--format", "json").out
    )
    assert again["warnings"] == ["acme-bare/bare scored none of 2 rows: RuntimeError: no luck (2)."]
    mended = json.loads(
        command("rescore", "r.sqlite", "--evaluators", "exact", "--format", "json").out
    )
    assert mended["warnings"] == [], "what is not wired any more is not warned of"
