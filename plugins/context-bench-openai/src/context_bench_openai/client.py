"""The client that systems and judges share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_bench_http.dialect import Dialect
from context_bench_http.endpoint import Endpoint
from context_bench_http.headers import DEFAULT_FAILURE_HEADERS, FailureHeaders
from context_bench_http.json_client import JsonClient, encoded
from context_bench_http.network import Network
from context_bench_openai.operations import CHAT, COMPLETIONS, EMBEDDINGS
from context_bench_openai.refusals import refusal
from context_bench_openai.reply import ChatReply, EmbeddingReply
from context_bench_openai.request_headers import extra_header_mapping, request_headers
from context_bench_openai.streaming import EventStream

_DIALECT = Dialect(EventStream, refusal)


class ChatClient(JsonClient):
    """Asks an OpenAI-compatible server, from any thread (`chat`) or event loop (`achat`).

    One client holds one connection pool; share it. It never waits or repeats a request: its errors carry ``retryable`` and
    ``retry_after``.

        client = ChatClient("http://localhost:8080", model="qwen")
        client.chat([{"role": "user", "content": "Hello"}], temperature=0).text

    Args:
        base_url: Address of the server, with or without ``/v1``; see `Endpoint.parse`.
        api_key: The bearer token. None takes ``OPENAI_API_KEY`` from the environment; ``""`` sends none.
        model: Model of calls that do not name one.
        timeout: Seconds for a request as a whole, from connecting to the last byte; None for no limit.
        extra_headers: Further request headers, as a mapping or as ``name: value`` lines.
        failure_headers: Response headers that make a reply a failure, as ``name`` or ``name=value``.
        organization: Organisation that is billed, as ``OpenAI-Organization``; None takes ``OPENAI_ORG_ID``.
        project: Project that is billed, as ``OpenAI-Project``; None takes ``OPENAI_PROJECT_ID``.
        http_proxy: URL of a forward proxy for all requests; None for those of the environment, see `Network`.
        ca_bundle: PEM file or directory of the certificates to trust.
        client_cert: PEM file of a client certificate with its key, or ``CERTIFICATE,KEY``.
        verify: Whether a server must prove who it is.

    Raises:
        EndpointURLError: The base URL cannot be one.
        ValueError: Another argument cannot be used.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        model: str | None = None,
        timeout: float | None = 120.0,
        extra_headers: Mapping[str, str] | Iterable[str] | None = None,
        failure_headers: Iterable[str] = DEFAULT_FAILURE_HEADERS,
        organization: str | None = None,
        project: str | None = None,
        http_proxy: str | None = None,
        ca_bundle: str | None = None,
        client_cert: str | None = None,
        verify: bool = True,
    ) -> None:
        endpoint = Endpoint.parse(base_url)
        self.model = model
        self.extra_headers = extra_header_mapping(extra_headers)
        network = Network(http_proxy, ca_bundle, client_cert, verify, endpoint.is_local)
        headers, redactor = request_headers(
            endpoint, api_key, self.extra_headers, organization, project, network.secrets
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
        self._chat = endpoint.at(CHAT.path)
        self._completions = endpoint.at(COMPLETIONS.path)
        self._embeddings = endpoint.at(EMBEDDINGS.path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint.shown!r}, model={self.model!r})"

    def chat(
        self, messages: Sequence[Mapping[str, Any]], *, stream: bool = False, **parameters: Any
    ) -> ChatReply:
        """Return the reply to a list of messages.

        Args:
            messages: Chat messages as the server takes them.
            stream: Whether to stream, which makes the time to the first token known.
            parameters: Further fields of the request, such as ``temperature``; those that are None are left out.

        Raises:
            EndpointError: No usable reply came.
        """
        return self.post(
            self._chat, self._body({"messages": messages, **parameters}, stream), CHAT.read
        )

    async def achat(
        self, messages: Sequence[Mapping[str, Any]], *, stream: bool = False, **parameters: Any
    ) -> ChatReply:
        """Return the reply to a list of messages without blocking the event loop; see `chat`."""
        return await self.apost(
            self._chat, self._body({"messages": messages, **parameters}, stream), CHAT.read
        )

    def complete(self, prompt: str, *, stream: bool = False, **parameters: Any) -> ChatReply:
        """Return how the model goes on with a text (``/completions``).

        Args:
            prompt: The text.
            stream: Whether to stream, which makes the time to the first token known.
            parameters: Further fields of the request; those that are None are left out.

        Raises:
            EndpointError: No usable reply came.
        """
        return self.post(
            self._completions,
            self._body({"prompt": prompt, **parameters}, stream),
            COMPLETIONS.read,
        )

    async def acomplete(self, prompt: str, *, stream: bool = False, **parameters: Any) -> ChatReply:
        """Return how the model goes on with a text without blocking the event loop; see `complete`."""
        return await self.apost(
            self._completions,
            self._body({"prompt": prompt, **parameters}, stream),
            COMPLETIONS.read,
        )

    def embed(self, texts: Sequence[str], **parameters: Any) -> EmbeddingReply:
        """Return one vector for each text (``/embeddings``), in their order.

        Args:
            texts: The texts, none of them empty: servers refuse those.
            parameters: Further fields of the request, such as ``dimensions``; those that are None are left out.

        Raises:
            EndpointError: No usable reply came; or not one vector for each text.
        """
        reply = self.post(
            self._embeddings, self._body({"input": _list_of(texts), **parameters}), EMBEDDINGS.read
        )
        return reply.checked(len(texts), self._embeddings.shown)

    async def aembed(self, texts: Sequence[str], **parameters: Any) -> EmbeddingReply:
        """Return one vector for each text without blocking the event loop; see `embed`."""
        reply = await self.apost(
            self._embeddings, self._body({"input": _list_of(texts), **parameters}), EMBEDDINGS.read
        )
        return reply.checked(len(texts), self._embeddings.shown)

    def _body(self, fields: Mapping[str, Any], stream: bool = False) -> bytes:
        request = {"model": self.model, **fields}
        if stream:
            request = {**request, "stream": True}
            request.setdefault("stream_options", {"include_usage": True})
        return encoded(request)


def _list_of(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        raise TypeError("embed takes a list of texts; write [text] for one.")
    return list(texts)
