"""Options whose values are arguments of a program, and options that a component does not declare."""

from __future__ import annotations

from typing import Any

import pytest

from context_bench.errors import ConfigurationError, UnknownNameError
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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("tool 'open", "no closing quotation"),
        (["tool", 3], "must be a list of texts"),
        (7, "must be a list of texts"),
    ],
)
def test_words_that_are_none_are_told_in_one_line(given: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        read_options(WORDS, {"run": given}, "system x")


@pytest.mark.parametrize("said", ["A folder.", "A folder", ""])
def test_an_option_that_is_missing_is_told_in_whole_sentences(said: str) -> None:
    declared = {"path": Option("path", required=True, help=said)}
    with pytest.raises(
        ConfigurationError,
        match=rf"needs path: {said.rstrip('.') or 'it has no default'}\. Give it\.",
    ):
        read_options(declared, {}, "dataset x")


@pytest.mark.parametrize("given", ["nan", float("nan"), "NaN", "inf", float("-inf"), "1e999"])
def test_a_number_that_is_none_or_infinite_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"share must be a finite number"):
        read_options({"share": Option("share", "float")}, {"share": given}, "system x")


def test_an_undeclared_option_is_refused_unless_the_manifest_takes_extra_options() -> None:
    with pytest.raises(UnknownNameError):
        read_options({}, {"top_k": "3"}, "system x")
    assert read_options({}, {"top-k": "3", "filter": {"a": 1}}, "system x", more=True) == {
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
