"""Token counts carry their source: what endpoints report and what core counts are neither added nor ranked."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from context_bench import EvalResult, evaluate
from context_bench.metrics import MeanScore
from context_bench.records import EvalRow, Failure, KeyMeaning
from context_bench.reporters import TableReporter
from context_bench.results.reading import read_result
from context_bench_efficiency import Latency, Waiting

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


def test_of_two_identical_proxies_the_one_that_drops_usage_is_told_with_its_source() -> None:
    result = run(HONEST, SILENT)
    assert result.summary["honest"]["cost_of_pass"] == 47
    assert result.summary["silent"]["cost_of_pass"] == 3
    assert [values["sources"]["cost_of_pass"]["source"] for values in result.summary.values()] == [
        "reported",
        "words",
    ]
    assert "silent counted by the tokenizer words" in table(result)


def test_one_source_needs_no_words() -> None:
    assert "Tokens:" not in table(run(HONEST, Proxy("greedy", lambda number: reporting(80))))


def test_a_server_that_is_dead_after_two_rows_has_spent_what_the_two_rows_took() -> None:
    result = run(Proxy("dead", dead))
    assert result.summary["dead"]["num_failed"] == 6
    assert result.summary["dead"]["cost_of_pass"] * result.summary["dead"]["num_passing"] == 2 * 93


@pytest.mark.parametrize(
    ("told", "share"),
    [
        pytest.param(
            lambda number: reporting() if number % 2 else {}, 0.5, id="every-second-reply-reports"
        ),
        pytest.param(
            lambda number: reporting() if number < 2 else {}, 0.25, id="the-first-replies-report"
        ),
        pytest.param(
            lambda number: {"usage": {"prompt_tokens": 40}}, 0.0, id="only-prompts-are-reported"
        ),
        pytest.param(
            lambda number: {"usage": {"completion_tokens": 4}},
            0.0,
            id="only-completions-are-reported",
        ),
    ],
)
def test_without_full_coverage_there_is_no_sum(
    told: Callable[[int], dict[str, Any]], share: float
) -> None:
    result = run(Proxy("half", told), HONEST)
    assert "cost_of_pass" not in result.summary["half"]
    assert result.summary["half"]["sources"]["cost_of_pass"] == {"source": "none", "covered": share}
    assert f"tokens/pass - ({100 * share:.0f} %)" in table(
        result
    ) or f"- ({100 * share:.0f} %)" in table(result)


def test_a_system_that_answered_nothing_has_no_tokens_of_any_source() -> None:
    """Its cell said `- (0 %)` and the note that its counts come from several sources; nobody counted anything."""
    common: dict[str, Any] = {"primary": "same", "keys": {"same": KeyMeaning("acme/same")}}
    errors = (Failure("system", "ConnectionError", "down"),)
    for beside in ([], [HONEST], [SILENT]):
        answered = run(*beside or [HONEST])
        rows = [
            EvalRow("down", str(number), {}, errors=errors, position=number, **common)
            for number in range(8)
        ]
        rows += list(answered.rows) if beside else []
        result = EvalResult(
            rows, answered.metrics, {}, {"systems": ["down", *(proxy.name for proxy in beside)]}
        )
        assert result.summary["down"]["cost_of_pass"] == float("inf")
        assert "sources" not in result.summary["down"]
        assert "never" in table(result)
        assert "Tokens:" not in table(result)


def test_rows_in_memory_and_in_a_file_give_the_same_sources(tmp_path: Any) -> None:
    path = tmp_path / "run.sqlite"
    result = run(
        Proxy("half", lambda number: reporting() if number % 2 else {}),
        Proxy("dead", dead),
        run_file=path,
    )
    assert read_result(path).summary == result.summary
    again = EvalResult(list(result.rows), result.metrics, {}, {"systems": ["half", "dead"]})
    for system, values in again.summary.items():
        assert values["sources"] == result.summary[system]["sources"]


def test_waiting_and_retries_are_shown() -> None:
    slow = Proxy("waits", lambda number: {"latency": 0.021, "attempts": 3})
    rows = [*run(slow, HONEST).rows]
    from attrs import evolve

    waits = [evolve(r, latency=0.02, metadata={**r.metadata, "waiting": 2.0}) if r.system == "waits" else evolve(r, latency=0.03) for r in rows]  # fmt: skip
    result = EvalResult(
        waits, [MeanScore(), Latency(), Waiting()], {}, {"systems": ["waits", "honest"]}
    )
    assert result.summary["waits"]["waiting"] == 16.0
    assert result.summary["waits"]["retries"] == 16
    assert result.summary["waits"]["rows_per_minute"] == pytest.approx(60 / 2.02)
    assert (result.summary["honest"]["waiting"], result.summary["honest"]["retries"]) == (0.0, 0)
    assert "waiting" in table(result)


def test_what_the_run_file_measured_of_a_row_is_in_the_summary(tmp_path: Any) -> None:
    path = tmp_path / "run.sqlite"
    result = run(
        Proxy("streams", lambda number: {"ttft": 0.1 * (number + 1), "attempts": 1 + number % 2}),
        run_file=path,
    )
    assert result.summary["streams"]["first_token_median"] == pytest.approx(0.45)
    assert result.summary["streams"]["retries"] == 4
    assert "first token p50 450.0 ms" in table(result)


def test_a_reused_response_took_no_time_and_says_so(tmp_path: Any) -> None:
    class Keyed(Proxy):
        def fingerprint(self) -> dict[str, Any]:
            return {}

    for _ in range(2):
        result = run(Keyed("k", lambda number: reporting()), cache_dir=tmp_path)
    assert all(row.reused for row in result.rows)
    assert not any(key.startswith("latency") for key in result.summary["k"])
    assert result.summary["k"]["cost_of_pass"] == 47
    stream = io.StringIO()
    pytest.importorskip("context_bench_reports").CsvReporter().write(result, stream)
    assert ",True," in stream.getvalue().splitlines()[1]
