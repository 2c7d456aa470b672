"""A proxy on this machine that changes the messages on their way to the policy."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Container, Iterator
from itertools import count
from typing import Any

import pytest

from context_bench_http import HttpClient, Network, retrying
from context_bench_http.local_server import Guard, LocalRequest, LocalResponse, LocalServer

Messages = list[dict[str, Any]]


class Proxy:
    """Forwards to an address, with messages as a function returns them."""

    def __init__(self, upstream: str, change: Callable[[Messages], Messages]) -> None:
        self._upstream = upstream
        self._change = change
        self._http = HttpClient(Network(is_local=True), 60)
        self._server = LocalServer(self._respond, 0, Guard(methods=("GET", "POST")))
        self.url = self._server.url

    def _respond(self, request: LocalRequest) -> LocalResponse:
        body = json.loads(request.body)
        body["messages"] = self._change(body["messages"])
        headers = {name: request.headers[name] for name in ("authorization", "content-type")}
        answer = self._http.fetch_url(
            self._upstream + request.path, headers, json.dumps(body).encode()
        )
        return LocalResponse(answer.body, answer.status, "application/json")

    def close(self) -> None:
        self._server.close()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture
def make_proxy() -> Iterator[Callable[..., tuple[str, int]]]:
    """Return a function that starts a proxy, and returns its address and the port that it forwards to."""
    proxies: list[Proxy] = []

    def make(change: Callable[[Messages], Messages]) -> tuple[str, int]:
        port = free_port()
        proxies.append(Proxy(f"http://127.0.0.1:{port}", change))
        return proxies[-1].url, port

    yield make
    for proxy in proxies:
        proxy.close()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[str, int]]]:
    """Return a function that starts a proxy which answers some requests, by their numbers from 1, with another status.

    It returns the proxy's address and the port that it forwards to. No time passes before a request is repeated.
    """
    monkeypatch.setattr(retrying.random, "uniform", lambda low, high: 0.0)
    servers: list[LocalServer] = []
    client = HttpClient(Network(is_local=True), 60)

    def make(failures: Container[int], status: int, *, is_forwarded: bool) -> tuple[str, int]:
        port = free_port()
        numbers = count(1)

        def respond(request: LocalRequest) -> LocalResponse:
            is_failure = next(numbers) in failures
            if is_failure and not is_forwarded:
                return LocalResponse(b"no", status)
            headers = {name: request.headers[name] for name in ("authorization", "content-type")}
            url = f"http://127.0.0.1:{port}{request.path}"
            answer = client.fetch_url(url, headers, request.body)
            answered = status if is_failure else answer.status
            return LocalResponse(answer.body, answered, "application/json")

        servers.append(LocalServer(respond, 0, Guard(methods=("POST",))))
        return servers[-1].url, port

    yield make
    for server in servers:
        server.close()
    client.close()
