"""The client of the Messages API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from context_bench_anthropic.refusals import refusal
from context_bench_anthropic.reply import MessageReply, read_reply
from context_bench_anthropic.request_headers import request_headers
from context_bench_anthropic.streaming import EventStream
from context_bench_http import (
    DEFAULT_FAILURE_HEADERS,
    Dialect,
    Endpoint,
    FailureHeaders,
    JsonClient,
    Network,
    header_mapping,
)
from context_bench_http.endpoint import MESSAGES
from context_bench_http.json_client import encoded

DEFAULT_BASE_URL = "https://api.anthropic.com"
DEFAULT_VERSION = "2023-06-01"
_DIALECT = Dialect(EventStream, refusal)


class MessagesClient(JsonClient):
    """Asks a server of the Messages API, from any thread (`ask`) or event loop (`aask`).

        client = MessagesClient("http://localhost:8080")
        client.ask({"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Hello"}]}).text

    Args:
        base_url: Address of the server, with or without ``/v1``.
        api_key: The key. None takes ``ANTHROPIC_API_KEY`` from the environment; ``""`` sends none.
        version: The ``anthropic-version``.
        timeout: Seconds for a request as a whole, from connecting to the last byte; None for no limit.
        extra_headers: Further request headers, as a mapping or as ``name: value`` lines.
        failure_headers: Response headers that make a reply a failure, as ``name`` or ``name=value``.

    Raises:
        EndpointURLError: The base URL cannot be one.
        ValueError: Another argument cannot be used.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_BASE_URL,
        api_key: str | None = None,
        *,
        version: str = DEFAULT_VERSION,
        timeout: float | None = 120.0,
        extra_headers: Mapping[str, str] | Iterable[str] | None = None,
        failure_headers: Iterable[str] = DEFAULT_FAILURE_HEADERS,
    ) -> None:
        endpoint = messages_endpoint(base_url)
        self.extra_headers = header_mapping(extra_headers)
        network = Network(is_local=endpoint.is_local)
        headers, redactor = request_headers(
            endpoint, api_key, version, self.extra_headers, network.secrets
        )
        super().__init__(
            endpoint,
            headers=headers,
            redactor=redactor,
            dialect=_DIALECT,
            network=network,
            timeout=timeout,
            failure_headers=FailureHeaders(failure_headers),
        )

    def ask(self, request: Mapping[str, Any]) -> MessageReply:
        """Return the reply to a request.

        Args:
            request: The body; fields that are None are left out.

        Raises:
            EndpointError: No usable reply came.
        """
        return self.post(self.endpoint, encoded(request), read_reply)

    async def aask(self, request: Mapping[str, Any]) -> MessageReply:
        """Return the reply to a request without blocking the event loop; see `ask`."""
        return await self.apost(self.endpoint, encoded(request), read_reply)


def messages_endpoint(base_url: str) -> Endpoint:
    """Return the endpoint of the Messages API for a base URL, with or without ``/v1``, slash, or the whole path.

    >>> messages_endpoint("localhost:8080").url
    'http://localhost:8080/v1/messages'
    >>> messages_endpoint("https://gateway.example.com/anthropic/v1/messages").url
    'https://gateway.example.com/anthropic/v1/messages'

    Raises:
        EndpointURLError: The text is no base URL; the message says in one line what to write instead.
    """
    return Endpoint.parse(base_url).at(MESSAGES)
