from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from context_bench_openai import OpenAIProxy

BASE: dict[str, Any] = {"base_url": "http://host:1", "model": "m", "api_key": ""}
ADDRESS = "somewhere"


def _fingerprint(**changes: Any) -> str:
    return json.dumps(
        OpenAIProxy(**{**BASE, **changes}).fingerprint(), sort_keys=True, allow_nan=False
    )


CHANGES: dict[str, dict[str, Any]] = {
    "endpoint": {"base_url": "http://host:2"},
    "path": {"base_url": "http://host:1/team"},
    "API version": {"base_url": "http://host:1?api-version=2"},
    "model": {"model": "n"},
    "system prompt": {"system_prompt": "Be brief."},
    "layout": {"layout": "tool"},
    "temperature": {"temperature": 0.0},
    "top_p": {"top_p": 0.5},
    "max_tokens": {"max_tokens": 5},
    "seed": {"seed": 1},
    "stream": {"stream": True},
    "extra body": {"extra_body": {"cache_prompt": False}},
    "extra header": {"extra_headers": {"x-compress": "hard"}},
    "failure headers": {"failure_headers": []},
    "cache salt": {"cache_salt": "[a b c]"},
    "own messages": {"build_messages": lambda example: []},
}


@pytest.mark.parametrize("case", CHANGES)
def test_whatever_can_change_an_answer_changes_the_fingerprint(case: str) -> None:
    assert _fingerprint(**CHANGES[case]) != _fingerprint()


SAME: dict[str, dict[str, Any]] = {
    "display name": {"name": "kompact"},
    "key": {"api_key": "sk-secret-123"},
    "timeout": {"timeout": 1.0},
    "the base URL in another spelling": {"base_url": "HTTP://host:1/v1/"},
    "credentials in the base URL": {"base_url": "http://me:s3cret@host:1"},
    "an unset parameter": {"temperature": None, "extra_body": "{}"},
}


@pytest.mark.parametrize("case", SAME)
def test_what_cannot_change_an_answer_is_not_in_the_fingerprint(case: str) -> None:
    assert _fingerprint(**SAME[case]) == _fingerprint()


def test_no_secret_is_in_the_fingerprint() -> None:
    shown = _fingerprint(
        base_url="https://me:s3cret-a@host/v1?key=s3cret-b",
        api_key=None,
        extra_headers={
            "x-api-key": "s3cret-c",
            "authorization": "Bearer s3cret-d",
            "x-mode": "s3cret-e",
            "x-api-version": "2024-10-21",
        },
    )
    assert "s3cret" not in shown
    assert '"x-api-version": "2024-10-21"' in shown
    assert '"x-mode": "sha256:' in shown


def _shout(example: Any) -> list[dict[str, str]]:
    return [{"role": "user", "content": example["question"].upper()}]


def _shout_again(example: Any) -> list[dict[str, str]]:
    return [{"role": "user", "content": example["question"].upper()}]


def _ask_politely(please: str) -> Callable[[Any], list[dict[str, str]]]:
    return lambda example: [{"role": "user", "content": please + example["question"]}]


class Template:
    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, example: Any) -> list[dict[str, str]]:
        return [{"role": "user", "content": self.text}]


def _to_the_address(example: Any) -> list[dict[str, str]]:
    return [{"role": "user", "content": ADDRESS}]


def test_own_messages_are_known_by_their_code_and_what_they_captured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def of(builder: Any) -> str:
        return _fingerprint(build_messages=builder)

    assert of(_shout) == of(_shout)
    assert of(_ask_politely("Please: ")) == of(_ask_politely("Please: "))
    assert of(_ask_politely("Please: ")) != of(_ask_politely("Now: "))
    assert of(Template("a")) == of(Template("a"))
    assert of(Template("a")) != of(Template("b"))
    assert of(lambda example: ["a"]) != of(lambda example: ["b"])
    before = of(_to_the_address)
    monkeypatch.setitem(globals(), "ADDRESS", "elsewhere")
    assert of(_to_the_address) != before


def test_a_version_on_own_messages_counts() -> None:
    before = _fingerprint(build_messages=_shout_again)
    _shout_again.version = "2"  # type: ignore[attr-defined]
    assert _fingerprint(build_messages=_shout_again) != before


def test_the_fingerprint_is_the_same_in_another_process() -> None:
    import subprocess
    import sys

    program = (
        "from context_bench_openai import OpenAIProxy; import json;"
        "f = lambda example: [{'role': 'user', 'content': example['question'] in {'a', 'b', 'c'}}];"
        "print(json.dumps(OpenAIProxy('http://host', api_key='', build_messages=f).fingerprint()))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def test_a_system_reads_what_its_layouts_use_and_everything_when_messages_are_made_elsewhere() -> (
    None
):
    asked = (
        *("context", "question", "instruction", "context_role", "shots"),
        *("sessions", "haystack_sessions", "turns", "multi_turn"),
    )
    assert OpenAIProxy(**BASE).reads == (
        *asked,
        "messages",
        "raw_messages",
        "dialect",
        "tools",
        "region",
    )
    assert OpenAIProxy(**BASE, prompt_template="{question}: {hint}").reads == (*asked, "hint")
    assert OpenAIProxy(**BASE, build_messages=_shout).reads is None
