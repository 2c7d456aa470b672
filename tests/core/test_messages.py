"""Messages of agents: what they say, and what of them is counted as the prompt."""

from __future__ import annotations

import re
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.messages import as_sent, whole_text

CALL = {"id": "c", "name": "read", "arguments": '{"path": "a.py"}'}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "why does it fail?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "port 8443 is taken"},
    {"role": "tool", "tool_call_id": "c", "content": "port 8443 is taken"},
    {"role": "user", "content": "go on"},
]
REGION = '\n{"path": "a.py"}\n\nport 8443 is taken\n\nport 8443 is taken'


def tokens(*texts: str) -> int:
    return sum(len(re.findall(r"\w+|[^\w\s]", text)) for text in texts)


GIVEN = tokens(
    "why does it fail?", CALL["arguments"], "port 8443 is taken", "port 8443 is taken", "go on"
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"content": "a", "tool_calls": [CALL]}, 'a\n{"path": "a.py"}'),
        (
            {
                "content": None,
                "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
            },
            "\n{}",
        ),
        (
            {
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "tool_use", "input": {"path": "b"}},
                ]
            },
            "a\n{'path': 'b'}",
        ),
        ({"content": [{"type": "tool_result", "content": [{"type": "text", "text": "r"}]}]}, "r"),
        ({"content": "a", "tool_calls": [{"function": "f", "arguments": {}}, "odd"]}, "a\n{}"),
        ({}, ""),
        ({"content": 5}, "5"),
        ({"content": "a", "tool_calls": True}, "a"),
        ({"content": "a", "tool_calls": 1}, "a"),
        ({"content": "a", "tool_calls": ()}, "a"),
    ],
)
def test_what_a_message_says_in_any_form(message: dict[str, Any], expected: str) -> None:
    assert whole_text(message) == expected


class Same:
    name = "same"

    def transform(self, messages: list[Any], tools: list[Any]) -> list[Any]:
        return messages


class Fewer:
    name = "fewer"

    def transform(self, messages: list[Any], tools: list[Any]) -> list[Any]:
        return [messages[0], messages[-1]]


class Text:
    name = "text"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"context": "port 8443"}


@pytest.mark.parametrize("with_context", [True, False], ids=["with its context", "without"])
def test_a_session_is_counted_once_and_as_it_is_sent(with_context: bool) -> None:
    example = {
        "id": "s",
        "messages": MESSAGES,
        "region": [1, 4],
        **({"context": REGION} if with_context else {}),
    }

    class Anything:
        name = "anything"

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {"anything": 1.0}

    result = evaluate([Same(), Fewer(), Text()], [example], [Anything()], progress=False)
    counted = {row.system: (row.input_tokens, row.context_tokens) for row in result.rows}
    ends = tokens("why does it fail?", "go on")
    assert counted == {
        "same": (GIVEN, GIVEN),
        "fewer": (GIVEN, ends),
        "text": (GIVEN, ends + tokens("port 8443")),
    }


@pytest.mark.parametrize(
    "messages",
    ["a text", ["one", "two"], [{"role": "user", "content": "q"}, 5], [{"tool_calls": ["x"]}], []],
)
def test_messages_that_are_none_do_no_harm(messages: Any) -> None:
    example = {"messages": messages, "context": "c", "region": [0, 1]}
    assert as_sent(example, {"response": "r"})["response"] == "r"


def test_a_context_beside_messages_without_a_region_is_counted_too() -> None:
    example = {"messages": [{"role": "user", "content": "q"}], "context": "documents"}
    assert as_sent(example, {}) == example
