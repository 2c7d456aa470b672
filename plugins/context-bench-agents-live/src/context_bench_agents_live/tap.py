"""What an agent sends, in front of a proxy: a server that counts the results of tools and forwards each request."""

from __future__ import annotations

import json
import threading
from typing import Any

from attrs import frozen

from context_bench_agents_live.controls import result_tokens
from context_bench_agents_live.policy_server import HOSTS, MAX_BODY, key_of
from context_bench_agents_live.transcript import Transcript
from context_bench_http import (
    Endpoint,
    EndpointError,
    FailureHeaders,
    HttpClient,
    HttpRequest,
    Network,
)
from context_bench_http.content_encoding import ContentEncodingError, decoded
from context_bench_http.local_server import Guard, LocalRequest, LocalResponse, LocalServer
from context_bench_upstream.replies import dialect_of

_NOT_FORWARDED = ("host", "content-length", "connection", "accept-encoding", "transfer-encoding")


@frozen
class Sent:
    """What was sent with a key.

    Attributes:
        result_tokens: Tokens in the results of tools.
        failure: The first response header that declares a failure, as ``name: value``; None where there was none.
    """

    result_tokens: int
    failure: str | None


class Tap:
    """Forwards requests to an address unchanged, and counts the tokens in the results of tools for each key.

    Args:
        base_url: Where the requests go, with or without ``/v1``.
        timeout: Seconds for one request.
        failure_headers: The response headers by which a proxy admits a failure.

    Attributes:
        url: Its own address, without ``/v1``.

    Raises:
        EndpointURLError: ``base_url`` is no address.
    """

    def __init__(self, base_url: str, timeout: float, failure_headers: FailureHeaders) -> None:
        self._target = base_url.rstrip("/").removesuffix("/v1")
        endpoint = Endpoint.parse(base_url)
        self._http = HttpClient(Network(is_local=endpoint.is_local), timeout)
        self._lock = threading.Lock()
        self._failure_headers = failure_headers
        self._tokens: dict[str, int] = {}
        self._failures: dict[str, str] = {}
        self._transcripts: dict[str, Transcript] = {}
        guard = Guard(hosts=HOSTS, methods=("GET", "POST"), max_body=MAX_BODY)
        self._server = LocalServer(self._respond, 0, guard)
        self.url = self._server.url

    def close(self) -> None:
        """Stop the server."""
        self._server.close()
        self._http.close()

    def begin(self, key: str, transcript: Transcript) -> None:
        """Count the requests with a key from now on, and record them in a transcript."""
        with self._lock:
            self._tokens[key] = 0
            self._transcripts[key] = transcript

    def end(self, key: str) -> Sent:
        """Return what was sent with a key, and stop counting."""
        with self._lock:
            del self._transcripts[key]
            return Sent(self._tokens.pop(key), self._failures.pop(key, None))

    def _respond(self, request: LocalRequest) -> LocalResponse:
        headers = {
            name: value for name, value in request.headers.items() if name not in _NOT_FORWARDED
        }
        query = f"?{request.query}" if request.query else ""
        endpoint = Endpoint.of_url(self._target + request.path + query)
        body = request.body if request.method == "POST" else None
        with self._lock:
            transcript = self._transcripts.get(key_of(request.headers))
        sent = None if body is None else self._count(request)
        number = None
        if sent is not None and transcript is not None and dialect_of(request.path) is not None:
            number = transcript.send(sent)
        try:
            answer = self._http.fetch(HttpRequest(request.method, endpoint, headers, body))
        except EndpointError as error:
            message = json.dumps({"error": {"message": str(error)}}).encode()
            return LocalResponse(message, 502, "application/json")
        finally:
            if transcript is not None:
                transcript.settle(number)
        declared = self._failure_headers.found_in(answer.headers)
        if declared is not None:
            with self._lock:
                self._failures.setdefault(key_of(request.headers), declared)
        content_type = answer.headers.get("content-type", "application/json")
        return LocalResponse(answer.body, answer.status, content_type)

    def _count(self, request: LocalRequest) -> dict[str, Any] | None:
        """Count what can be read, and return it; the proxy decides about anything else."""
        try:
            raw = decoded(request.body, request.headers.get("content-encoding", ""), MAX_BODY)
            body = json.loads(raw)
        except (ContentEncodingError, ValueError, RecursionError):
            return None
        if not isinstance(body, dict):
            return None
        tokens = result_tokens(body)
        key = key_of(request.headers)
        with self._lock:
            if key in self._tokens:
                self._tokens[key] += tokens
        return body
