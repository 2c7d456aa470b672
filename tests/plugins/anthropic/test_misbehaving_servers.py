"""Every way in which an endpoint is known to fail, and what the row gets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest

from context_bench import evaluate
from context_bench_anthropic import AnthropicProxy
from context_bench_openai import (
    ContextTooLongError,
    CredentialsRefusedError,
    DeclaredFailureError,
    EndpointError,
    EndpointTimeoutError,
    EndpointUnreachableError,
    RateLimitedError,
    RedirectRefusedError,
    RequestRefusedError,
    ServerFailedError,
    UnusableReplyError,
)

Ask = Callable[[Any, Mapping[str, Any]], dict[str, Any]]
EXAMPLE = {"context": "Rome is in Italy.", "question": "Where is Rome?"}
Table = dict[str, tuple[Callable[[Any], Any], type[EndpointError], int | None, str]]

# What the server does, the error, its status, and what the message holds. None of these is asked a second time.
FINAL: Table = {
    "401": (
        lambda s: s.error(401, "authentication_error", "invalid x-api-key"),
        CredentialsRefusedError, 401,
        "/v1/messages answered 401 Unauthorized: invalid x-api-key. Set ANTHROPIC_API_KEY or pass api_key.",
    ),
    "403": (
        lambda s: s.error(403, "permission_error", "Not for you"),
        CredentialsRefusedError, 403, "403 Forbidden: Not for you.",
    ),
    "404 of a model": (
        lambda s: s.error(404, "not_found_error", "model: claude-9"),
        RequestRefusedError, 404, "404 Not Found: model: claude-9. Is the base URL right",
    ),
    "404 of a path": (
        lambda s: s.answer(404, {"detail": "Not Found"}),
        RequestRefusedError, 404, "404 Not Found: Not Found.",
    ),
    "405": (lambda s: s.answer(405, b""), RequestRefusedError, 405, "Is this an endpoint of the Messages API?"),
    "400": (
        lambda s: s.error(400, "invalid_request_error", "max_tokens: 9 > 8"),
        RequestRefusedError, 400, "400 Bad Request: max_tokens: 9 > 8",
    ),
    "400 without credit": (
        lambda s: s.error(400, "invalid_request_error", "Your credit balance is too low"),
        RequestRefusedError, 400, "credit balance is too low",
    ),
    "400 too long": (
        lambda s: s.error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        ContextTooLongError, 400, "prompt is too long: 210000 tokens > 200000 maximum",
    ),
    "400 too long with the answer": (
        lambda s: s.error(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 1 + 2 > 2"),
        ContextTooLongError, 400, "exceed context limit",
    ),
    "413": (
        lambda s: s.error(413, "request_too_large", "Request exceeds the maximum size"),
        ContextTooLongError, 413, "413",
    ),
    "an HTML page": (
        lambda s: s.answer(400, b"<html><head><title>Bad gateway config</title></head></html>"),
        RequestRefusedError, 400, "400 Bad Request: Bad gateway config",
    ),
    "invalid JSON": (lambda s: s.answer(200, b"{oops"), UnusableReplyError, 200, "a body that is no JSON: '{oops'"),
    "an empty body": (lambda s: s.answer(200, b""), UnusableReplyError, 200, "200 with an empty body"),
    "a list": (lambda s: s.answer(200, [1]), UnusableReplyError, 200, "answered with list instead of a message"),
    "content null": (lambda s: s.ok(content=None), UnusableReplyError, 200, "a message whose content is null"),
    "no content": (lambda s: s.answer(200, {"type": "message"}), UnusableReplyError, 200, "with no content"),
    "an OpenAI-compatible server": (
        lambda s: s.answer(200, {"choices": [{"message": {"content": "x"}}]}),
        UnusableReplyError, 200, "to be asked with --system openai",
    ),
    "an error in a 200": (
        lambda s: s.answer(200, {"type": "error", "error": {"type": "invalid_request_error", "message": "no such tool"}}),
        RequestRefusedError, 400, "answered with an error: no such tool",
    ),
    "a declared failure": (
        lambda s: s.ok(headers={"x-headroom-compression-failed": "true"}),
        DeclaredFailureError, 200, "did not do its work: x-headroom-compression-failed: true",
    ),
    "a redirect to another host": (
        lambda s: s.answer(307, b"", {"location": "http://user:pw@elsewhere.example/v1/messages?key=sk-1"}),
        RedirectRefusedError, 307,
        "redirects (307) to http://elsewhere.example/v1/messages. Neither prompt nor key is sent there",
    ),
    "a redirect by GET": (
        lambda s: s.answer(303, b"", {"location": "/x"}),
        RedirectRefusedError, 303, "redirects (303)",
    ),
    "a server that says not to retry": (
        lambda s: s.error(500, "api_error", "no", {"x-should-retry": "false"}), ServerFailedError, 500, "500",
    ),
    "a wait that is too long": (
        lambda s: s.error(429, "rate_limit_error", "tomorrow", {"retry-after": "86400"}),
        RateLimitedError, 429, "It asks to wait 86400 s.",
    ),
}  # fmt: skip

# The same for what may pass: it is asked again.
PASSING: Table = {
    "429": (
        lambda s: s.error(429, "rate_limit_error", "too many tokens a minute"),
        RateLimitedError, 429, "too many tokens a minute",
    ),
    "500": (
        lambda s: s.error(500, "api_error", "Internal server error"),
        ServerFailedError, 500, "500 Internal Server Error",
    ),
    "503 in plain text": (lambda s: s.answer(503, b"Loading model"), ServerFailedError, 503, "Loading model"),
    "529": (
        lambda s: s.error(529, "overloaded_error", "Overloaded"), ServerFailedError, 529,
        "answered 529 Overloaded: Overloaded. The server is overloaded; ask fewer at once, or later.",
    ),
    "overloaded in a 200": (
        lambda s: s.answer(200, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        ServerFailedError, 529, "answered with an error: Overloaded",
    ),
    "cut mid-body": (
        lambda s: s.cut_mid_body(),
        EndpointUnreachableError, None, "broke the connection before the reply was complete",
    ),
    "cut without a length": (lambda s: s.cut_without_a_length(), UnusableReplyError, 200, "a body that is no JSON"),
    "a reset": (lambda s: s.reset(), EndpointUnreachableError, None, "broke the connection"),
    "a hang-up": (lambda s: s.hang_up(), EndpointUnreachableError, None, "broke the connection"),
    "gzip that is none": (
        lambda s: s.answer(200, b"not gzip", {"content-encoding": "gzip"}),
        UnusableReplyError, None, "compressed body that cannot be read",
    ),
}  # fmt: skip


def proxy(server: Any, **options: Any) -> AnthropicProxy:
    return AnthropicProxy(server.url, **{"model": "m", "api_key": "sk-ant-1", **options})


@pytest.mark.parametrize("case", FINAL)
def test_a_final_failure_is_told_in_the_servers_words_and_not_asked_again(
    server: Any, steps: Any, ask: Ask, case: str
) -> None:
    step, error, status, said = FINAL[case]
    server.play(step(steps))
    with pytest.raises(error) as caught:
        ask(proxy(server), EXAMPLE)
    assert type(caught.value) is error
    assert caught.value.status == status
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize("case", PASSING)
def test_a_passing_failure_is_retryable_and_repeated_by_the_runner_alone(
    server: Any, steps: Any, ask: Ask, case: str
) -> None:
    step, error, status, said = PASSING[case]
    server.play(step(steps), step(steps), steps.ok("good"))
    with pytest.raises(error) as caught:
        ask(proxy(server), EXAMPLE)
    assert type(caught.value) is error
    assert (caught.value.status, caught.value.retryable) == (status, True)
    assert said in str(caught.value)
    assert len(server.requests) == 1
    [row] = evaluate(proxy(server), [{"id": "1", **EXAMPLE}], [], progress=False).rows
    assert (row.response, row.attempts, len(server.requests)) == ("good", 2, 3)


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_read_in_both_forms(server: Any, steps: Any, form: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    headers = {"retry-after": "7"}
    if form == "date":
        headers = {
            "date": format_datetime(now),
            "retry-after": format_datetime(now + timedelta(seconds=7)),
        }
    server.play(steps.error(429, "rate_limit_error", "slow", headers))
    with pytest.raises(RateLimitedError) as caught:
        proxy(server).process(EXAMPLE)
    assert caught.value.retry_after == 7.0


@pytest.mark.parametrize("how", ["silent", "trickling_body"])
def test_an_endpoint_that_is_too_slow_is_given_up(
    server: Any, steps: Any, ask: Ask, how: str
) -> None:
    server.play(getattr(steps, how)())
    with pytest.raises(EndpointTimeoutError, match=r"no complete reply within 0.4 s \(timeout\)"):
        ask(proxy(server, timeout=0.4), EXAMPLE)


def test_nobody_there_is_told(ask: Ask, new_server: Any) -> None:
    server = new_server()
    server.stop()
    with pytest.raises(
        EndpointUnreachableError,
        match=r"cannot be reached: .*Is the server running and the address right\?",
    ):
        ask(proxy(server), EXAMPLE)


def test_gzip_is_read(server: Any, steps: Any, ask: Ask) -> None:
    server.play(steps.gzipped("small"))
    assert ask(proxy(server), EXAMPLE)["response"] == "small"


def test_a_redirect_on_the_same_host_is_followed_with_the_key_and_one_elsewhere_never(
    server: Any, steps: Any, ask: Ask, new_server: Any
) -> None:
    server.play(steps.answer(308, b"", {"location": "/other/v1/messages"}), steps.ok("moved"))
    assert ask(proxy(server), EXAMPLE)["response"] == "moved"
    assert server.requests[1].path == "/other/v1/messages"
    assert server.requests[1].headers["x-api-key"] == "sk-ant-1"
    thief = new_server()
    server.play(steps.answer(307, b"", {"location": f"{thief.url}/v1/messages"}))
    with pytest.raises(RedirectRefusedError):
        ask(proxy(server), EXAMPLE)
    assert thief.requests == []
    server.play(steps.answer(307, b"", {"location": "/v1/messages"}))
    with pytest.raises(RedirectRefusedError, match="more than 3 times"):
        ask(proxy(server), EXAMPLE)


def test_a_key_that_the_server_repeats_is_hidden(server: Any, steps: Any, ask: Ask) -> None:
    server.play(steps.error(401, "authentication_error", "bad key sk-ant-1"))
    with pytest.raises(CredentialsRefusedError) as caught:
        ask(proxy(server), EXAMPLE)
    assert "sk-ant-1" not in str(caught.value) + repr(caught.value.args)
    server.play(steps.ok(headers={"x-seen": "sk-ant-1"}))
    assert ask(proxy(server), EXAMPLE)["headers"] == {"x-seen": "***"}


def test_many_calls_share_no_connection_at_once(server: Any, steps: Any) -> None:
    server.play(steps.ok("fine"))
    system = proxy(server)

    async def many() -> list[dict[str, Any]]:
        return await asyncio.gather(*(system.aprocess(EXAMPLE) for _ in range(20)))

    assert {found["response"] for found in asyncio.run(many())} == {"fine"}
    assert {found["response"] for found in asyncio.run(many())} == {"fine"}
