from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench import EvalResult, Scores, evaluate
from context_bench.errors import (
    ConfigurationError,
    DatasetError,
    MetricError,
    RunStoppedError,
    UnknownNameError,
    WiringError,
)
from context_bench.metrics import MeanScore, PassRate
from context_bench.results.reading import read_result
from context_bench.runs import open_run

Make = Callable[..., Any]
EXAMPLES = [
    {"question": "a", "answer": "a"},
    {"question": "b", "answer": "x"},
    {"question": "c", "answer": "c"},
]


def run(
    systems: Any, examples: Any = EXAMPLES, evaluators: Any = None, **options: Any
) -> EvalResult:
    return evaluate(systems, examples, evaluators, progress=False, **options)


def canonical(result: EvalResult) -> str:
    rows = json.loads(result.to_json())["rows"]
    return json.dumps(
        [{key: row[key] for key in row if key not in ("latency", "metadata")} for row in rows]
    )


def test_a_run_scores_every_example_with_every_system(
    echo: Any, same: Any, make_system: Make
) -> None:
    shout = make_system("shout", lambda example: {"response": example["question"].upper()})
    result = run([echo, shout], evaluators=[same])
    assert [(row.system, row.position, row.score) for row in result.rows] == [
        ("echo", 0, 1.0), ("shout", 0, 0.0), ("echo", 1, 0.0), ("shout", 1, 0.0), ("echo", 2, 1.0), ("shout", 2, 0.0),
    ]  # fmt: skip
    assert result.summary["echo"]["mean_score"] == pytest.approx(2 / 3)
    assert result.summary["shout"]["mean_score"] == 0
    assert result.config["num_examples"] == 3


@pytest.mark.parametrize("workers", [1, 8, 64])
def test_rows_and_metrics_do_not_depend_on_the_number_of_workers(
    workers: int, echo: Any, same: Any
) -> None:
    examples = [{"id": f"e{n}", "question": str(n), "answer": str(n % 7)} for n in range(300)]
    alone = run(echo, examples, [same], max_workers=1)
    assert canonical(run(echo, examples, [same], max_workers=workers)) == canonical(alone)


def test_a_dataset_is_pulled_and_never_listed(echo: Any, same: Any) -> None:
    pulled = []

    def endless() -> Any:
        for number in itertools.count():
            pulled.append(number)
            yield {"question": str(number), "answer": "x"}

    result = run(echo, endless(), [same], max_examples=3)
    assert len(result.rows) == 3
    assert pulled == [0, 1, 2]


def test_a_system_that_mutates_its_input_deeply_harms_nobody(same: Any, make_system: Make) -> None:
    def vandal(example: dict[str, Any]) -> dict[str, Any]:
        example["deep"]["list"][0]["answer"] = "vandalised"
        example["answer"] = "vandalised"
        example["deep"]["list"].append(1)
        return {"response": "v", "deep": example["deep"]}

    def honest(example: dict[str, Any]) -> dict[str, Any]:
        return {"response": example["deep"]["list"][0]["answer"]}

    example = {"question": "q", "answer": "good", "deep": {"list": [{"answer": "good"}]}}
    result = run([make_system("vandal", vandal), make_system("honest", honest)], [example], [same])
    assert [row.score for row in result.rows] == [0.0, 1.0]
    assert example == {"question": "q", "answer": "good", "deep": {"list": [{"answer": "good"}]}}


def test_an_evaluator_that_mutates_what_it_scores_harms_nobody(
    echo: Any, same: Any, make_evaluator: Make
) -> None:
    def vandal(original: Any, processed: Any) -> dict[str, float]:
        original["answer"] = processed["response"] = "vandalised"
        return {"vandal": 1.0}

    result = run(echo, EXAMPLES, [make_evaluator("vandal", vandal), same])
    assert [row.scores["same"] for row in result.rows] == [1.0, 0.0, 1.0]
    assert [row.response for row in result.rows] == ["a", "b", "c"]


def test_a_broken_system_is_one_failed_row_and_counts_as_wrong(
    same: Any, make_system: Make
) -> None:
    def brittle(example: dict[str, Any]) -> dict[str, Any]:
        if example["question"] == "c":
            raise KeyError("no c here")
        return {"response": example["question"]}

    result = run(make_system("brittle", brittle), EXAMPLES, [same])
    assert [row.failed for row in result.rows] == [False, False, True]
    assert result.rows[2].errors[0].kind == "KeyError"
    assert "no c here" in result.rows[2].errors[0].message
    assert result.rows[2].score == 0.0
    assert result.summary["brittle"]["mean_score"] == pytest.approx(1 / 3)
    assert result.summary["brittle"]["num_failed"] == 1


def test_a_broken_evaluator_is_a_failure_and_not_a_zero(
    echo: Any, same: Any, make_evaluator: Make
) -> None:
    def broken(original: Any, processed: Any) -> dict[str, float]:
        raise RuntimeError("cannot judge")

    result = run(echo, EXAMPLES, [same, make_evaluator("broken", broken)])
    [error] = result.rows[0].errors
    assert (error.stage, error.kind, error.message) == ("evaluator", "RuntimeError", "cannot judge")
    assert result.rows[0].scores == {"same": 1.0}


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("text", "returned str, not a mapping"),
        (None, "returned NoneType"),
        ({"response": None}, "'response' is None"),
        ({"response": ["r"]}, "'response' is of type list, not text"),
        ({"response": {"text": "r"}, "context": "c"}, "'response' is of type dict, not text"),
        ({"response": float("nan")}, "'response' is None"),
        ({"response": "r", "thing": object()}, "thing is of type builtins.object"),
    ],
)
def test_an_output_that_cannot_be_scored_is_a_failure(
    returned: Any, message: str, same: Any, make_system: Make
) -> None:
    result = run(make_system("odd", lambda example: returned), EXAMPLES[:1], [same])
    assert message in result.rows[0].errors[0].message


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (1.0, "returned float, not a mapping"),
        ({"k": "high"}, "the score 'k' is 'high', not a number"),
        ({"k": float("nan")}, "not a finite number"),
        ({"k": float("inf")}, "not a finite number"),
        ({"k": [1]}, "not a number"),
        ({3: 1.0}, "the score key 3 is no text"),
    ],
)
def test_scores_that_are_no_numbers_are_a_failure(
    returned: Any, message: str, echo: Any, make_evaluator: Make
) -> None:
    result = run(echo, EXAMPLES[:1], [make_evaluator("odd", lambda original, processed: returned)])
    assert message in result.rows[0].errors[0].message
    assert result.rows[0].scores == {}


def test_a_row_without_a_reference_is_unscored_and_counted(echo: Any, same: Any) -> None:
    result = run(echo, [*EXAMPLES, {"question": "d"}], [same])
    values = result.summary["echo"]
    assert values["mean_score"] == pytest.approx(2 / 3)
    assert (
        values["num_rows"],
        values["num_scored"],
        values["num_unscored"],
        values["num_failed"],
    ) == (4, 3, 1, 0)
    assert list(result.rows[3].unscored.values()) == ["it had nothing to say"]


def test_the_same_example_twice_is_two_rows(echo: Any, same: Any) -> None:
    example = {"id": "one", "question": "a", "answer": "a"}
    result = run(echo, [example, example], [same])
    assert [(row.position, row.example_id) for row in result.rows] == [(0, "one"), (1, "one")]


def test_one_id_on_two_different_examples_is_refused_and_what_came_before_is_kept(
    echo: Any, same: Any, tmp_path: Path
) -> None:
    examples = [
        {"id": "one", "question": "a", "answer": "a"},
        {"id": "one", "question": "b", "answer": "b"},
    ]
    with pytest.raises(
        RunStoppedError,
        match="Rows 0 and 1 of the dataset are different examples with one id, 'one'",
    ) as stop:
        run(echo, examples, [same], run_file=tmp_path / "r.sqlite")
    assert isinstance(stop.value.__cause__, DatasetError)
    mended = [examples[0], {**examples[1], "id": "two"}]
    assert [
        row.example_id for row in run(echo, mended, [same], run_file=tmp_path / "r.sqlite").rows
    ] == ["one", "two"]


@pytest.mark.parametrize("first", [3, 60], ids=["which memory holds", "which only the file holds"])
def test_one_id_on_two_examples_is_found_however_many_lie_before_them(
    first: int, echo: Any, same: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context_bench.run.examples._REMEMBERED_IDS", 10)
    examples = [
        {"id": f"number {place}", "question": str(place), "answer": "a"} for place in range(100)
    ]
    assert (
        len(run(echo, [*examples, examples[first]], [same]).rows) == 101
    )  # the same example twice is two rows
    with pytest.raises(
        RunStoppedError,
        match=f"Rows {first} and 100 of the dataset are different examples with one id",
    ):
        run(echo, [*examples, {**examples[first], "question": "another"}], [same])


@pytest.mark.parametrize("one", [7, 7.5, True, [1, 2]], ids=str)
def test_an_id_and_the_same_as_text_do_not_go_together(one: Any, echo: Any, same: Any) -> None:
    """Results, exports and `explain row` call them alike, so that nobody could tell which row is meant."""
    name = json.dumps(one, separators=(",", ":"))
    examples = [
        {"id": one, "question": "a", "answer": "a"},
        {"id": name, "question": "a", "answer": "a"},
    ]
    with pytest.raises(RunStoppedError) as stop:
        run(echo, examples, [same])
    assert f"different examples with one id, {name!r}" in str(stop.value)
    assert ("(a number and the same text are one)" in str(stop.value)) == (
        type(one) in (int, float)
    )
    assert [row.example_id for row in run(echo, examples[:1], [same]).rows] == [name]


def test_a_generated_id_never_collides_with_a_given_one(echo: Any, same: Any) -> None:
    examples = [
        {"question": "a"},
        {"id": "#0", "question": "b"},
        {"id": 7, "question": "c"},
        {"id": "##0", "question": "d"},
    ]
    assert [row.example_id for row in run(echo, examples, [same]).rows] == [
        "#0",
        "##0",
        "7",
        "###0",
    ]


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([], "is empty"),
        (["text"], "Row 0 of the dataset is of type str"),
        ([{"x": object()}], "Row 0 of the dataset cannot be stored: x is of type"),
        (3, "cannot be read at its beginning: TypeError"),
    ],
)
def test_what_is_no_dataset_is_refused(examples: Any, message: str, echo: Any, same: Any) -> None:
    with pytest.raises(RunStoppedError, match=message) as stop:
        run(echo, examples, [same])
    assert stop.value.exit_code == 2


def test_a_dataset_that_breaks_keeps_the_rows_before_it_and_can_be_resumed(
    echo: Any, same: Any, tmp_path: Path
) -> None:
    def broken() -> Any:
        yield from EXAMPLES[:2]
        raise OSError("the disk is on fire")

    with pytest.raises(RunStoppedError, match="cannot be read after row 1: the disk is on fire"):
        run(echo, broken(), [same], run_file=tmp_path / "r.sqlite")
    calls = []
    counting = type(
        "Counting",
        (),
        {"name": "echo", "process": lambda self, e: calls.append(e) or {"response": e["question"]}},
    )()
    result = run(counting, EXAMPLES, [same], run_file=tmp_path / "r.sqlite")
    assert [row.score for row in result.rows] == [1.0, 0.0, 1.0]
    assert [example["question"] for example in calls] == ["c"]


def test_a_resumed_run_asks_nothing_that_is_answered(
    same: Any, make_system: Make, tmp_path: Path
) -> None:
    calls: list[str] = []

    def answer(example: dict[str, Any]) -> dict[str, Any]:
        calls.append(example["question"])
        if example["question"] == "c" and len(calls) < 4:
            raise TimeoutError("later")
        return {"response": example["question"]}

    system = make_system("s", answer, fingerprint=lambda self: {"model": "m"})
    first = run(system, EXAMPLES, [same], run_file=tmp_path / "r.sqlite")
    assert first.summary["s"]["num_failed"] == 1
    second = run(system, EXAMPLES, [same], run_file=tmp_path / "r.sqlite")
    assert calls == ["a", "b", "c", "c"], "what failed is asked again, and nothing else"
    assert second.summary["s"]["num_failed"] == 0
    changed = [{**EXAMPLES[0], "question": "A", "answer": "A"}, *EXAMPLES[1:]]
    third = run(system, changed, [same], run_file=tmp_path / "r.sqlite")
    assert calls[4:] == ["A"], "an example that was edited is asked again"
    assert [row.response for row in third.rows] == ["A", "b", "c"]


def test_a_row_that_is_done_makes_no_job(
    same: Any, make_system: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = make_system(
        "s", lambda example: {"response": "x"}, fingerprint=lambda self: {"model": "m"}
    )
    first = run(system, EXAMPLES, [same], run_file=tmp_path / "r.sqlite")
    monkeypatch.setattr("context_bench.run.examples.Job", None)
    second = run(system, EXAMPLES, [same], run_file=tmp_path / "r.sqlite")
    assert second.timing["reused_rows"] == 3
    assert canonical(second) == canonical(first)


def test_a_cache_folder_gives_responses_back_to_the_system_that_earned_them(
    same: Any, make_system: Make, tmp_path: Path
) -> None:
    calls: list[str] = []

    def system(model: str, fingerprint: bool = True) -> Any:
        told = {"fingerprint": lambda self: {"model": model}} if fingerprint else {}
        return make_system(
            "same-name", lambda e: calls.append(model) or {"response": e["question"]}, **told
        )

    run(system("m"), EXAMPLES, [same], cache_dir=tmp_path)
    again = run(system("m"), EXAMPLES, [same], cache_dir=tmp_path)
    assert calls == ["m"] * 3
    assert all(row.reused for row in again.rows)
    run(system("n"), EXAMPLES, [same], cache_dir=tmp_path)
    assert calls[3:] == ["n"] * 3, "another model is another system"
    run(system("q", fingerprint=False), EXAMPLES, [same], cache_dir=tmp_path)
    run(system("q", fingerprint=False), EXAMPLES, [same], cache_dir=tmp_path)
    assert calls[6:] == ["q"] * 6, "without a fingerprint nothing is reused"


def test_two_evaluators_that_give_one_key_stop_the_run_and_a_prefix_mends_it(
    echo: Any, make_evaluator: Make
) -> None:
    first = make_evaluator("first", lambda original, processed: {"f1": 1.0})
    second = type(
        "Second", (), {"name": "second", "score": lambda self, original, processed: {"f1": 0.25}}
    )()
    with pytest.raises(RunStoppedError, match="both gave the score 'f1'") as stop:
        run(echo, EXAMPLES, [first, second])
    assert isinstance(stop.value.__cause__, WiringError)
    result = run(echo, EXAMPLES, [first, second], score_prefixes={"second": "second_"})
    assert result.rows[0].scores == {"f1": 1.0, "second_f1": 0.25}


def test_details_travel_beside_the_scores(echo: Any, make_evaluator: Make) -> None:
    result = run(
        echo,
        EXAMPLES[:1],
        [make_evaluator("d", lambda o, p: Scores({"k": 1.0}, details={"why": ["x"]}))],
    )
    assert list(result.rows[0].details.values()) == [{"why": ["x"]}]
    assert result.rows[0].scores == {"k": 1.0}


def test_samples_are_rows_of_their_own(echo: Any, same: Any) -> None:
    result = run(echo, EXAMPLES[:2], [same], repeat=3)
    assert [(row.position, row.repetition) for row in result.rows] == [
        (p, s) for p in range(2) for s in range(3)
    ]


class Named:
    name = "named"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "never"}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"systems": []}, ConfigurationError, "No system given"),
        ({"systems": "replya:field=x"}, UnknownNameError, "Unknown system 'replya'"),
        ({"systems": 3}, ConfigurationError, "3 is not a system"),
        (
            {"systems": Named},
            ConfigurationError,
            "not a system: it is a class, which must be called first",
        ),
        ({"dataset": None}, ConfigurationError, "No dataset given"),
        ({"dataset": "nope"}, UnknownNameError, "Unknown dataset 'nope'"),
        ({"evaluators": ["rogue"]}, UnknownNameError, "Unknown evaluator 'rogue'"),
        ({"evaluators": [3]}, ConfigurationError, "3 is not an evaluator: it has no name"),
        (
            {"evaluators": [Named]},
            ConfigurationError,
            "not an evaluator: it is a class, which must be called first",
        ),
        (
            {"metrics": [MeanScore]},
            ConfigurationError,
            "not a metric: it is a class, which must be called first",
        ),
        ({"max_examples": 0}, ConfigurationError, "max_examples must be"),
        ({"max_workers": -1}, ConfigurationError, "max_workers must be"),
        (
            {"add_evaluators": ["nope"], "evaluators": None},
            UnknownNameError,
            "Unknown evaluator 'nope'",
        ),
        (
            {"exclude": ["nope"], "evaluators": None},
            UnknownNameError,
            "Unknown evaluator 'nope'",
        ),
        ({"metrics": [MeanScore("smae")]}, MetricError, "'smae'.*Did you mean 'same'"),
        ({"metrics": [PassRate(0.0, "nope")]}, MetricError, "'nope'"),
        ({"score_field": "nope"}, MetricError, "'nope'"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_with_what_to_do(
    arguments: dict[str, Any], error: type[Exception], message: str, echo: Any, same: Any
) -> None:
    given = {
        "systems": echo,
        "dataset": EXAMPLES,
        "evaluators": [same],
        "progress": False,
        **arguments,
    }
    with pytest.raises(error, match=message):
        evaluate(given.pop("systems"), given.pop("dataset"), **given)


def test_two_systems_need_two_names(echo: Any, same: Any) -> None:
    with pytest.raises(ConfigurationError, match="Two systems are called 'echo'"):
        run([echo, echo], EXAMPLES, [same])


def test_evaluate_works_from_several_threads_at_once(echo: Any, same: Any) -> None:
    results: list[float] = []
    threads = [
        threading.Thread(
            target=lambda: results.append(
                run(echo, EXAMPLES * 20, [same]).summary["echo"]["mean_score"]
            )
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [pytest.approx(2 / 3)] * 4


def test_filter_computes_anew(echo: Any, same: Any) -> None:
    examples = [{**example, "dataset": f"d{number % 2}"} for number, example in enumerate(EXAMPLES)]
    result = run(echo, examples, [same])
    one = result.filter(dataset="d0")
    assert one.summary["echo"]["mean_score"] == 1.0
    assert one.config["num_examples"] == 2
    assert result.filter(dataset="d1").summary["echo"]["mean_score"] == 0.0
    assert len(result.filter(lambda row: row.score == 1.0).rows) == 2
    with pytest.raises(ConfigurationError, match="no attribute 'datset'"):
        result.filter(datset="d0")


@pytest.mark.parametrize(("label", "mean"), [("d0", 0.5), ("d1", None), ("nowhere", None)])
def test_a_filtered_result_may_hold_no_row_with_the_score_that_its_run_looks_at(
    echo: Any, make_evaluator: Make, label: str, mean: float | None
) -> None:
    half = make_evaluator(
        "half", lambda original, processed: {"half": 0.5} if original["dataset"] == "d0" else {}
    )
    examples = [{**example, "dataset": f"d{number % 2}"} for number, example in enumerate(EXAMPLES)]
    result = run(echo, examples, [half], score_field="half")
    assert "1 of 3 rows have no half, and are left out of it." in result.notes()
    assert result.filter(dataset=label).summary.get("echo", {}).get("mean_score") == mean


@pytest.mark.parametrize(
    ("response", "text", "tokens"), [(42, "42", 1), (2.5, "2.5", 3), ("42", "42", 1)]
)
def test_a_response_that_is_a_number_is_its_text_in_the_row(
    make_system: Make, response: object, text: str, tokens: int
) -> None:
    [row] = run(make_system("s", lambda example: {"response": response}), EXAMPLES[:1], []).rows
    assert (row.response, row.response_tokens, row.output["response"]) == (text, tokens, response)


def test_rows_can_be_indexed_sliced_and_read_again(echo: Any, same: Any) -> None:
    rows = run(echo, EXAMPLES, [same]).rows
    assert len(rows) == 3
    assert [row.position for row in rows] == [row.position for row in rows] == [0, 1, 2]
    assert rows[-1].position == 2
    assert [row.position for row in rows[1:]] == [1, 2]
    with pytest.raises(IndexError):
        rows[3]


@pytest.mark.parametrize("method", ["compute", "compare"])
@pytest.mark.parametrize(
    ("said", "message"),
    [
        (ValueError("no\nluck"), "raised ValueError: no"),
        (None, "returned NoneType, not a mapping"),
        (3, "returned int"),
    ],
    ids=repr,
)
def test_a_metric_that_breaks_or_says_no_mapping_is_named(
    method: str, said: Any, message: str, echo: Any, same: Any, tmp_path: Path
) -> None:
    def tell(self: Any, rows: Any) -> Any:
        if isinstance(said, Exception):
            raise said
        return said

    metric = type("Luckless", (), {"name": "luckless", method: tell})()
    with pytest.raises(MetricError, match=f"The metric luckless {message}"):
        run(echo, EXAMPLES, [same], metrics=[metric], run_file=tmp_path / "r.sqlite")
    assert len(read_result(tmp_path / "r.sqlite", catalog=None).rows) == 3


@pytest.mark.parametrize("kind", [str, Path])
def test_the_result_of_a_run_file_is_read_by_its_path_however_that_is_written(
    kind: Callable[[Path], Any], echo: Any, same: Any, tmp_path: Path
) -> None:
    path = tmp_path / "kept.sqlite"
    found = run(echo, EXAMPLES, [same], run_file=kind(path))
    assert read_result(kind(path)).summary == found.summary


def test_a_kept_run_file_holds_the_rows_and_a_temporary_one_goes_with_the_result(
    echo: Any, same: Any, tmp_path: Path
) -> None:
    run(echo, EXAMPLES, [same], run_file=tmp_path / "kept.sqlite")
    assert (tmp_path / "kept.sqlite").exists()
    result = run(echo, EXAMPLES, [same])
    path = result.rows.reader.path
    assert path.exists()
    del result
    import gc

    gc.collect()
    assert not path.exists()


def test_the_result_as_json_is_strict_and_as_a_dataframe_flat(
    echo: Any, make_evaluator: Make
) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is an extra")
    pytest.importorskip("context_bench_efficiency", reason="its cost of a pass may be infinite")
    never = make_evaluator("never", lambda o, p: {"latency": 0.0, "k": 0.0})
    result = run(echo, EXAMPLES, [never])
    assert result.summary["echo"]["cost_of_pass"] == float("inf")
    told = json.loads(result.to_json(), parse_constant=pytest.fail)
    assert told["summary"]["echo"]["cost_of_pass"] is None
    frame = result.to_dataframe()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == 3
    assert (frame["score:latency"] == 0.0).all()
    assert (frame["latency"] > 0.0).all()


def test_the_order_of_calls_changes_no_stored_example(same: Any, tmp_path: Path) -> None:
    examples = [{"id": str(number), "question": "q", "answer": "a"} for number in range(3)]

    def first(example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "a"}

    def second(example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "b"}

    rows = {}
    for order in ("interleaved", "system"):
        path = tmp_path / f"{order}.sqlite"
        evaluate([first, second], examples, [same], order=order, run_file=path, progress=False)
        rows[order] = [
            (row.system, row.example_id, row.response, row.scores) for row in read_result(path).rows
        ]
    assert rows["system"] == rows["interleaved"]
    assert len(rows["system"]) == 6


@pytest.mark.parametrize("kind", ["public", "private", "slots"])
def test_evaluators_with_other_parameters_have_other_keys(kind: str, tmp_path: Path) -> None:
    class Scoring:
        name = "scoring"

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {"scoring": 1.0}

    class Public(Scoring):
        def __init__(self, factor: float) -> None:
            self.factor = factor

    class Private(Scoring):
        def __init__(self, factor: float) -> None:
            self._factor = factor

    class Slots(Scoring):
        __slots__ = ("factor",)

        def __init__(self, factor: float) -> None:
            self.factor = factor

    cls = {"public": Public, "private": Private, "slots": Slots}[kind]
    keys = []
    for number, factor in enumerate((1.0, 1.0, 2.0)):
        path = tmp_path / f"{number}.sqlite"
        evaluate(lambda example: "x", EXAMPLES, [cls(factor)], run_file=path, progress=False)
        with open_run(path) as opened:
            keys += [entry["key"] for entry in opened.evaluators]
    assert keys[0] == keys[1] != keys[2]


def test_a_result_as_it_is_stored_has_the_values_of_the_metrics(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    examples = [{"id": str(number), "answer": "x"} for number in range(3)]
    evaluate(lambda example: "x", examples, [], progress=False, run_file=path)
    stored = read_result(path, as_stored=True)
    read = read_result(path)
    assert stored.table() == read.table()
    assert stored.keys_by_metric == read.keys_by_metric
    assert stored.config["total_cost"] is None
