"""An OpenAI-compatible endpoint, or a proxy in front of one, as the system under test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from context_bench_openai.callable_identity import callable_identity
from context_bench_openai.client import DEFAULT_FAILURE_HEADERS, ChatClient
from context_bench_openai.conversation import Conversation, Replies, output_of
from context_bench_openai.endpoint import names_a_secret
from context_bench_openai.errors import EndpointError
from context_bench_openai.extra_body import read_extra_body
from context_bench_openai.layouts import Message, build_messages, layout_named

ADAPTER_VERSION = "1"
_RESERVED = {
    "messages": "the argument layout or build_messages",
    "model": "the argument model",
    "stream": "the argument stream",
}


class OpenAIProxy:
    """Sends every example to an OpenAI-compatible endpoint and returns what it answered.

    ``process`` returns ``response``, ``usage`` (``input_tokens``, ``output_tokens``, ``cache_read_tokens``,
    ``cache_write_tokens``, ``reasoning_tokens`` as far as reported), ``finish_reason``, ``model``, ``headers`` (those
    that the proxy added), ``latency`` and ``attempts``; where they exist also ``tool_calls``, ``refusal``,
    ``reasoning`` and ``ttft``. A call without a usable reply raises an `EndpointError`: an error text is never a
    response.

        system = OpenAIProxy("http://localhost:7878", model="gpt-4o-mini", name="kompact")
        system.process({"context": "Rome is in Italy.", "question": "Where is Rome?"})["response"]

    Args:
        base_url: Address of the server, with or without ``/v1``.
        model: Model to ask for.
        name: Display name; by default ``openai_proxy_HOST:PORT``.
        api_key: The key; None takes ``OPENAI_API_KEY`` from the environment, ``""`` sends none.
        system_prompt: A system message before everything else.
        build_messages: Makes the messages of an example in place of the layouts.
        timeout: Seconds for one attempt as a whole; None for no limit.
        extra_body: Further request fields, as a mapping or as JSON text.
        max_retries: Requests after the first one, on 429, 5xx, timeouts and broken connections.
        retry_base_delay: Upper bound of the first pause in seconds; it doubles each time.
        layout: Where context and question stand: ``system``, ``user``, ``tool`` or ``chat``.
        temperature: Sampling temperature; None leaves it to the server, as for all below.
        top_p: Nucleus sampling mass.
        max_tokens: Most tokens of a reply.
        seed: Sampling seed.
        stream: Whether to stream, which makes the time to the first token known.
        cache_salt: A line in front of the first message, so that no prompt begins as those of another system do.
        extra_headers: Further request headers, as a mapping or ``name: value`` lines.
        failure_headers: Response headers that make a row a failure, as ``name`` or ``name=value``.

    Raises:
        ValueError: An argument cannot be used; the message says what to write instead.
    """

    def __init__(
        self,
        base_url: str,
        model: str = "gpt-4o-mini",
        name: str | None = None,
        api_key: str | None = None,
        system_prompt: str | None = None,
        build_messages: Callable[[Mapping[str, Any]], Sequence[Message]] | None = None,
        timeout: float | None = 120.0,
        extra_body: Mapping[str, Any] | str | None = None,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
        *,
        layout: str = "system",
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        stream: bool = False,
        cache_salt: str | None = None,
        extra_headers: Mapping[str, str] | Iterable[str] | None = None,
        failure_headers: Iterable[str] = DEFAULT_FAILURE_HEADERS,
    ) -> None:
        if not str(model or "").strip():
            raise ValueError(f"model must be the name of a model, not {model!r}.")
        layout_named(layout)
        if build_messages is not None and not callable(build_messages):
            raise TypeError("build_messages must be a function from an example to a list of messages.")
        self._client = ChatClient(
            base_url,
            api_key,
            model=model,
            timeout=timeout,
            max_retries=max_retries,
            retry_base_delay=retry_base_delay,
            extra_headers=extra_headers,
            failure_headers=failure_headers,
        )
        self.name = name or f"openai_proxy_{self._client.endpoint.label}"
        self.model = model
        self.cache_salt = cache_salt
        self.layout = layout
        self.system_prompt = system_prompt
        self.reads: tuple[str, ...] | None = None if build_messages else ("context", "question", "turns", "multi_turn")
        self._build_messages = build_messages
        sampling = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "seed": seed}
        self._parameters = {
            **{parameter: value for parameter, value in sampling.items() if value is not None},
            **read_extra_body(extra_body, _RESERVED),
        }
        self._stream = stream

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._client.endpoint.shown!r}, model={self.model!r}, name={self.name!r})"

    @property
    def on_retry(self) -> Callable[[EndpointError, float], float] | None:
        """What is told of repeated attempts; see `ChatClient`."""
        return self._client.on_retry

    @on_retry.setter
    def on_retry(self, told: Callable[[EndpointError, float], float] | None) -> None:
        self._client.on_retry = told

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the endpoint's answer to an example.

        An example with ``multi_turn`` is asked turn by turn, see `process_conversation`.

        Raises:
            EndpointError: The endpoint gave no usable reply.
            ValueError: The example has nothing to ask.
        """
        if self._is_conversation(example):
            return self.process_conversation(example["turns"]).output
        return output_of(
            self._client.chat(self._salted(self._messages(example)), stream=self._stream, **self._parameters)
        )

    async def aprocess(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the endpoint's answer to an example without blocking the event loop; see `process`."""
        if self._is_conversation(example):
            return (await self.aprocess_conversation(example["turns"])).output
        return output_of(
            await self._client.achat(self._salted(self._messages(example)), stream=self._stream, **self._parameters)
        )

    def process_conversation(self, turns: Sequence[Any]) -> Replies:
        """Return the assistant messages of a conversation, one request for each user turn.

        Each request holds the turns before it and the model's own replies to them. The returned list of
        ``{"role", "content"}`` carries the summed ``usage`` and the whole ``output`` as attributes.

        Args:
            turns: User turns as text, or turns as ``{"role", "content"}``.
        """
        conversation = Conversation(turns, self.system_prompt)
        for messages in conversation.requests():
            conversation.add(self._client.chat(self._salted(messages), stream=self._stream, **self._parameters))
        return conversation.result()

    async def aprocess_conversation(self, turns: Sequence[Any]) -> Replies:
        """Return the assistant messages of a conversation without blocking the event loop."""
        conversation = Conversation(turns, self.system_prompt)
        for messages in conversation.requests():
            conversation.add(await self._client.achat(self._salted(messages), stream=self._stream, **self._parameters))
        return conversation.result()

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change an answer, and no secret, timeout, retry setting or display name."""
        headers = self._client.extra_headers
        builder = self._build_messages
        return {
            "adapter": "openai",
            "version": ADAPTER_VERSION,
            "endpoint": self._client.endpoint.shown,
            "model": self.model,
            "layout": self.layout if builder is None else None,
            "build_messages": callable_identity(builder) if builder is not None else None,
            "system_prompt": self.system_prompt,
            "parameters": self._parameters,
            "stream": self._stream,
            "headers": {name: None if names_a_secret(name) else value for name, value in sorted(headers.items())},
            "failure_headers": self._client.failure_headers.rules,
            **({"cache_salt": self.cache_salt} if self.cache_salt else {}),
        }

    def close(self) -> None:
        """Close the connections of the threads; those of an event loop close with it."""
        self._client.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._client.aclose()

    def _salted(self, messages: list[Message]) -> list[Message]:
        """Return the messages with the salt as a line in front of the first."""
        if not self.cache_salt or not messages:
            return messages
        first, *others = messages
        content = first.get("content")
        if isinstance(content, list):
            return [{**first, "content": [{"type": "text", "text": f"{self.cache_salt}\n"}, *content]}, *others]
        return [{**first, "content": f"{self.cache_salt}\n{content or ''}"}, *others]

    def _is_conversation(self, example: Mapping[str, Any]) -> bool:
        return self._build_messages is None and bool(example.get("multi_turn")) and bool(example.get("turns"))

    def _messages(self, example: Mapping[str, Any]) -> list[Message]:
        if self._build_messages is None:
            return build_messages(example, self.layout, self.system_prompt)
        built = self._build_messages(example)
        if not isinstance(built, (list, tuple)) or not all(isinstance(message, Mapping) for message in built):
            raise TypeError(f"build_messages must return a list of messages, not {type(built).__name__}.")
        return [dict(message) for message in built]
