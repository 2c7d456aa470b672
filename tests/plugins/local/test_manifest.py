from __future__ import annotations

import sys
from importlib.resources import files

import pytest

from context_bench_local import local

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli", reason="reads TOML on Python 3.10")


@pytest.fixture
def component():
    manifest = tomllib.loads(
        files("context_bench_local").joinpath("context_bench_plugin.toml").read_text("utf-8")
    )
    assert (manifest["schema"], manifest["api"]) == (1, "1.0")
    return manifest["datasets"]["local"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json", "a.csv", "a.tsv"])
@pytest.mark.parametrize("compression", ["", ".gz", ".bz2", ".xz"])
def test_every_suffix_that_is_claimed_can_be_read(component, write, name, compression):
    suffix = name.removeprefix("a") + compression
    assert suffix in component["files"]
    assert len(set(component["files"]) - {"/", ".parquet"}) == 20
    text = {"a.json": "[{}]", "a.csv": "q\n1\n", "a.tsv": "q\n1\n"}.get(name, "{}\n")
    assert len(list(local(path=write(name + compression, text)))) == 1
