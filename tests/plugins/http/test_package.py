"""The support package: what it exports, and that the interfaces which stand on it share it."""

from __future__ import annotations

import inspect
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import context_bench_http
from context_bench_http import (
    Dialect,
    Endpoint,
    EndpointError,
    EndpointTimeoutError,
    EndpointUnreachableError,
    FailureHeaders,
    JsonClient,
    Network,
    Redactor,
    RequestRefusedError,
    UnusableReplyError,
    header_mapping,
    recorded_headers,
)
from context_bench_http.json_client import encoded
from context_bench_http.server_words import server_words


def test_the_public_names() -> None:
    assert sorted(context_bench_http.__all__) == sorted(
        name
        for name, value in vars(context_bench_http).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    )


def test_the_blocks_of_the_readme_run(run_readme: Any) -> None:
    run_readme()


@pytest.mark.parametrize(
    ("base_url", "operation", "url"),
    [
        ("localhost:1", "messages", "http://localhost:1/v1/messages"),
        ("https://h.example/v1/messages", "messages", "https://h.example/v1/messages"),
        (
            "https://h.example/v1/messages/",
            "chat/completions",
            "https://h.example/v1/chat/completions",
        ),
        (
            "https://h.example/v1/chat/completions?v=2",
            "messages",
            "https://h.example/v1/messages?v=2",
        ),
        ("https://h.example/api/v3", "embeddings", "https://h.example/api/v3/embeddings"),
    ],
)
def test_one_base_url_serves_every_operation(base_url: str, operation: str, url: str) -> None:
    assert Endpoint.parse(base_url).at(operation).url == url


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        (["x-team"], "lacks a half"),
        ([": red"], "lacks a half"),
        ({"x team": "red"}, "a character that HTTP does not allow"),
        ({"Content-Length": "3"}, "belongs to the connection"),
        ({"x-team": "r\ned"}, "Was it copied with a line break"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_before_any_call(headers: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        header_mapping(headers)


def test_an_organization_is_not_recorded() -> None:
    sent = {
        "anthropic-organization-id": "o",
        "openai-organization": "o",
        "anthropic-ratelimit-tokens-limit": "9",
    }
    assert recorded_headers(sent) == {"anthropic-ratelimit-tokens-limit": "9"}


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked; the body says how."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        wanted = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps(
            {"path": self.path, "asked": wanted, "key": self.headers.get("x-api-key")}
        ).encode()
        self.send_response(wanted.get("status", 200))
        self.send_header("content-length", str(len(body)))
        self.send_header("x-proxy-broken", wanted.get("broken", "no"))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def client(address: str, **settings: Any) -> JsonClient:
    def refusal(where: str, status: int, headers: Mapping[str, str], body: bytes) -> EndpointError:
        return RequestRefusedError(f"{where} said {status}: {body.decode()}", status=status)

    def no_stream(where: str) -> Any:
        raise AssertionError(where)

    return JsonClient(
        Endpoint.parse(address),
        headers={"content-type": "application/json", "x-api-key": "sk-secret"},
        redactor=Redactor(["sk-secret"]),
        dialect=Dialect(no_stream, refusal),
        network=Network(is_local=True),
        failure_headers=FailureHeaders(["x-proxy-broken=yes"]),
        **{"timeout": 30, **settings},
    )


def test_another_interface_is_a_dialect_and_a_reader(address: str) -> None:
    import asyncio

    def read(where: str, content: Any, **received: Any) -> tuple[Any, ...]:
        return where, content["path"], content["asked"], received["ttft"]

    def read_nothing(where: str, content: Any, **received: Any) -> None:
        raise UnusableReplyError(f"{where} holds nothing", status=200)

    with client(address) as ours:
        there = ours.endpoint.at("embeddings")
        expected = (f"{address}/v1/embeddings", "/v1/embeddings", {"input": "a"}, None)
        assert ours.post(there, encoded({"input": "a", "seed": None}), read) == expected
        assert asyncio.run(ours.apost(there, encoded({"input": "a"}), read)) == expected
        with pytest.raises(UnusableReplyError, match="holds nothing"):
            ours.post(there, encoded({}), read_nothing)
        with pytest.raises(RequestRefusedError, match=r'said 404.*"key": "\*\*\*"'):
            ours.post(there, encoded({"status": 404}), read)
        with pytest.raises(EndpointError, match="did not do its work: x-proxy-broken: yes"):
            ours.post(there, encoded({"broken": "yes"}), read)


@pytest.mark.parametrize("door", ["thread", "event loop"])
def test_a_resolver_that_hangs_costs_no_call_more_than_its_timeout(
    door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    answered, asked = threading.Event(), []
    look_up = socket.getaddrinfo

    def hang(host: Any, *given: Any, **named: Any) -> Any:
        if host != "slow.example":
            return look_up(host, *given, **named)
        if named.get("flags") == socket.AI_NUMERICHOST:
            raise socket.gaierror("a name")
        asked.append(host)
        assert answered.wait(60), "nobody bounded this"
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    ours = client("http://slow.example:1", timeout=0.05)

    loop = asyncio.new_event_loop()  # asyncio.run would wait for the resolver in the end

    def call() -> None:
        if door == "thread":
            ours.post(ours.endpoint, encoded({}), read=None)  # type: ignore[arg-type]
        else:
            loop.run_until_complete(ours.apost(ours.endpoint, encoded({}), read=None))  # type: ignore[arg-type]

    try:
        for _ in range(3):
            with pytest.raises(
                EndpointTimeoutError, match=r"gave no complete reply within 0\.05 s"
            ):
                call()
        assert asked == ["slow.example"]  # one look-up, however many calls wait for it
    finally:
        answered.set()
    ours = client("http://slow.example:1", timeout=30)
    with pytest.raises(EndpointUnreachableError, match="slow"):
        call()
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


@pytest.mark.parametrize("door", ["thread", "event loop"])
@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], ["127.0.0.9", "127.0.0.1"]], ids=["one", "several"]
)
def test_every_address_of_a_name_is_tried(
    door: str, addresses: list[str], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    look_up = socket.getaddrinfo

    def found(host: Any, *given: Any, **named: Any) -> Any:
        if host != "named.example" or named.get("flags") == socket.AI_NUMERICHOST:
            return look_up(host, *given, **named)
        return [entry for one in addresses for entry in look_up(one, *given, **named)]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    monkeypatch.setenv("NO_PROXY", "*")
    ours = client(address.replace("127.0.0.1", "named.example"))

    def read(where: str, content: Any, **received: Any) -> Any:
        return content["asked"]

    body = encoded({"input": "a"})
    told = (
        ours.post(ours.endpoint, body, read)
        if door == "thread"
        else asyncio.run(ours.apost(ours.endpoint, body, read))
    )
    assert told == {"input": "a"}


def test_the_date_is_kept_beside_what_is_said_of_limits_alone():
    date = "Fri, 15 Jan 2027 08:00:00 GMT"
    told = {"x-ratelimit-reset": "1800000012", "Date": date}
    assert recorded_headers(told) == {"date": date, "x-ratelimit-reset": "1800000012"}
    assert recorded_headers({"x-request-id": "7", "Date": date}) == {"x-request-id": "7"}


@pytest.mark.parametrize("page", [b"<title" * 500_000, b"<" * 3_000_000])
def test_a_page_of_megabytes_is_told_by_its_beginning(page: bytes) -> None:
    assert len(server_words(None, page)) <= 600
    assert server_words(None, b"<html><title>Bad gateway</title>" + page) == "Bad gateway"
