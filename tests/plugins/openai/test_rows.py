"""What a row of a run holds when the server misbehaves: the table of the README, through `evaluate()`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench_openai import OpenAIProxy

EXAMPLE = {
    "id": "1",
    "context": "Rome is in Italy.",
    "question": "Where is Rome?",
    "answer": "Italy",
}
NOW = format_datetime(datetime(2026, 1, 1, tzinfo=timezone.utc), usegmt=True)
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}

pytestmark = pytest.mark.filterwarnings(
    "ignore:endpoint. empty-answers"
)  # which is what these replies are


class Same:
    name = "same"
    primary = "same"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"same": float(original["answer"] == processed["response"])}


# What the server does, step by step; the kind of the row's failure and words of it, or the response; requests sent.
Case = tuple[Callable[[Any], list[Any]], str | None, str, int]
ROWS: dict[str, Case] = {
    "401": (
        lambda s: [s.error(401, "Incorrect API key provided.")],
        "CredentialsRefusedError",
        "Incorrect API key provided. Set OPENAI_API_KEY or pass api_key.",
        1,
    ),
    "404": (
        lambda s: [s.answer(404, {"detail": "Not Found"})],
        "RequestRefusedError",
        "Is the base URL right",
        1,
    ),
    "429 with `Retry-After` in seconds": (
        lambda s: [s.error(429, "Slow down.", headers={"retry-after": "0"}), s.ok("Italy")],
        None,
        "Italy",
        2,
    ),
    "429 with `Retry-After` as a date": (
        lambda s: [
            s.error(429, "Slow down.", headers={"retry-after": NOW, "date": NOW}),
            s.ok("Italy"),
        ],
        None,
        "Italy",
        2,
    ),
    "429, the quota is spent": (
        lambda s: [s.error(429, "You exceeded your quota.", code="insufficient_quota")],
        "RateLimitedError",
        "You exceeded your quota.",
        1,
    ),
    "500, then good": (lambda s: [s.error(500, "Oops."), s.ok("Italy")], None, "Italy", 2),
    "503 while the model loads, then good": (
        lambda s: [s.error(503, "Loading model"), s.error(503, "Loading model"), s.ok("Italy")],
        None,
        "Italy",
        3,
    ),
    "500 to the end": (
        lambda s: [s.error(500, "Oops.")],
        "ServerFailedError",
        "Oops. (gave up after 4 attempts)",
        4,
    ),
    "headers that do not come": (
        lambda s: [s.silent()],
        "EndpointTimeoutError",
        "gave no complete reply within 1.5 s (timeout). (gave up after 4 attempts)",
        4,
    ),
    "a body that trickles": (
        lambda s: [s.trickling_body()],
        "EndpointTimeoutError",
        "gave no complete reply within 1.5 s (timeout). (gave up after 4 attempts)",
        4,
    ),
    "a body cut in the middle": (
        lambda s: [s.cut_mid_body()],
        "EndpointUnreachableError",
        "broke the connection before the reply was complete",
        4,
    ),
    "a connection reset, then good": (lambda s: [s.reset(), s.ok("Italy")], None, "Italy", 2),
    "invalid JSON": (
        lambda s: [s.answer(200, b"upstream is sleepy")],
        "UnusableReplyError",
        "a body that is no JSON: 'upstream is sleepy'",
        1,
    ),
    "empty `choices`": (
        lambda s: [s.answer(200, {"choices": []})],
        "UnusableReplyError",
        "no reply to score",
        1,
    ),
    "`content: null`": (lambda s: [s.ok(None)], None, "", 1),
    "tool calls": (lambda s: [s.ok(None, message={"tool_calls": [CALL]})], None, "", 1),
    "400, the prompt is too long": (
        lambda s: [s.error(400, "This model's maximum context length is 8192 tokens.")],
        "ContextTooLongError",
        "answered 400 Bad Request: This model's maximum context length is 8192 tokens.",
        1,
    ),
    "gzip": (lambda s: [s.gzipped("Italy")], None, "Italy", 1),
    "gzip that is none": (
        lambda s: [s.answer(200, b"plain", {"content-encoding": "gzip"})],
        "UnusableReplyError",
        "a compressed body that cannot be read",
        4,
    ),
    "a redirect on the same host": (
        lambda s: [s.answer(307, headers={"location": "/elsewhere"}), s.ok("Italy")],
        None,
        "Italy",
        2,
    ),
    "a redirect to another host": (
        lambda s: [s.answer(307, headers={"location": "http://thief.invalid/v1"})],
        "RedirectRefusedError",
        "redirects (307) to http://thief.invalid/v1. Neither prompt nor key is sent there",
        1,
    ),
    "a declared failure header": (
        lambda s: [s.ok("Italy", headers={"x-headroom-compression-failed": "true"})],
        "DeclaredFailureError",
        "says that it did not do its work: x-headroom-compression-failed: true.",
        1,
    ),
    "an error in a 200": (
        lambda s: [s.answer(200, {"error": {"message": "Upstream said no", "code": 402}})],
        "RequestRefusedError",
        "answered with an error: Upstream said no",
        1,
    ),
}


@pytest.mark.parametrize("lane", ["the caller's thread", "an event loop"])
@pytest.mark.parametrize("case", ROWS)
def test_a_row_gets_what_the_readme_says(case: str, lane: str, server: Any, steps: Any) -> None:
    script, kind, words, requests = ROWS[case]
    server.play(*script(steps))
    slow = case in ("headers that do not come", "a body that trickles")
    system = OpenAIProxy(
        server.url,
        "m",
        "endpoint",
        "sk-secret-123",
        timeout=1.5 if slow else 60,
    )
    result = evaluate(
        system,
        [EXAMPLE],
        [Same()],
        progress=False,
        max_workers=1 if lane == "the caller's thread" else 4,
    )
    [row] = result.rows
    if kind is None:
        assert (row.response, row.errors) == (words, ())
        assert row.scores == {"same": float(words == "Italy")}
    else:
        [failure] = row.errors
        assert (failure.stage, failure.kind) == ("system", kind)
        assert words in failure.message
        assert "\n" not in failure.message
        assert row.failed
        assert row.scores == {}
        assert "sk-secret" not in repr(row)
    assert len(server.requests) == requests


def test_an_endpoint_that_refuses_nothing_makes_rows_wait_for_the_first_pace_only(
    server: Any,
) -> None:
    examples = [{**EXAMPLE, "id": str(number)} for number in range(40)]
    result = evaluate(
        OpenAIProxy(server.url, model="m"), examples, [Same()], max_workers=64, progress=False
    )
    assert not any(row.errors for row in result.rows)
    assert max(row.waiting for row in result.rows) < 5.0  # the pace ends after 0.2 s


def test_a_credential_reaches_no_other_host(new_server: Any, steps: Any) -> None:
    server, thief = new_server(), new_server()
    for status in (301, 302, 303, 307, 308):
        server.play(steps.answer(status, headers={"location": f"{thief.url}/v1/chat/completions"}))
        system = OpenAIProxy(
            server.url,
            name="endpoint",
            api_key="sk-secret-123",
            extra_headers={"x-api-key": "sk-2"},
        )
        result = evaluate(system, [EXAMPLE], [Same()], progress=False, max_workers=4)
        assert [error.kind for error in result.rows[0].errors] == ["RedirectRefusedError"]
    assert thief.requests == []


def test_tool_calls_are_in_the_output_of_a_row(server: Any, steps: Any) -> None:
    server.play(steps.ok(None, message={"tool_calls": [CALL]}, finish_reason="tool_calls"))
    result = evaluate(OpenAIProxy(server.url, name="endpoint"), [EXAMPLE], [Same()], progress=False)
    assert result.rows[0].output["tool_calls"] == [{"id": "c1", "name": "look", "arguments": "{}"}]


def test_the_table_of_the_readme_has_these_rows_and_no_other() -> None:
    readme = Path(__file__).parents[3] / "plugins" / "context-bench-openai" / "README.md"
    section = readme.read_text("utf-8").split("### When the server misbehaves")[1].split("\n#")[0]
    told = {
        cells[0]: (cells[1], cells[2])
        for cells in (
            [cell.strip() for cell in line.split(" | ")]
            for line in re.findall(r"^\| (.*) \|$", section, re.M)
        )
        if cells[0] not in ("the server sends", "---")
    }
    assert list(told) == list(ROWS)
    for case, (_, kind, words, requests) in ROWS.items():
        result, asked = told[case]
        assert asked == str(requests)
        assert (
            (kind in result)
            if kind
            else ("scored" in result if words else "empty response" in result)
        )
