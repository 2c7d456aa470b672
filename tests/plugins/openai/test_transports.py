"""What carries requests: connections, framing, HTTP proxies and TLS. With `ask`, threads and event loops do the same."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import socket
import ssl
import struct
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench_openai import (
    ChatClient,
    EndpointError,
    EndpointUnreachableError,
    OpenAIProxy,
    UnusableReplyError,
)

EXAMPLE = {"context": "Rome is in Italy.", "question": "Where is Rome?"}
CERTIFICATES = Path(__file__).parent / "certificates"
SERVER, CLIENT = str(CERTIFICATES / "server.pem"), str(CERTIFICATES / "client.pem")
SERVER_KEY = str(CERTIFICATES / "server.key")


def _body(text: str = "Italy") -> bytes:
    return json.dumps(
        {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    ).encode()


def _response(body: bytes, *lines: str, status: str = "200 OK") -> bytes:
    head = "".join(f"{line}\r\n" for line in lines)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body


def _chunked(body: bytes, size: int = 7, trailer: bytes = b"") -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return (
        b"".join(b"%x;note=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        + b"0\r\n"
        + trailer
        + b"\r\n"
    )


def _with_length(body: bytes, *lines: str, **more: str) -> bytes:
    return _response(body, f"Content-Length: {len(body)}", *lines, **more)


def _raw_deflate(body: bytes) -> bytes:
    deflate = zlib.compressobj(wbits=-15)
    return deflate.compress(body) + deflate.flush()


# Responses that are unusual and right.
READ: dict[str, bytes] = {
    "chunks": _response(_chunked(_body()), "transfer-encoding: chunked"),
    "chunks and a trailer": _response(
        _chunked(_body(), trailer=b"x-sum: 1\r\n"), "Transfer-Encoding: Chunked"
    ),
    "gzip in chunks": _response(
        _chunked(gzip.compress(_body())), "transfer-encoding: chunked", "content-encoding: gzip"
    ),
    "deflate": _with_length(zlib.compress(_body()), "content-encoding: deflate"),
    "deflate without its wrapper": _with_length(_raw_deflate(_body()), "content-encoding: deflate"),
    "not encoded": _with_length(_body(), "content-encoding: identity"),
    "an encoding named none": _with_length(_body(), "content-encoding: none"),
    "a charset for an encoding": _with_length(_body(), "content-encoding: UTF-8"),
    "gzip and a charset": _with_length(gzip.compress(_body()), "content-encoding: gzip, utf8"),
    "gzip in members": _with_length(
        gzip.compress(_body()[:9]) + gzip.compress(_body()[9:]), "content-encoding: gzip"
    ),
    "gzip twice": _with_length(
        gzip.compress(gzip.compress(_body())), "content-encoding: gzip, gzip"
    ),
    "gzip twice and named once": _with_length(
        gzip.compress(gzip.compress(_body())), "content-encoding: x-gzip"
    ),
    "gzip once and named twice": _with_length(
        gzip.compress(_body()), "content-encoding: gzip", "content-encoding: gzip"
    ),
    "gzip below deflate": _with_length(
        zlib.compress(gzip.compress(_body())), "content-encoding: gzip, deflate"
    ),
    "chunks and a length": _response(
        _chunked(_body()), "content-length: 10", "transfer-encoding: chunked"
    ),
    "a length twice": _with_length(_body(), f"content-length: {len(_body())}"),
    "a length in a list": _response(_body(), f"content-length: {len(_body())}, {len(_body())}"),
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\n" + _body(),
    "announcements before the answer": b"HTTP/1.1 100 Continue\r\n\r\n"
    b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" + _with_length(_body()),
    "no reason phrase": _with_length(_body(), status="200 "),
    "a byte that is no ASCII": _with_length(_body(), "x-city: Z\u00fcrich"),
}


@pytest.mark.parametrize("case", READ)
@pytest.mark.parametrize("size", [None, 11], ids=["at once", "in small pieces"])
def test_every_framing_is_read(
    case: str, size: int | None, server: Any, steps: Any, ask: Any
) -> None:
    def step(server: Any, connection: Any, request: Any) -> bool:
        content = READ[case]
        for at in range(0, len(content), size or len(content)):
            connection.sendall(content[at : at + (size or len(content))])
        return case != "HTTP/1.0"

    server.play(step)
    assert ask(OpenAIProxy(server.url), EXAMPLE)["response"] == "Italy"


def test_values_of_a_repeated_header_are_joined(server: Any, steps: Any, ask: Any) -> None:
    server.play(steps.raw(_with_length(_body(), "x-step: one", "X-Step: two")))
    assert ask(OpenAIProxy(server.url), EXAMPLE)["headers"]["x-step"] == "one, two"


UNREAD: dict[str, tuple[bytes, type[EndpointError], str]] = {
    "chunks that stop": (
        _response(_chunked(_body())[:-20], "transfer-encoding: chunked"),
        EndpointUnreachableError,
        "broke the connection before the reply was complete",
    ),
    "a chunk of no size": (
        _response(b"zz\r\n", "transfer-encoding: chunked"),
        EndpointUnreachableError,
        "broke the connection before the reply was complete",
    ),
    "a head that stops": (
        b"HTTP/1.1 200 OK\r\ncontent-le",
        EndpointUnreachableError,
        "broke the connection",
    ),
    "a status that is none": (
        b"HTTP/1.1 abc OK\r\n\r\n",
        EndpointUnreachableError,
        "broke the connection",
    ),
    "two lengths": (
        _response(_body(), "content-length: 5", "content-length: 7"),
        EndpointUnreachableError,
        "broke the connection",
    ),
    "bytes behind the answer that are no HTTP": (
        _with_length(_body()) + b"\x00\x01",
        EndpointUnreachableError,
        "broke the connection",
    ),
    "gzip that is cut": (
        _with_length(gzip.compress(_body())[:-12], "content-encoding: gzip"),
        UnusableReplyError,
        "the gzip body is cut short",
    ),
    "gzip that is named and absent": (
        _with_length(_body(), "content-encoding: gzip"),
        UnusableReplyError,
        "the body is not gzip",
    ),
    "gzip that breaks in the middle": (
        _with_length(gzip.compress(_body())[:10] + b"\xff" * 40, "content-encoding: gzip"),
        UnusableReplyError,
        "a compressed body that cannot be read",
    ),
}


@pytest.mark.parametrize("case", UNREAD)
def test_broken_framing_is_one_clear_error(case: str, server: Any, steps: Any, ask: Any) -> None:
    content, kind, words = UNREAD[case]
    server.play(steps.raw(content, keep=False))
    with pytest.raises(kind, match=words) as caught:
        ask(OpenAIProxy(server.url), EXAMPLE)
    assert caught.value.retryable
    assert len(str(caught.value).splitlines()) == 1


def test_a_status_below_all_is_an_error_and_no_announcement(
    server: Any, steps: Any, ask: Any
) -> None:
    """On an event loop the answer behind it was waited for until the time was up."""
    server.play(steps.raw(_with_length(_body(), status="000 OK")))
    with pytest.raises(EndpointUnreachableError, match="broke the connection"):
        ask(OpenAIProxy(server.url, timeout=2), EXAMPLE)


def test_a_compressed_bomb_meets_the_limit_of_bodies(server: Any, steps: Any, ask: Any) -> None:
    bomb = zlib.compressobj(wbits=31)
    content = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(80)) + bomb.flush()
    server.play(steps.raw(_with_length(content, "content-encoding: gzip")))
    with pytest.raises(UnusableReplyError, match="more than 64 MiB for one reply"):
        ask(OpenAIProxy(server.url), EXAMPLE)


def test_a_head_without_end_is_given_up(server: Any, steps: Any, ask: Any) -> None:
    def step(server: Any, connection: Any, request: Any) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        for _ in range(4000):
            connection.sendall(b"x-more: " + b"y" * 1000 + b"\r\n")
        return False

    server.play(step)
    with pytest.raises(EndpointUnreachableError, match="broke the connection"):
        ask(OpenAIProxy(server.url), EXAMPLE)


def _many(system: OpenAIProxy, times: int, pause: float = 0.0) -> list[str]:
    async def run() -> list[str]:
        texts = []
        for _ in range(times):
            texts.append((await system.aprocess(EXAMPLE))["response"])
            await asyncio.sleep(pause)
        return texts

    return asyncio.run(run())


def _connections_of(server: Any) -> int:
    return len(server._threads) - 1  # one is the listener


def test_a_connection_of_a_loop_is_used_again(server: Any) -> None:
    assert _many(OpenAIProxy(server.url), 5) == ["fine"] * 5
    assert _connections_of(server) == 1


CLOSING: dict[str, bytes] = {
    "the server says so": _with_length(_body(), "connection: close"),
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(_body()), _body()),
    "chunks and a length": _response(
        _chunked(_body()), "content-length: 10", "transfer-encoding: chunked"
    ),
    "bytes that nobody asked for": _with_length(_body()) + _with_length(_body("stolen")),
}


def test_half_an_answer_behind_an_answer_reaches_no_other_row(server: Any, steps: Any) -> None:
    server.play(steps.raw(_with_length(_body()) + b"HTTP/1.1 200"))
    assert _many(OpenAIProxy(server.url), 3, 0.05) == ["Italy"] * 3


@pytest.mark.parametrize("case", CLOSING)
def test_a_connection_that_cannot_be_trusted_to_go_on_is_closed(
    case: str, server: Any, steps: Any
) -> None:
    server.play(steps.raw(CLOSING[case]))
    assert _many(OpenAIProxy(server.url), 3, 0.05) == ["Italy"] * 3
    assert _connections_of(server) == 3


def test_an_answer_that_comes_before_the_question_is_nobodys(server: Any, steps: Any) -> None:
    def step(server: Any, connection: Any, request: Any) -> bool:
        connection.sendall(_with_length(_body()))
        server.stopping.wait(0.05)
        connection.sendall(_with_length(_body("stolen")))
        return True

    server.play(step)
    assert _many(OpenAIProxy(server.url), 3, 0.3) == ["Italy"] * 3


def test_a_server_that_closes_resting_connections_costs_no_retry(server: Any, steps: Any) -> None:
    server.play(steps.raw(_with_length(_body()), keep=False))
    system = OpenAIProxy(server.url)
    assert _many(system, 3, 0.2) == ["Italy"] * 3
    assert _connections_of(server) == 3


def test_a_server_that_hangs_up_before_the_request_is_an_error(ask: Any) -> None:
    def hang_up(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # it was shut down
                return
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=hang_up, args=(listener,))
        thread.start()
        with pytest.raises(EndpointUnreachableError) as caught:
            ask(
                OpenAIProxy(f"127.0.0.1:{listener.getsockname()[1]}"),
                EXAMPLE,
            )
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert caught.value.retryable


def test_an_answer_before_the_request_was_read_is_taken_and_the_connection_left() -> None:
    def refuse(listener: socket.socket) -> None:
        for _ in range(2):
            connection, _ = listener.accept()
            connections.append(connection)
            connection.recv(100)
            connection.sendall(
                _with_length(b'{"error": "Too large."}', status="413 Content Too Large")
            )

    async def run(system: OpenAIProxy) -> list[str]:
        rows = [{"context": "x" * 20_000_000}] * 2
        return [
            str(*await asyncio.gather(system.aprocess(row), return_exceptions=True)) for row in rows
        ]

    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=refuse, args=(listener,))
        thread.start()
        told = asyncio.run(run(OpenAIProxy(f"127.0.0.1:{listener.getsockname()[1]}")))
        thread.join()
    for connection in connections:
        connection.close()
    assert [text.endswith("Too large.") for text in told] == [True, True], told


def test_a_connection_that_rested_long_is_not_used_again(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context_bench_http.transport.KEEP_ALIVE", 0.001)
    _many(OpenAIProxy(server.url), 3, 0.05)
    assert _connections_of(server) == 3


def test_a_late_answer_to_a_row_given_up_reaches_no_other_row(server: Any, steps: Any) -> None:
    def late(server: Any, connection: Any, request: Any) -> bool:
        server.stopping.wait(0.4)
        connection.sendall(_with_length(_body("late")))
        return True

    server.play(late, steps.ok("Italy"))
    system = OpenAIProxy(server.url)

    async def run() -> str:
        row = asyncio.ensure_future(system.aprocess(EXAMPLE))
        while not server.requests:
            await asyncio.sleep(0.01)
        row.cancel()
        await asyncio.wait([row])
        text = (await system.aprocess(EXAMPLE))["response"]
        await asyncio.sleep(0.6)
        return str(text)

    assert asyncio.run(run()) == "Italy"


def test_a_thread_and_an_event_loop_send_the_same_request(server: Any) -> None:
    example = {"context": "Z\u00fcrich \ud800 \U0001f388", "question": "Where?"}
    system = OpenAIProxy(
        f"{server.url}/team%20a?api-version=2&q=%C3%BC",
        api_key="sk-1",
        extra_headers={"x-mode": "hard"},
    )
    system.process(example)
    asyncio.run(system.aprocess(example))
    from_thread, from_loop = server.requests
    assert from_thread == from_loop
    assert from_loop.path == "/team%20a/v1/chat/completions?api-version=2&q=%C3%BC"
    assert from_loop.body["messages"][0]["content"] == example["context"]


def test_a_host_that_is_not_there_is_named(ask: Any) -> None:
    with pytest.raises(EndpointUnreachableError, match="cannot be reached"):
        ask(OpenAIProxy("http://nowhere.invalid:1"), EXAMPLE)
    with pytest.raises(EndpointError, match=r"cannot be (reached|asked)"):
        ask(OpenAIProxy(f"http://{'a' * 70}.invalid:1"), EXAMPLE)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("x bad", "1", "is no name of a request header"),
        ("x-bad\r\nx-more", "1", "is no name of a request header"),
        ("content-length", "1", "belongs to the connection"),
        ("Transfer-Encoding", "chunked", "belongs to the connection"),
        ("x-bad", "a\r\nx-more: b", "cannot carry"),
    ],
)
def test_headers_that_would_break_the_request_are_refused_before_it(
    name: str, value: str, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        ChatClient("http://localhost:1", extra_headers={name: value})


def test_a_location_with_control_characters_is_not_followed(
    server: Any, steps: Any, ask: Any
) -> None:
    server.play(
        steps.raw(_response(b"", "location: /a\tb c", "content-length: 0", status="307 Moved")),
        steps.ok(),
    )
    try:
        ask(OpenAIProxy(server.url), EXAMPLE)
    except EndpointError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - either is right: refused, or followed with escapes
    assert all(" " not in request.path and "\t" not in request.path for request in server.requests)


# HTTP proxies: the test's server plays one, and sees the whole address.


@pytest.mark.parametrize("way", ["HTTP_PROXY", "http_proxy", "all_proxy", "the option"])
def test_requests_go_through_an_http_proxy(
    way: str, server: Any, steps: Any, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {}
    if way == "the option":
        options = {"http_proxy": server.url.replace("//", "//me:s3cret@")}
    else:
        monkeypatch.setenv(way, server.url)
    server.play(steps.ok("Italy"))
    system = OpenAIProxy("http://model.invalid:8000", **options)
    assert ask(system, EXAMPLE)["response"] == "Italy"
    assert server.requests[0].path == "http://model.invalid:8000/v1/chat/completions"
    assert ("proxy-authorization" in server.requests[0].headers) == (way == "the option")


def test_a_host_in_no_proxy_is_asked_directly(
    ask: Any, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    monkeypatch.setenv("NO_PROXY", "model.invalid")
    with pytest.raises(EndpointUnreachableError, match="cannot be reached"):
        ask(OpenAIProxy("http://model.invalid:8000"), EXAMPLE)
    assert server.requests == []


def test_an_option_for_a_proxy_holds_for_this_machine_too(
    server: Any, new_server: Any, steps: Any, ask: Any
) -> None:
    proxy = new_server()
    proxy.play(steps.ok("through"))
    assert ask(OpenAIProxy(server.url, http_proxy=proxy.url), EXAMPLE)["response"] == "through"
    assert server.requests == []


def test_a_proxy_that_wants_a_password_is_said_to(server: Any, steps: Any, ask: Any) -> None:
    server.play(steps.answer(407, b"", {"proxy-authenticate": "Basic"}))
    with pytest.raises(EndpointError) as caught:
        ask(
            OpenAIProxy(
                "https://model.invalid", http_proxy=server.url.replace("//", "//me:s3cret@")
            ),
            EXAMPLE,
        )
    assert "through the HTTP proxy: 407" in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"http_proxy": "ftp://me:s3cret@proxy"}, "http_proxy 'proxy' cannot be used"),
        ({"ca_bundle": "/nowhere/ca.pem"}, "ca_bundle: there is no file '/nowhere/ca.pem'"),
        (
            {"client_cert": "/nowhere/a.pem,/nowhere/b.pem"},
            "client_cert: there is no file '/nowhere/a.pem'",
        ),
        ({"ca_bundle": str(CERTIFICATES / "README.md")}, "cannot be used"),
        ({"client_cert": SERVER}, "cannot be used"),
        ({"ca_bundle": SERVER, "verify": False}, "not both"),
    ],
    ids=["proxy", "no bundle", "no certificate", "no PEM", "no key", "contradiction"],
)
def test_what_cannot_reach_the_network_is_refused_in_one_line(options: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        OpenAIProxy("https://host", **options)
    assert "s3cret" not in str(caught.value)
    assert "\n" not in str(caught.value)


# TLS


@pytest.fixture
def new_tls_server(new_server: Any) -> Callable[..., Any]:
    def start(asks_for_certificate: bool = False, is_somebody_else: bool = False) -> Any:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(
            CLIENT if is_somebody_else else SERVER, None if is_somebody_else else SERVER_KEY
        )
        if asks_for_certificate:
            context.maximum_version = (
                ssl.TLSVersion.TLSv1_2
            )  # a refusal then comes within the handshake
            context.load_verify_locations(CLIENT)
            context.verify_mode = ssl.CERT_REQUIRED
        return new_server(tls=context)

    return start


def test_a_certificate_of_ones_own_is_trusted_when_named(new_tls_server: Any, ask: Any) -> None:
    server = new_tls_server()
    assert ask(OpenAIProxy(server.url, ca_bundle=SERVER), EXAMPLE)["response"] == "fine"


def test_the_certificates_of_the_environment_are_trusted(
    new_tls_server: Any, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", SERVER)
    assert ask(OpenAIProxy(new_tls_server().url), EXAMPLE)["response"] == "fine"


def test_a_certificate_that_nobody_vouches_for_is_refused_and_not_asked_again(
    new_tls_server: Any, ask: Any
) -> None:
    server = new_tls_server()
    with pytest.raises(EndpointUnreachableError, match="CERTIFICATE_VERIFY_FAILED") as caught:
        ask(OpenAIProxy(server.url), EXAMPLE)
    assert caught.value.attempts == 1
    assert server.requests == []


def test_a_certificate_for_another_name_is_refused(new_tls_server: Any, ask: Any) -> None:
    server = new_tls_server(is_somebody_else=True)
    with pytest.raises(EndpointUnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
        ask(OpenAIProxy(server.url, ca_bundle=CLIENT), EXAMPLE)
    assert server.requests == []


def test_verification_can_be_switched_off(new_tls_server: Any, ask: Any) -> None:
    assert ask(OpenAIProxy(new_tls_server().url, verify=False), EXAMPLE)["response"] == "fine"


def test_a_client_certificate_is_shown(new_tls_server: Any, ask: Any) -> None:
    server = new_tls_server(asks_for_certificate=True)
    system = OpenAIProxy(server.url, ca_bundle=SERVER, client_cert=CLIENT)
    assert ask(system, EXAMPLE)["response"] == "fine"
    with pytest.raises(EndpointUnreachableError):
        ask(OpenAIProxy(server.url, ca_bundle=SERVER), EXAMPLE)
    assert len(server.requests) == 1


def test_a_plain_server_behind_https_is_an_error(ask: Any) -> None:
    def answer(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer, args=(listener,))
        thread.start()
        with pytest.raises(EndpointUnreachableError, match="cannot be reached"):
            ask(
                OpenAIProxy(f"https://127.0.0.1:{listener.getsockname()[1]}"),
                EXAMPLE,
            )
        thread.join()


def test_connections_over_tls_are_used_again_and_closed_with_the_loop(new_tls_server: Any) -> None:
    server = new_tls_server()
    assert _many(OpenAIProxy(server.url, ca_bundle=SERVER), 4) == ["fine"] * 4
    assert _connections_of(server) == 1
