from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

import context_bench_anthropic
from context_bench_anthropic import AnthropicProxy
from context_bench_anthropic.proxy import ADAPTER_VERSION

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
PACKAGE = Path(context_bench_anthropic.__file__).parent
SYSTEMS: dict[str, Any] = tomllib.loads((PACKAGE / "context_bench_plugin.toml").read_text("utf-8"))[
    "systems"
]


MANIFEST = SYSTEMS["anthropic"]


def test_the_manifest_says_what_the_class_is() -> None:
    assert MANIFEST["version"] == ADAPTER_VERSION
    assert tuple(MANIFEST["reads"]) == AnthropicProxy.reads
    assert MANIFEST["capabilities"] == ["network", "env:ANTHROPIC_API_KEY"]
    assert MANIFEST["options"]["api_key"]["secret"] is True
    assert set(context_bench_anthropic.__all__) == {
        "AnthropicProxy",
        "MessageReply",
        "MessagesClient",
    }


def test_the_blocks_of_the_readme_run(
    run_readme: Any, server: Any, steps: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    server.play(steps.ok("Italy"))
    run_readme({"http://localhost:8787": server.url})
    assert capsys.readouterr().out == "Italy {'input_tokens': 11, 'output_tokens': 3}\n"
