"""The guarded local server: whom it answers, how much it reads, and what it says of the rest."""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Iterator

import pytest

from context_bench_http.local_server import Guard, LocalRequest, LocalResponse, LocalServer

SECRET = "the-secret-of-this-test"
LIMIT = 1 << 20


def answer(request: LocalRequest) -> LocalResponse:
    told = {"path": request.path, "query": request.query, "bytes": len(request.body)}
    return LocalResponse(json.dumps(told).encode(), content_type="application/json")


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    guard = Guard(secret=SECRET, methods=("GET", "POST"), max_body=LIMIT)
    made = LocalServer(answer, guard=guard)
    yield made
    made.close()


def call(
    server: LocalServer,
    path: str = f"/{SECRET}/x",
    method: str = "GET",
    body: object = None,
    **headers: str,
) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of the answer to a request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, body, given)  # type: ignore[arg-type]
        response = connection.getresponse()
        return response.status, {k.lower(): v for k, v in response.headers.items()}, response.read()
    finally:
        connection.close()


def raw(server: LocalServer, request: bytes) -> bytes:
    """Return what the server sends back until it closes the connection, to bytes that no client would send."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(request)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_a_request_is_answered_below_the_secret(server: LocalServer) -> None:
    status, headers, body = call(server, f"/{SECRET}/a%20b?c=1")
    assert (status, json.loads(body)) == (200, {"path": "/a b", "query": "c=1", "bytes": 0})
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/x", {}),
        ("/", {}),
        (f"/{SECRET}x/", {}),
        (f"/{SECRET[:-1]}/", {}),
        (f"/x/{SECRET}/", {}),
        (f"/{SECRET}/", {"host": "evil.example"}),
        (f"/{SECRET}/", {"host": "127.0.0.1.evil.example:80"}),
        (f"/{SECRET}/", {"host": ""}),
        (f"/{SECRET}/", {"origin": "http://evil.example"}),
        (f"/{SECRET}/", {"origin": "null"}),
        (f"/{SECRET}/", {"sec_fetch_site": "cross-site"}),
        (f"/{SECRET}/", {"sec_fetch_site": "same-site"}),
    ],
)
def test_a_request_from_elsewhere_is_refused(
    path: str, headers: dict[str, str], server: LocalServer
) -> None:
    status, _, body = call(server, path, **headers)
    assert status == 403
    assert b"\n" not in body


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE"])
def test_another_method_is_refused(method: str, server: LocalServer) -> None:
    assert call(server, method=method)[0] == 405


def test_a_body_of_declared_length_is_bounded(server: LocalServer) -> None:
    assert call(server, method="POST", body=b"x" * 1000)[0] == 200
    assert call(server, method="POST", body=b"x" * LIMIT)[0] == 200
    head = f"POST /{SECRET}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    sent = f"{head}Content-Length: {10 * LIMIT}\r\n\r\n"
    assert b" 413 " in raw(server, sent.encode())


def test_a_body_in_chunks_is_bounded(server: LocalServer) -> None:
    small = iter([b"x" * 1000] * 3)
    assert json.loads(call(server, method="POST", body=small)[2])["bytes"] == 3000
    head = f"POST /{SECRET}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(head.encode())
        try:
            for _ in range(40 * LIMIT // 0x10000):
                connection.sendall(chunk)
        except OSError:  # it reads no more
            pass
        else:
            connection.shutdown(socket.SHUT_WR)
        try:
            answered = connection.recv(65536)
        except OSError:
            answered = b""
    assert answered == b"" or b" 413 " in answered
    assert call(server)[0] == 200


@pytest.mark.parametrize(
    "lines",
    [
        "Content-Length: -1",
        "Content-Length: x",
        "Content-Length: 1e3",
        "Content-Length: 5, 6",
        "Content-Length: 5\r\nContent-Length: 6",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "Transfer-Encoding: chunked\r\n\r\n-5\r\n",
    ],
)
def test_a_bad_length_is_refused_in_a_line(
    lines: str, server: LocalServer, capfd: pytest.CaptureFixture[str]
) -> None:
    head = f"POST /{SECRET}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{lines}\r\n\r\n"
    answered = raw(server, head.encode())
    assert answered == b"" or b" 400 " in answered.split(b"\r\n")[0]
    assert b"Traceback" not in answered
    assert capfd.readouterr().err == ""
    assert call(server)[0] == 200


def test_an_answer_that_breaks_is_told_and_the_server_goes_on() -> None:
    def broken(request: LocalRequest) -> LocalResponse:
        raise ValueError("no such page")

    made = LocalServer(broken)
    try:
        assert call(made, "/")[::2] == (500, b"ValueError: no such page")
        assert call(made, "/")[0] == 500
    finally:
        made.close()


def test_a_port_that_is_taken_is_an_error(server: LocalServer) -> None:
    with pytest.raises(OSError):  # noqa: PT011 - its number differs between systems
        LocalServer(answer, server.port)


@pytest.mark.skipif(os.name != "posix", reason="other systems wait until old connections are gone")
def test_a_port_can_be_taken_again_as_soon_as_its_server_is_closed() -> None:
    first = LocalServer(answer, 0)
    with socket.create_connection(("127.0.0.1", first.port), timeout=30) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert connection.recv(65536)
        first.close()  # the server ends the connection, so its end of it lingers
    second = LocalServer(answer, first.port)
    try:
        assert second.port == first.port
    finally:
        second.close()
