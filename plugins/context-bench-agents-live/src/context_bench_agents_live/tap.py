"""What an agent sends, in front of a proxy: a server that counts the results of tools and forwards each request."""

from __future__ import annotations

import json
import threading
from typing import Any

from attrs import define

from context_bench_agents_live.controls import result_tokens
from context_bench_agents_live.policy_server import HOSTS, MAX_BODY, key_of
from context_bench_agents_live.requests import RequestLog
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
_WAITS = ("retry-after", "retry-after-ms")


@define
class Sent:
    """What was sent with a key.

    Attributes:
        log: Counts the requests where they arrive.
        transcript: Records them.
        result_tokens: Tokens in the results of tools, of requests that arrived and were answered.
        failure: The first response header that declares a failure, as ``name: value``; None where there was none.
    """

    log: RequestLog
    transcript: Transcript
    result_tokens: int = 0
    failure: str | None = None


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
        self._rows: dict[str, Sent] = {}
        guard = Guard(hosts=HOSTS, methods=("GET", "POST"), max_body=MAX_BODY)
        self._server = LocalServer(self._respond, 0, guard)
        self.url = self._server.url

    def close(self) -> None:
        """Stop the server."""
        self._server.close()
        self._http.close()

    def begin(self, key: str, log: RequestLog, transcript: Transcript) -> None:
        """Count the requests with a key from now on, and record them in a transcript.

        Args:
            key: Their key.
            log: Counts them where they arrive. What arrives of a request that is then not answered is taken off its results.
            transcript: Records them.
        """
        with self._lock:
            self._rows[key] = Sent(log, transcript)

    def end(self, key: str) -> Sent:
        """Return what was sent with a key, and stop counting."""
        with self._lock:
            return self._rows.pop(key)

    def _respond(self, request: LocalRequest) -> LocalResponse:
        with self._lock:
            row = self._rows.get(key_of(request.headers))
        if row is None:
            return self._forward(request)[0]
        body = _body_of(request) if dialect_of(request.path) is not None else None
        number = None if body is None else row.transcript.send(body)
        requests = row.log.requests
        kept = row.log.results_kept
        response, declared = self._forward(request)
        row.transcript.settle(number)
        with self._lock:
            row.failure = row.failure or declared
            if body is None:
                return response
            if response.status < 400 and row.log.requests > requests:
                row.result_tokens += result_tokens(body)
            else:
                row.log.results_kept = kept
        return response

    def _forward(self, request: LocalRequest) -> tuple[LocalResponse, str | None]:
        """Return the response to a request, and its header that declares a failure."""
        headers = {
            name: value for name, value in request.headers.items() if name not in _NOT_FORWARDED
        }
        query = f"?{request.query}" if request.query else ""
        endpoint = Endpoint.of_url(self._target + request.path + query)
        body = request.body if request.method == "POST" else None
        try:
            answer = self._http.fetch(HttpRequest(request.method, endpoint, headers, body))
        except EndpointError as error:
            message = json.dumps({"error": {"message": str(error)}}).encode()
            return LocalResponse(message, 502, "application/json"), None
        content_type = answer.headers.get("content-type", "application/json")
        waits = {name: answer.headers[name] for name in _WAITS if name in answer.headers}
        response = LocalResponse(answer.body, answer.status, content_type, waits)
        return response, self._failure_headers.found_in(answer.headers)


def _body_of(request: LocalRequest) -> dict[str, Any] | None:
    """Return a body that can be read; the proxy decides about anything else."""
    try:
        raw = decoded(request.body, request.headers.get("content-encoding", ""), MAX_BODY)
        body = json.loads(raw)
    except (ContentEncodingError, ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None
