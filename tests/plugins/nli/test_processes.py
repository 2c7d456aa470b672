"""Long answers are scored in processes of their own, and the scores are the same there."""

from __future__ import annotations

from typing import Any

from context_bench import evaluate
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings

ANSWERS = {
    "1": "Entailment",
    "2": "It does not follow. The answer is Contradiction.",
    "3": "Nobody can say.",
}


def rows(**options: Any) -> list[tuple[Any, Any]]:
    examples = [{"id": name, "question": "?", "answer": "Contradiction"} for name in ANSWERS]
    result = evaluate(
        lambda example: ANSWERS[example["id"]], examples, ["nli"], progress=False, **options
    )
    assert not any(row.errors for row in result.rows)
    told = [{key: dict(said) for key, said in row.details.items()} for row in result.rows]
    for details in told:
        for said in details.values():
            said.pop("seconds", None)
    return [(row.scores, details) for row, details in zip(result.rows, told, strict=True)]


def test_a_process_of_its_own_says_the_same() -> None:
    assert (
        rows(row_timeout=60.0) == rows()
    )  # with a deadline, what is bound to the processor always has its own process


def test_it_is_declared() -> None:
    component = discover(PluginSettings()).find("evaluators", "nli")
    assert component.evaluator.cpu_bound
