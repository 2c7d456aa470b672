"""Records of ragas and arthur_bench as they are written, without any mapping."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench_local import local
from context_bench_replay import Replay

SUITE = {
    "id": "5bb0b4fc-7d1c-4dd3-b6e5-f5a2f1a6b8d1",
    "name": "capitals",
    "scoring_method": {
        "name": "exact_match",
        "type": "built_in",
        "config": {"case_sensitive": True},
        "output_type": "categorical",
        "categories": [{"name": "match", "description": None}],
    },
    "test_cases": [
        {"id": "aaaa", "input": "Capital of Italy?", "reference_output": "Rome"},
        {"id": "bbbb", "input": "Capital of Spain?", "reference_output": "Madrid"},
    ],
    "created_at": "2023-09-01T10:00:00",
    "num_runs": 1,
}


def outputs(key: str) -> dict[str, Any]:
    results = [
        {
            "id": "bbbb",
            "output": "Madrid",
            "score": 1.0,
            "score_result": {"score": 1.0, "category": None},
        },
        {
            "id": "aaaa",
            "output": "Milan",
            "score": 0.0,
            "score_result": {"score": 0.0, "category": None},
        },
    ]
    return {
        "id": "c0c0",
        "name": "run",
        "test_suite_id": SUITE["id"],
        key: results,
        "model_name": "m",
    }


class Same:
    """Whether response and answer are one."""

    name = "same"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"same": float(original["answer"] == processed["response"])}


@pytest.mark.parametrize("key", ["test_cases", "test_case_outputs", "test_case_runs"])
def test_a_suite_and_a_run_of_arthur_bench_are_read(key: str, tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text(json.dumps(SUITE), "utf-8")
    (tmp_path / "run.json").write_text(json.dumps(outputs(key)), "utf-8")
    rows = list(local(path=tmp_path / "suite.json"))
    assert rows[0] == {
        "question": "Capital of Italy?",
        "answer": "Rome",
        "id": "aaaa",
        "input": "Capital of Italy?",
        "reference_output": "Rome",
    }
    result = evaluate([Replay(path=tmp_path / "run.json")], rows, [Same()], progress=False)
    assert [(row.response, dict(row.scores)) for row in result.rows] == [
        ("Milan", {"same": 0.0}),
        ("Madrid", {"same": 1.0}),
    ]


def test_a_suite_without_references_has_no_answer(tmp_path: Path) -> None:
    cases = [{"id": "a", "input": "q", "reference_output": None}]
    (tmp_path / "suite.json").write_text(json.dumps({**SUITE, "test_cases": cases}), "utf-8")
    assert "answer" not in next(iter(local(path=tmp_path / "suite.json")))


def test_another_document_with_test_cases_keeps_its_columns(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(json.dumps({"test_cases": [{"input": "q"}]}), "utf-8")
    assert list(local(path=tmp_path / "other.json")) == [{"input": "q"}]


def test_the_summary_of_ragas_is_the_response() -> None:
    row = {"contexts": ["A long text."], "summary": "A text."}
    assert Replay().process(row) == {"response": "A text."}
    assert Replay().process({**row, "response": "Another."}) == {"response": "Another."}


@pytest.mark.parametrize(
    "row",
    [
        {"summary": "gold"},
        {"contexts": ["c"], "summary": "gold", "answer": "gold"},
        {"output": "gold", "instruction": "q"},
        {"output": "o", "score_result": {}, "answers": ["gold"]},
    ],
)
def test_what_may_be_gold_is_no_response(row: Any) -> None:
    with pytest.raises(LookupError, match="there is no 'response'"):
        Replay().process(row)


class Table:
    """Rows in columns, iterated as dicts, as a `datasets.Dataset` is."""

    def __init__(self, **columns: list[Any]) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __iter__(self) -> Any:
        return (
            {name: values[place] for name, values in self._columns.items()}
            for place in range(len(self))
        )


def test_the_example_of_the_ragas_page_runs_as_it_is(tmp_path: Path) -> None:
    pytest.importorskip("context_bench_summary_score", reason="it brings the score")
    from context_bench_summary_score import SummarizationScore

    class Judge:
        def invoke(self, messages: Any) -> str:
            return '{"keyphrases": ["a"], "questions": ["q?", "r?"], "answers": ["1", "0"]}'

    columns = {"contexts": [["A text of some length."]], "summary": ["A text."]}
    rows = [{name: values[0] for name, values in columns.items()}]
    found = []
    tables: list[Any] = [rows, Table(**columns)]
    try:
        from datasets import Dataset
    except ImportError:
        pass
    else:
        tables.append(Dataset.from_dict(columns))
    for table in tables:
        result = evaluate([Replay()], table, [SummarizationScore(llm=Judge())], progress=False)
        found.append(dict(result.rows[0].scores))
    assert all(one == found[0] for one in found)
    assert found[0]["qa_score"] == 0.5
    assert found[0]["conciseness_score"] == pytest.approx(1 - 7 / 22)
    pandas = pytest.importorskip("pandas", reason="a frame is one of its")
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["summary_score"].tolist() == [found[0]["summary_score"]]
    assert frame.equals(result.to_dataframe())
