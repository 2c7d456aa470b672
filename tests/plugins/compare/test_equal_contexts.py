"""Rows that ask about one context hang together by default, and the output says so."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute


class ByDocument:
    """Answers most questions about a document rightly, or few of them, as chance has it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        is_good = random.Random(f"{self.name} {example['context']}").random() < 0.5
        chance = random.Random(f"{self.name} {example['id']}").random()
        return {"response": "yes" if chance < (0.9 if is_good else 0.3) else "no"}


class Right:
    name = "right"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"right": float(processed["response"] == original["answer"])}


def line(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert execute(["compare", "run.sqlite", "-m", "right", *arguments, "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["comparisons"]
    return dict(found)


def test_questions_about_one_document_count_as_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = [
        {
            "id": str(n),
            "answer": "yes",
            "dataset": "d",
            "context": f"document {n // 10}",
            "topic": n // 50,
        }
        for n in range(300)
    ]
    systems = [ByDocument("one"), ByDocument("other")]
    evaluate(systems, asked, [Right()], progress=False, run_file="run.sqlite", score_field="right")
    default, alone = line(capsys), line(capsys, "--cluster", "row")
    assert (default["clusters"], default["clustered_by"]) == (30, "context")
    assert (alone["clusters"], alone["clustered_by"]) == (None, None)
    assert default["p_value"] > alone["p_value"]
    assert default["interval"]["low"] < alone["interval"]["low"]
    assert default["interval"]["high"] > alone["interval"]["high"]
    topics = line(capsys, "--cluster", "topic")
    assert (topics["clusters"], topics["clustered_by"]) == (6, "topic")
    assert execute(["compare", "run.sqlite", "-m", "right"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "300 rows count as 30, as rows with the same context hang together." in told
