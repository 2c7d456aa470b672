from __future__ import annotations

import inspect
import sys
from importlib.resources import files

import pytest

import context_bench_replay
from context_bench_replay import Replay

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli", reason="reads TOML on Python 3.10")


@pytest.fixture
def component():
    manifest = tomllib.loads(
        files("context_bench_replay").joinpath("context_bench_plugin.toml").read_text("utf-8")
    )
    assert (manifest["schema"], manifest["api"]) == (1, "1.0")
    return manifest["systems"]["replay"]


def test_the_class_is_exported(component):
    assert getattr(context_bench_replay, component["class"]) is Replay
    assert context_bench_replay.__all__ == ["Replay"]


def test_the_options_are_those_of_the_constructor(component):
    parameters = inspect.signature(Replay).parameters
    assert [*component["options"], "name"] == list(parameters)
    for name, option in component["options"].items():
        assert option.get("default") == (parameters[name].default or None), name
        assert option["help"].endswith(".")


def test_the_whole_example_is_read_so_no_reads_are_declared(component):
    assert "reads" not in component
    assert component["deterministic"] is True
    assert component["capabilities"] == []
