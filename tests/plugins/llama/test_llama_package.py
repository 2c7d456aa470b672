from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import context_bench_llama

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(context_bench_llama.__file__).parent
FACTS: dict[str, Any] = tomllib.loads((PACKAGE / "context_bench_plugin.toml").read_text("utf-8"))[
    "systems"
]["llama"]
README = Path(__file__).resolve().parents[3] / "plugins" / "context-bench-llama" / "README.md"


def test_the_readme_names_every_option() -> None:
    text = README.read_text("utf-8")
    assert [name for name in FACTS["options"] if f"`{name}`" not in text] == []


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = "import sys, context_bench_llama; print([m for m in ('xllamacpp', 'huggingface_hub') if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


def test_a_run_stops_the_one_server_of_its_systems(
    gguf: Callable[..., Path], monkeypatch: Any
) -> None:
    from context_bench import evaluate
    from context_bench_llama import server

    ended: list[int] = []
    end = server._end
    monkeypatch.setattr(server, "_end", lambda process: (end(process), ended.append(process.pid)))
    model = gguf()
    systems = [f"one=llama:model={model}", f"other=llama:model={model},layout=user"]
    result = evaluate(
        systems,
        [{"context": "The code is 7.", "question": "What is it?"}],
        [Said()],
        progress=False,
    )
    assert [row.failed for row in result.rows] == [False, False]
    assert len(ended) == 1


def test_a_run_reads_with_it_and_stops_its_server(
    gguf: Callable[..., Path], tmp_path: Path, monkeypatch: Any
) -> None:
    """Through the front door: a compressor in front, the server closed when the run has ended."""
    pytest.importorskip(
        "context_bench_compress", reason="a compressor in front; with a real model in tests/e2e"
    )
    from context_bench import evaluate
    from context_bench_llama import server

    ended: list[int] = []
    end = server._end
    monkeypatch.setattr(server, "_end", lambda process: (end(process), ended.append(process.pid)))
    rows = [
        {"context": f"Rain fell. The code is {n}. Time passed.", "question": "What is the code?"}
        for n in range(3)
    ]
    result = evaluate(
        ["identity", "head:tokens=3"],
        rows,
        [Said()],
        reader=f"llama:model={gguf()},max_tokens=5",
        run_file=tmp_path / "run.sqlite",
        progress=False,
    )
    assert [row.scores["context_words"] for row in result.rows] == [8.0, 2.0] * 3
    assert len(ended) == 1, "both systems have the same reader, and one server"
    again = evaluate(
        ["identity", "head:tokens=3"],
        rows,
        [Said()],
        reader=f"llama:model={gguf()},max_tokens=5",
        run_file=tmp_path / "run.sqlite",
        progress=False,
    )
    assert again.timing["reused_rows"] == 6
    assert len(ended) == 1, "a run with nothing left to do starts no server"


class Said:
    name = "said"
    version = "1"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        import json

        return {
            "context_words": float(
                len(json.loads(processed["response"])["messages"][0]["content"].split())
            )
        }
