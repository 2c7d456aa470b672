"""What the numbers of a result warn of, and the means of every score."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from context_bench import EvalResult, evaluate
from context_bench.metrics import MeanScore
from context_bench.records import EvalRow, Failure, KeyMeaning
from context_bench.reporters import JsonReporter, TableReporter

EXAMPLES = [{"id": str(number), "question": "two words", "answer": "a"} for number in range(8)]


class Same:
    name = "same"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        return {"same": float(processed["response"] == original["answer"])}


class Proxy:
    """Answers each row with what a function of its number returns beside the response."""

    def __init__(self, name: str, told: Callable[[int], dict[str, Any]]) -> None:
        self.name, self._told = name, told

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "a", **self._told(int(example["id"]))}


def reporting(prompt: int = 40, completion: int = 7) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


def dead(number: int) -> dict[str, Any]:
    if number >= 2:
        raise ConnectionError("down")
    return reporting(80, 13)


def run(*systems: Proxy, **options: Any) -> EvalResult:
    return evaluate(
        list(systems), EXAMPLES, [Same()], progress=False, on_warning=lambda line: None, **options
    )


def table(result: EvalResult) -> str:
    stream = io.StringIO()
    TableReporter().write(result, stream)
    return " ".join(stream.getvalue().split())


HONEST = Proxy("honest", lambda number: reporting())
SILENT = Proxy("silent", lambda number: {})


def test_csv_has_the_tokens_of_the_response() -> None:
    import csv

    stream = io.StringIO()
    pytest.importorskip("context_bench_reports").CsvReporter().write(run(HONEST), stream)
    lines = list(csv.DictReader(io.StringIO(stream.getvalue())))
    assert {(line["response_tokens"], line["prompt_tokens"]) for line in lines} == {("7", "40")}


@pytest.mark.parametrize(
    ("baseline", "words"),
    [
        pytest.param(Proxy("direct", dead), None, id="a-quarter-answers"),
        pytest.param(
            Proxy("direct", lambda number: dead(number + 1)), "answered 1 of 8 rows", id="fewer"
        ),
        pytest.param(
            Proxy("direct", lambda number: {"response": "wrong", **reporting()}),
            "scores 0.0000",
            id="zero",
        ),
        pytest.param(HONEST, None, id="fine"),
    ],
)
def test_a_baseline_that_cannot_do_the_task_is_a_warning(
    baseline: Proxy, words: str | None
) -> None:
    result = run(Proxy("tool", lambda number: reporting(10)), baseline, baseline=baseline.name)
    stream = io.StringIO()
    JsonReporter().write(result, stream)
    told = [
        line for line in json.loads(stream.getvalue())["warnings"] if "cannot do the task" in line
    ]
    assert len(told) == (words is not None)
    if words is not None:
        assert words in told[0]
        assert "Savings are cheap when nobody answers." in table(result)


def test_every_score_is_in_the_summary_by_dataset_and_an_evaluator_that_said_nothing_is_a_warning() -> (
    None
):
    class Two:
        name = "two"

        def score(
            self, original: Mapping[str, Any], processed: Mapping[str, Any]
        ) -> dict[str, float]:
            return {"one": 1.0, **({"rare": 0.5} if original["id"] == "0" else {})}

    examples = [
        {**example, "dataset": "a" if int(example["id"]) < 2 else "b"} for example in EXAMPLES
    ]
    result = evaluate([HONEST], examples, [Two()], progress=False)
    [scores] = result.summary["honest"]["scores"].values()
    assert scores["rare"]["mean"] == 0.5
    assert (scores["rare"]["n"], scores["rare"]["unscored"]) == (1, 7)
    assert scores["rare"]["datasets"]["a"] == {"mean": 0.5, "n": 1, "failed": 0, "unscored": 1}
    assert scores["one"]["datasets"]["b"]["n"] == 6
    assert "rare" in table(result)
    rows = [EvalRow("s", str(n), {}, keys={}, unscored={"d/judge": "unreadable"}) for n in range(3)]
    from attrs import evolve

    rows = [evolve(row, keys={"quality": KeyMeaning("d/judge")}) for row in rows]
    rows[2:] = [
        evolve(rows[2], unscored={}, errors=(Failure("system", "E", "down"),))
    ]  # its worst value is no verdict
    silent = EvalResult(rows, [MeanScore()], {}, {})
    assert silent.warnings == ("d/judge scored none of 2 rows: unreadable (2).",)
    assert json.loads(silent.to_json())["warnings"] == list(silent.warnings)
    assert "Warning: d/judge scored none of 2 rows" in table(silent)


def test_a_mean_of_many_rows_is_summed_in_parts() -> None:
    from context_bench.results.score_means import ScoreMeans

    means = ScoreMeans()
    group = means.group("", False, {})
    for _ in range(10_000):
        group.add({"tenth": 0.1})
    [scores] = means.to_dict().values()
    assert (scores["tenth"]["n"], scores["tenth"]["unscored"]) == (10_000, 0)
    assert scores["tenth"]["mean"] == pytest.approx(0.1, abs=1e-15)


@pytest.mark.parametrize(
    ("fields", "unseen"),
    [
        (["context"], []),
        (["context", "summary"], []),
        (["contxt", "context"], ["contxt"]),
        (["nothing", "context", "none"], ["none", "nothing"]),
    ],
    ids=[
        "a field of the examples",
        "a field of the output, too",
        "a misspelt field",
        "two of them",
    ],
)
def test_a_text_field_that_no_row_has_is_told(fields: list[str], unseen: list[str]) -> None:
    told: list[str] = []
    evaluate(
        lambda example: {"response": "a", "summary": "b"},
        [{"context": "one two"}, {"context": "three"}],
        evaluators=[],
        text_fields=fields,
        on_warning=told.append,
    )
    said = [
        f"No example and no output has the text field {name!r}, so it counts no token."
        for name in unseen
    ]
    assert [line for line in told if "text field" in line] == said


@pytest.mark.parametrize(
    ("inputs", "unseen"),
    [(["note"], []), (["note", "nosuch"], ["nosuch"])],
    ids=["there", "nowhere"],
)
def test_a_further_input_that_no_example_has_is_told(inputs: list[str], unseen: list[str]) -> None:
    told: list[str] = []
    rows = [{"context": "one"}, {"context": "two", "note": "n"}]
    evaluate(lambda example: "a", rows, evaluators=[], inputs=inputs, on_warning=told.append)
    said = [
        f"No example and no output has the field {name!r}, so --input shows systems nothing."
        for name in unseen
    ]
    assert [line for line in told if "--input" in line] == said


@pytest.mark.filterwarnings("error")
def test_where_warnings_are_errors_a_late_one_costs_no_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = evaluate(
        lambda example: "a",
        [{"context": "one"}] * 3,
        evaluators=[],
        text_fields=["contxt"],
        progress=False,
    )
    assert [row.response for row in result.rows] == ["a", "a", "a"]
    assert (
        "Warning: No example and no output has the text field 'contxt'" in capsys.readouterr().err
    )
    assert any("'contxt'" in line for line in result.warnings)
