"""A row that has scores has a primary score, or says why not: whatever the options make an evaluator give."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.errors import ContextBenchError
from context_bench.evaluators import RougeScore

ROWS = [{"question": "q", "answer": "the cat sat", "pred": "the cat"}]
TYPES = {
    "ROUGE_1": "rouge1",
    "ROUGE_2": "rouge2",
    "ROUGE_L": "rougeL",
    "ROUGE_LSUM": "rougeLsum",
    "all": "rouge1",
}


class Says:
    name = "says"

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        return {"response": "the cat"}


@pytest.mark.parametrize(("kind", "primary"), TYPES.items(), ids=TYPES)
def test_every_type_of_rouge_has_a_primary_in_python(kind: str, primary: str) -> None:
    result = evaluate(systems=[Says()], dataset=ROWS, evaluators=[RougeScore(rougeType=kind)])
    [row] = result.rows
    assert row.score == row.scores[primary]
    assert not row.unscored


@pytest.mark.parametrize("option", ["rouge_type", "rougeType"])
@pytest.mark.parametrize(("kind", "primary"), TYPES.items(), ids=TYPES)
def test_every_type_of_rouge_has_a_primary_on_the_command_line(
    kind: str,
    primary: str,
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    arguments = (
        "--system",
        "replay:field=pred",
        "--dataset",
        "rows.jsonl",
        "--evaluators",
        "rouge-score",
    )
    assert (
        execute(
            [
                *arguments,
                "--set",
                f"evaluators.rouge-score.{option}={kind}",
                "--format",
                "json",
                "-q",
            ]
        )
        == 0
    )
    result = json.loads(capsys.readouterr().out)
    [row] = result["rows"]
    assert row["score"] == row["scores"][primary]
    assert not row["unscored"]


def test_a_primary_that_no_option_gives_is_refused_before_the_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Calls(Says):
        called = 0

        def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
            Calls.called += 1
            return super().process(example)

    evaluator = RougeScore("rouge1")
    monkeypatch.setattr(RougeScore, "primary", property(lambda self: "rougeLsum"))
    monkeypatch.setattr(RougeScore, "score_keys", property(lambda self: ("rouge1",)))
    with pytest.raises(
        ContextBenchError,
        match=r"'rougeL'.* does not give with its options: they make it give rouge1",
    ):
        evaluate(systems=[Calls()], dataset=ROWS, evaluators=[evaluator])
    assert Calls.called == 0


def test_a_row_with_scores_and_no_primary_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        RougeScore, "score", lambda self, original, processed: {"rougeL_recall": 1.0}
    )
    [row] = evaluate(systems=[Says()], dataset=ROWS, evaluators=[RougeScore()]).rows
    assert row.score is None
    assert list(row.unscored.values()) == ["it gave no rougeL, the primary score of the row"]
