"""What a row holds when the endpoint answered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_http import add_usage
from context_bench_http.headers import FailureHeaders, recorded_headers
from context_bench_openai import (
    EndpointError,
    EndpointUnreachableError,
    OpenAIProxy,
    ServerFailedError,
    UnusableReplyError,
)
from context_bench_openai.streaming import EventStream
from context_bench_openai.usage import read_usage

EXAMPLE = {"context": "Rome is in Italy.", "question": "Where is Rome?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "Rome"}'}}
CALLED = [{"id": "c1", "name": "look", "arguments": '{"at": "Rome"}'}]


def test_an_output_holds_response_usage_and_how_it_came(server: Any, steps: Any, ask: Any) -> None:
    server.play(steps.ok("Italy", headers={"x-kompact-tokens-saved": "29"}))
    output = ask(OpenAIProxy(server.url), EXAMPLE)
    assert output.pop("latency") > 0
    assert output == {
        "response": "Italy",
        "usage": {"input_tokens": 11, "output_tokens": 3},
        "finish_reason": "stop",
        "model": "served",
        "headers": {"x-kompact-tokens-saved": "29"},
        "envelope": {"id": "c-1"},
    }


REPLIES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "null content is an empty response": ({"text": None}, {"response": ""}),
    "content that is missing": ({"message": {"content": None}}, {"response": ""}),
    "tool calls beside null content": (
        {"text": None, "message": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"},
        {"response": "", "tool_calls": CALLED, "finish_reason": "tool_calls"},
    ),
    "tool calls beside text": (
        {"text": "Let me look.", "message": {"tool_calls": [CALL]}},
        {"response": "Let me look.", "tool_calls": CALLED},
    ),
    "an old function call": (
        {"text": None, "message": {"function_call": {"name": "look", "arguments": "{}"}}},
        {"response": "", "tool_calls": [{"id": None, "name": "look", "arguments": "{}"}]},
    ),
    "content in parts": (
        {
            "text": None,
            "message": {
                "content": [{"type": "text", "text": "It"}, {"type": "text", "text": "aly"}]
            },
        },
        {"response": "Italy"},
    ),
    "content that is one part": (
        {"text": None, "message": {"content": {"type": "text", "text": "Italy"}}},
        {"response": "Italy"},
    ),
    "parts without a type, and others than texts": (
        {
            "text": None,
            "message": {"content": [{"text": "It"}, None, "aly", {"type": "image_url"}]},
        },
        {"response": "Italy"},
    ),
    "no parts": ({"text": None, "message": {"content": []}}, {"response": ""}),
    "an object that the server has decoded": (
        {
            "text": None,
            "message": {"content": {"type": "city", "name": "Zürich", "is_capital": False}},
        },
        {"response": '{"type": "city", "name": "Zürich", "is_capital": false}'},
    ),
    "a list that the server has decoded": (
        {"text": None, "message": {"content": [1, [2]]}},
        {"response": "[1, [2]]"},
    ),
    "a truth value": ({"text": None, "message": {"content": True}}, {"response": "true"}),
    "a number": ({"text": None, "message": {"content": 42}}, {"response": "42"}),
    "a refusal": (
        {"text": None, "message": {"refusal": "I cannot help."}},
        {"response": "I cannot help.", "refusal": "I cannot help."},
    ),
    "reasoning apart": (
        {"text": "Italy", "message": {"reasoning_content": "Rome, hm."}},
        {"response": "Italy", "reasoning": "Rome, hm."},
    ),
    "a reply cut by its budget": (
        {"text": None, "message": {"reasoning": "Rome, hm"}, "finish_reason": "length"},
        {"response": "", "reasoning": "Rome, hm", "finish_reason": "length"},
    ),
    "no usage": ({"text": "Italy", "usage": None}, {"response": "Italy", "usage": {}}),
}


@pytest.mark.parametrize("case", REPLIES)
def test_every_shape_of_a_reply_is_read(case: str, server: Any, steps: Any, ask: Any) -> None:
    changes, expected = REPLIES[case]
    changes = dict(changes)
    server.play(steps.ok(changes.pop("text", "fine"), **changes))
    output = ask(OpenAIProxy(server.url), EXAMPLE)
    assert {name: output[name] for name in expected} == expected
    assert "None" not in output["response"]


def test_a_gzipped_reply_is_read(server: Any, steps: Any, ask: Any) -> None:
    server.play(steps.gzipped("Italy, zipped"))
    assert ask(OpenAIProxy(server.url), EXAMPLE)["response"] == "Italy, zipped"
    assert "gzip" in server.requests[0].headers["accept-encoding"]


def test_a_reply_that_runs_until_the_connection_closes_is_read(
    server: Any, steps: Any, ask: Any
) -> None:
    server.play(
        steps.raw(
            b'HTTP/1.1 200 OK\r\n\r\n{"choices": [{"message": {"content": "Italy"}}]}', keep=False
        ),
    )
    assert ask(OpenAIProxy(server.url), EXAMPLE)["response"] == "Italy"


USAGES: dict[str, tuple[Any, dict[str, int]]] = {
    "OpenAI": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 12},
        },
        {"input_tokens": 100, "output_tokens": 20, "cache_read_tokens": 64, "reasoning_tokens": 12},
    ),
    "OpenAI, Responses names": (
        {
            "input_tokens": 100,
            "output_tokens": 20,
            "input_tokens_details": {"cached_tokens": 64},
            "output_tokens_details": {"reasoning_tokens": 12},
        },
        {"input_tokens": 100, "output_tokens": 20, "cache_read_tokens": 64, "reasoning_tokens": 12},
    ),
    "Anthropic counts the cache apart": (
        {
            "input_tokens": 10,
            "output_tokens": 20,
            "cache_read_input_tokens": 64,
            "cache_creation_input_tokens": 6,
        },
        {"input_tokens": 80, "output_tokens": 20, "cache_read_tokens": 64, "cache_write_tokens": 6},
    ),
    "a gateway in front of Anthropic": (
        {
            "prompt_tokens": 80,
            "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 64},
            "cache_read_input_tokens": 64,
            "cache_creation_input_tokens": 6,
        },
        {"input_tokens": 80, "output_tokens": 20, "cache_read_tokens": 64, "cache_write_tokens": 6},
    ),
    "DeepSeek": (
        {
            "prompt_tokens": 80,
            "completion_tokens": 2,
            "prompt_cache_hit_tokens": 64,
            "prompt_cache_miss_tokens": 16,
        },
        {"input_tokens": 80, "output_tokens": 2, "cache_read_tokens": 64},
    ),
    "Bedrock": (
        {
            "inputTokens": 10,
            "outputTokens": 2,
            "cacheReadInputTokens": 64,
            "cacheWriteInputTokens": 6,
        },
        {"input_tokens": 80, "output_tokens": 2, "cache_read_tokens": 64, "cache_write_tokens": 6},
    ),
    "Mistral": (
        {"prompt_tokens": 80, "completion_tokens": 2, "num_cached_tokens": 64},
        {"input_tokens": 80, "output_tokens": 2, "cache_read_tokens": 64},
    ),
    "Moonshot": (
        {"prompt_tokens": 80, "completion_tokens": 2, "cached_tokens": 64},
        {"input_tokens": 80, "output_tokens": 2, "cache_read_tokens": 64},
    ),
    "OpenRouter": (
        {
            "prompt_tokens": 80,
            "completion_tokens": 9,
            "cost": 0.002,
            "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 6},
            "completion_tokens_details": {"reasoning_tokens": 7},
        },
        {
            "input_tokens": 80,
            "output_tokens": 9,
            "cache_read_tokens": 64,
            "cache_write_tokens": 6,
            "reasoning_tokens": 7,
            "cost": 0.002,
        },
    ),
    "a gateway that names the write within the details": (
        {
            "prompt_tokens": 80,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 0, "cache_creation_input_tokens": 6},
        },
        {"input_tokens": 80, "output_tokens": 2, "cache_read_tokens": 0, "cache_write_tokens": 6},
    ),
    "llama.cpp and vLLM": (
        {
            "prompt_tokens": 80,
            "completion_tokens": 2,
            "total_tokens": 82,
            "prompt_tokens_details": {"cached_tokens": 64},
        },
        {"input_tokens": 80, "output_tokens": 2, "cache_read_tokens": 64},
    ),
    "vLLM without a cache": (
        {
            "prompt_tokens": 80,
            "completion_tokens": 2,
            "total_tokens": 82,
            "prompt_tokens_details": None,
        },
        {"input_tokens": 80, "output_tokens": 2},
    ),
    "no prompt has zero tokens": (
        {"prompt_tokens": 0, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}},
        {"output_tokens": 0},
    ),
    "details that are null": (
        {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": None},
        {"input_tokens": 5, "output_tokens": 1},
    ),
    "nonsense": ({"prompt_tokens": "many", "completion_tokens": -1, "reasoning_tokens": True}, {}),
    "nothing": (None, {}),
    "a list": ([1], {}),
}


@pytest.mark.parametrize("case", USAGES)
def test_token_counts_of_every_dialect_come_under_one_set_of_names(case: str) -> None:
    reported, expected = USAGES[case]
    assert read_usage(reported).counts == expected


def test_llama_cpp_tells_of_its_cache_in_timings(server: Any, steps: Any, ask: Any) -> None:
    server.play(steps.ok(timings={"cache_n": 7, "prompt_n": 4, "prompt_ms": 3.5}))
    assert ask(OpenAIProxy(server.url), EXAMPLE)["usage"] == {
        "input_tokens": 11,
        "output_tokens": 3,
        "cache_read_tokens": 7,
    }


def test_a_streamed_usage_may_come_beside_the_choices(server: Any, steps: Any, ask: Any) -> None:
    end = steps.delta(finish_reason="stop") | {
        "x_groq": {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}
    }
    server.play(steps.stream(steps.delta("Italy"), end))
    assert ask(OpenAIProxy(server.url, stream=True), EXAMPLE)["usage"] == {
        "input_tokens": 9,
        "output_tokens": 2,
    }


def test_usage_sums_count_by_count() -> None:
    summed = add_usage(
        [{"input_tokens": 1, "output_tokens": 2}, {}, {"input_tokens": 3, "reasoning_tokens": 4}]
    )
    assert summed == {"reasoning_tokens": 4}  # the tokens of one call are unknown


HEADERS = [
    ("X-Kompact-Tokens-Saved", True),
    ("x-kompact-compression-ratio", True),
    ("x-headroom-compression-failed", True),
    ("x-request-id", True),
    ("Server-Timing", True),
    ("x-ratelimit-remaining-tokens", True),
    ("ratelimit-limit", True),
    ("anthropic-ratelimit-requests-remaining", True),
    ("retry-after", True),
    ("openai-processing-ms", True),
    ("fireworks-cached-prompt-tokens", True),
    ("cf-cache-status", True),
    ("server", True),
    ("via", True),
    ("content-length", False),
    ("access-control-allow-origin", False),
    ("strict-transport-security", False),
    ("www-authenticate", False),
    ("set-cookie", False),
    ("authorization", False),
    ("proxy-authenticate", False),
    ("x-api-key", False),
    ("x-auth-token", False),
    ("x-amz-security-token", False),
    ("x-csrf-token", False),
    ("x-set-cookie", False),
    ("x-session-id", False),
    ("content-type", False),
    ("date", False),
]


@pytest.mark.parametrize(("name", "is_recorded"), HEADERS, ids=[name for name, _ in HEADERS])
def test_headers_about_the_proxys_work_are_recorded_and_credentials_are_not(
    name: str, is_recorded: bool
) -> None:
    assert recorded_headers({name: "v"}) == ({name.lower(): "v"} if is_recorded else {})


def test_recorded_headers_are_bounded() -> None:
    recorded = recorded_headers({f"x-{number:03}": "v" * 5000 for number in range(200)})
    assert len(recorded) == 64
    assert {len(value) for value in recorded.values()} == {1024}


def test_a_header_that_repeats_the_key_is_recorded_without_it(
    server: Any, steps: Any, ask: Any
) -> None:
    server.play(steps.ok(headers={"x-seen": "Bearer sk-secret-123"}))
    assert ask(OpenAIProxy(server.url, api_key="sk-secret-123"), EXAMPLE)["headers"] == {
        "x-seen": "Bearer ***"
    }


@pytest.mark.parametrize(
    ("rules", "headers", "found"),
    [
        (["x-failed"], {"x-failed": "anything"}, "x-failed: anything"),
        (["X-Failed: yes"], {"x-failed": " YES "}, "x-failed: YES"),
        (["x-failed=yes"], {"x-failed": "no"}, None),
        (["x-failed=yes"], {}, None),
        ("x-failed", {"x-failed": "1"}, "x-failed: 1"),
        ([], {"x-failed": "1"}, None),
    ],
)
def test_a_failure_header_is_a_name_or_a_name_with_a_value(
    rules: Any, headers: Any, found: str | None
) -> None:
    assert FailureHeaders(rules).found_in(headers) == found


def test_failure_headers_can_be_switched_off(server: Any, steps: Any, ask: Any) -> None:
    server.play(steps.ok("Italy", headers={"x-headroom-compression-failed": "true"}))
    assert ask(OpenAIProxy(server.url, failure_headers=[]), EXAMPLE)["response"] == "Italy"


# Streaming


def test_a_streamed_reply_is_put_together_and_its_first_token_is_timed(
    server: Any, steps: Any, ask: Any
) -> None:
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    server.play(
        steps.stream(
            steps.delta(delta={"role": "assistant", "content": ""}),
            steps.delta("Ita"),
            steps.delta("ly 🎈"),
            steps.delta(finish_reason="stop"),
            {"choices": [], "usage": usage},
        )
    )
    output = ask(OpenAIProxy(server.url, stream=True), EXAMPLE)
    assert 0 < output["ttft"] <= output["latency"]
    assert output["response"] == "Italy 🎈"
    assert output["usage"] == {"input_tokens": 9, "output_tokens": 2, "cache_read_tokens": 4}
    assert (output["finish_reason"], output["model"]) == ("stop", "served")
    assert server.requests[0].body["stream"] is True
    assert server.requests[0].body["stream_options"] == {"include_usage": True}


def test_streamed_tool_calls_and_reasoning_are_put_together(
    server: Any, steps: Any, ask: Any
) -> None:
    first = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"at"'}}
    server.play(
        steps.stream(
            steps.delta(delta={"reasoning_content": "Hm"}),
            steps.delta(delta={"tool_calls": [first]}),
            steps.delta(
                delta={"tool_calls": [{"index": 0, "function": {"arguments": ': "Rome"}'}}]}
            ),
            steps.delta(
                delta={
                    "tool_calls": [
                        {"index": 1, "id": "c2", "function": {"name": "go", "arguments": ""}}
                    ]
                }
            ),
            steps.delta(finish_reason="tool_calls"),
        )
    )
    output = ask(OpenAIProxy(server.url, stream=True), EXAMPLE)
    assert output["tool_calls"] == [*CALLED, {"id": "c2", "name": "go", "arguments": ""}]
    assert (output["response"], output["reasoning"]) == ("", "Hm")


def test_a_server_that_does_not_stream_when_asked_is_understood(
    server: Any, steps: Any, ask: Any
) -> None:
    server.play(steps.ok("Italy"))
    output = ask(OpenAIProxy(server.url, stream=True), EXAMPLE)
    assert output["response"] == "Italy"
    assert "ttft" not in output


def test_a_stream_without_its_end_mark_is_complete_when_the_model_had_finished(
    server: Any, steps: Any, ask: Any
) -> None:
    server.play(steps.stream(steps.delta("Italy"), steps.delta(finish_reason="stop"), done=False))
    assert ask(OpenAIProxy(server.url, stream=True), EXAMPLE)["response"] == "Italy"


@pytest.mark.parametrize("end", [True, False], ids=["ended politely", "connection broken"])
def test_a_stream_that_breaks_off_is_a_retryable_error(
    end: bool, server: Any, steps: Any, ask: Any
) -> None:
    server.play(steps.stream(steps.delta("Ita"), done=False, end=end))
    with pytest.raises(EndpointUnreachableError, match="before the reply was complete") as caught:
        ask(OpenAIProxy(server.url, stream=True), EXAMPLE)
    assert (caught.value.retryable, len(server.requests)) == (True, 1)


def test_an_error_within_a_stream_is_an_error(server: Any, steps: Any, ask: Any) -> None:
    server.play(
        steps.stream(
            steps.delta("Ita"), {"error": {"message": "Overloaded", "code": 502}}, done=False
        )
    )
    with pytest.raises(ServerFailedError, match="Overloaded"):
        ask(OpenAIProxy(server.url, stream=True), EXAMPLE)


@pytest.mark.parametrize(
    "event",
    [
        b'event: error\ndata: {"message": "Overloaded", "type": "overloaded_error"}\n\n',
        b"event: error\ndata: Overloaded\n\n",
        b'error: {"code": 503, "message": "Overloaded", "type": "unavailable_error"}\n\n',
    ],
    ids=["its own event", "words", "llama.cpp"],
)
def test_an_error_event_within_a_stream_is_told_in_its_words(
    event: bytes, server: Any, steps: Any, ask: Any
) -> None:
    begin = b'data: {"choices": [{"index": 0, "delta": {"content": "Ita"}}]}\n\n'
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    server.play(steps.raw(head + begin + event, keep=False))
    with pytest.raises(ServerFailedError, match="answered with an error: Overloaded"):
        ask(OpenAIProxy(server.url, stream=True), EXAMPLE)


def test_a_stream_says_nothing_behind_its_end_and_calls_that_are_no_list_are_none(
    server: Any, steps: Any, ask: Any
) -> None:
    body = b'\xef\xbb\xbfdata: {"choices": [{"index": 0, "delta": {"content": "Italy", "tool_calls": 5}}]}\r\r'
    body += b'data: [DONE]\r\rdata: {"choices": [{"index": 0, "delta": {"content": " late"}}]}\r\r'
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    server.play(steps.raw(head + body, keep=False))
    assert ask(OpenAIProxy(server.url, stream=True), EXAMPLE)["response"] == "Italy"


NAMED: dict[str, tuple[dict[str, Any], int | None, bool]] = {
    "OpenAI's limit": ({"type": "requests", "code": "rate_limit_exceeded"}, 429, True),
    "a limit of tokens": ({"type": "tokens", "code": "rate_limit_exceeded"}, 429, True),
    "Google's limit": ({"code": 429, "status": "RESOURCE_EXHAUSTED"}, 429, True),
    "a server that failed": ({"type": "server_error"}, 500, True),
    "one that is overloaded": ({"type": "overloaded_error"}, 503, True),
    "a spent quota": ({"code": "insufficient_quota"}, 429, False),
    "a key": ({"code": "invalid_api_key", "type": "invalid_request_error"}, 401, False),
    "no name": ({}, None, False),
}


@pytest.mark.parametrize("case", NAMED)
def test_an_error_in_a_success_has_the_status_of_its_name(
    case: str, server: Any, steps: Any, ask: Any
) -> None:
    fields, status, retryable = NAMED[case]
    body = {"error": {"message": "No.", **fields}}
    server.play(
        steps.answer(200, body, {"retry-after": "7", "x-ratelimit-remaining-requests": "0"})
    )
    with pytest.raises(EndpointError) as caught:
        ask(OpenAIProxy(server.url), EXAMPLE)
    found = caught.value
    assert (found.status, found.retryable, found.retry_after) == (status, retryable, 7.0)
    assert found.headers["x-ratelimit-remaining-requests"] == "0"


def test_a_stream_without_choices_or_with_broken_events_is_unusable(
    server: Any, steps: Any, ask: Any
) -> None:
    server.play(steps.stream())
    with pytest.raises(UnusableReplyError, match="an empty list of choices"):
        ask(OpenAIProxy(server.url, stream=True), EXAMPLE)
    server.play(
        steps.raw(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {oops\n\n", keep=False
        )
    )
    with pytest.raises(UnusableReplyError, match="an event that is not JSON"):
        ask(OpenAIProxy(server.url, stream=True), EXAMPLE)


@given(
    pieces=st.lists(st.text(min_size=1), min_size=1),
    size=st.integers(1, 60),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_a_stream_reads_the_same_however_the_network_cuts_it(
    pieces: list[str], size: int, newline: str
) -> None:

    events = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    lines = [
        ": keep-alive",
        *("data: " + json.dumps(event) for event in events),
        "event: end",
        "data:[DONE]",
    ]
    content = (newline * 2).join(lines).encode()
    stream = EventStream("here")
    for at in range(0, len(content), size):
        stream.feed(content[at : at + size])
    assert stream.content()["choices"][0]["message"]["content"] == "".join(pieces)
