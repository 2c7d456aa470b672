"""A component whose libraries come with an extra: optional, so nothing else minds that they are not there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]

MANIFEST = """
    schema = 1
    api = "1.0"

    [systems.plain]
    summary = "Needs nothing"
    class = "Plain"

    [systems.fancy]
    summary = "Needs a library"
    class = "Fancy"
    extra = "fancy-things"
"""
CODE = """
    class Plain:
        name = "plain"

        def process(self, example):
            return {"response": "plain"}

    class Fancy(Plain):
        name = "fancy"
"""
POINTS = {"systems": {"plain": "acme_two:Plain", "fancy": "acme_two:Fancy"}}


def install(site: Any, *requires: str) -> None:
    site.basics()
    site.add("acme-two", code=CODE, manifest=MANIFEST, entry_points=POINTS, requires=requires)


ABSENT = 'nowhere-to-be-found>=2,<3 ; extra == "fancy-things"'


def states(context_bench: Run) -> dict[str, tuple[str, str, str]]:
    told = json.loads(context_bench("plugins", "list", "--json").out)
    return {
        c["name"]: (c["state"], c["reason"], c["remedy"])
        for c in told
        if c["distribution"] == "acme-two"
    }


def test_it_is_missing_with_the_line_that_installs_it_and_the_others_are_ok(
    site: Any, context_bench: Run
) -> None:
    install(site, ABSENT, "another-one; extra == 'other'")
    assert states(context_bench) == {
        "plain": ("ok", "", ""),
        "fancy": (
            "missing-dependency",
            "it requires nowhere-to-be-found, which is not installed",
            '`pip install "acme-two[fancy-things]"`',
        ),
    }


@pytest.mark.parametrize(
    "requirement",
    [
        "nowhere-to-be-found ; extra == 'fancy-things'",
        'nowhere-to-be-found ; (extra == "fancy_things")',
        'nowhere-to-be-found[all]>=1; extra=="Fancy.Things"',
    ],
)
def test_an_extra_is_written_in_many_ways(site: Any, context_bench: Run, requirement: str) -> None:
    install(site, requirement)
    assert states(context_bench)["fancy"][0] == "missing-dependency"


@pytest.mark.parametrize(
    "requires",
    [(), ('bench-basics ; extra == "fancy-things"',), ('nowhere-to-be-found ; extra == "other"',)],
    ids=["no requirement", "installed", "another extra"],
)
def test_it_is_ok_when_what_its_extra_asks_for_is_there(
    site: Any, context_bench: Run, requires: tuple[str, ...]
) -> None:
    install(site, *requires)
    assert states(context_bench)["fancy"] == ("ok", "", "")


def test_the_check_of_a_plugin_has_nothing_against_it(site: Any, context_bench: Run) -> None:
    install(site, ABSENT)
    assert context_bench("plugins", "check", "acme-two").code == 0


def test_a_run_that_does_not_use_it_says_nothing_of_it_and_one_that_does_stops(
    site: Any, context_bench: Run
) -> None:
    install(site, ABSENT)
    done = context_bench("run", "--system", "plain", "--dataset", "toy")
    assert (done.code, "nowhere" in done.words) == (0, False)
    done = context_bench("run", "--system", "fancy", "--dataset", "toy")
    assert done.code == 2
    assert (
        "System acme-two/fancy is missing a dependency: it requires nowhere-to-be-found, which is not installed. "
        '`pip install "acme-two[fancy-things]"`.'
    ) in done.words
