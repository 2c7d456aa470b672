"""A lone surrogate, as a name of a file in another encoding or JSON may bring it, ends no run, wherever it stands."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.results.result import EvalResult

ODD = "caf\udce9"
KEPT = r"caf\udce9"


class Silent(dict[str, float]):
    details: ClassVar = {"unscored": ODD}


class Evaluator:
    name = "odd"

    def __init__(self, found: Any) -> None:
        self.found = found

    def score(self, original: Any, processed: Any) -> Any:
        return self.found


class Named:
    name = ODD

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "x"}


def run(found: Any, system: Any = lambda example: "x", **fields: Any) -> EvalResult:
    examples = [{"id": str(number), "question": "why?", **fields} for number in range(3)]
    result = evaluate(system, examples, [Evaluator(found)], progress=False)
    assert len(result.rows) == 3
    return result


def test_in_a_score_key_it_fails_the_row() -> None:
    for row in run({ODD: 1.0}).rows:
        assert row.errors[0].message == r"the score key 'caf\udce9' is no text"


def test_in_a_reason_a_label_and_a_name_it_is_kept_as_an_escape() -> None:
    assert {reason for row in run(Silent()).rows for reason in row.unscored.values()} == {KEPT}
    assert {row.dataset for row in run({"odd": 1.0}, dataset=ODD).rows} == {KEPT}
    assert {row.system for row in run({"odd": 1.0}, Named()).rows} == {KEPT}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a name of a file is text")
def test_a_dataset_whose_name_is_no_utf_8_is_run_resumed_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("context_bench_local", reason="it reads files")
    pytest.importorskip("context_bench_replay", reason="it answers")
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        os.mkdir(folder)
        with open(os.path.join(folder, f"{ODD}.jsonl"), "w") as file:
            file.write(f'{{"id": "{folder}", "question": "q", "answer": "x", "pred": "x"}}\n')
    datasets = [part for folder in "ab" for part in ("--dataset", f"{folder}/{ODD}.jsonl")]
    run_file = f"{ODD}.sqlite"
    for command in (
        ["run", "--system", "replay:field=pred", *datasets, "--run-file", run_file],
        ["resume", run_file],
        ["report", run_file],
    ):
        assert execute([*command, "--format", "json"]) == 0
        assert [row["dataset"] for row in json.loads(capsys.readouterr().out)["rows"]] == [
            KEPT,
            f"{KEPT}#2",
        ]
