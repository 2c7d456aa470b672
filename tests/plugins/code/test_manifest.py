"""The manifest says of the component what is true of it."""

from __future__ import annotations

import inspect
from importlib import resources
from typing import Any

import pytest

import context_bench_code
from context_bench_code import CodeExecution
from context_bench_code.tiers import TIERS


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    try:
        import tomllib
    except ImportError:
        tomllib = pytest.importorskip("tomli", reason="Python 3.10 reads TOML with tomli")
    return dict(
        tomllib.loads(
            resources.files(context_bench_code).joinpath("context_bench_plugin.toml").read_text()
        )
    )


def test_the_options_are_the_constructor_s(manifest: dict[str, Any]) -> None:
    options = manifest["evaluators"]["code"]["options"]
    parameters = inspect.signature(CodeExecution).parameters
    assert {name: option["default"] for name, option in options.items()} == {
        name: parameter.default for name, parameter in parameters.items()
    }
    assert options["tier"]["choices"] == ["auto", *(tier.name for tier in TIERS)]
    assert options["allow_unsandboxed"]["flag"] == "--allow-unsandboxed-code"


def test_the_component_is_described_as_it_is(manifest: dict[str, Any]) -> None:
    code = manifest["evaluators"]["code"]
    assert getattr(context_bench_code, code["class"]) is CodeExecution
    assert list(code["scores"]) == [code["primary"]] == ["pass_at_1"]
    assert code["capabilities"] == ["subprocess", "executes-model-code"]
    assert code["wire"] == [{"datasets": ["humaneval", "mbpp"]}, {"tags": ["code"]}]


def test_the_public_names_are_these() -> None:
    assert context_bench_code.__all__ == ["CodeExecution", "SandboxError", "Scores", "pass_at_k"]
