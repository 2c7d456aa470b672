from __future__ import annotations

import doctest
import json
from typing import Any

import pytest

from context_bench import redaction
from context_bench.redaction import (
    Redactor,
    bad_value,
    secret_values,
    secrets_in,
    secrets_of_url,
    without_secrets,
)


def test_the_examples_in_the_module_hold() -> None:
    assert doctest.testmod(redaction).failed == 0


@pytest.mark.parametrize("word", ["EMPTY", "none", "ollama", "not-needed", "token", "12345678"])
def test_a_key_that_is_an_ordinary_word_does_not_change_an_answer(word: str) -> None:
    hiding = Redactor([word])
    answer = {"response": f"it is {word}", "usage": {"input_tokens": 12345678}, word: [word]}
    assert hiding.of_answer(answer) == answer
    assert not hiding.contains_secret(f'"{word}"')
    assert word not in hiding.of(f"bad key {word}")


@pytest.mark.parametrize("secret", ["sk-7f3a9c", "correct-horse-battery", "hunter2hunter2"])
def test_a_key_that_nobody_writes_by_chance_is_taken_out_of_an_answer(secret: str) -> None:
    assert Redactor([secret]).of_answer({"a": [f"x{secret}y", {secret: 1}]}) == {
        "a": ["x***y", {"***": 1}]
    }


def test_numbers_are_not_touched() -> None:
    assert Redactor(["1234"]).of_all({"ttft": 0.1234, "n": 1234, "text": "1234"}) == {
        "ttft": 0.1234,
        "n": 1234,
        "text": "***",
    }


def test_without_secrets_nothing_is_looked_for() -> None:
    assert not Redactor(["abc", ""])
    value = {"a": "abc"}
    assert Redactor().of_all(value) is value


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("key", ["key"]),
        (" ", []),
        (7, ["7"]),
        (True, []),
        ({"Authorization": "Bearer abc"}, ["Authorization: Bearer abc", "Bearer abc", "abc"]),
        (["X-Team: research", "Cookie: a=b"], ["X-Team: research", "Cookie: a=b", "a=b"]),
    ],
    ids=repr,
)
def test_the_secrets_in_an_option(value: Any, found: list[str]) -> None:
    assert list(secrets_in(value)) == found


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://host/v1", []),
        ("https://token@host", ["token:", "token"]),
        ("https://sk-1234567:x@host", ["sk-1234567:x", "x", "sk-1234567"]),
        ("https://a:b%40c@host", ["a:b@c", "b@c"]),
        ("https://host?page=2&sig=xyz&api_key=k", ["xyz", "k"]),
        ("https://[", []),
    ],
)
def test_the_secrets_in_an_address(url: str, found: list[str]) -> None:
    assert list(secrets_of_url(url)) == found


def test_prose_and_addresses_of_people_are_no_addresses_with_secrets() -> None:
    options = {
        "system_prompt": "Ask who: me@host.org? a=b&key=c",
        "contact": "jane.doe1985@host.org",
        "path": "a:b",
    }
    assert list(secret_values([], options)) == []
    assert list(secret_values([], {"base_url": "user:pass-word@host/v1"})) == [
        "user:pass-word",
        "pass-word",
    ]


KEY = "sk-live-0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_key", [KEY]),
        ("context-bench.toml: systems.openai.api-key", {"nested": KEY}),
        ("--judge-api-key", KEY),
        ("options", {"openai": {"api_key": KEY}}),
        ("systems[0]", [{"headers": {"authorization": KEY}}]),
        ("extra_body", json.dumps({"api_key": KEY, "temperature": 0})),
    ],
)
def test_an_error_about_a_value_holds_no_secret(name: str, value: object) -> None:
    error = str(bad_value(name, "a text", value))
    assert KEY not in error
    assert "***" in error
    assert name in error


def test_secrets_in_further_request_fields_are_found_in_their_json() -> None:
    body = json.dumps({"api_key": KEY, "user": "team", "temperature": 0})
    kept = without_secrets((), {"extra_body": body})
    assert json.loads(kept["extra_body"]) == {"api_key": "***", "user": "team", "temperature": 0}
    assert set(secret_values((), {"extra_body": body})) == {KEY}
    plain = json.dumps({"temperature": 0})
    assert without_secrets((), {"extra_body": plain}) == {"extra_body": plain}


@pytest.mark.parametrize(
    "headers",
    [
        ["X-Team: research"],
        ["Content-Type: application/json", "X-Team: research"],
        ["Content-Type: a/X-Team: research"],  # a list as it is written on the command line
        {"user-agent": "me/1.0", "x-tenant": "blue"},
        "X-Team: research",
        ["no header"],
        [],
    ],
    ids=repr,
)
def test_values_of_headers_are_secret(headers: Any) -> None:
    assert without_secrets((), {"extra_headers": headers}) == {"extra_headers": "***"}


def test_what_a_header_of_any_name_says_is_taken_out_of_texts() -> None:
    hide = Redactor(secret_values((), {"extra_headers": [f"X-Team: {KEY}"]})).of_answer
    assert hide(f"team {KEY}") == "team ***"


@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Type: application/json; charset=utf-8", "User-Agent: me/1.0"],
        {"anthropic-beta": "tools-2024-05-16"},
        "api-version: 2024-10-21",
    ],
    ids=repr,
)
def test_harmless_headers_are_kept_so_that_a_run_resumes(headers: Any) -> None:
    assert without_secrets((), {"extra_headers": headers}) == {"extra_headers": headers}
    assert list(secret_values((), {"extra_headers": headers})) == []


def test_a_secret_of_the_environment_is_one_in_every_option(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TEAM_TOKEN", KEY)
    monkeypatch.setenv("TEAM_NAME", "research-department-7")
    monkeypatch.setenv("SHORT_TOKEN", "blue")
    body = {"user": f"me {KEY}", "tags": [KEY], "team": "research-department-7 blue"}
    options = {"extra_body": json.dumps(body), "system_prompt": f"Say {KEY}.", "deep": {"a": body}}
    kept = without_secrets((), options)
    assert KEY not in json.dumps(kept)
    assert json.loads(kept["extra_body"]) == {
        "user": "me ***",
        "tags": ["***"],
        "team": "research-department-7 blue",
    }
    assert set(secret_values((), options)) == {KEY}


def test_the_folder_of_a_shell_is_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", "/home/me/project-7")
    monkeypatch.setenv("OLDPWD", "/home/me/project-6")
    monkeypatch.setenv("MY_PWD", KEY)
    options = {"command": "/home/me/project-7/run /home/me/project-6"}
    assert without_secrets((), options) == options
    assert without_secrets((), {"command": f"run {KEY}"}) == {"command": "run ***"}


@pytest.mark.parametrize("as_text", [True, False])
def test_what_nobody_writes_by_chance_is_secret_among_further_fields(as_text: bool) -> None:
    body = {"metadata": {"customer": "s3cret-value"}, "list": ["abcdefghijklmnopqrst"]}
    harmless = {"user": "team", "model_name": "m-2024-01-01", "order": ["deepinfra"], "n": 8}
    given = {**body, **harmless}
    option = {"extra_body": json.dumps(given) if as_text else given}
    kept = without_secrets((), option)["extra_body"]
    stored = json.loads(kept) if as_text else kept
    assert stored == {"metadata": {"customer": "***"}, "list": ["***"], **harmless}
    assert set(secret_values((), option)) == {"s3cret-value", "abcdefghijklmnopqrst"}
