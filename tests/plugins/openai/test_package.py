from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

import context_bench_openai
from context_bench_openai import OpenAIProxy
from context_bench_openai.layouts import LAYOUTS
from context_bench_openai.proxy import ADAPTER_VERSION

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
PACKAGE = Path(context_bench_openai.__file__).parent
MANIFEST: dict[str, Any] = tomllib.loads(
    (PACKAGE / "context_bench_plugin.toml").read_text("utf-8")
)["systems"]["openai"]
PARAMETERS = inspect.signature(OpenAIProxy).parameters


def test_the_manifest_names_the_class_and_its_version() -> None:
    assert getattr(context_bench_openai, MANIFEST["class"]) is OpenAIProxy
    assert MANIFEST["version"] == ADAPTER_VERSION
    assert MANIFEST["kind"] == "endpoint"
    assert MANIFEST["capabilities"] == ["network", "env:OPENAI_API_KEY"]
    assert tuple(MANIFEST["reads"]) == OpenAIProxy("http://host").reads


def test_every_argument_is_an_option_except_python_code() -> None:
    assert set(MANIFEST["options"]) == set(PARAMETERS) - {"build_messages"}


def test_the_key_is_declared_secret_and_the_layouts_are_listed() -> None:
    assert MANIFEST["options"]["api_key"] == {
        "type": "str",
        "secret": True,
        "env": "OPENAI_API_KEY",
        "help": MANIFEST["options"]["api_key"]["help"],
    }
    assert MANIFEST["options"]["layout"]["choices"] == list(LAYOUTS)


def test_the_public_names() -> None:
    assert sorted(context_bench_openai.__all__) == sorted(
        name
        for name, value in vars(context_bench_openai).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    )


def test_the_blocks_of_the_readme_run(
    run_readme: Any, server: Any, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.play(steps.ok("Italy"))
    run_readme({"http://localhost:7878": server.url})
