from __future__ import annotations

import sys
from importlib.resources import files

import pytest

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


def test_the_whole_example_is_read_so_no_reads_are_declared(component):
    assert "reads" not in component
    assert component["deterministic"] is True
    assert component["capabilities"] == []
