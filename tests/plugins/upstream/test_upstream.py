"""The recording upstream, with a small proxy between: what the proxy forwards is kept, paired with its row and measured."""

from __future__ import annotations

import gzip
import http.server
import json
import threading
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import ConfigurationError
from context_bench_upstream import (
    ForwardedContext,
    RecordingUpstream,
    forwarded_context,
    messages_of,
)

asks_openai = pytest.mark.skipif(
    find_spec("context_bench_openai") is None,
    reason="context-bench-openai asks the proxy, and is not installed",
)


def ask(url: str, path: str, body: Any, **headers: str) -> tuple[str, bytes]:
    request = urllib.request.Request(
        url + path, json.dumps(body).encode(), {"content-type": "application/json", **headers}
    )
    with urllib.request.urlopen(request, timeout=20) as found:
        return found.headers["content-type"], found.read()


def send(handler: http.server.BaseHTTPRequestHandler, answer: bytes) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(answer)))
    handler.end_headers()
    handler.wfile.write(answer)


class Proxy:
    """Passes requests on to an upstream, every text of a tool cut to its first line; counts what it sends by itself."""

    def __init__(self) -> None:
        self.upstream = ""
        self.forwards = True
        self.sent: list[bytes] = []
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                for message in body["messages"]:
                    if message["role"] in ("tool", "system"):
                        message["content"] = message["content"].splitlines()[0]
                raw = json.dumps(body).encode()
                answer = json.dumps(
                    {"choices": [{"message": {"role": "assistant", "content": "cached"}}]}
                ).encode()
                if proxy.forwards:
                    proxy.sent.append(raw)
                    passed = urllib.request.Request(
                        proxy.upstream + self.path, raw, {"content-type": "application/json"}
                    )
                    with urllib.request.urlopen(passed, timeout=20) as found:
                        answer = found.read()
                send(self, answer)

            def log_message(self, *_: object) -> None:
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    made = Proxy()
    yield made
    made.stop()


def test_a_body_that_a_proxy_changed_is_measured_with_plain_requests(proxy: Proxy) -> None:
    region = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "read"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "kept line\nlost line"},
    ]
    body = {
        "messages": [
            {"role": "user", "content": "why?"},
            *region,
            {"role": "user", "content": "go on"},
        ]
    }
    with RecordingUpstream() as upstream:
        proxy.upstream = upstream.url
        _, answer = ask(proxy.url, "/v1/chat/completions", body)
        arrived = upstream.take()
    assert json.loads(answer)["choices"][0]["message"]["content"] == "ok"
    assert [one.body for one in arrived] == [json.loads(raw) for raw in proxy.sent]
    found = forwarded_context({"messages": body["messages"], "region": [1, 3]}, arrived)
    assert found["region"] == [1, 3]
    assert [message["content"] for message in found["messages"]] == [
        "why?",
        "",
        "kept line",
        "go on",
    ]
    assert "lost line" not in found["context"]
    assert found["forwarded"]["requests"] == 1


def test_the_question_of_a_plain_row_is_no_part_of_its_context(proxy: Proxy) -> None:
    body = {
        "messages": [
            {"role": "system", "content": "first\nsecond"},
            {"role": "user", "content": "what is it?"},
        ]
    }
    with RecordingUpstream() as upstream:
        proxy.upstream = upstream.url
        ask(proxy.url, "/v1/chat/completions", body)
        found = forwarded_context(
            {"context": "first\nsecond", "question": "what is it?"}, upstream.take()
        )
    assert found["context"] == "first"


class Kept:
    name = "kept"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"kept": float("second" in processed["context"])}


@asks_openai
def test_options_of_the_asking_system_arrive_as_they_are(proxy: Proxy) -> None:
    told = {
        "system_prompt": "Be brief, please: one word",
        "model": "a,b=c",
        "extra_headers": ["x-a: 1, 2"],
        "temperature": 0,
    }
    system = ForwardedContext(base_url=proxy.url, api_key="", **told)
    proxy.upstream = system.upstream.url
    body = system.process({"id": "1", "context": "first", "question": "what?"})["forwarded"]["body"]
    system.close()
    assert body["messages"][0] == {"role": "system", "content": "Be brief, please: one word"}
    assert (body["model"], body["temperature"]) == ("a,b=c", 0)


@asks_openai
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"port": 99999}, "cannot listen on 127.0.0.1:99999"),
        ({"port": -1}, "Choose another port"),
        ({"forward_to": "nothing"}, "must be an address"),
        ({"modle": "a"}, "modle"),
    ],
)
def test_options_that_cannot_be_are_told_at_once(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        ForwardedContext(base_url="http://127.0.0.1:9", **options)


@asks_openai
def test_what_was_forwarded_is_paired_with_its_row(proxy: Proxy) -> None:
    system = ForwardedContext(base_url=proxy.url, api_key="")
    proxy.upstream = system.upstream.url
    rows = [
        {"id": str(n), "context": f"first {n}\nsecond {n}", "question": f"what is {n}?"}
        for n in range(6)
    ]
    result = evaluate(system, rows, [Kept()], progress=False, max_workers=4)
    assert [row.output["context"] for row in result.rows] == [f"first {n}" for n in range(6)]
    assert [row.output["forwarded"]["body"] for row in result.rows] == [
        json.loads(next(raw for raw in proxy.sent if f"what is {n}?".encode() in raw))
        for n in range(6)
    ]
    assert all(row.response == "ok" and row.scores == {"kept": 0.0} for row in result.rows)
    assert all(
        row.context_tokens == row.input_tokens - 2 for row in result.rows
    )  # by the run's own tokenizer
    system.close()


@asks_openai
def test_a_session_is_measured_on_the_messages_that_were_forwarded(proxy: Proxy) -> None:
    survival = pytest.importorskip("context_bench_survival")
    call = {"id": "c1", "name": "read", "arguments": "{}"}
    text = "the server listens on 8443 since monday\nthe old mirror is kept in /srv/qx/layers today"
    messages = [
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text},
        {"role": "user", "content": "go on"},
    ]
    system = ForwardedContext(base_url=proxy.url, api_key="", layout="messages")
    proxy.upstream = system.upstream.url
    example = {"id": "s", "messages": messages, "region": [1, 3], "future": [":8443"]}
    output = system.process(example)
    system.close()
    assert output["messages"][1:3] == [
        messages[1],
        {**messages[2], "content": text.splitlines()[0]},
    ]
    assert output["region"] == [1, 3]
    scores = survival.Survival().score(example, output)
    assert (scores["survival_needed"], scores["survival_all"], scores["pair_faults"]) == (
        1.0,
        0.5,
        0.0,
    )


@asks_openai
def test_a_proxy_that_forwards_nothing_fails_the_row(proxy: Proxy) -> None:
    proxy.forwards = False
    system = ForwardedContext(base_url=proxy.url, api_key="")
    with pytest.raises(ConfigurationError, match="forwarded nothing"):
        system.process({"context": "c", "question": "q"})
    system.close()


@asks_openai
def test_a_taken_port_is_named() -> None:
    with RecordingUpstream() as upstream:
        port = int(upstream.url.rpartition(":")[2])
        with pytest.raises(ConfigurationError, match=f"127.0.0.1:{port}"):
            ForwardedContext(base_url="http://127.0.0.1:9", port=port)


BODIES = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "hi"}]},
    "/v1/responses": {"input": "hi"},
    "/v1/messages": {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]},
}


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("stream", [False, True])
def test_three_interfaces_are_answered_and_recorded(path: str, stream: bool) -> None:
    with RecordingUpstream(reply="fine") as upstream:
        kind, text = ask(
            upstream.url,
            path,
            {**BODIES[path], "model": "m", "stream": stream},
            authorization="Bearer secret",
        )
        [found] = upstream.take()
        assert not upstream.take()
    assert ("event-stream" in kind) is stream
    assert b"fine" in text
    assert "authorization" not in found.headers
    assert messages_of(found.dialect, found.body) == [{"role": "user", "content": "hi"}]


def test_a_reader_can_answer_in_its_place() -> None:
    with (
        RecordingUpstream(reply="from the reader") as reader,
        RecordingUpstream(forward_to=reader.url + "/v1") as upstream,
    ):
        _, text = ask(upstream.url, "/v1/chat/completions", BODIES["/v1/chat/completions"])
        assert json.loads(text)["choices"][0]["message"]["content"] == "from the reader"
        assert len(upstream.take()) == len(reader.take()) == 1
    with (
        RecordingUpstream(forward_to=reader.url) as upstream,
        pytest.raises(urllib.error.HTTPError, match="502"),
    ):
        ask(upstream.url, "/v1/chat/completions", BODIES["/v1/chat/completions"])


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
USE = {"type": "tool_use", "id": "t", "name": "read", "input": {"a": "\u00e9"}}
CALL = {"id": "t", "type": "function", "function": {"name": "read", "arguments": '{"a": 1}'}}
CUSTOM = {"id": "u", "type": "custom", "custom": {"name": "sh", "input": "ls"}}

PASSED_ON: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "an image in a result": (
        "messages",
        [
            {"role": "user", "content": [IMAGE, {"type": "text", "text": "why?"}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]},
            {"role": "assistant", "content": [USE]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": [IMAGE]}],
            },
        ],
    ),
    "calls of every form": (
        "chat",
        [
            {"role": "developer", "content": "s"},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]},
            {"role": "assistant", "content": None, "tool_calls": [CALL, CUSTOM]},
            {"role": "tool", "tool_call_id": "t", "content": "r"},
            {"role": "tool", "tool_call_id": "u", "content": "r"},
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "f", "arguments": "{}"},
            },
            {"role": "function", "name": "f", "content": "r"},
        ],
    ),
}


@pytest.mark.parametrize(("dialect", "said"), PASSED_ON.values(), ids=list(PASSED_ON))
def test_what_is_passed_on_as_it_came_tells_what_the_session_told(
    dialect: str, said: list[dict[str, Any]]
) -> None:
    """A picture was no text in one of the two: a proxy that changed nothing lost the cache behind it."""
    sessions = pytest.importorskip(
        "context_bench_sessions.formats.chat", reason="reads the session itself"
    )
    assert messages_of(dialect, {"messages": said}) == list(
        sessions.session_of("s", said, {}).messages
    )


def test_calls_at_once_are_one_turn_of_responses() -> None:
    items = [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I look."}],
        },
        {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "b", "name": "sh", "input": "ls"},
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [{"type": "input_text", "text": "r"}],
        },
        {"type": "custom_tool_call_output", "call_id": "b", "output": "r"},
    ]
    [turn, *results] = messages_of("responses", {"input": items})
    assert (turn["content"], [one["id"] for one in turn["tool_calls"]]) == ("I look.", ["a", "b"])
    assert [(one["role"], one["tool_call_id"], one["content"]) for one in results] == [
        ("tool", "a", "r"),
        ("tool", "b", "r"),
    ]


@pytest.mark.parametrize("role", ["user", "system", "summary"])
def test_calls_are_read_whoever_a_proxy_lets_make_them(role: str) -> None:
    """kompact 0.4.0 sends every message of an agent as one of the user's."""
    calls = [{"id": "t", "name": "read", "arguments": '{"a": 1}'}]
    [made] = messages_of(
        "chat", {"messages": [{"role": role, "content": "", "tool_calls": [CALL]}]}
    )
    assert (made["role"], made["tool_calls"]) == (role, calls)
    used = {**USE, "input": {"a": 1}}
    [made] = messages_of("messages", {"messages": [{"role": role, "content": [used]}]})
    assert (made["role"], made["tool_calls"]) == (role, calls)


def test_a_role_that_no_provider_knows_stays_as_it_was_sent() -> None:
    body = {"messages": [{"role": "summary", "content": [{"type": "text", "text": "so far"}]}]}
    assert messages_of("chat", body) == [{"role": "summary", "content": "so far"}]


def test_responses_and_blocks_are_read_as_messages() -> None:
    call = {"id": "t", "name": "read", "arguments": '{"a": 1}'}
    blocks = [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "read", "input": {"a": 1}}],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [{"type": "text", "text": "r"}],
                }
            ],
        },
    ]
    items = [
        {"type": "function_call", "call_id": "t", "name": "read", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "t", "output": "r"},
    ]
    expected = [
        {"role": "system", "content": "s"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "r", "tool_call_id": "t"},
    ]
    assert (
        messages_of("messages", {"system": [{"type": "text", "text": "s"}], "messages": blocks})
        == expected
    )
    assert messages_of("responses", {"instructions": "s", "input": items}) == expected


class Receiver:
    """Notes the headers that arrive, and redirects or answers."""

    def __init__(self, location: str = "") -> None:
        self.headers: list[dict[str, str]] = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                receiver.headers.append({k.lower(): v for k, v in self.headers.items()})
                self.send_response(307 if location else 200)
                if location:
                    self.send_header("location", location)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, *_: object) -> None:
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def test_no_key_follows_a_redirect_to_another_host() -> None:
    elsewhere = Receiver()
    reader = Receiver(f"{elsewhere.url}/v1/chat/completions")
    keys = {"authorization": "Bearer sk-123456", "x-api-key": "sk-123456"}
    try:
        with (
            RecordingUpstream(forward_to=reader.url) as upstream,
            pytest.raises(urllib.error.HTTPError) as refused,
        ):
            ask(upstream.url, "/v1/chat/completions", {"messages": []}, **keys)
        refused.value.close()
        assert refused.value.code == 502
        [headers] = reader.headers
        assert headers["authorization"] == keys["authorization"]
        assert "x-context-bench-row" not in headers
        assert elsewhere.headers == []
    finally:
        reader.stop()
        elsewhere.stop()


class Summarizing(Proxy):
    """Asks its upstream for a summary first, and forwards that in place of the row's texts; or asks twice for the same."""

    def __init__(self, repeats: bool = False) -> None:
        super().__init__()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                texts = "\n".join(str(message["content"]) for message in body["messages"])
                if repeats:
                    proxy.ask_upstream(self.path, body)
                else:
                    summary = proxy.ask_upstream(
                        self.path,
                        {"messages": [{"role": "user", "content": f"Summarize this: {texts}"}]},
                    )
                    body["messages"][0]["content"] = f"Summary: {summary}"
                proxy.ask_upstream(self.path, body)
                answer = json.dumps(
                    {"choices": [{"message": {"role": "assistant", "content": "done"}}]}
                ).encode()
                send(self, answer)

            def log_message(self, *_: object) -> None:
                return

        self.server.RequestHandlerClass = Handler

    def ask_upstream(self, path: str, body: Any) -> str:
        _, answer = ask(self.upstream, path, body)
        return str(json.loads(answer)["choices"][0]["message"]["content"])


@pytest.fixture
def summarizing(request: pytest.FixtureRequest) -> Iterator[Proxy]:
    made = Summarizing(getattr(request, "param", False))
    yield made
    made.stop()


ROW = {"id": "1", "context": "The port is 8443 since monday.", "question": "which port is it?"}


@asks_openai
def test_a_proxy_that_asks_a_model_itself_needs_one(summarizing: Proxy) -> None:
    system = ForwardedContext(base_url=summarizing.url, api_key="")
    summarizing.upstream = system.upstream.url
    with pytest.raises(ConfigurationError, match=r"asks a model itself.*forward_to=ADDRESS"):
        system.process(ROW)
    system.close()


@asks_openai
def test_a_proxy_with_a_model_of_its_own_is_measured(summarizing: Proxy) -> None:
    with RecordingUpstream(reply="the port is 8443") as reader:
        system = ForwardedContext(base_url=summarizing.url, api_key="", forward_to=reader.url)
        summarizing.upstream = system.upstream.url
        output = system.process(ROW)
        system.close()
    assert output["context"] == "Summary: the port is 8443"
    assert output["forwarded"]["proxy_requests"] == 1
    assert output["forwarded"]["requests"] == 2


@asks_openai
@pytest.mark.parametrize("summarizing", [True], indirect=True, ids=["repeats"])
def test_a_request_that_is_repeated_is_not_the_proxys_own(summarizing: Proxy) -> None:
    system = ForwardedContext(base_url=summarizing.url, api_key="")
    summarizing.upstream = system.upstream.url
    facts = system.process(ROW)["forwarded"]
    system.close()
    assert (facts["requests"], facts["proxy_requests"]) == (2, 0)


def post(url: str, body: bytes, encoding: str) -> tuple[int, bytes]:
    headers = {"content-type": "application/json", "content-encoding": encoding}
    request = urllib.request.Request(f"{url}/v1/chat/completions", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as found:
            return found.status, found.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


PACKED = json.dumps({"messages": [{"role": "user", "content": "hi"}]}).encode()
RAW_DEFLATE = zlib.compress(PACKED)[2:-4]


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(PACKED), "gzip"),
        (gzip.compress(PACKED[:9]) + gzip.compress(PACKED[9:]), "gzip"),
        (gzip.compress(gzip.compress(PACKED)), "gzip, gzip"),
        (zlib.compress(PACKED), "deflate"),
        (RAW_DEFLATE, "deflate"),
        (PACKED, "identity"),
        (PACKED, "none"),
    ],
    ids=["gzip", "two members", "twice", "deflate", "raw deflate", "identity", "none"],
)
def test_a_packed_request_is_read(body: bytes, encoding: str) -> None:
    with RecordingUpstream() as upstream:
        status, _ = post(upstream.url, body, encoding)
        [found] = upstream.take()
    assert status == 200
    assert found.body == json.loads(PACKED)


@pytest.mark.parametrize(
    ("body", "encoding", "words"),
    [
        (gzip.compress(PACKED)[:-9], "gzip", "cut short"),
        (PACKED, "gzip", "is not gzip"),
        (PACKED, "snappy", "'snappy', which is unknown"),
    ],
    ids=["cut", "plain", "unknown"],
)
def test_a_packed_request_that_cannot_be_read_is_refused(
    body: bytes, encoding: str, words: str
) -> None:
    with RecordingUpstream() as upstream:
        status, answer = post(upstream.url, body, encoding)
        assert not upstream.take()
    assert status == 415
    assert words in json.loads(answer)["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1/responses/input_tokens"])
def test_tokens_are_counted_and_nothing_is_recorded(path: str) -> None:
    with RecordingUpstream() as upstream:
        _, answer = ask(upstream.url, path, {"messages": [{"role": "u", "content": "one two"}]})
        assert not upstream.take()
    assert json.loads(answer)["input_tokens"] == 3


def test_models_are_listed() -> None:
    with RecordingUpstream() as upstream:
        for path, key in (("/v1/models", "data"), ("/v1/models/some-model", "id")):
            with urllib.request.urlopen(upstream.url + path, timeout=20) as found:
                assert json.load(found)[key]
