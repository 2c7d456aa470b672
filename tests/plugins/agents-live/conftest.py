"""A proxy on this machine that changes the messages on their way to the policy."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from context_bench_http import HttpClient, Network
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


@pytest.fixture
def port() -> int:
    """A port that is free."""
    return free_port()


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
