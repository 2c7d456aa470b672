"""The assertions: what passes, what fails, and the rows that a failure shows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("context_bench_pytest", reason="context-bench-pytest is not installed")
from context_bench import EvalResult, evaluate
from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench_pytest import InconclusiveWarning, assert_not_worse, assert_score

Example = Mapping[str, Any]
EXAMPLES = [
    {"id": f"q{number}", "question": f"Question {number}?", "answer": f"yes {number}"}
    for number in range(40)
]


class Exact:
    """Whether the response is the answer, and its opposite, of which less is better."""

    name = "exact"

    def score(self, original: Example, processed: Example) -> dict[str, float]:
        same = float(original["answer"] == processed["response"])
        return {"exact": same}


def wrong_for(*ids: str, failing: str = "") -> Callable[[Example], str]:
    """Return a system that is wrong for some examples and fails for one; others are right."""

    def answer(example: Example) -> str:
        name = str(example["id"])
        if name == failing:
            raise ValueError("out of order")
        return "no" if name in ids else f"yes {name.removeprefix('q')}"

    return answer


def run(folder: Path, *systems: Any, name: str = "run", **options: Any) -> EvalResult:
    return evaluate(
        list(systems),
        EXAMPLES,
        [Exact()],
        progress=False,
        keep_going=True,
        run_file=folder / f"{name}.sqlite",
        **options,
    )


def named(label: str, *ids: str, failing: str = "") -> Any:
    system = wrong_for(*ids, failing=failing)
    system.__name__ = label
    return system


def test_a_score_within_its_bounds_passes(tmp_path: Path) -> None:
    result = run(tmp_path, named("a", "q3"))
    assert_score(result, "exact", at_least=0.975, at_most=0.975)
    assert_score(result, at_least=0.975)
    assert_score(result, "pass_rate", at_least=0.975)
    assert_score(result, "latency_p95", at_most=3600)


def test_a_failure_shows_the_worst_rows_and_the_error_of_a_failed_row(tmp_path: Path) -> None:
    result = run(tmp_path, named("a", "q3", "q5", failing="q7"))
    with pytest.raises(AssertionError) as caught:
        assert_score(result, "exact", at_least=0.95)
    lines = str(caught.value).splitlines()
    assert "0.925" in lines[0]
    assert "1 failed" in lines[0]
    shown = [line.split(":")[0].strip() for line in lines if line.startswith("  q")]
    assert shown[:3] == ["q3", "q5", "q7"]
    assert len(shown) == 5
    text = str(caught.value)
    for shown in ("Question 3?", "yes 3", "response: no", "ValueError: out of order"):
        assert shown in text


def test_an_upper_bound_shows_the_highest_rows(tmp_path: Path) -> None:
    result = run(tmp_path, named("a", *(f"q{number}" for number in range(39))))
    with pytest.raises(AssertionError, match=r"q39: exact 1"):
        assert_score(result, "exact", at_most=0.01)


def test_a_mean_that_holds_may_not_hold_for_other_rows(tmp_path: Path) -> None:
    result = run(tmp_path, named("a", "q3"))
    assert_score(result, "exact", at_least=0.95)
    for basis in ("guarantee", "test"):
        with pytest.raises(AssertionError, match="inconclusive"):
            assert_score(result, "exact", at_least=0.95, basis=basis)
        assert_score(result, "exact", at_least=0.7, basis=basis)


def test_the_gate_of_compare_decides(tmp_path: Path) -> None:
    from context_bench.runs import open_run
    from context_bench_compare.gates import PASSED, parse_gate
    from context_bench_compare.gating import judge

    result = run(tmp_path, named("a"), named("b", "q3"))
    for basis in ("guarantee", "test"):
        for margin in (0.01, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3):
            with open_run(tmp_path / "run.sqlite") as opened:
                gates = parse_gate(f"exact:max-drop={margin},basis={basis}")
                [outcome] = judge(opened, gates, ["b"], "a")
            try:
                assert_not_worse(result, "a", key="exact", system="b", margin=margin, basis=basis)
                passed = True
            except AssertionError:
                passed = False
            assert passed is (outcome.state == PASSED), (basis, margin)


def test_rows_that_lost_are_shown_with_both_responses(tmp_path: Path) -> None:
    result = run(tmp_path, named("a"), named("b", *(f"q{number}" for number in range(20))))
    with pytest.raises(AssertionError) as caught:
        assert_not_worse(result, "a", system="b", margin="2pp")
    text = str(caught.value)
    assert "20 of 40 rows" in text
    assert "q0: score 0, baseline 1" in text
    assert "q1: score 0" in text
    assert "q4: " in text
    assert "q5:" not in text
    assert "baseline: yes 0" in text
    assert "response: no" in text


@pytest.mark.parametrize("form", ["result", "path", "text", "name"])
def test_a_baseline_is_a_result_or_a_file_or_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    old = run(tmp_path, named("system"), name="old")
    new = run(tmp_path, named("system", "q8"), name="new")
    path = tmp_path / "old.sqlite"
    baseline: Any = {"result": old, "path": path, "text": str(path), "name": "@main"}[form]
    if form == "name":
        from context_bench_compare.baselines import promote

        promote(path, "main", "first")
    assert_not_worse(new, baseline, margin="3pp", basis="observed")
    with pytest.raises(AssertionError, match="q8: score 0, baseline 1"):
        assert_not_worse(new, baseline, margin="2pp", basis="observed")


def test_rows_are_matched_by_their_content(tmp_path: Path) -> None:
    old = run(tmp_path, named("system", "q1"), name="old")
    new = evaluate(
        named("system", "q1"),
        EXAMPLES[::-1],
        [Exact()],
        progress=False,
        run_file=tmp_path / "new.sqlite",
    )
    assert_not_worse(new, old, margin=0, basis="observed")
    with pytest.raises(AssertionError, match="No row is worse"):
        assert_not_worse(new, old, margin=0.01)  # equal rows do not rule out a rare loss


def test_a_lower_latency_is_better(tmp_path: Path) -> None:
    result = run(tmp_path, named("a"), named("b"))
    assert_not_worse(result, "a", key="latency", system="b", margin=3600, basis="observed")


def test_few_rows_fail_or_warn(tmp_path: Path) -> None:
    result = run(tmp_path, named("a"), named("b"), max_examples=25)
    with pytest.raises(AssertionError, match="inconclusive"):
        assert_not_worse(result, "a", system="b", margin="1pp")
    with pytest.warns(InconclusiveWarning):
        assert_not_worse(result, "a", system="b", margin="1pp", inconclusive="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_not_worse(result, "a", system="b", margin="30pp", inconclusive="warn")


def test_what_is_unclear_is_an_error_and_not_a_failed_assertion(tmp_path: Path) -> None:
    result = run(tmp_path, named("a"), named("b"))
    one = run(tmp_path, named("a"), name="one")
    with pytest.raises(ConfigurationError):
        assert_score(one)
    with pytest.raises(ConfigurationError):
        assert_score(result, at_least=0.5)
    with pytest.raises(ConfigurationError):
        assert_score(one.filter(example_id="q1"), at_least=0.5, basis="guarantee")
    with pytest.raises(ConfigurationError):
        assert_not_worse(one, result.filter(example_id="q1"), margin=0.1)
    with pytest.raises(ConfigurationError):
        assert_not_worse(one, tmp_path / "absent.sqlite", margin=0.1)
    for call in (
        lambda: assert_score(one, "exakt", at_least=0.5),
        lambda: assert_score(one, at_least=0.5, system="z"),
        lambda: assert_not_worse(one, "z", margin=0.1),
        lambda: assert_not_worse(one, result, key="exakt", margin=0.1),
        lambda: assert_not_worse(one, result, margin=0.1, inconclusive="skip"),
        lambda: assert_not_worse(one, result, margin=0.1, basis="hope"),
    ):
        with pytest.raises(UnknownNameError):
            call()


def test_a_filtered_result_has_an_observed_score(tmp_path: Path) -> None:
    result = run(tmp_path, named("a", "q1")).filter(example_id="q1")
    with pytest.raises(AssertionError, match="q1: exact 0"):
        assert_score(result, "exact", at_least=0.5)


def test_a_control_character_of_a_response_is_escaped(tmp_path: Path) -> None:
    def rude(example: Example) -> str:
        return "\x1b[31mred\nline"

    with pytest.raises(AssertionError) as caught:
        assert_score(run(tmp_path, rude), at_least=0.5)
    assert "\x1b" not in str(caught.value)
