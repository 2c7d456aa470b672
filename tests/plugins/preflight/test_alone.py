"""Preflight and doctor with core and nothing else installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from context_bench import evaluate
from context_bench.cli import execute


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONTEXT_BENCH_PLUGINS", "context-bench-preflight")


def test_doctor_looks_over_an_installation_of_core_and_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["doctor", "--json", "--offline"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"]
    assert any(line["subject"] == "context-bench-preflight" for line in told["plugins"])


def test_a_broken_project_file_is_an_error_of_the_installation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("context-bench.toml").write_text("[run\n", encoding="utf-8")
    assert execute(["doctor", "--json", "--offline"]) == 2
    [line] = [
        line
        for line in json.loads(capsys.readouterr().out)["installation"]
        if line["subject"] == "project file"
    ]
    assert "context-bench.toml" in line["text"]


def test_preflight_needs_a_system(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["preflight"]) == 2
    assert "No system given. Pass --system NAME or --proxy URL." in capsys.readouterr().err


def test_preflight_takes_the_options_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["preflight", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(flag in shown for flag in ("--system", "--dataset", "--order-check", "--strict"))


class Gateway:
    """An endpoint whose replies were stored before the run began."""

    name = "gateway"

    def fingerprint(self) -> dict[str, str]:
        return {"endpoint": "http://127.0.0.1:9/v1"}

    def process(self, example: dict[str, str]) -> dict[str, object]:
        return {"response": "", "usage": {"input_tokens": 3}}


def test_the_first_rows_of_every_run_are_looked_at(recwarn: pytest.WarningsRecorder) -> None:
    result = evaluate(
        systems=[Gateway()], dataset=[{"question": f"q {n}", "answer": "a"} for n in range(9)]
    )
    [line] = [line for line in result.warnings if line.startswith("gateway: ")]
    assert "empty" in line
