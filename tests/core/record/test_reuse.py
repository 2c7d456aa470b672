"""What makes a response reusable in another run, and what does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench import evaluate
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings
from context_bench.session.identity import system_identity
from context_bench.store.keys import example_key, response_key

EXAMPLE = {"id": "a", "question": "q", "answer": "x", "note": "n"}


class One:
    name = "one"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"one": 1.0}


class Counting:
    """A system that counts its calls and tells its parameters."""

    def __init__(self, name: str = "counting", reads: Any = None, **parameters: Any) -> None:
        self.name, self.parameters, self.calls = name, parameters, 0
        self.reads = reads

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        return {"response": example["question"]}

    def fingerprint(self) -> dict[str, Any]:
        return self.parameters


def calls_after(
    folder: Path, second: Counting, example: dict[str, Any], first: Counting, **changes: Any
) -> int:
    evaluate(first, [EXAMPLE], [One()], progress=False, cache_dir=folder)
    evaluate(second, [example], [One()], progress=False, cache_dir=folder, **changes)
    return second.calls


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"max_workers": 4},
        {"row_timeout": 60.0},
        {"requests_per_minute": 1e6},
        {"max_failed": 0.5},
        {"order": "system"},
    ],
    ids=str,
)
def test_how_a_run_is_done_never_misses(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert (
        calls_after(
            tmp_path, Counting("renamed", model="m"), EXAMPLE, Counting(model="m"), **changes
        )
        == 0
    )


@pytest.mark.parametrize(
    ("second", "example"),
    [
        (Counting(model="other"), EXAMPLE),
        (Counting(model="m", seed=1), EXAMPLE),
        (Counting(), EXAMPLE),
        (Counting(model="m"), {**EXAMPLE, "question": "other"}),
        (Counting(model="m"), {**EXAMPLE, "note": None}),
        (Counting(model="m"), {**EXAMPLE, "new": 1}),
    ],
    ids=["value", "further parameter", "fewer parameters", "question", "field", "further field"],
)
def test_what_can_change_an_output_misses(
    tmp_path: Path, second: Counting, example: dict[str, Any]
) -> None:
    assert calls_after(tmp_path, second, example, Counting(model="m")) == 1


def test_only_fields_that_a_system_reads_count(tmp_path: Path) -> None:
    reads = ("question",)
    changed = {**EXAMPLE, "note": "changed"}
    assert calls_after(tmp_path, Counting(reads=reads), changed, Counting(reads=reads)) == 0


def test_a_further_sample_misses_and_the_earlier_ones_do_not(tmp_path: Path) -> None:
    assert calls_after(tmp_path, Counting(), EXAMPLE, Counting(), repeat=3) == 2


def test_failures_are_never_reused(tmp_path: Path) -> None:
    class Broken(Counting):
        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            self.calls += 1
            raise ValueError("no")

    for _ in range(2):
        system = Broken()
        evaluate(system, [EXAMPLE], [One()], progress=False, cache_dir=tmp_path)
        assert system.calls == 1


def test_of_two_runs_with_one_key_the_newest_is_reused(tmp_path: Path) -> None:
    class Changing(Counting):
        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {"response": answers[super().process(example)["response"]]}

    runs = tmp_path / "runs"
    for day, answer in enumerate(["oldest", "older", "newest"], 1):
        answers = {"q": answer}
        evaluate(
            Changing(),
            [EXAMPLE],
            [One()],
            progress=False,
            run_file=runs / f"2026-01-0{day}T000000-r.sqlite",
        )
    answers = {"q": "asked"}
    last = Changing()
    result = evaluate(last, [EXAMPLE], [One()], progress=False, cache_dir=runs)
    assert [row.response for row in result.rows] == ["newest"]
    assert last.calls == 0


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
PARAMETERS = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)


def same(one: Any, other: Any) -> bool:
    """Whether two values are one, where 1, 1.0 and True are three, and so are 0.0 and -0.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


@given(PARAMETERS, PARAMETERS)
def test_keys_are_equal_exactly_when_the_parameters_are(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    first, second = (system_identity(_CATALOG, Counting(p=p), "run", 0)[0] for p in (one, other))
    assert (first == second) == same(one, other)


@given(PARAMETERS, PARAMETERS, st.integers(0, 3), st.integers(0, 3))
def test_response_keys_are_equal_exactly_when_example_and_sample_are(
    one: dict[str, Any], other: dict[str, Any], sample: int, other_sample: int
) -> None:
    first, second = (
        response_key(b"s" * 16, example_key(one), sample),
        response_key(b"s" * 16, example_key(other), other_sample),
    )
    assert (first == second) == (same(one, other) and sample == other_sample)


_CATALOG = discover(PluginSettings.read(environ={}))

NEUTRAL = {
    "name": "shown",
    "timeout": 7.0,
    "api_key": "secret",
}
TELLING = {
    "base_url": "http://127.0.0.1:2",
    "model": "other",
    "layout": "user",
    "system_prompt": "be brief",
    "temperature": 0.5,
    "top_p": 0.5,
    "max_tokens": 5,
    "seed": 3,
    "extra_body": '{"a": 1}',
}


def _endpoint_key(**options: Any) -> bytes:
    openai = pytest.importorskip("context_bench_openai", reason="its options are the case in point")
    system = openai.OpenAIProxy(**{"base_url": "http://127.0.0.1:1", "model": "m", **options})
    return system_identity(_CATALOG, system, "run", 0)[0]


@pytest.mark.parametrize("name", NEUTRAL)
def test_an_endpoint_option_that_cannot_change_an_answer_never_misses(name: str) -> None:
    assert _endpoint_key(**{name: NEUTRAL[name]}) == _endpoint_key()


@pytest.mark.parametrize("name", TELLING)
def test_an_endpoint_option_that_can_change_an_answer_misses(name: str) -> None:
    assert _endpoint_key(**{name: TELLING[name]}) != _endpoint_key()
