"""The manifest, the README and the docstrings say what the code does."""

from __future__ import annotations

import doctest
import inspect
import sys
from importlib import import_module, metadata
from pathlib import Path

import pytest

import context_bench_bbh
from context_bench_bbh import BBHExactMatch

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(context_bench_bbh.__file__).parent
README = Path(__file__).resolve().parents[3] / "plugins" / "context-bench-bbh" / "README.md"


@pytest.fixture(scope="module")
def component():
    return tomllib.loads((PACKAGE / "context_bench_plugin.toml").read_text(encoding="utf-8"))[
        "evaluators"
    ]["bbh-exact-match"]


def test_the_manifest_names_the_class_and_exactly_its_scores(component):
    assert getattr(context_bench_bbh, component["class"]) is BBHExactMatch
    scores = BBHExactMatch().score({"answer": "1"}, {"response": "1"})
    assert list(component["scores"]) == list(scores) == [component["primary"]]
    assert component["wire"] == [{"datasets": ["bbh"]}]
    assert component["needs"] == {"original": ["answer|answers"], "processed": ["response"]}


def test_the_manifest_declares_every_option_with_its_default(component):
    options = component["options"]
    assert list(options) == list(inspect.signature(BBHExactMatch).parameters)
    defaults = {name: option["default"] for name, option in options.items()}
    assert BBHExactMatch(**defaults).fingerprint() == BBHExactMatch().fingerprint()


def test_the_entry_point_leads_to_the_class():
    (entry,) = [
        entry
        for entry in metadata.entry_points(group="context_bench.evaluators")
        if entry.name == "bbh-exact-match"
    ]
    assert entry.load() is BBHExactMatch


def test_everything_that_is_exported_exists_and_is_explained():
    for name in context_bench_bbh.__all__:
        assert getattr(context_bench_bbh, name).__doc__


@pytest.mark.parametrize("module", sorted(path.stem for path in PACKAGE.glob("[a-z]*.py")))
def test_docstring_examples_are_true(module):
    assert doctest.testmod(import_module(f"context_bench_bbh.{module}")).failed == 0


def test_readme_examples_are_true():
    results = doctest.testfile(str(README), module_relative=False)
    assert results.attempted >= 7
    assert results.failed == 0
