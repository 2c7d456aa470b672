from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("context_bench_replay", reason="these runs need the replay plugin")
pytest.importorskip("context_bench_rouge", reason="these runs need the rouge plugin")

from context_bench import evaluate

ROWS = [
    {"id": str(n), "question": "q", "answer": "a b", "pred": text}
    for n, text in enumerate(["a b", "a", "I know no answer", "a bay"])
]
Run = Callable[..., Any]


@pytest.fixture
def run_file(context_bench: Run, jsonl: Run, tmp_path: Path) -> str:
    done = context_bench(
        "-s", "replay:field=pred", "-d", jsonl(ROWS), "--run-file", "r.sqlite", "-q"
    )
    assert done.code == 0
    (tmp_path / "rows.jsonl").unlink()
    return "r.sqlite"


def rows(done: Any) -> list[dict[str, Any]]:
    assert done.code == 0, done.err
    return json.loads(done.out)["rows"]


def test_a_new_evaluator_scores_what_is_stored_and_the_old_scores_stay(
    context_bench: Run, run_file: str
) -> None:
    before = rows(context_bench("report", run_file, "--format", "json"))
    after = rows(context_bench("rescore", run_file, "--add-evaluator", "rouge", "--format", "json"))
    assert [row["scores"]["f1"] for row in after] == [row["scores"]["f1"] for row in before]
    assert [row["scores"]["rouge_l_recall"] for row in after] == [1.0, 0.5, 0.0, 0.5]
    assert [row["response"] for row in after] == [row["response"] for row in before]


def test_a_changed_option_gives_new_scores_and_the_same_option_gives_none(
    context_bench: Run, run_file: str
) -> None:
    assert [
        row["scores"]["contains"]
        for row in rows(context_bench("report", run_file, "--format", "json"))
    ] == [
        1,
        0,
        0,
        1,
    ]
    changed = rows(
        context_bench(
            "rescore",
            run_file,
            "--set",
            "evaluators.answer-quality.contains=word",
            "--format",
            "json",
        )
    )
    assert [row["scores"]["contains"] for row in changed] == [1, 0, 0, 0]
    again = rows(context_bench("rescore", run_file, "--format", "json"))
    assert again == rows(context_bench("report", run_file, "--format", "json"))


def test_rescoring_with_an_unknown_evaluator_changes_nothing(
    context_bench: Run, run_file: str
) -> None:
    done = context_bench("rescore", run_file, "--add-evaluator", "rogue")
    assert done.code == 2
    assert "Did you mean 'rouge'" in done.err
    assert all(
        "rouge_l_f1" not in row["scores"]
        for row in rows(context_bench("report", run_file, "--format", "json"))
    )


def test_a_run_without_its_examples_is_named_and_nothing_is_left_beside_it(
    context_bench: Run, tmp_path: Path
) -> None:
    path = tmp_path / "r.sqlite"
    evaluate(
        lambda example: example["pred"],
        ROWS,
        ["answer-quality"],
        progress=False,
        run_file=path,
        store_examples=False,
    )
    done = context_bench("rescore", str(path), "--add-evaluator", "rouge")
    assert done.code != 0
    assert f"{path} was written without its examples" in done.err
    assert [file.name for file in tmp_path.glob("r.sqlite*")] == ["r.sqlite"]


@pytest.mark.parametrize(
    "wrong",
    [
        ["--add-evaluator", "rogue"],
        ["--set", "evaluators.answer-quality.contains=nonsense"],
        ["--set", "evaluators.answer-quality.nonsense=1"],
        ["--score-prefix", "rogue=x_"],
        ["--primary", "nonsense"],
        ["--exclude", "answer-quality", "--primary", "f1"],
        ["--evaluators", "nothing"],
    ],
    ids=" ".join,
)
def test_a_rescore_that_cannot_begin_leaves_nothing(
    wrong: list[str], context_bench: Run, run_file: str, tmp_path: Path
) -> None:
    done = context_bench("rescore", run_file, *wrong)
    print(done.code, done.err, done.out)
    assert [file.name for file in tmp_path.glob("r.sqlite*")] == ["r.sqlite"]
    assert done.code
