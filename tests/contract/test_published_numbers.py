"""Published numbers, from real recorded outputs, through the command line that the docs show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from context_bench.cli import execute

pytestmark = [pytest.mark.shared, pytest.mark.one_python]
LONGBENCH = {
    "qasper": 21.82,
    "hotpotqa": 27.56,
    "2wikimqa": 32.46,
    "musique": 8.01,
    "narrativeqa": 18.99,
}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def summary(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, float]:
    assert execute([*arguments, "--format", "json", "-q"]) == 0
    [values] = json.loads(capsys.readouterr().out)["summary"].values()
    return values


def test_longbench_qa_of_llama2_7b_chat(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = outputs / "longbench-llama2-7b-chat-4k"
    published = json.loads((folder / "result.json").read_text())
    assert {task: published[task] for task in LONGBENCH} == LONGBENCH
    datasets = [
        part for task in LONGBENCH for part in ("--dataset", str(folder / f"{task}.jsonl.gz"))
    ]
    values = summary(capsys, "--system", "replay:field=pred", *datasets)
    assert {task: round(100 * values[f"dataset:{task}"], 2) for task in LONGBENCH} == LONGBENCH


@pytest.mark.parametrize(
    ("task", "score", "gold", "published"),
    [
        pytest.param("longbook_qa_eng", "f1", "answers", 22.44, id="En.QA"),
        pytest.param("passkey", "contains", "answer", 100.0, id="PassKey"),
        pytest.param("number_string", "contains", "answer", 100.0, id="Number"),
        pytest.param("kv_retrieval", "contains", "answer", 89.0, id="KV"),
    ],
)
def test_infinitebench_of_gpt_4(
    outputs: Path,
    capsys: pytest.CaptureFixture[str],
    task: str,
    score: str,
    gold: str,
    published: float,
) -> None:
    values = summary(
        capsys,
        *(
            "--system",
            "replay:field=prediction",
            "--dataset",
            str(outputs / "infinitebench-gpt4" / f"{task}.jsonl.gz"),
        ),
        *("--field", f"{gold}=ground_truth", "--score-field", score),
    )
    assert round(100 * values["mean_score"], 2) == published


def test_the_mapping_may_stand_in_the_project_file(
    outputs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "context-bench.toml").write_text(f"""
        [[systems]]
        name = "replay"
        options = {{ field = "prediction" }}

        [[datasets]]
        name = "{(outputs / "infinitebench-gpt4" / "longbook_qa_eng.jsonl.gz").as_posix()}"
        fields = {{ answers = "ground_truth" }}
    """)
    assert round(100 * summary(capsys, "run")["mean_score"], 2) == 22.44
