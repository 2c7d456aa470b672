from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench import EvalResult, EvalRow, evaluate
from context_bench.errors import UnknownNameError
from context_bench.results.reading import read_result
from context_bench.store.reader import RunReader
from context_bench_efficiency import TrueCompression

Make = Callable[..., Any]
TOKENS = {
    "direct": (100, 200, 400),
    "half": (50, 100, 200),
    "grown": (110, 220, 440),
    "silent": (None, None, None),
}
EXAMPLES = [{"id": str(number), "question": "q", "answer": "a"} for number in range(3)]


class Exact:
    name = "exact"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        return {"exact": float(processed.get("response") == original["answer"])}


class Fixed:
    """A system that reports a given number of prompt tokens for each example; None reports none."""

    def __init__(
        self, name: str, tokens: Iterable[int | None], failing: Iterable[str] = ()
    ) -> None:
        self.name = name
        self._tokens = {str(number): count for number, count in enumerate(tokens)}
        self._failing = tuple(failing)

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if example["id"] in self._failing:
            raise RuntimeError("down")
        count = self._tokens[example["id"]]
        return {"response": "a"} | ({} if count is None else {"usage": {"prompt_tokens": count}})


def systems(*names: str) -> list[Fixed]:
    return [Fixed(name, TOKENS[name]) for name in names]


def run(*names: str, **options: Any) -> EvalResult:
    return evaluate(systems(*names), EXAMPLES, [Exact()], progress=False, **options)


def saved(result: EvalResult) -> Mapping[str, Any]:
    return {system: values.get("tokens_saved") for system, values in result.summary.items()}


@pytest.mark.parametrize(
    "order", [("half", "direct", "grown", "silent"), ("direct", "silent", "grown", "half")]
)
def test_prompt_tokens_are_held_against_the_baselines_wherever_it_stands(
    order: tuple[str, ...],
) -> None:
    result = run(*order, baseline="direct")
    assert saved(result) == {
        "direct": 0.0, "half": 0.5, "grown": pytest.approx(-0.1), "silent": None,
    }  # fmt: skip
    assert result.summary["half"]["compression_factor"] == 2.0
    assert result.summary["silent"]["num_uncompared"] == 3
    assert result.config["baseline"] == "direct"
    assert [row.tokens_saved for row in result.rows if row.system == "half"] == [0.5, 0.5, 0.5]


def test_without_a_baseline_nothing_is_compared_and_no_words_are_held_against_tokens() -> None:
    result = run("half", "direct")
    assert saved(result) == {"half": None, "direct": None}
    assert all("compression_ratio" not in values for values in result.summary.values())
    assert result.summary["half"]["mean_prompt_tokens"] == pytest.approx(350 / 3)


def test_a_row_is_left_out_where_either_side_has_no_count_or_failed() -> None:
    ours = Fixed("ours", (10, None, 40), failing=["2"])
    theirs = Fixed("theirs", (20, 20, 20))
    result = evaluate([ours, theirs], EXAMPLES, [Exact()], baseline=theirs, progress=False)
    assert (result.summary["ours"]["tokens_saved"], result.summary["ours"]["num_uncompared"]) == (
        0.5,
        2,
    )
    broken = Fixed("broken", (20, 20, 20), failing=["0", "1"])
    result = evaluate([ours, broken], EXAMPLES, [Exact()], baseline="broken", progress=False)
    assert "tokens_saved" not in result.summary["ours"]
    assert result.summary["broken"]["num_compared"] == 1


def test_each_repetition_is_held_against_the_same_repetition_of_the_baseline(
    make_system: Make,
) -> None:
    counts = {"b": iter([100, 300]), "s": iter([50, 300])}

    def told(name: str) -> Any:
        return make_system(
            name, lambda e: {"response": "a", "usage": {"prompt_tokens": next(counts[name])}}
        )

    result = evaluate(
        [told("s"), told("b")],
        EXAMPLES[:1],
        [Exact()],
        baseline="b",
        repeat=2,
        progress=False,
    )
    assert [row.tokens_saved for row in result.rows if row.system == "s"] == [0.5, 0.0]


def test_the_transformers_own_view_stands_beside_what_the_endpoint_reports(
    make_system: Make,
) -> None:
    def shorten(example: dict[str, Any]) -> dict[str, Any]:
        return {"context": "one", "response": "a", "usage": {"prompt_tokens": 30}}

    pair = [
        make_system("shorten", shorten),
        make_system("direct", lambda e: {"response": "a", "usage": {"prompt_tokens": 40}}),
    ]
    examples = [{"context": "one two three four", "answer": "a"}]
    result = evaluate(pair, examples, [Exact()], baseline="direct", progress=False)
    assert (
        result.summary["shorten"]["compression_ratio"],
        result.summary["shorten"]["tokens_saved"],
    ) == (0.75, 0.25)
    assert "compression_ratio" not in result.summary["direct"]


def test_the_run_file_alone_gives_the_same_numbers(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    result = run("half", "direct", baseline="direct", run_file=path)
    again = read_result(path)
    assert again.summary == result.summary
    assert again.config["baseline"] == "direct"
    assert [row.baseline for row in again.rows] == [row.baseline for row in result.rows]
    [one] = RunReader(path).rows(first := again.rows[2].position << 20, first)
    assert one.baseline == again.rows[2].baseline
    resumed = run("half", "direct", baseline="direct", run_file=path)
    assert (resumed.timing["reused_rows"], resumed.summary["half"]["tokens_saved"]) == (6, 0.5)


def test_a_filtered_result_keeps_what_its_rows_were_held_against() -> None:
    only = run("half", "direct", baseline="direct").filter(system="half")
    assert saved(only) == {"half": 0.5}


def test_a_system_that_is_not_there_yet_is_added_as_the_baseline() -> None:
    pytest.importorskip("context_bench_sweeps", reason="it adds the baseline")
    extra = Fixed("extra", (200, 400, 800))
    result = evaluate(systems("direct"), EXAMPLES, [Exact()], baseline=extra, progress=False)
    assert saved(result) == {"direct": 0.5, "extra": 0.0}


def test_an_unknown_baseline_is_refused_with_the_labels_there_are() -> None:
    pytest.importorskip("context_bench_sweeps", reason="it tells what comes close")
    with pytest.raises(UnknownNameError, match=r"'dirct'.*Did you mean 'direct'"):
        run("half", "direct", baseline="dirct")


def test_workers_do_not_change_what_is_saved() -> None:
    one, many = (run("half", "direct", "grown", baseline="half", max_workers=n) for n in (1, 8))
    assert saved(one) == saved(many) == {"half": 0.0, "direct": -1.0, "grown": pytest.approx(-1.2)}


COUNTS = st.lists(
    st.tuples(st.none() | st.integers(0, 5000), st.none() | st.integers(0, 5000)),
    min_size=1,
    max_size=30,
)


@given(COUNTS)
def test_the_sums_of_the_rows_are_the_summary(counts: list[tuple[int | None, int | None]]) -> None:
    from context_bench.records import BaselineRow, Usage

    rows = [
        EvalRow("s", "x", {}, usage=Usage(input_tokens=ours), baseline=BaselineRow(theirs))
        for ours, theirs in counts
    ]
    compared = [(ours, theirs) for ours, theirs in counts if ours and theirs]
    values = TrueCompression().compute(rows)
    assert values["num_compared"] + values["num_uncompared"] == len(rows)
    assert values["num_compared"] == len(compared)
    if compared:
        ours, theirs = (sum(side) for side in zip(*compared))
        assert values["tokens_saved"] == pytest.approx(1 - ours / theirs)
        assert values["compression_factor"] == pytest.approx(1 / (1 - values["tokens_saved"]))
        low, high = min(1 - a / b for a, b in compared), max(1 - a / b for a, b in compared)
        assert low - 1e-9 <= values["tokens_saved"] <= high + 1e-9
        assert low - 1e-9 <= values["tokens_saved_mean"] <= high + 1e-9
    swapped = [
        EvalRow("s", "x", {}, usage=Usage(input_tokens=b), baseline=BaselineRow(a))
        for a, b in counts
    ]
    assert TrueCompression().compute(swapped)["num_compared"] == len(compared)


def test_the_columns_say_what_the_rows_say(tmp_path: Path) -> None:
    broken = Fixed("broken", (10, 20, 30), failing=["1"])
    result = evaluate(
        [*systems("half", "direct"), broken],
        EXAMPLES,
        [Exact()],
        baseline="direct",
        progress=False,
    )
    for system, values in result.summary.items():
        rows = [row for row in result.rows if row.system == system]
        told = TrueCompression().compute(rows)
        assert told == {key: values[key] for key in told}
    assert json.loads(result.to_json())["summary"]["half"]["tokens_saved"] == 0.5
