"""The manifest, the README and the docstrings say what the code does."""

from __future__ import annotations

import doctest
import inspect
import sys
from importlib import import_module, metadata
from itertools import pairwise
from pathlib import Path

import pytest

import context_bench_math
from context_bench_math import MathEquivalence

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(context_bench_math.__file__).parent
README = Path(__file__).resolve().parents[3] / "plugins" / "context-bench-math" / "README.md"


@pytest.fixture(scope="module")
def component():
    return tomllib.loads((PACKAGE / "context_bench_plugin.toml").read_text(encoding="utf-8"))[
        "evaluators"
    ]["math"]


def test_the_manifest_names_the_class_and_exactly_its_scores(component):
    assert getattr(context_bench_math, component["class"]) is MathEquivalence
    scores = MathEquivalence().score({"answer": "1"}, {"response": "1"})
    assert list(component["scores"]) == list(scores) == [component["primary"]]
    assert component["wire"] == [{"datasets": ["math", "gsm8k", "mgsm"]}, {"tags": ["math"]}]
    assert component["needs"] == {"original": ["answer|answers"], "processed": ["response"]}


def test_the_manifest_declares_every_option_with_its_default(component):
    options = component["options"]
    assert list(options) == list(inspect.signature(MathEquivalence).parameters)
    defaults = {name: option["default"] for name, option in options.items()}
    assert MathEquivalence(**defaults).fingerprint() == MathEquivalence().fingerprint()


def test_the_entry_point_leads_to_the_class():
    (entry,) = [
        entry
        for entry in metadata.entry_points(group="context_bench.evaluators")
        if entry.name == "math"
    ]
    assert entry.load() is MathEquivalence


def test_everything_that_is_exported_exists_and_is_explained():
    for name in context_bench_math.__all__:
        assert getattr(context_bench_math, name).__doc__


@pytest.mark.parametrize("module", sorted(path.stem for path in PACKAGE.glob("[a-z]*.py")))
def test_docstring_examples_are_true(module):
    assert doctest.testmod(import_module(f"context_bench_math.{module}")).failed == 0


def test_readme_examples_are_true():
    results = doctest.testfile(str(README), module_relative=False)
    assert results.attempted >= 13
    assert results.failed == 0


def test_the_tables_of_the_readme_are_true(score):
    equal, different = _columns("| equal | not equal |")
    assert len(equal) > 20
    assert len(different) >= 15
    assert [pair for pair in equal if score(*pair) != 1.0] == []
    assert [pair for pair in different if score(*pair) != 0.0] == []


def _columns(header):
    """The pairs that the two columns of the table give: neighbours around `=` and around "and"."""
    rows = README.read_text(encoding="utf-8").split(header)[1].split("\n\n")[0].splitlines()[2:]
    pairs = [[], []]
    for row in rows:
        for column, cell in enumerate(row.strip("| ").split(" | ")):
            for group in cell.split("; "):
                for link in ("` = `", "` and `", "` for the reference `"):
                    parts = group.split(link)
                    pairs[column] += [
                        (b.split("`")[0], a.rpartition("`")[2]) for a, b in pairwise(parts)
                    ]
    return pairs
