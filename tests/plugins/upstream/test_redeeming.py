"""Markers of a proxy are redeemed as an agent redeems them: at an address of the proxy, or by the tool that it adds."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute
from context_bench.errors import ConfigurationError
from context_bench.runs import open_run
from context_bench_survival import Survival
from context_bench_upstream import (
    Call,
    ForwardedContext,
    RecordingUpstream,
    RetrievalError,
    messages_of,
)
from context_bench_upstream.redeeming import text_in

pytestmark = pytest.mark.skipif(
    find_spec("context_bench_openai") is None,
    reason="context-bench-openai asks the proxy, and is not installed",
)

KEPT = "the build server listens on port 8443 since monday"
LAID_ASIDE = "the old mirror is kept in /srv/qx/layers today\nretries of the second worker stopped after 917 attempts"
FORGOTTEN = "the last build took 7421 seconds on the slow runner"
TEXTS = (KEPT, LAID_ASIDE, FORGOTTEN)
TOOL = {
    "type": "function",
    "function": {
        "name": "fetch_original",
        "parameters": {
            "type": "object",
            "properties": {"hash": {"type": "string"}},
            "required": ["hash"],
        },
    },
}


def session() -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "why does it fail?"}]
    for number, text in enumerate(TEXTS):
        call = {"id": f"c{number}", "name": "read", "arguments": json.dumps({"part": number})}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    messages.append({"role": "user", "content": "go on"})
    return {
        "id": "s",
        "messages": messages,
        "region": [1, 7],
        "future": ["look into /srv/qx/layers, 7421 seconds"],
    }


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Proxy:
    """Lays results aside behind markers, hands them out at an address, and answers its own tool; one text it forgets."""

    def __init__(self) -> None:
        self.upstream = ""
        self.marker = "[2 lines compressed to 0. Retrieve more: hash={}]"
        self.answers_tool = True
        self.status = 404
        self.asked: list[str] = []
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                reference = self.path.rpartition("/")[2]
                proxy.asked.append(reference)
                if reference != hash_of(LAID_ASIDE):
                    self.send(proxy.status, {"detail": f"nothing under {reference}"})
                    return
                self.send(
                    200, {"hash": reference, "original_content": LAID_ASIDE, "note": "two lines"}
                )

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                for message in body["messages"]:
                    if message["role"] == "tool" and message["content"] != KEPT:
                        message["content"] = proxy.marker.format(hash_of(message["content"]))
                body["tools"] = [*body.get("tools", ()), TOOL]
                answer = proxy.forward(self.path, body)
                called = answer["choices"][0]["message"].get("tool_calls")
                if called and proxy.answers_tool:
                    body["messages"] += [
                        answer["choices"][0]["message"],
                        *map(proxy.result_of, called),
                    ]
                    answer = proxy.forward(self.path, body)
                self.send(200, answer)

            def send(self, status: int, content: Any) -> None:
                raw = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: object) -> None:
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def forward(self, path: str, body: Any) -> Any:
        asked = urllib.request.Request(
            self.upstream + path, json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(asked, timeout=60) as found:
            return json.loads(found.read())

    def result_of(self, call: Any) -> dict[str, Any]:
        reference = json.loads(call["function"]["arguments"])["hash"]
        found: dict[str, Any] = {"hash": reference, "original_content": LAID_ASIDE}
        if reference != hash_of(LAID_ASIDE):
            found = {"hash": reference, "error": "it has expired"}
        return {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(found)}

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    made = Proxy()
    yield made
    made.stop()


def forwarded(proxy: Proxy, **options: Any) -> dict[str, Any]:
    system = ForwardedContext(base_url=proxy.url, api_key="", layout="messages", **options)
    proxy.upstream = system.upstream.url
    try:
        return system.process(session())
    finally:
        system.close()


def scores(output: dict[str, Any]) -> dict[str, float]:
    return Survival().score(session(), output)


WAYS: dict[str, dict[str, str]] = {
    "an address": {"redeem": "{url}/v1/retrieve/{{reference}}"},
    "a path of the proxy": {"redeem": "/v1/retrieve/{{reference}}"},
    "a field of its answer": {
        "redeem": "/v1/retrieve/{{reference}}",
        "redeem_field": "original_content",
    },
    "a tool": {"redeem_tool": "fetch_original"},
    "a field of its result": {"redeem_tool": "fetch_original", "redeem_field": "original_content"},
}


@pytest.mark.parametrize("way", WAYS)
def test_what_the_proxy_hands_out_is_recoverable_and_what_it_forgot_is_lost(
    proxy: Proxy, way: str
) -> None:
    output = forwarded(
        proxy, **{name: value.format(url=proxy.url) for name, value in WAYS[way].items()}
    )
    brought = output["redeemed"]
    assert list(brought) == [hash_of(LAID_ASIDE), hash_of(FORGOTTEN)]
    assert LAID_ASIDE in brought[hash_of(LAID_ASIDE)]
    assert brought[hash_of(FORGOTTEN)] is None
    found = scores(output)
    assert (found["survival_needed"], found["recoverable_needed"], found["lost_needed"]) == (
        0.0,
        0.5,
        0.5,
    )
    assert (found["survival_all"], found["recoverable_all"], found["lost_all"]) == (0.25, 0.5, 0.25)
    assert (found["unredeemable_markers"], found["pair_faults"]) == (1.0, 1.0)
    assert output["forwarded"]["requests"] == (2 if "tool" in "".join(WAYS[way]) else 1)
    assert len(output["messages"]) == len(
        session()["messages"]
    )  # what was forwarded first, not after the retrieval
    assert [message["content"] for message in output["messages"] if message["role"] == "tool"] == [
        KEPT,
        *(proxy.marker.format(hash_of(text)) for text in (LAID_ASIDE, FORGOTTEN)),
    ]


def test_a_tool_that_the_proxy_hands_on_to_the_agent_brings_nothing(proxy: Proxy) -> None:
    proxy.answers_tool = False
    output = forwarded(proxy, redeem_tool="fetch_original")
    assert set(output["redeemed"].values()) == {None}
    assert scores(output)["unredeemable_markers"] == 2.0
    assert set(forwarded(proxy, redeem_tool="another")["redeemed"].values()) == {None}


def test_markers_of_any_shape_can_be_declared(
    proxy: Proxy, capsys: pytest.CaptureFixture[str]
) -> None:
    proxy.marker = "(see vault no. {})"
    untold = forwarded(proxy)
    assert "redeemed" not in untold
    assert "unredeemable_markers" not in scores(untold)
    output = forwarded(proxy, redeem="/v1/retrieve/{reference}", marker=r"vault no\. (\w+)")
    found = scores(output)
    assert (found["recoverable_all"], found["unredeemable_markers"]) == (0.5, 1.0)
    assert scores(forwarded(proxy, marker=r"vault no\. (\w+)"))["unredeemable_markers"] == 2.0
    assert "nobody redeems" not in capsys.readouterr().err


def test_markers_that_nobody_redeems_are_told_once(
    proxy: Proxy, capsys: pytest.CaptureFixture[str]
) -> None:
    system = ForwardedContext(base_url=proxy.url, api_key="", layout="messages")
    proxy.upstream = system.upstream.url
    outputs = [system.process(session()) for _ in range(3)]
    system.close()
    assert scores(outputs[0])["unredeemable_markers"] == 2.0
    assert capsys.readouterr().err.count("nobody redeems them") == 1


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_an_address_that_refuses_us_fails_the_row(proxy: Proxy, status: int) -> None:
    proxy.status = status
    with pytest.raises(RetrievalError, match=f"answered {status}"):
        forwarded(proxy, redeem="/v1/retrieve/{reference}")


@pytest.mark.parametrize("status", [400, 404, 410, 422])
def test_an_address_that_knows_nothing_loses_the_marker(proxy: Proxy, status: int) -> None:
    proxy.status = status
    assert (
        forwarded(proxy, redeem="/v1/retrieve/{reference}")["redeemed"][hash_of(FORGOTTEN)] is None
    )


def test_an_address_where_nobody_listens_fails_the_row(proxy: Proxy) -> None:
    with RecordingUpstream() as gone:
        address = gone.url
    with pytest.raises(
        RetrievalError, match="gave no answer to the question what a marker stands for"
    ):
        forwarded(proxy, redeem=address + "/{reference}")


def test_nothing_is_asked_where_the_proxy_left_no_marker(proxy: Proxy) -> None:
    proxy.marker = "[omitted]"
    assert "redeemed" not in forwarded(proxy, redeem="/v1/retrieve/{reference}")
    assert proxy.asked == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"redeem": "http://127.0.0.1:1/v1/retrieve"}, "with {reference} where"),
        ({"redeem": "127.0.0.1:1/{reference}"}, "Give the address"),
        ({"redeem": "/{reference}", "redeem_tool": "fetch"}, "two ways"),
        ({"redeem_field": "text"}, "redeem_field says where"),
        ({"redeem_tool": "fetch", "forward_to": "http://127.0.0.1:1"}, "give one"),
        ({"marker": "vault ("}, "no regular expression"),
        ({"marker": "vault"}, "into a group"),
    ],
    ids=[
        "no place",
        "no scheme",
        "two ways",
        "a field alone",
        "a tool and a reader",
        "no expression",
        "no group",
    ],
)
def test_options_that_make_no_sense_are_told(options: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        ForwardedContext(base_url="http://127.0.0.1:9", **options)


def test_a_run_shows_what_was_recoverable(
    proxy: Proxy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("context_bench_controls")
    with RecordingUpstream() as free:
        port = int(free.url.rpartition(":")[2])
    proxy.upstream = f"http://127.0.0.1:{port}"
    recorded = tmp_path / "session.json"
    messages = [
        {**one, "tool_calls": [{"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
                               for c in one["tool_calls"]]} if "tool_calls" in one else one
        for one in session()["messages"][:-1]
    ]  # fmt: skip
    recorded.write_text(
        json.dumps([*messages, {"role": "assistant", "content": "I look into /srv/qx/layers."}])
    )
    run = tmp_path / "run.sqlite"
    options = f"of=openai,base_url={proxy.url},layout=messages,port={port},model=none,redeem=/v1/retrieve/{{reference}}"
    command = [
        "run",
        "--dataset",
        f"sessions,path={recorded},cuts=last,tail=0,min_tokens=1",
        "--quiet",
    ]
    command += [
        "--system",
        f"proxy=forwarded:{options}",
        "--evaluators",
        "survival",
        "--run-file",
        str(run),
    ]
    assert execute(command) == 0
    assert "nobody redeems" not in capsys.readouterr().err
    with open_run(run) as opened:
        [row] = list(opened.rows())
    assert row.output["redeemed"] == {
        hash_of(LAID_ASIDE): f"{hash_of(LAID_ASIDE)}\n{LAID_ASIDE}\ntwo lines",
        hash_of(FORGOTTEN): None,
    }
    assert (row.scores["recoverable_needed"], row.scores["unredeemable_markers"]) == (1.0, 1.0)
    assert execute(["scorecard", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "recoverable needed" in shown
    assert "dead markers" in shown


@pytest.mark.parametrize(
    ("text", "within", "expected"),
    [
        ("plain text", None, "plain text"),
        (" ", None, None),
        ('{"original_content": "a\\nb"}', None, "a\nb"),
        ('{"items": [{"path": "/a"}, "b"], "count": 4711}', None, "/a\nb"),
        ('{"error": "gone"}', None, None),
        ('{"error": null, "text": "there"}', None, "there"),
        ('{"content": [1, 2]}', "content", "[1, 2]"),
        (
            '{"content": {"error": "a result that failed"}}',
            "content",
            '{"error": "a result that failed"}',
        ),
        ('{"other": "x"}', "content", None),
        ("plain text", "content", None),
    ],
)
def test_what_an_answer_brings(text: str, within: str | None, expected: str | None) -> None:
    assert text_in(text, within) == expected


CALLS = [
    Call("call_redeem_0", "fetch", {"hash": "5f3a"}),
    Call("call_redeem_1", "fetch", {"hash": "ü"}),
]
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}


@pytest.mark.parametrize("dialect", PATHS)
def test_calls_in_three_interfaces_say_the_same_whole_and_streamed(dialect: str) -> None:
    told = {}
    for stream in (False, True):
        with RecordingUpstream() as upstream:
            upstream.calls_for = lambda _: CALLS
            body = {"model": "m", "stream": stream, "messages": [], "input": "hi"}
            asked = urllib.request.Request(
                upstream.url + PATHS[dialect],
                json.dumps(body).encode(),
                {"content-type": "application/json"},
            )
            with urllib.request.urlopen(asked, timeout=60) as found:
                raw = found.read().decode()
        if stream:
            events = [
                json.loads(line[6:])
                for line in raw.splitlines()
                if line.startswith("data: ") and "[DONE]" not in line
            ]
            told[stream] = STREAMED[dialect](events)
        else:
            told[stream] = WHOLE[dialect](json.loads(raw))
    assert told[False] == told[True] == [(one.id, one.name, dict(one.arguments)) for one in CALLS]


def _chat(calls: Any) -> list[tuple[str, str, Any]]:
    return [
        (one["id"], one["function"]["name"], json.loads(one["function"]["arguments"]))
        for one in calls
    ]


def _items(items: Any) -> list[tuple[str, str, Any]]:
    return [(one["call_id"], one["name"], json.loads(one["arguments"])) for one in items]


def _streamed_blocks(events: Any) -> list[tuple[str, str, Any]]:
    begun = [one["content_block"] for one in events if one["type"] == "content_block_start"]
    parts = [one["delta"]["partial_json"] for one in events if one["type"] == "content_block_delta"]
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    return [
        (one["id"], one["name"], json.loads(part)) for one, part in zip(begun, parts, strict=True)
    ]


WHOLE: dict[str, Any] = {
    "chat": lambda found: _chat(found["choices"][0]["message"]["tool_calls"]),
    "responses": lambda found: _items(found["output"]),
    "messages": lambda found: [(one["id"], one["name"], one["input"]) for one in found["content"]],
}
STREAMED: dict[str, Any] = {
    "chat": lambda events: _chat(events[0]["choices"][0]["delta"]["tool_calls"]),
    "responses": lambda events: _items(
        [one["item"] for one in events if one["type"] == "response.output_item.done"]
    ),
    "messages": _streamed_blocks,
}


def test_calls_that_come_back_in_a_request_are_read_in_three_interfaces() -> None:
    call = {"id": "call_redeem_0", "name": "fetch", "arguments": '{"hash": "5f3a"}'}
    bodies: dict[str, dict[str, Any]] = {
        "chat": {"messages": [{"role": "assistant", "content": None, "tool_calls": [
            {"id": call["id"], "type": "function", "function": {"name": "fetch", "arguments": call["arguments"]}}]}]},
        "responses": {"input": [
            {"type": "function_call", "call_id": call["id"], "name": "fetch", "arguments": call["arguments"]}]},
        "messages": {"messages": [{"role": "assistant", "content": [
            {"type": "tool_use", "id": call["id"], "name": "fetch", "input": {"hash": "5f3a"}}]}]},
    }  # fmt: skip
    for dialect, body in bodies.items():
        assert messages_of(dialect, body) == [
            {"role": "assistant", "content": "", "tool_calls": [call]}
        ]
