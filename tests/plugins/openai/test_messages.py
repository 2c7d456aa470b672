from __future__ import annotations

from typing import Any

import pytest

from context_bench_openai import OpenAIProxy

EXAMPLE = {"context": "Rome is in Italy.", "question": "Where is Rome?"}


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]] = {
    "context and question": (
        {},
        EXAMPLE,
        [{"role": "system", "content": "Rome is in Italy."}, _user("Where is Rome?")],
    ),
    "a system prompt stands first": (
        {"system_prompt": "Be brief."},
        EXAMPLE,
        [
            {"role": "system", "content": "Be brief."},
            {"role": "system", "content": "Rome is in Italy."},
            _user("Where is Rome?"),
        ],
    ),
    "a salt is a line in front of the first message": (
        {"system_prompt": "Be brief.", "cache_salt": "[a b]"},
        EXAMPLE,
        [
            {"role": "system", "content": "[a b]\nBe brief."},
            {"role": "system", "content": "Rome is in Italy."},
            _user("Where is Rome?"),
        ],
    ),
    "a salt in front of a message of parts": (
        {
            "cache_salt": "[a b]",
            "build_messages": lambda example: [
                {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
            ],
        },
        EXAMPLE,
        [
            {
                "role": "user",
                "content": [{"type": "text", "text": "[a b]\n"}, {"type": "text", "text": "Hi"}],
            }
        ],
    ),
    "context only": ({}, {"context": "Say hi."}, [_user("Say hi.")]),
    "context only, whatever the layout": (
        {"layout": "tool"},
        {"context": "Say hi."},
        [_user("Say hi.")],
    ),
    "question only": ({}, {"question": "Why?"}, [_user("Why?")]),
    "blank context": ({}, {"context": " ", "question": "Why?"}, [_user("Why?")]),
    "a question that is its context is sent once": (
        {},
        {"context": "Why?", "question": "Why? "},
        [_user("Why?")],
    ),
    "messages alone are sent as they are": (
        {},
        {"messages": [_user("Hi."), _user("Ho.")]},
        [_user("Hi."), _user("Ho.")],
    ),
    "messages alone, whatever the layout": (
        {"layout": "tool", "system_prompt": "Be brief."},
        {"messages": [_user("Hi.")], "context": " "},
        [{"role": "system", "content": "Be brief."}, _user("Hi.")],
    ),
    "messages beside a question": (
        {},
        {"messages": [_user("Hi.")], "question": "Why?"},
        [_user("Why?")],
    ),
    "several contexts": (
        {"layout": "user"},
        {"context": ["One.", "Two."], "question": "Three?"},
        [_user("One.\n\nTwo.\n\nThree?")],
    ),
    "layout user": ({"layout": "user"}, EXAMPLE, [_user("Rome is in Italy.\n\nWhere is Rome?")]),
    "layout tool": (
        {"layout": "tool"},
        EXAMPLE,
        [
            _user("Where is Rome?"),
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": "call_context",
                        "type": "function",
                        "function": {"name": "read_context", "arguments": "{}"},
                    }
                ],
                "content": None,
            },
            {"role": "tool", "tool_call_id": "call_context", "content": "Rome is in Italy."},
        ],
    ),
    "layout chat": (
        {"layout": "chat"},
        EXAMPLE,
        [
            _user("Rome is in Italy."),
            {"role": "assistant", "content": "I have read it. What is your question?"},
            _user("Where is Rome?"),
        ],
    ),
    "turns": (
        {"system_prompt": "Be brief."},
        {
            **EXAMPLE,
            "turns": [_user("Hi"), {"role": "assistant", "content": "Hello"}, _user("Bye")],
        },
        [
            {"role": "system", "content": "Be brief."},
            _user("Hi"),
            {"role": "assistant", "content": "Hello"},
            _user("Bye"),
        ],
    ),
    "turns that are text": ({}, {"turns": ["Hi", "Bye"]}, [_user("Hi"), _user("Bye")]),
    "own messages": (
        {
            "build_messages": lambda example: [_user(example["question"].upper())],
            "system_prompt": "unused",
        },
        EXAMPLE,
        [_user("WHERE IS ROME?")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_example_becomes_the_documented_messages(case: str, server: Any, ask: Any) -> None:
    options, example, messages = CASES[case]
    ask(OpenAIProxy(server.url, **options), example)
    assert server.requests[0].body["messages"] == messages


@pytest.mark.parametrize(("question", "is_sent"), [(None, True), ("Why?", False)])
def test_tools_go_with_the_messages_that_are_sent(
    question: str | None, is_sent: bool, server: Any
) -> None:
    tool = {"type": "function", "function": {"name": "read", "parameters": {}}}
    OpenAIProxy(server.url).process(
        {"messages": [_user("Hi.")], "tools": [tool], "question": question}
    )
    assert server.requests[0].body.get("tools") == ([tool] if is_sent else None)


@pytest.mark.parametrize("layout", ["system", "user", "tool", "chat"])
def test_every_layout_sends_the_same_texts(layout: str, server: Any) -> None:
    OpenAIProxy(server.url, layout=layout).process(EXAMPLE)
    sent = str(server.requests[0].body["messages"])
    assert sent.count("Rome is in Italy.") == 1
    assert sent.count("Where is Rome?") == 1


def test_the_request_holds_model_and_parameters_and_nothing_unset(server: Any) -> None:
    system = OpenAIProxy(
        server.url,
        model="m",
        temperature=0.0,
        max_tokens=5,
        seed=7,
        extra_body={"cache_prompt": False, "top_k": 1},
    )
    system.process({"context": "x"})
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].body == {
        "model": "m",
        "messages": [_user("x")],
        "temperature": 0.0,
        "max_tokens": 5,
        "seed": 7,
        "cache_prompt": False,
        "top_k": 1,
    }


def test_the_extra_body_may_be_json_text(server: Any) -> None:
    OpenAIProxy(server.url, extra_body='{"top_k": 1}').process({"context": "x"})
    assert server.requests[0].body["top_k"] == 1


@pytest.mark.parametrize("field", ["messages", "model", "stream"])
def test_the_extra_body_cannot_replace_what_is_measured(field: str) -> None:
    with pytest.raises(ValueError, match=f"extra_body may not hold '{field}'"):
        OpenAIProxy("http://host", extra_body={field: "x"})


BAD_ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown layout": (
        {"layout": "sytem"},
        "No layout is called 'sytem'. There is: system, user, tool, chat, messages.",
    ),
    "no model": ({"model": ""}, "model must be the name of a model"),
    "broken JSON": ({"extra_body": "{"}, "extra_body is no JSON object"),
    "JSON list": ({"extra_body": "[]"}, "extra_body must be a mapping"),
    "a timeout that no socket holds": (
        {"timeout": 1e300},
        "timeout must be seconds above 0 and up to 86,400",
    ),
    "zero timeout": ({"timeout": 0}, "timeout must be seconds above 0"),
    "half a header": ({"extra_headers": ["x-thing"]}, "A request header is written 'name: value'"),
    "key with a line break": ({"api_key": "sk-a\nb"}, "copied with a line break"),
    "key beside a user name": (
        {"base_url": "http://u:p@host", "api_key": "sk"},
        "Give an api_key or a user name",
    ),
    "odd failure header": (
        {"failure_headers": ["x y"]},
        "A failure header is 'name' or 'name=value'",
    ),
    "messages that cannot be made": ({"build_messages": "no"}, "build_messages must be a function"),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_a_wrong_argument_is_named_at_once(case: str) -> None:
    options, message = BAD_ARGUMENTS[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        OpenAIProxy(**{"base_url": "http://host", **options})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "example", [{}, {"context": None, "question": ""}, {"context": "  ", "turns": []}]
)
def test_an_example_with_nothing_to_ask_is_refused_without_a_call(
    example: dict[str, Any], server: Any
) -> None:
    with pytest.raises(ValueError, match="There is nothing to ask"):
        OpenAIProxy(server.url).process(example)
    assert server.requests == []


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ("Hi", "must be a list of turns, not str"),
        ([3], r"turns\[0\] must be text"),
        ([{"role": "user"}], r"turns\[0\]"),
    ],
)
def test_malformed_turns_are_refused(turns: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OpenAIProxy("http://host").process({"turns": turns})


def test_own_messages_must_be_a_list_of_messages(server: Any) -> None:
    with pytest.raises(TypeError, match="build_messages must return a list of messages, not str"):
        OpenAIProxy(server.url, build_messages=lambda example: "Hi").process({})  # type: ignore[arg-type, return-value]


def test_asking_does_not_change_the_example(server: Any) -> None:
    example = {"turns": [_user("Hi")], "multi_turn": True, "context": ["a"], "question": "b"}
    before = repr(example)
    output = OpenAIProxy(server.url).process(example)
    output["headers"]["x"] = "y"
    assert repr(example) == before


@pytest.mark.parametrize(
    "text",
    ["plain", "naïve 中文 🎈", 'quote " backslash \\ \x00 \u2028', "lone \ud800 surrogate", "שלום"],
    ids=["ascii", "unicode", "control characters", "lone surrogate", "right to left"],
)
def test_any_text_arrives_as_it_is(text: str, server: Any) -> None:
    OpenAIProxy(server.url).process({"context": text})
    assert server.requests[0].body["messages"][0]["content"] == text
