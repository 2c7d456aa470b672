"""The manifest, the README and the docstrings say what the code does."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

import context_bench_ifeval
from context_bench_ifeval import INSTRUCTIONS, IFEvalChecker

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(context_bench_ifeval.__file__).parent
README = Path(__file__).resolve().parents[3] / "plugins" / "context-bench-ifeval" / "README.md"
MODULES = sorted(
    found.name for found in pkgutil.walk_packages([str(PACKAGE)], "context_bench_ifeval.")
)


@pytest.fixture(scope="module")
def component():
    manifest = tomllib.loads((PACKAGE / "context_bench_plugin.toml").read_text(encoding="utf-8"))
    assert list(manifest["evaluators"]) == ["ifeval"]
    return manifest["evaluators"]["ifeval"]


def test_the_manifest_names_exactly_the_scores(component):
    row = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    assert list(component["scores"]) == list(IFEvalChecker().score(row, {"response": "Hi."}))
    assert component["primary"] == "ifeval_strict"


def test_the_manifest_names_the_class_and_wires_it_to_the_dataset(component):
    assert getattr(context_bench_ifeval, component["class"]) is IFEvalChecker
    assert component["wire"] == [{"datasets": ["ifeval"]}]
    assert component["needs"] == {"original": ["instruction_id_list"], "processed": ["response"]}
    assert component["capabilities"] == []


def test_the_manifest_declares_every_option_with_its_default_and_choices(component):
    options = component["options"]
    parameters = inspect.signature(IFEvalChecker).parameters
    assert list(options) == list(parameters)
    assert options["loose"]["default"] == parameters["loose"].default
    for choice in options["loose"]["choices"]:
        assert IFEvalChecker(loose=choice).fingerprint() == {"loose": choice}


def test_everything_that_is_exported_exists():
    for name in context_bench_ifeval.__all__:
        assert getattr(context_bench_ifeval, name) is not None


def test_the_readme_lists_the_25_instructions():
    listed = re.findall(r"^\| `(\w+:\w+)` \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == list(INSTRUCTIONS)


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_are_true(module):
    assert doctest.testmod(import_module(module)).failed == 0


def test_readme_examples_are_true():
    results = doctest.testfile(str(README), module_relative=False)
    assert results.attempted >= 10
    assert results.failed == 0
