"""Options whose values are arguments of a program, and options that a component does not declare."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import BadValueError, ConfigurationError, UnknownNameError
from context_bench.plugins.component import Component, Distribution
from context_bench.plugins.manifest import SystemManifest
from context_bench.plugins.options import Option, read_options
from context_bench.redaction import is_redacted, without_secrets

WORDS = {"run": Option("run", "words")}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("python tool.py --x", ["python", "tool.py", "--x"]),
        ("tool 'two words' \"{question}\"", ["tool", "two words", "{question}"]),
        (
            "tool $HOME `id` ; rm * | cat # no comment",
            ["tool", "$HOME", "`id`", ";", "rm", "*", "|", "cat", "#", "no", "comment"],
        ),
        (["tool", "two words"], ["tool", "two words"]),
        ("", []),
    ],
)
def test_words_are_split_at_white_space_outside_of_quotes_and_never_expanded(
    given: Any, words: list[str]
) -> None:
    assert read_options(WORDS, {"run": given}, "system x") == {"run": words}


@pytest.mark.parametrize("given", ["tool 'open", ["tool", 3], 7])
def test_words_that_are_not_valid_are_refused(given: Any) -> None:
    with pytest.raises(BadValueError):
        read_options(WORDS, {"run": given}, "system x")


TYPED = [
    ("str", "a", "a"),
    ("str", 5, "5"),
    ("int", "1_000", 1000),
    ("int", 7, 7),
    ("float", "0.5", 0.5),
    ("float", 1, 1.0),
    ("bool", "on", True),
    ("bool", False, False),
    ("path", Path("a"), "a"),
    ("list", "1/0.5/a", [1, 0.5, "a"]),
    ("list", 3, [3]),
    ("tables", {"a": date(2026, 1, 2)}, [{"a": "2026-01-02"}]),
]


@pytest.mark.parametrize(("name", "given", "value"), TYPED)
def test_a_text_and_a_value_of_a_type_are_read(name: str, given: Any, value: Any) -> None:
    assert read_options({"x": Option("x", name)}, {"x": given}, "system x") == {"x": value}


WRONG = [
    ("str", True),
    ("int", "1.5"),
    ("int", 1.5),
    ("int", True),
    ("float", "nan"),
    ("float", float("inf")),
    ("float", "1e999"),
    ("float", True),
    ("bool", "maybe"),
    ("bool", 1),
    ("path", 5),
    ("list", {"a": 1}),
    ("tables", 3),
]


@pytest.mark.parametrize(("name", "given"), WRONG)
def test_a_value_of_another_type_is_refused_and_a_secret_is_not_shown(
    name: str, given: Any
) -> None:
    with pytest.raises(BadValueError) as raised:
        read_options({"x": Option("x", name, secret=True)}, {"x": given}, "system x")
    assert (raised.value.code, raised.value.value) == ("bad-value", "***")


def test_a_required_option_that_is_missing_is_an_error_with_its_name_and_help() -> None:
    declared = {"path": Option("path", required=True, help="A folder.")}
    with pytest.raises(ConfigurationError, match=r"path: A folder\."):
        read_options(declared, {}, "dataset x")


def test_an_undeclared_option_is_refused_unless_the_manifest_takes_extra_options() -> None:
    with pytest.raises(UnknownNameError):
        read_options({}, {"top_k": "3"}, "system x")
    assert read_options({}, {"top-k": "3", "filter": {"a": 1}}, "system x", accepts_any=True) == {
        "top_k": "3",
        "filter": {"a": 1},
    }


def test_an_undeclared_option_that_is_called_like_a_secret_is_not_kept() -> None:
    manifest = SystemManifest(
        name="x", options={"max_token": Option("max_token", secret=False)}, extra_options=True
    )
    component = Component("systems", "x", Distribution("d", "1"), "d:X", manifest, True)
    kept = without_secrets(
        [component],
        {
            "api_key": "sk-1",
            "max_token": "7",
            "key": "id",
            "deep": {"api-key": "sk-2", "k": 1, 2: "two"},
            "urls": ["http://u:p@host/"],
        },
    )
    assert kept == {
        "api_key": "***",
        "max_token": "7",
        "key": "***",
        "deep": {"api-key": "***", "k": 1, 2: "two"},
        "urls": ["http://***@host/"],
    }
    assert is_redacted(kept["deep"])
    assert is_redacted(kept["urls"])
