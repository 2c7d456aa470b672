"""Every way in which an endpoint is known to fail, and what the row gets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest

from context_bench import evaluate
from context_bench_openai import (
    ContextTooLongError,
    CredentialsRefusedError,
    DeclaredFailureError,
    EndpointError,
    EndpointTimeoutError,
    EndpointUnreachableError,
    OpenAIProxy,
    RateLimitedError,
    RedirectRefusedError,
    RequestRefusedError,
    ServerFailedError,
    UnusableReplyError,
)

EXAMPLE = {"context": "Rome is in Italy.", "question": "Where is Rome?"}
Table = dict[str, tuple[Callable[[Any], Any], type[EndpointError], int | None, str]]

# What the server does, the error, its status, and what the message holds. None of these is asked a second time.
FINAL: Table = {
    "401": (
        lambda s: s.error(401, "Incorrect API key provided."),
        CredentialsRefusedError,
        401,
        "answered 401 Unauthorized: Incorrect API key provided. Set OPENAI_API_KEY or pass api_key.",
    ),
    "403": (
        lambda s: s.error(403, "Not for you"),
        CredentialsRefusedError,
        403,
        "403 Forbidden: Not for you.",
    ),
    "404 of a path": (
        lambda s: s.answer(404, {"detail": "Not Found"}),
        RequestRefusedError,
        404,
        "/v1/chat/completions answered 404 Not Found: Not Found. Is the base URL right",
    ),
    "404 of a model": (
        lambda s: s.error(404, "The model 'gpt-5o' does not exist", code="model_not_found"),
        RequestRefusedError,
        404,
        "The model 'gpt-5o' does not exist",
    ),
    "405": (
        lambda s: s.answer(405, b""),
        RequestRefusedError,
        405,
        "405 Method Not Allowed. Is this an OpenAI",
    ),
    "400 in plain text": (
        lambda s: s.answer(400, b"bad\r\n  request"),
        RequestRefusedError,
        400,
        "answered 400 Bad Request: bad request",
    ),
    "400 as an HTML page": (
        lambda s: s.answer(
            400, b"<html><head><title>Bad gateway config</title></head><body>x</body></html>"
        ),
        RequestRefusedError,
        400,
        "answered 400 Bad Request: Bad gateway config",
    ),
    "400 without a body": (
        lambda s: s.answer(400),
        RequestRefusedError,
        400,
        "answered 400 Bad Request.",
    ),
    "400 with a string as error": (
        lambda s: s.answer(400, {"error": "no such field"}),
        RequestRefusedError,
        400,
        "no such field",
    ),
    "422 with a list of details": (
        lambda s: s.answer(
            422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}
        ),
        RequestRefusedError,
        422,
        "field required",
    ),
    "400 context length, OpenAI": (
        lambda s: s.error(
            400,
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
            code="context_length_exceeded",
        ),
        ContextTooLongError,
        400,
        "maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    ),
    "400 context length, llama.cpp": (
        lambda s: s.error(
            400,
            "the request exceeds the available context size, try increasing it",
            code=400,
            type="exceed_context_size_error",
            n_ctx=2048,
        ),
        ContextTooLongError,
        400,
        "the request exceeds the available context size",
    ),
    "400 context length, vLLM": (
        lambda s: s.answer(
            400,
            {
                "object": "error",
                "message": "This model's maximum context length is 4096 tokens.",
                "code": 400,
            },
        ),
        ContextTooLongError,
        400,
        "maximum context length is 4096 tokens",
    ),
    "413": (
        lambda s: s.answer(413, b"Request too large"),
        ContextTooLongError,
        413,
        "Request too large",
    ),
    "429 with nothing left to pay": (
        lambda s: s.error(429, "You exceeded your current quota.", code="insufficient_quota"),
        RateLimitedError,
        429,
        "You exceeded your current quota.",
    ),
    "429 that asks for an hour": (
        lambda s: s.error(429, "Slow down.", headers={"retry-after": "3600"}),
        RateLimitedError,
        429,
        "It asks to wait 3600 s.",
    ),
    "500 that says not to ask again": (
        lambda s: s.error(500, "Broken.", headers={"x-should-retry": "false"}),
        ServerFailedError,
        500,
        "Broken.",
    ),
    "501": (
        lambda s: s.error(501, "This server does not support embeddings."),
        ServerFailedError,
        501,
        "501 Not Implemented: This server does not support embeddings.",
    ),
    "an error in a 200": (
        lambda s: s.answer(200, {"error": {"message": "Upstream said no", "code": 402}}),
        RequestRefusedError,
        402,
        "answered with an error: Upstream said no",
    ),
    "an error in a 200, context length": (
        lambda s: s.answer(200, {"error": {"message": "prompt is too long", "code": 400}}),
        ContextTooLongError,
        400,
        "prompt is too long",
    ),
    "invalid JSON": (
        lambda s: s.answer(200, b"upstream is sleepy"),
        UnusableReplyError,
        200,
        "answered 200 with a body that is no JSON: 'upstream is sleepy'",
    ),
    "HTML with status 200": (
        lambda s: s.answer(200, b"<html>hi</html>"),
        UnusableReplyError,
        200,
        "no JSON: '<html>",
    ),
    "deeply nested JSON": (
        lambda s: s.answer(200, b"[" * 200_000),
        UnusableReplyError,
        200,
        "no JSON",
    ),
    "an empty body": (
        lambda s: s.answer(200),
        UnusableReplyError,
        200,
        "answered 200 with an empty body",
    ),
    "204": (lambda s: s.answer(204), UnusableReplyError, 204, "with an empty body"),
    "JSON that is a list": (
        lambda s: s.answer(200, []),
        UnusableReplyError,
        200,
        "list instead of a chat completion",
    ),
    "empty choices": (
        lambda s: s.answer(200, {"choices": []}),
        UnusableReplyError,
        200,
        "an empty list of choices: there is no reply to score",
    ),
    "no choices": (
        lambda s: s.answer(200, {"id": "x"}),
        UnusableReplyError,
        200,
        "answered with no choices",
    ),
    "choices of nonsense": (
        lambda s: s.answer(200, {"choices": [7]}),
        UnusableReplyError,
        200,
        "holds no message",
    ),
    "a declared failure": (
        lambda s: s.ok(headers={"X-Headroom-Compression-Failed": "True"}),
        DeclaredFailureError,
        200,
        "says that it did not do its work: x-headroom-compression-failed: True",
    ),
}

# The same, for troubles that may pass: one retry is allowed, so the server is asked twice.
PASSING: Table = {
    "408": (
        lambda s: s.error(408, "Slow you."),
        RequestRefusedError,
        408,
        "408 Request Timeout: Slow you.",
    ),
    "429": (
        lambda s: s.error(429, "Slow down."),
        RateLimitedError,
        429,
        "429 Too Many Requests: Slow down.",
    ),
    "500": (
        lambda s: s.error(500, "Oops."),
        ServerFailedError,
        500,
        "500 Internal Server Error: Oops.",
    ),
    "502": (
        lambda s: s.answer(502, b"<h1>Bad  Gateway</h1>"),
        ServerFailedError,
        502,
        "Bad Gateway",
    ),
    "503 while loading": (
        lambda s: s.error(503, "Loading model", type="unavailable_error"),
        ServerFailedError,
        503,
        "503 Service Unavailable: Loading model",
    ),
    "504": (lambda s: s.answer(504), ServerFailedError, 504, "504 Gateway Timeout."),
    "another protocol": (
        lambda s: s.raw(
            b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
            keep=False,
        ),
        EndpointUnreachableError,
        None,
        "broke the connection before the reply was complete",
    ),
    "529": (
        lambda s: s.error(529, "Overloaded"),
        ServerFailedError,
        529,
        "answered 529: Overloaded",
    ),
    "an overload in a 200": (
        lambda s: s.answer(200, {"error": {"message": "Overloaded", "code": 503}}),
        ServerFailedError,
        503,
        "answered with an error: Overloaded",
    ),
    "slow headers": (
        lambda s: s.silent(),
        EndpointTimeoutError,
        None,
        "gave no complete reply within 1.5 s",
    ),
    "a slow body": (
        lambda s: s.trickling_body(),
        EndpointTimeoutError,
        None,
        "gave no complete reply within 1.5 s",
    ),
    "a body that is cut": (
        lambda s: s.cut_mid_body(),
        EndpointUnreachableError,
        None,
        "broke the connection before the reply was complete",
    ),
    "a body without length that is cut": (
        lambda s: s.cut_without_a_length(),
        UnusableReplyError,
        200,
        "no JSON",
    ),
    "a connection closed at once": (
        lambda s: s.hang_up(),
        EndpointUnreachableError,
        None,
        "broke the connection",
    ),
    "a connection reset": (
        lambda s: s.reset(),
        EndpointUnreachableError,
        None,
        "broke the connection",
    ),
    "no HTTP at all": (
        lambda s: s.raw(b"SSH-2.0-x\r\n", keep=False),
        EndpointUnreachableError,
        None,
        "broke the conn",
    ),
    "gzip that is none": (
        lambda s: s.answer(200, b"plain", {"content-encoding": "gzip"}),
        UnusableReplyError,
        None,
        "sent a compressed body that cannot be read",
    ),
}


def _fails(ask: Any, system: OpenAIProxy, kind: type[EndpointError]) -> EndpointError:
    with pytest.raises(EndpointError) as caught:
        ask(system, EXAMPLE)
    assert type(caught.value) is kind
    assert len(str(caught.value).splitlines()) == 1
    return caught.value


@pytest.mark.parametrize("case", FINAL)
def test_a_final_failure_is_one_clear_error_after_one_request(
    case: str, server: Any, steps: Any, ask: Any
) -> None:
    step, kind, status, words = FINAL[case]
    server.play(step(steps))
    error = _fails(ask, OpenAIProxy(server.url), kind)
    assert words in str(error)
    assert server.url in str(error)
    assert (error.status, error.attempts, len(server.requests)) == (status, 1, 1)


@pytest.mark.parametrize("case", PASSING)
def test_a_trouble_that_may_pass_is_a_retryable_error_after_one_request(
    case: str, server: Any, steps: Any, ask: Any
) -> None:
    step, kind, status, words = PASSING[case]
    server.play(step(steps))
    error = _fails(ask, OpenAIProxy(server.url, timeout=1.5), kind)
    assert words in str(error)
    assert error.retryable
    assert (error.status, error.attempts, len(server.requests)) == (status, 1, 1)


@pytest.mark.parametrize("case", PASSING)
def test_a_trouble_that_passes_costs_a_run_one_more_request(
    case: str, server: Any, steps: Any
) -> None:
    server.play(PASSING[case][0](steps), steps.ok("Italy"))
    system = OpenAIProxy(server.url, timeout=1.5)
    [row] = evaluate(system, [{"id": "1", **EXAMPLE}], [], progress=False).rows
    assert (row.response, row.attempts, len(server.requests)) == ("Italy", 2, 2)
    assert server.requests[0].body == server.requests[1].body


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\nx-slow: ", b"."),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n\x1f\x8b\x08\x10" + bytes(6), b"."),
    ],
    ids=["a head", "announcements", "a name inside of gzip"],
)
def test_what_trickles_in_without_end_is_given_up_in_time(
    head: bytes, piece: bytes, server: Any, steps: Any, ask: Any
) -> None:
    server.play(steps.trickling(head, piece), steps.ok("Italy"))
    system = OpenAIProxy(server.url, timeout=0.4)
    error = _fails(ask, system, EndpointTimeoutError)
    assert "gave no complete reply within 0.4 s (timeout)." in str(error)
    assert ask(system, EXAMPLE)["response"] == "Italy"  # on another connection


def test_a_server_that_is_not_there_is_named(ask: Any, new_server: Any) -> None:
    gone = new_server()
    gone.stop()
    error = _fails(ask, OpenAIProxy(gone.url), EndpointUnreachableError)
    assert "cannot be reached" in str(error)
    assert "Is the server running and the address right?" in str(error)
    assert error.retryable


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_the_path_is_the_same_with_and_without_v1(suffix: str, server: Any, ask: Any) -> None:
    ask(OpenAIProxy(server.url + suffix), EXAMPLE)
    assert [request.path for request in server.requests] == ["/v1/chat/completions"]


def test_an_ipv6_server_answers(new_server: Any, ask: Any) -> None:
    try:
        server = new_server("::1")
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    assert ask(OpenAIProxy(f"[::1]:{server.port}"), EXAMPLE)["response"] == "fine"


@pytest.mark.parametrize("form", ["seconds", "a date", "milliseconds"])
def test_an_error_carries_the_seconds_that_the_server_asks_to_wait(
    form: str, server: Any, steps: Any, ask: Any
) -> None:
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    asked = {
        "seconds": {"retry-after": "7"},
        "a date": {
            "retry-after": format_datetime(now + timedelta(seconds=7), usegmt=True),
            "date": format_datetime(now, usegmt=True),
        },
        "milliseconds": {"retry-after-ms": "7000", "retry-after": "9"},
    }[form]
    server.play(steps.error(429, "Slow down.", headers=asked))
    error = _fails(ask, OpenAIProxy(server.url), RateLimitedError)
    assert (error.retryable, error.retry_after) == (True, 7.0)


# Redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_neither_prompt_nor_key_follows_a_redirect_to_another_host(
    status: int, server: Any, new_server: Any, steps: Any, ask: Any
) -> None:
    thief = new_server()
    server.play(
        steps.answer(status, headers={"location": f"{thief.url}/v1/chat/completions?token=abc"})
    )
    error = _fails(ask, OpenAIProxy(server.url, api_key="sk-secret-123"), RedirectRefusedError)
    assert f"redirects ({status}) to {thief.url}/v1/chat/completions." in str(error)
    assert "token" not in str(error)
    assert thief.requests == []
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_on_the_same_host_is_followed_with_the_whole_request(
    status: int, server: Any, steps: Any, ask: Any
) -> None:
    server.play(
        steps.answer(status, headers={"location": "/v1/chat/completions/"}), steps.ok("Italy")
    )
    assert ask(OpenAIProxy(server.url, api_key="sk-secret-123"), EXAMPLE)["response"] == "Italy"
    first, second = server.requests
    assert second.path == "/v1/chat/completions/"
    assert (second.body, second.headers["authorization"]) == (first.body, "Bearer sk-secret-123")


def test_redirects_without_end_are_given_up(server: Any, steps: Any, ask: Any) -> None:
    server.play(steps.answer(307, headers={"location": "/again"}))
    assert "more than 3 times" in str(_fails(ask, OpenAIProxy(server.url), RedirectRefusedError))
    assert len(server.requests) == 4


def test_a_redirect_to_nowhere_is_an_error(server: Any, steps: Any, ask: Any) -> None:
    server.play(steps.answer(302))
    with pytest.raises(EndpointError, match="answered 302 Found"):
        ask(OpenAIProxy(server.url), EXAMPLE)


# Secrets


@pytest.mark.parametrize("before", range(0, 24, 3))
@pytest.mark.parametrize(("status", "length"), [(401, 590), (200, 110), (500, 590)])
def test_a_key_is_hidden_before_words_are_cut_off(
    status: int, length: int, before: int, server: Any, steps: Any, ask: Any
) -> None:
    """Half of a key would not be recognised."""
    words = "x" * (length + before) + "sk-secret-1234567890"
    server.play(
        steps.answer(
            status, words.encode(), {"x-told": "x" * (1010 + before) + "sk-secret-1234567890"}
        )
    )
    with pytest.raises(EndpointError) as caught:
        ask(OpenAIProxy(server.url, api_key="sk-secret-1234567890"), EXAMPLE)
    told = str(caught.value) + repr(vars(caught.value))
    assert "x" * length in told
    assert "sk" not in told


def test_a_key_that_the_server_repeats_is_not_shown(server: Any, steps: Any, ask: Any) -> None:
    server.play(steps.error(401, "Incorrect API key provided: sk-secret-123."))
    error = _fails(ask, OpenAIProxy(server.url, api_key="sk-secret-123"), CredentialsRefusedError)
    assert "sk-secret" not in str(error) + repr(error) + repr(vars(error))
    assert "Incorrect API key provided: ***." in str(error)


def test_a_failing_server_never_learns_of_cookies(server: Any, steps: Any, ask: Any) -> None:
    server.play(steps.error(503, "busy", headers={"set-cookie": "route=a; Path=/"}), steps.ok())
    system = OpenAIProxy(server.url)
    _fails(ask, system, ServerFailedError)
    ask(system, EXAMPLE)
    assert "cookie" not in server.requests[1].headers


def test_one_failing_row_leaves_the_next_untouched(server: Any, steps: Any) -> None:
    server.play(
        steps.cut_mid_body(), steps.error(500, "x"), steps.ok("one"), steps.reset(), steps.ok("two")
    )
    system = OpenAIProxy(server.url)
    results: list[str] = []
    for _ in range(5):
        try:
            results.append(system.process(EXAMPLE)["response"])
        except EndpointError as error:
            results.append(type(error).__name__)
    assert results == [
        "EndpointUnreachableError",
        "ServerFailedError",
        "one",
        "EndpointUnreachableError",
        "two",
    ]


def test_a_cancelled_row_is_cancelled_and_not_retried(server: Any, steps: Any) -> None:
    server.play(steps.silent())

    async def run() -> None:
        row = asyncio.ensure_future(OpenAIProxy(server.url).aprocess(EXAMPLE))
        while not server.requests:
            await asyncio.sleep(0.01)
        row.cancel()
        with pytest.raises(asyncio.CancelledError):
            await row

    asyncio.run(run())
    assert len(server.requests) == 1
