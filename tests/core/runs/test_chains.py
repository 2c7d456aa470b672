from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from context_bench import EvalResult, evaluate
from context_bench.errors import ConfigurationError
from context_bench.run.systems import Chain

Make = Callable[..., Any]
EXAMPLE = {"id": "1", "context": "one two three four", "question": "which?", "answer": "one two"}


@pytest.fixture
def half(make_system: Make) -> Any:
    def cut(example: dict[str, Any]) -> dict[str, Any]:
        words = example["context"].split()
        return {"context": " ".join(words[: len(words) // 2]), "note": "cut"}

    return make_system("half", cut, fingerprint=lambda self: {"share": 0.5}, reads=("context",))


@pytest.fixture
def reader(make_system: Make) -> Any:
    return make_system(
        "reader",
        lambda e: {"response": e["context"]},
        fingerprint=lambda self: {},
        reads=("context", "question"),
    )


def run(system: Any, evaluators: list[Any], **options: Any) -> EvalResult:
    return evaluate(system, [EXAMPLE], evaluators, progress=False, **options)


def test_a_reader_sees_what_the_transformer_left_over_and_evaluators_see_both(
    half: Any, reader: Any, same: Any
) -> None:
    [row] = run(Chain([half, reader]), [same]).rows
    assert row.system == "half+reader"
    assert row.output == {"context": "one two", "note": "cut", "response": "one two"}
    assert row.score == 1.0


def test_compression_is_what_goes_on_to_the_model(half: Any, reader: Any, same: Any) -> None:
    pytest.importorskip("context_bench_efficiency", reason="compression is its metric")
    result = run(Chain([half, reader]), [same])
    [row] = result.rows
    assert (row.input_tokens, row.prompt_tokens, row.response_tokens) == (6, 4, 2)
    assert result.summary["half+reader"]["compression_ratio"] == pytest.approx(1 / 3)
    only_context = run(half, [same], text_fields=["context"])
    assert only_context.summary["half"]["compression_ratio"] == 0.5


def test_a_chain_whose_step_breaks_is_one_failed_row(
    half: Any, same: Any, make_system: Make
) -> None:
    [row] = run(Chain([half, make_system("odd", lambda e: "text")], name="c"), [same]).rows
    assert "step odd returned str" in row.errors[0].message


def test_a_chain_has_a_key_when_all_its_steps_have_one(
    half: Any, reader: Any, same: Any, make_system: Make, tmp_path: Any
) -> None:
    for _ in range(2):
        result = run(Chain([half, reader]), [same], cache_dir=tmp_path / "a")
    assert result.rows[0].reused
    keyless = make_system("keyless", lambda e: {"response": "x"})
    for _ in range(2):
        result = run(Chain([half, keyless]), [same], cache_dir=tmp_path / "b")
    assert not result.rows[0].reused


def test_reported_usage_beats_the_count(same: Any, make_system: Make) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "prompt_tokens_details": None,
        "cache_read_tokens": True,
    }
    [row] = run(make_system("s", lambda e: {"response": "x", "usage": usage}), [same]).rows
    assert (row.prompt_tokens, row.response_tokens) == (100, 7)
    assert row.usage is not None
    assert row.usage.to_dict() == {"input_tokens": 100, "output_tokens": 7}


def test_what_a_system_measures_of_its_call_is_kept_apart_from_its_output(
    same: Any, make_system: Make
) -> None:
    told = {
        "response": "x",
        "latency": 1.5,
        "attempts": 3,
        "headers": {"x-ratio": "2"},
        "ttft": 0.25,
    }
    [row] = run(make_system("s", lambda e: told), [same]).rows
    assert row.output == {"response": "x"}
    assert row.latency == 1.5
    assert row.attempts == 3
    assert row.metadata == {"headers": {"x-ratio": "2"}, "ttft": 0.25}


def test_a_reader_needs_a_transformer_to_follow(same: Any) -> None:
    pytest.importorskip("context_bench_replay", reason="a system that is no transformer is needed")
    with pytest.raises(ConfigurationError, match="none of the systems is a context transformer"):
        evaluate("replay", [EXAMPLE], [same], reader="replay", progress=False)


@pytest.mark.parametrize(
    ("system", "reader", "told"),
    [
        pytest.param("echo", 5, "reader is 5, but must name a system", id="a number"),
        pytest.param(
            "echo",
            lambda example: "x",
            r"reader is <function .*, but must name a system",
            id="a function",
        ),
        pytest.param(
            lambda example: "x",
            "echo",
            "The reader echo follows no system",
            id="behind a function",
        ),
    ],
)
def test_what_cannot_read_is_refused(system: Any, reader: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        evaluate(
            [system],
            [{"id": "1", "context": "c", "answer": "x"}],
            [],
            reader=reader,
            progress=False,
        )
