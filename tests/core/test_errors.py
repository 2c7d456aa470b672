"""Errors carry a short stable code and the data of their message."""

from __future__ import annotations

import pytest

from context_bench import errors
from context_bench.errors import (
    BadValueError,
    ContextBenchError,
    ExclusiveOptionsError,
    MissingValueError,
    UnknownNameError,
    UnusedOptionError,
    did_you_mean,
)

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, ContextBenchError)
]


def test_every_class_of_error_has_its_own_code() -> None:
    codes = [error.code for error in CLASSES]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize(
    ("error", "code", "data"),
    [
        (UnknownNameError("system", "bm2", ["bm25", "openai"]), "unknown-name", ["bm2", "bm25"]),
        (BadValueError("--limit", "a positive integer", 0), "bad-value", ["--limit", "0"]),
        (MissingValueError("dataset", "Pass --dataset NAME."), "missing-value", ["--dataset"]),
        (
            ExclusiveOptionsError("--sample", "--ids"),
            "exclusive-options",
            ["--sample", "--ids"],
        ),
        (UnusedOptionError("--seed 3", "--sample"), "unused-option", ["--seed 3", "--sample"]),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_message_holds_its_data(error: ContextBenchError, code: str, data: list[str]) -> None:
    assert (error.code, error.exit_code) == (code, 2)
    for part in data:
        assert part in str(error)


def test_a_suggestion_shares_the_first_letter_or_most_letters() -> None:
    many = [f"name-{number}" for number in range(13)]
    assert "'rogue'" in did_you_mean("roguf", ["rogue"])
    assert "'rogue'" in did_you_mean("xogue", ["rogue"])
    assert "Did you mean" not in did_you_mean("nope", ["openai", "bm25"])
    assert did_you_mean("zzz", many) == ""
    assert "bm25, openai" in did_you_mean("zzz", ["bm25", "openai"])
