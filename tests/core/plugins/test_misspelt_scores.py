"""A score that no evaluator of a run can give is told before the first call, whoever says which labels its rows have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench.plan.run_config import RunConfig
from context_bench.plan.wiring import WiringPlanner
from context_bench.plugins.discovery import discover
from context_bench.records import ANY_KEY

UNDECLARED = """
    class Evaluator:
        name = "free"

        def score(self, original, processed):
            return {"whatever": 1.0}
"""
HOOK = """
    from context_bench.hookspecs import hookimpl

    @hookimpl
    def adjust_wiring(plan):
        return None
"""
HOOK_MANIFEST = """
    schema = 1
    api = "1.0"
    [hooks.adjusting]
    summary = "Adjusts"
    implements = ["adjust_wiring"]
"""


@pytest.fixture
def installed(site: Any, workplace: Path) -> Any:
    """Evaluators for any rows, for those of a label, for none without being asked, and one that says nothing of itself."""
    site.basics()
    site.evaluator("acme-special", "special", wire='[{ datasets = ["special"] }]')
    site.evaluator("acme-asked", "on-demand", key="demanded")
    points = {"evaluators": {"free": "acme_free:Evaluator"}}
    site.add("acme-free", code=UNDECLARED, entry_points=points)
    points = {"hooks": {"adjusting": "acme_hook"}}
    site.add("acme-hook", code=HOOK, manifest=HOOK_MANIFEST, entry_points=points)
    (workplace / "rows.labels").write_text("plain plain special plain")
    return site


@pytest.mark.parametrize(
    ("field", "flags", "is_told_first"),
    [
        ("exct", (), True),
        ("exact", (), False),
        ("special", (), False),
        ("demanded", (), True),
        ("demanded", ("--add-evaluator", "on-demand"), False),
        ("special", ("--evaluators", "exact"), True),
        ("special", ("--evaluators", "exact,special"), False),
        ("own_exact", (), True),
        ("own_exact", ("--score-prefix", "exact=own_"), False),
        ("whatever", ("--evaluators", "free"), False),
        ("whatever", ("--add-evaluator", "free"), False),
        ("demanded", ("--extension", "adjusting"), False),
        ("score", (), False),
    ],
)
def test_a_score_that_no_label_can_bring_is_told_before_the_first_call(
    field: str,
    flags: tuple[str, ...],
    is_told_first: bool,
    installed: Any,
    workplace: Path,
    asked: Callable[[], int],
    context_bench: Callable[..., Any],
) -> None:
    run = (
        "run",
        "-s",
        "echo",
        "-d",
        "rows.labels",
        "-q",
        "--run-file",
        "r.sqlite",
        "--score-field",
        field,
        *flags,
    )
    done = context_bench(*run)
    assert (asked() == 0) == is_told_first, done.words
    assert (workplace / "r.sqlite").exists() != is_told_first
    if is_told_first:
        assert done.code == 2
        assert f"is {field!r}, and no evaluator of this run returns that score" in done.words
        assert "The run is complete" not in done.words


class Undescribed:
    name = "undescribed"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"new": 1.0}


def test_what_rows_can_have_is_known_of_an_object_only_where_a_package_describes_it(
    installed: Any,
) -> None:
    catalog = discover()
    of_a_package = catalog.find("evaluators", "special").build({})
    described = RunConfig(evaluators=(of_a_package, "exact"), score_prefixes={"special": "my_"})
    assert sorted(WiringPlanner(catalog, described).possible_keys()) == ["exact", "my_special"]
    own = RunConfig(evaluators=(Undescribed(), "exact"))
    assert ANY_KEY in WiringPlanner(catalog, own).possible_keys()
