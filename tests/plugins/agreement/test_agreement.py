from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from context_bench import EvalResult, evaluate
from context_bench.errors import ConfigurationError, MetricError
from context_bench.results.reading import canonical_row, read_result
from context_bench.store.reader import RunReader

pytest.importorskip(
    "context_bench_answer_quality", reason="these rows are scored by the answer-quality plugin"
)

EXAMPLES = [
    {"id": "gold", "question": "q", "answer": "red car"},
    {"id": "none", "question": "q"},
    {"id": "empty", "question": "q", "answer": "", "answers": []},
]


class Says:
    """A system that says the same about every example, or fails on some."""

    def __init__(self, name: str, *said: str, failing: tuple[str, ...] = ()) -> None:
        self.name = name
        self.failing = failing
        self.calls: list[str] = []
        self._said = said
        self._turn = count()

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(example["id"])
        if example["id"] in self.failing:
            raise RuntimeError("down")
        said = self._said[next(self._turn) % len(self._said)]
        return {"response": said, "usage": {"prompt_tokens": 10, "completion_tokens": 1}}


def run(
    *systems: Says, examples: Any = EXAMPLES, evaluators: Any = ("answer-quality",), **options: Any
) -> EvalResult:
    options.setdefault("reference_from", "direct")
    return evaluate(
        list(systems),
        examples,
        evaluators,
        progress=False,
        on_warning=options.pop("told", [].append),
        **options,
    )


def test_rows_without_gold_are_held_against_the_reference_and_never_mixed_with_the_others() -> None:
    result = run(Says("proxy", "red bus"), Says("direct", "red car"))
    ours = result.summary["proxy"]
    assert (ours["mean_score"], ours["agreement"]) == (0.5, 0.5)
    assert (ours["num_rows"], ours["num_scored"], ours["num_agreement"], ours["num_unscored"]) == (
        3,
        1,
        2,
        0,
    )
    gold, none, empty = (row for row in result.rows if row.system == "proxy")
    assert (gold.primary, gold.reference, gold.is_agreement) == ("f1", None, False)
    for row in (none, empty):
        assert (row.primary, row.reference, row.score) == ("agreement_f1", "direct", 0.5)
        assert {key.partition("_")[0] for key in row.scores} == {"agreement"}
    assert result.config["datasets"] == [""]
    assert result.config["reference"] == "direct"


@pytest.mark.parametrize("field", ["agreement_f1", "agreement_f2"])
@pytest.mark.parametrize("named", [True, False], ids=["a named dataset", "any rows"])
def test_a_score_of_agreement_is_known_before_the_first_call(field: str, named: bool) -> None:
    direct = Says("direct", "red car")
    given: dict[str, Any] = {"examples": None, "datasets": {"here": EXAMPLES[1:]}} if named else {}
    if field == "agreement_f1":
        assert (
            run(Says("proxy", "red bus"), direct, score_field=field, **given).summary["proxy"][
                "mean_score"
            ]
            == 0.5
        )
        return
    with pytest.raises(MetricError, match="'agreement_f2'"):
        run(Says("proxy", "red bus"), direct, score_field=field, **given)
    assert direct.calls == []


def test_the_reference_is_not_scored_against_itself_but_asked_twice_for_the_noise_floor() -> None:
    direct = Says("direct", "red car", "red bus")
    told: list[str] = []
    result = run(Says("proxy", "red car"), direct, examples=EXAMPLES[1:], told=told.append)
    assert direct.calls == ["none", "none", "empty", "empty"]
    assert told == [
        "The reference direct is asked twice where there is no gold answer, to see how far it agrees with itself: up to 2 "
        "more calls."
    ]
    assert result.summary["proxy"]["agreement"] == 1.0
    assert (
        result.summary["proxy"]["agreement_floor"]
        == result.summary["direct"]["agreement_floor"]
        == 0.5
    )
    assert "agreement" not in result.summary["direct"]
    [itself] = {row.unscored["context-bench-answer-quality/answer-quality"] for row in result.rows
                if row.system == "direct" and not row.is_extra}  # fmt: skip
    assert itself == "it is the reference itself"


def test_the_second_answer_of_the_reference_counts_for_nothing_else() -> None:
    result = run(
        Says("proxy", "red"), Says("direct", "red"), examples=EXAMPLES[1:], baseline="direct"
    )
    theirs = result.summary["direct"]
    assert (theirs["num_rows"], theirs["num_unscored"], theirs["num_failed"]) == (2, 2, 0)
    assert theirs["num_compared"] == 2
    assert sum(row.is_extra for row in result.rows) == 2


def test_asked_for_repetitions_are_the_floor_and_none_is_added() -> None:
    direct = Says("direct", "red car", "red bus")
    told: list[str] = []
    result = run(
        Says("proxy", "red car"), direct, examples=EXAMPLES[1:2], repeat=2, told=told.append
    )
    assert (len(direct.calls), told) == (2, [])
    assert result.summary["direct"]["agreement_floor"] == 0.5
    assert result.summary["proxy"]["num_agreement"] == 2


def test_without_gaps_the_reference_is_asked_once_and_nothing_changes() -> None:
    direct = Says("direct", "red car")
    result = run(Says("proxy", "red bus"), direct, examples=EXAMPLES[:1])
    assert direct.calls == ["gold"]
    assert "agreement" not in result.summary["proxy"]
    assert all(row.reference is None for row in result.rows)


def test_where_the_reference_failed_rows_are_unscored_with_the_reason_until_it_answers(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.sqlite"
    result = run(Says("proxy", "red"), Says("direct", "red", failing=("none",)), run_file=path)
    [row] = [row for row in result.rows if (row.system, row.example_id) == ("proxy", "none")]
    assert list(row.unscored.values()) == ["the reference direct has no response to this example"]
    assert (row.score, row.failed) == (None, False)
    proxy = Says("proxy", "red")
    again = run(proxy, Says("direct", "red"), run_file=path)
    assert proxy.calls == []
    assert again.summary["proxy"]["agreement"] == 1.0
    assert again.summary["proxy"]["num_agreement"] == 2


def test_a_system_that_fails_without_gold_counts_as_wrong() -> None:
    result = run(
        Says("proxy", "red", failing=("none",)), Says("direct", "red"), examples=EXAMPLES[1:]
    )
    assert result.summary["proxy"]["agreement"] == 0.5
    assert (result.summary["proxy"]["num_failed"], result.summary["proxy"]["num_agreement"]) == (
        1,
        1,
    )
    assert "mean_score" not in result.summary["proxy"]


@pytest.mark.parametrize("order", ["interleaved", "system"])
@pytest.mark.parametrize("reference", ["first", "last"])
def test_workers_order_and_place_change_nothing(order: str, reference: str) -> None:
    examples = [
        {"id": str(n), "question": "q", **({"answer": "red"} if n % 3 == 0 else {})}
        for n in range(30)
    ]

    def rows(workers: int) -> list[Any]:
        pair = [Says("proxy", "red bus"), Says("direct", "red car")]
        if reference == "first":
            pair.reverse()
        result = run(*pair, examples=examples, max_workers=workers, order=order)
        return [canonical_row(row) for row in result.rows]

    assert rows(1) == rows(8)


class Known(Says):
    """A system whose keys hold in other runs."""

    def fingerprint(self) -> dict[str, Any]:
        return {}


class Slow:
    """An evaluator in batches, which scores after the commit."""

    name = "slow"
    version = "1"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return (
            {"same": float(original["answer"] == processed["response"])}
            if "answer" in original
            else {}
        )

    def score_batch(self, pairs: Any) -> list[dict[str, float]]:
        return [self.score(*pair) for pair in pairs]


def test_evaluators_in_batches_and_without_a_manifest_are_given_the_reference_too() -> None:
    result = run(Says("proxy", "red"), Says("direct", "red"), evaluators=[Slow()], max_workers=4)
    rows = [row for row in result.rows if row.system == "proxy"]
    assert [row.scores for row in rows] == [
        {"same": 0.0},
        {"agreement_same": 1.0},
        {"agreement_same": 1.0},
    ]
    assert result.summary["proxy"]["agreement"] == 1.0
    assert result.summary["proxy"]["mean_score"] == 0.0


def keys(path: Path) -> dict[str, bytes]:
    query = (
        "SELECT systems.label, examples.example_id, evaluations.key FROM evaluations "
        "JOIN responses ON responses.id = evaluations.response JOIN systems USING (system_number) "
        "JOIN examples ON examples.id = responses.id & ~1048575 WHERE repetition = 0"
    )
    return {f"{system} {example}": key for system, example, key in RunReader(path).stream(query)}


def test_a_score_key_holds_the_reference_and_that_it_is_no_gold_answer(tmp_path: Path) -> None:
    def asked(name: str, examples: Any, said: str, **options: Any) -> bytes:
        path = tmp_path / f"{name}.sqlite"
        pair = [
            Known("p", "red"),
            Known("direct", said),
        ]
        run(*pair, examples=examples, run_file=path, **options)
        return keys(path)["p x"]

    without = [{"id": "x", "question": "q"}]
    gold = asked("gold", [{"id": "x", "question": "q", "answer": "car"}], "car")
    agreed, other = asked("one", without, "car"), asked("two", without, "bus")
    assert len({gold, agreed, other, asked("none", without, "car", reference_from=None)}) == 4
    assert asked("again", without, "car") == agreed


def test_a_run_file_gives_the_same_numbers_again(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    result = run(Says("proxy", "red bus"), Says("direct", "red car", "red bus"), run_file=path)
    again = read_result(path)
    assert again.summary == result.summary
    assert again.config["reference"] == "direct"
    direct = Says("direct", "red")
    resumed = run(Says("proxy", "red"), direct, run_file=path)
    assert direct.calls == []
    assert resumed.summary == result.summary


def test_the_reference_needs_the_examples_that_it_is_held_to() -> None:
    with pytest.raises(ConfigurationError, match="its examples must be kept"):
        run(Says("proxy", "red"), Says("direct", "red"), store_examples=False)


def test_only_evaluators_that_need_an_answer_are_given_one(tmp_path: Path) -> None:
    pytest.importorskip("context_bench_ifeval", reason="an evaluator that needs no answer")
    examples = [
        {
            "id": "a",
            "question": "q",
            "instruction_id_list": ["punctuation:no_comma"],
            "kwargs": [{}],
            "prompt": "q",
        }
    ]
    result = run(
        Says("proxy", "red, blue"),
        Says("direct", "red"),
        examples=examples,
        evaluators=("ifeval", "answer-quality"),
    )
    [row] = [row for row in result.rows if row.system == "proxy"]
    assert row.scores["ifeval_strict"] == 0.0
    assert row.scores["agreement_recall"] == 1.0


def test_rows_without_gold_cannot_pass_so_their_tokens_do_not_count_for_a_pass() -> None:
    pytest.importorskip("context_bench_efficiency", reason="the cost of a pass is its metric")
    result = run(Says("proxy", "red car"), Says("direct", "red car"))
    assert result.summary["proxy"]["num_passing"] == 1
    assert result.summary["proxy"]["cost_of_pass"] == 11.0


def test_the_story_of_a_row_says_whose_response_it_was_held_to(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("context_bench_audit", reason="it tells the story of a row")
    from context_bench.cli import execute

    path = tmp_path / "run.sqlite"
    run(Says("proxy", "red"), Says("direct", "red"), run_file=path)
    assert execute(["explain", "row", str(path), "none"]) == 0
    assert "the response of direct, in place of a gold answer" in " ".join(
        capsys.readouterr().out.split()
    )


def test_metrics_of_the_users_do_not_see_the_second_answer_either() -> None:
    class Rows:
        name = "rows"

        def compute(self, rows: Any) -> dict[str, float]:
            return {"rows": sum(1 for _ in rows)}

    result = run(Says("proxy", "red"), Says("direct", "red"), metrics=[Rows()])
    assert [values["rows"] for values in result.summary.values()] == [3, 3]
    assert len(result.rows) == 8
