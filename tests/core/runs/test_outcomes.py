"""How replies ended, and counts that do not agree, are reported when there are any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.outcomes import CUT, CUT_EMPTY, EMPTY, FILTERED, REFUSED, outcome_of
from context_bench.results.reading import read_result

OUTPUTS: dict[str, tuple[dict[str, Any], str | None]] = {
    "answered": ({"response": "Paris", "finish_reason": "stop"}, None),
    "no finish reason": ({"response": "Paris"}, None),
    "cut": ({"response": "The capital of", "finish_reason": "length"}, CUT),
    "cut by Gemini": ({"response": "The", "finish_reason": "MAX_TOKENS"}, CUT),
    "cut while reasoning": ({"response": "", "finish_reason": "max_tokens"}, CUT_EMPTY),
    "blank at the limit": ({"response": " \n", "finish_reason": "length"}, CUT_EMPTY),
    "filtered": ({"response": "", "finish_reason": "content_filter"}, FILTERED),
    "refused": ({"response": "I cannot.", "refusal": "I cannot."}, REFUSED),
    "refused by name": ({"response": "", "finish_reason": "refusal"}, REFUSED),
    "empty": ({"response": "", "finish_reason": "stop"}, EMPTY),
    "tool call": ({"response": "", "tool_calls": [{"name": "f", "arguments": "{}"}]}, None),
    "transformed context": ({"context": ""}, None),
    "finish reason of another type": ({"response": "Paris", "finish_reason": 1}, None),
}


EXAMPLES = [{"id": f"e{n}", "question": str(n), "answer": "1"} for n in range(3)]


@pytest.mark.parametrize("name", OUTPUTS)
def test_outcome_of_an_output(name: str) -> None:
    output, outcome = OUTPUTS[name]
    assert outcome_of(output) == outcome


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (
            "cut while reasoning",
            "2 of 3 answers of s are empty, cut at the token limit: raise max_tokens.",
        ),
        ("cut", "2 of 3 answers of s are cut at the token limit: raise max_tokens."),
        ("filtered", "2 of 3 answers of s were removed by a content filter."),
        ("refused", "2 of 3 answers of s are refusals of the model."),
        ("empty", "2 of 3 answers of s are empty."),
    ],
)
def test_outcomes_are_reported(
    make_system: Callable[..., Any],
    same: Any,
    tmp_path: Any,
    outcome: str,
    words: str,
) -> None:
    output, expected = OUTPUTS[outcome]
    answered = {"response": "1"}
    system = make_system("s", lambda row: answered if row["question"] == "1" else output)
    path = tmp_path / "run.sqlite"
    result = evaluate(
        system, EXAMPLES, [same], progress=False, run_file=path, on_warning=lambda line: None
    )
    assert words in result.findings
    assert words in " ".join(str(result).split())
    assert words in read_result(path).findings
    outcomes = [row.outcome for row in read_result(path).rows]
    assert sorted(map(str, outcomes)) == sorted(map(str, [None, expected, expected]))


def test_a_complete_run_reports_nothing(make_system: Callable[..., Any], same: Any) -> None:
    result = evaluate(
        make_system("s", lambda row: {"response": "1"}), EXAMPLES, [same], progress=False
    )
    assert not [finding for finding in result.findings if "answers" in finding]


def test_unknown_token_counts_are_reported_with_their_reason(
    make_system: Callable[..., Any], same: Any
) -> None:
    output = {"response": "1", "usage_problem": "the server reports 0 prompt tokens"}
    system = make_system("s", lambda row: output)
    result = evaluate(system, EXAMPLES, [same], progress=False, on_warning=lambda line: None)
    [finding] = [line for line in result.findings if "Token counts" in line]
    assert "3 of 3 answers of s" in finding
    assert "0 prompt tokens" in finding
