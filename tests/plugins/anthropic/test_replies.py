"""What is asked and what becomes of the answer: layouts, caching, usage, thinking, tools, streams, conversations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from context_bench import evaluate
from context_bench_anthropic import AnthropicProxy, MessagesClient
from context_bench_openai import (
    EndpointUnreachableError,
    EndpointURLError,
    ServerFailedError,
    UnusableReplyError,
)

Ask = Callable[[Any, Mapping[str, Any]], dict[str, Any]]
CONTEXT, QUESTION = "Rome is in Italy.", "Where is Rome?"
EXAMPLE = {"context": CONTEXT, "question": QUESTION, "answer": "Italy"}


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def proxy(server: Any, **options: Any) -> AnthropicProxy:
    return AnthropicProxy(server.url, **{"model": "m", **options})


CALL = {"type": "tool_use", "id": "call_context", "name": "read_context", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "call_context", "content": [text(CONTEXT)]}
READ = text("I have read it. What is your question?")
EPHEMERAL = {"type": "ephemeral"}
LAYOUTS: dict[str, tuple[Any, list[Any]]] = {
    "system": ([text(CONTEXT)], [user(text(QUESTION))]),
    "user": (None, [user(text(f"{CONTEXT}\n\n"), text(QUESTION))]),
    "tool": (None, [user(text(QUESTION)), {"role": "assistant", "content": [CALL]}, user(RESULT)]),
    "chat": (
        None,
        [user(text(CONTEXT)), {"role": "assistant", "content": [READ]}, user(text(QUESTION))],
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_says_where_the_context_stands(server: Any, ask: Ask, layout: str) -> None:
    ask(proxy(server, layout=layout), EXAMPLE)
    body = server.requests[0].body
    assert (body.get("system"), body["messages"]) == LAYOUTS[layout]
    assert "Italy" not in json.dumps(body).replace(CONTEXT, "")
    assert (body["model"], body["max_tokens"]) == ("m", 4096)
    assert ("tools" in body) == (layout == "tool")
    if layout == "tool":
        assert [tool["name"] for tool in body["tools"]] == ["read_context"]
        assert body["tool_choice"] == {"type": "none"}


def test_messages_alone_are_sent_as_they_are(server: Any) -> None:
    told = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi."}]
    proxy(server).process({"messages": told, "tools": [{"name": "read", "input_schema": {}}]})
    body = server.requests[0].body
    assert body["system"] == [text("Be brief.")]
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert [tool["name"] for tool in body["tools"]] == ["read"]


def test_the_system_prompt_stands_before_the_context(server: Any) -> None:
    proxy(server, system_prompt="Be short.").process(EXAMPLE)
    assert server.requests[0].body["system"] == [text("Be short."), text(CONTEXT)]


@pytest.mark.parametrize(
    ("layout", "where", "marked"),
    [
        ("system", "prefix", ["system", 0]),
        ("user", "prefix", ["messages", 0, "content", 0]),
        ("chat", "prefix", ["messages", 1, "content", 0]),
        ("system", "all", ["messages", 0, "content", 0]),
        ("tool", "all", ["messages", 2, "content", 0]),
    ],
)
def test_a_breakpoint_stands_where_it_is_asked_for_and_nowhere_else(
    server: Any, layout: str, where: str, marked: list[Any]
) -> None:
    proxy(server, layout=layout, cache_control=where, cache_ttl="1h").process(EXAMPLE)
    body = server.requests[0].body
    block: Any = body
    for step in marked:
        block = block[step]
    assert block["cache_control"] == {**EPHEMERAL, "ttl": "1h"}
    assert json.dumps(body).count("cache_control") == 1


def test_what_is_sent_beside_the_prompt(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-env")
    system = proxy(
        server, temperature=0, top_p=0.9, top_k=4, max_tokens=50, thinking_budget=1024, extra_headers=["anthropic-beta: x"],
        extra_body='{"metadata": {"user_id": "u"}}',
    )  # fmt: skip
    system.process(EXAMPLE)
    [request] = server.requests
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == "sk-ant-env"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert request.headers["anthropic-beta"] == "x"
    assert "authorization" not in request.headers
    sent = {
        name: value for name, value in request.body.items() if name not in ("messages", "system")
    }
    assert sent == {
        "model": "m", "max_tokens": 50, "temperature": 0, "top_p": 0.9, "top_k": 4,
        "thinking": {"type": "enabled", "budget_tokens": 1024}, "metadata": {"user_id": "u"},
    }  # fmt: skip


def test_a_row_holds_the_answer_and_what_was_measured(server: Any, steps: Any, ask: Ask) -> None:
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 900,
        "output_tokens": 5,
        "service_tier": "standard",
    }
    headers = {
        "request-id": "req_1",
        "x-kompact-tokens-saved": "29",
        "set-cookie": "a=b",
        "anthropic-organization-id": "org",
    }
    server.play(steps.ok("It", "aly", headers=headers, usage=usage))
    found = ask(proxy(server), EXAMPLE)
    assert found.pop("latency") > 0
    assert found == {
        "response": "Italy",
        "usage": {
            "input_tokens": 1003,
            "output_tokens": 5,
            "cache_read_tokens": 900,
            "cache_write_tokens": 100,
        },
        "finish_reason": "end_turn",
        "model": "served",
        "headers": {"request-id": "req_1", "x-kompact-tokens-saved": "29"},
    }


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"content": [], "stop_reason": "end_turn"}, {"response": "", "finish_reason": "end_turn"}),
        ({"stop_reason": "max_tokens"}, {"response": "fine", "finish_reason": "max_tokens"}),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "redacted_thinking", "data": "x"},
                    text("Italy"),
                ]
            },
            {"response": "Italy", "reasoning": "Hm."},
        ),
        (
            {
                "content": [text("Let me see."), {"type": "tool_use", "id": "t1", "name": "find", "input": {"q": "Rome"}}],
                "stop_reason": "tool_use",
            },
            {
                "response": "Let me see.", "finish_reason": "tool_use",
                "tool_calls": [{"id": "t1", "name": "find", "arguments": '{"q": "Rome"}'}],
            },
        ),
        ({"content": [], "stop_reason": "refusal"}, {"response": "", "refusal": "the model refused to answer"}),
        ({"usage": None}, {"usage": {}}),
        ({"usage": {"input_tokens": "many", "output_tokens": True}}, {"usage": {}}),
    ],
    ids=["empty content", "cut off", "thinking", "tool use", "refusal", "no usage", "odd usage"],
)  # fmt: skip
def test_special_replies(
    server: Any, steps: Any, ask: Ask, message: dict[str, Any], expected: dict[str, Any]
) -> None:
    server.play(steps.ok(**message))
    found = ask(proxy(server), EXAMPLE)
    assert {name: found.get(name) for name in expected} == expected


START = {
    "type": "message_start",
    "message": {
        "type": "message", "role": "assistant", "model": "served", "content": [], "stop_reason": None,
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 90, "output_tokens": 1},
    },
}  # fmt: skip
EVENTS: list[dict[str, Any]] = [
    START,
    {"type": "ping"},
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "Hm."},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "s"},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "It"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "aly"}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": '{"q":'},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": " 1}"},
    },
    {"type": "content_block_stop", "index": 2},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 15},
    },
    {"type": "message_stop"},
]


def test_a_stream_is_put_together_and_its_first_token_timed(
    server: Any, steps: Any, ask: Ask
) -> None:
    server.play(steps.stream(*EVENTS))
    found = ask(proxy(server, stream=True), EXAMPLE)
    assert server.requests[0].body["stream"] is True
    assert 0 < found["ttft"] <= found["latency"]
    assert (found["response"], found["reasoning"], found["finish_reason"]) == (
        "Italy",
        "Hm.",
        "tool_use",
    )
    assert found["usage"] == {"input_tokens": 93, "output_tokens": 15, "cache_read_tokens": 90}
    assert found["tool_calls"] == [{"id": "t", "name": "f", "arguments": '{"q": 1}'}]


@pytest.mark.parametrize(
    ("events", "end", "error", "status"),
    [
        (EVENTS[:8], True, EndpointUnreachableError, 200),
        (EVENTS[:8], False, EndpointUnreachableError, None),
        (
            [
                START,
                {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            ],
            True,
            ServerFailedError,
            529,
        ),
        ([], True, EndpointUnreachableError, 200),
    ],
    ids=["ends early", "is cut", "holds an error", "is empty"],
)
def test_a_stream_that_fails_is_told(
    server: Any,
    steps: Any,
    ask: Ask,
    events: list[Any],
    end: bool,
    error: type[Exception],
    status: int | None,
) -> None:
    server.play(steps.stream(*events, end=end), steps.stream(*EVENTS))
    with pytest.raises(error) as caught:
        ask(proxy(server, stream=True), EXAMPLE)
    assert caught.value.status == status  # type: ignore[attr-defined]


def test_an_event_that_is_no_json_is_told(server: Any, steps: Any) -> None:
    server.play(steps.answer(200, b"data: {oops\n\n", {"content-type": "text/event-stream"}))
    with pytest.raises(UnusableReplyError, match=r"streamed an event that is not JSON: b'\{oops'"):
        proxy(server, stream=True).process(EXAMPLE)


def test_a_conversation_is_asked_turn_by_turn_and_its_usage_summed(
    server: Any, steps: Any, ask: Ask
) -> None:
    server.play(steps.ok("one"), steps.ok("two"))
    turns = [
        {"role": "user", "content": "old"},
        {"role": "assistant", "content": "known"},
        "first",
        "second",
    ]
    found = ask(proxy(server, system_prompt="Be short."), {"turns": turns, "multi_turn": True})
    assert (found["response"], found["turn_responses"]) == ("two", ["one", "two"])
    assert found["usage"] == {"input_tokens": 22, "output_tokens": 6}
    first, second = (request.body["messages"] for request in server.requests)
    assert [message["content"][0]["text"] for message in first] == ["old", "known", "first"]
    assert [message["content"][0]["text"] for message in second] == [
        "old",
        "known",
        "first",
        "one",
        "second",
    ]
    assert [message["role"] for message in second] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    with pytest.raises(ValueError, match="There is nothing to ask"):
        ask(proxy(server), {"turns": [{"role": "assistant", "content": "x"}], "multi_turn": True})


def test_a_conversation_goes_on_from_the_results_of_tools(server: Any, ask: Ask) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    turns = [
        "Read.",
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ]
    found = ask(proxy(server), {"turns": turns, "multi_turn": True})
    assert len(found["turn_responses"]) == len(server.requests) == 1
    body = server.requests[0].body
    assert (body["system"], [tool["name"] for tool in body["tools"]]) == (
        [text("Be brief.")],
        ["read"],
    )
    assert body["messages"] == [
        user(text("Read.")),
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": "read", "input": {}}],
        },
        user({"type": "tool_result", "tool_use_id": "c", "content": [text("done")]}),
    ]


@pytest.mark.parametrize(
    ("written", "called"),
    [
        ("{url}", "/v1/messages"),
        ("{url}/", "/v1/messages"),
        ("{url}/v1", "/v1/messages"),
        ("{url}/v1/", "/v1/messages"),
        ("{url}/v1/messages", "/v1/messages"),
        ("{host}", "/v1/messages"),
        ("{url}/anthropic", "/anthropic/v1/messages"),
        ("{url}/anthropic/v1/messages?beta=true", "/anthropic/v1/messages?beta=true"),
    ],
)
def test_base_urls_as_people_write_them(server: Any, written: str, called: str) -> None:
    base_url = written.format(url=server.url, host=server.url.removeprefix("http://"))
    AnthropicProxy(base_url, "m").process(EXAMPLE)
    assert server.requests[0].path == called


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"base_url": "api.example.com"}, EndpointURLError, "there is no scheme"),
        ({"base_url": "ftp://host"}, EndpointURLError, "must be http or https"),
        ({"model": None}, ValueError, "model must be the name of a model"),
        ({"layout": "sideways"}, ValueError, "No layout is called 'sideways'"),
        ({"max_tokens": 0}, ValueError, "max_tokens must be a whole number above 0"),
        ({"cache_control": "some"}, ValueError, "must be one of none, prefix, all"),
        ({"extra_body": "{"}, ValueError, "extra_body is no JSON object"),
        ({"extra_body": {"system": "x"}}, ValueError, "may not hold 'system'"),
        ({"api_key": "sk\n"+"x"}, ValueError, "Was it copied with a line break"),
        ({"extra_headers": ["nothing"]}, ValueError, "lacks a half"),
        ({"timeout": 0}, ValueError, "timeout must be seconds above 0"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_work_is_told_before_the_first_row(
    options: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said) as caught:
        AnthropicProxy(**{"base_url": "http://localhost:1", "model": "m", **options})
    assert "\n" not in str(caught.value)


def test_what_can_change_an_answer_is_in_the_fingerprint_and_nothing_else() -> None:
    def fingerprint(**options: Any) -> str:
        return json.dumps(
            AnthropicProxy(**{"base_url": "http://h", "model": "m", **options}).fingerprint(),
            sort_keys=True,
        )

    base = fingerprint()
    for same in (
        {"api_key": "sk-canary"}, {"name": "shown"}, {"timeout": 3},
        {"base_url": "http://h/v1"}, {"base_url": "http://user:sk-canary@h"},
    ):  # fmt: skip
        assert fingerprint(**same) == base, same
    for change in (
        {"model": "n"}, {"base_url": "http://g"}, {"layout": "user"}, {"system_prompt": "s"}, {"max_tokens": 5},
        {"temperature": 0}, {"top_p": 1}, {"top_k": 1}, {"thinking_budget": 1024}, {"cache_control": "all"},
        {"cache_ttl": "1h"}, {"stream": True}, {"anthropic_version": "2099-01-01"}, {"extra_body": {"a": 1}},
        {"extra_headers": ["anthropic-beta: x"]}, {"failure_headers": ["x-a"]},
    ):  # fmt: skip
        assert fingerprint(**change) != base, change
    assert "sk-canary" not in fingerprint(extra_headers=["x-token: sk-canary"])


def test_a_run_by_its_spec_scores_rows_and_counts_cached_tokens(
    server: Any, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-env")
    server.play(
        steps.ok(
            "Italy", usage={"input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": 2}
        )
    )
    rows = [{"id": str(n), **EXAMPLE} for n in range(4)]
    result = evaluate(
        f"anthropic:base_url={server.url},model=m,max_tokens=9", rows, [], max_workers=2
    )
    found = list(result.rows)
    assert [row.response for row in found] == ["Italy"] * 4
    assert {
        (row.usage.input_tokens, row.usage.cache_read_tokens) for row in found if row.usage
    } == {(10, 7)}
    assert server.requests[0].headers["x-api-key"] == "sk-ant-env"


def test_the_client_alone_takes_a_request_as_the_interface_has_it(server: Any, steps: Any) -> None:
    server.play(steps.ok("Hello"))
    with_client = MessagesClient(server.url)
    reply = with_client.ask(
        {
            "model": "m",
            "max_tokens": 5,
            "messages": [{"role": "user", "content": "Hi"}],
            "stop": None,
        }
    )
    assert (reply.text, reply.finish_reason) == ("Hello", "end_turn")
    assert "stop" not in server.requests[0].body
    with_client.close()
