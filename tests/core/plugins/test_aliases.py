"""An alias means its evaluator wherever a run takes a name, unless another evaluator has that name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]
MANIFEST = """
    schema = 1
    api = "1.0"
    [evaluators.{name}]
    summary = "Scores"
    class = "Evaluator"
    version = "1"
    primary = "{key}"
    aliases = ["exact_match"]
    [evaluators.{name}.scores]
    {key} = {{}}
    [evaluators.{name}.options]
    value = {{ type = "float", default = 1.0, help = "What it scores" }}
"""
CODE = """
    class Evaluator:
        name = "{name}"

        def __init__(self, value=1.0):
            self._value = value

        def fingerprint(self):
            return {{"value": self._value}}

        def score(self, original, processed):
            return {{"{key}": self._value}}
"""


def install(site: Any, distribution: str, name: str, key: str) -> None:
    manifest = MANIFEST.format(name=name, key=key)
    site.evaluator(
        distribution, name, key=key, code=CODE.format(name=name, key=key), manifest=manifest
    )


@pytest.fixture
def aliased(site: Any) -> Any:
    site.basics()
    install(site, "acme-a", "letter-match", "letters")
    return site


def run(context_bench: Run, *arguments: str) -> Any:
    return context_bench("run", "-s", "echo", "-d", "toy", "-q", "--format", "json", *arguments)


def scores(done: Any) -> dict[str, float]:
    assert done.code == 0, done.words
    found: dict[str, float] = json.loads(done.out)["rows"][0]["scores"]
    return {key: value for key, value in found.items() if key != "exact"}


ALIAS = ("--add-evaluator", "exact_match")
USES: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {
    "added": (ALIAS, {"letters": 1.0}),
    "the only one": (("--evaluators", "exact_match"), {"letters": 1.0}),
    "added twice": ((*ALIAS, "--add-evaluator", "letter-match"), {"letters": 1.0}),
    "its option": ((*ALIAS, "--set", "evaluators.exact_match.value=0.5"), {"letters": 0.5}),
    "option by name": ((*ALIAS, "--set", "evaluators.letter-match.value=0.5"), {"letters": 0.5}),
    "its prefix": ((*ALIAS, "--score-prefix", "exact_match=own_"), {"own_letters": 1.0}),
    "left out": (("--exclude", "exact_match"), {}),
}


@pytest.mark.parametrize(("arguments", "expected"), USES.values(), ids=list(USES))
def test_an_alias_is_a_name_wherever_a_run_takes_one(
    arguments: tuple[str, ...], expected: dict[str, float], aliased: Any, context_bench: Run
) -> None:
    assert scores(run(context_bench, *arguments)) == expected


def test_an_alias_leaves_out_what_is_wired(site: Any, context_bench: Run) -> None:
    site.basics()
    manifest = MANIFEST.format(name="letter-match", key="letters").replace(
        "aliases =", "wire = [{ always = true }]\n    aliases ="
    )
    site.evaluator("acme-a", "letter-match", key="letters", manifest=manifest)
    assert scores(run(context_bench)) == {"letters": 1.0}
    assert scores(run(context_bench, "--exclude", "exact_match")) == {}
    both = run(context_bench, *ALIAS, "--exclude", "letter-match")
    assert both.code == 2


def test_an_evaluator_of_that_name_comes_before_an_alias(aliased: Any, context_bench: Run) -> None:
    points = {"evaluators": {"exact_match": "acme_plain:Evaluator"}}
    aliased.add("acme-plain", code=CODE.format(name="exact_match", key="own"), entry_points=points)
    assert scores(run(context_bench, *ALIAS)) == {"own": 1.0}


def test_an_alias_of_two_evaluators_is_an_error_that_names_both(
    aliased: Any, context_bench: Run, asked: Callable[[], int]
) -> None:
    install(aliased, "acme-b", "word-match", "words")
    done = run(context_bench, *ALIAS)
    assert (done.code, asked()) == (2, 0)
    assert "acme-a/letter-match and acme-b/word-match" in done.words


def test_the_run_file_and_explain_use_the_name(aliased: Any, context_bench: Run) -> None:
    done = run(context_bench, *ALIAS, "--run-file", "r.sqlite")
    assert done.code == 0, done.words
    changed = ("--set", "evaluators.exact_match.value=0.5", "--format", "json")
    assert scores(context_bench("rescore", "r.sqlite", *changed)) == {"letters": 0.5}
    explained = context_bench("explain", "wiring", "-d", "toy", *ALIAS)
    assert (explained.code, "+ acme-a/letter-match" in explained.words) == (0, True)
    shown = context_bench("evaluators", "show", "exact_match")
    assert (shown.code, "acme-a/letter-match" in shown.words) == (0, True)
