"""The Messages API, or a proxy in front of it, as the system under test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_bench.prompts import ASKING_FIELDS, HISTORY_FIELDS
from context_bench_anthropic.client import DEFAULT_BASE_URL, DEFAULT_VERSION, MessagesClient
from context_bench_anthropic.prompts import prompt_of, prompt_of_example, with_breakpoint
from context_bench_anthropic.reply import output_of
from context_bench_http import (
    DEFAULT_FAILURE_HEADERS,
    headers_identity,
    read_extra_body,
)
from context_bench_openai import Replies, build_messages
from context_bench_openai.conversation import Conversation

ADAPTER_VERSION = "2"
_RESERVED = {
    "messages": "the argument layout",
    "system": "the argument system_prompt",
    "model": "the argument model",
    "stream": "the argument stream",
    "max_tokens": "the argument max_tokens",
}
_CACHED = ("none", "prefix", "all")


class AnthropicProxy:
    """Sends every example to an endpoint of the Messages API and returns what it answered.

    ``process`` returns ``response``, ``usage`` (``input_tokens``, the whole prompt; ``output_tokens``,
    ``cache_read_tokens``, ``cache_write_tokens`` as far as reported), ``finish_reason``, ``model``, ``headers``
    and ``latency``; where they exist also ``tool_calls``, ``refusal``, ``reasoning`` and ``ttft``. A call
    without a usable reply raises an `EndpointError` of context-bench-http: an error text is never a response.

        system = AnthropicProxy("http://localhost:8787", model="claude-sonnet-4-5", name="headroom")
        system.process({"context": "Rome is in Italy.", "question": "Where is Rome?"})["response"]

    Args:
        base_url: Address of the server, with or without ``/v1``.
        model: Model to ask for.
        name: Display name; by default ``anthropic_HOST:PORT``.
        api_key: The key; None takes ``ANTHROPIC_API_KEY`` from the environment, ``""`` sends none.
        system_prompt: A system prompt before everything else.
        layout: Where context and question stand: ``system``, ``user``, ``tool``, ``chat`` or ``messages``.
        max_tokens: Most tokens of a reply; the interface demands a number.
        temperature: Sampling temperature; None leaves it to the server, as for all below.
        top_p: Nucleus sampling mass.
        top_k: How many of the likeliest tokens are sampled from.
        thinking_budget: Most tokens of extended thinking.
        cache_control: Where the prompt is cached up to: ``none``, ``prefix`` (before the question) or ``all``.
        cache_ttl: How long the cache lives: ``5m`` or ``1h``.
        stream: Whether to stream, which makes the time to the first token known.
        anthropic_version: Version of the interface.
        extra_body: Further request fields, as a mapping or as JSON text.
        extra_headers: Further request headers, as a mapping or ``name: value`` lines.
        failure_headers: Response headers that make a row a failure, as ``name`` or ``name=value``.
        timeout: Seconds for one request as a whole; None for no limit.

    Raises:
        ValueError: An argument cannot be used; the message says what to write instead.
    """

    reads: tuple[str, ...] = (
        *("context", "question", *ASKING_FIELDS, *HISTORY_FIELDS, "turns", "multi_turn"),
        *("messages", "raw_messages", "raw_system", "dialect", "tools", "region"),
    )
    latency_headers = ("x-kompact-latency-ms",)

    def __init__(
        self,
        base_url: str = DEFAULT_BASE_URL,
        model: str | None = None,
        name: str | None = None,
        api_key: str | None = None,
        system_prompt: str | None = None,
        layout: str = "system",
        max_tokens: int = 4096,
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        thinking_budget: int | None = None,
        cache_control: str = "none",
        cache_ttl: str | None = None,
        stream: bool = False,
        anthropic_version: str = DEFAULT_VERSION,
        extra_body: Mapping[str, Any] | str | None = None,
        extra_headers: Mapping[str, str] | Iterable[str] | None = None,
        failure_headers: Iterable[str] = DEFAULT_FAILURE_HEADERS,
        timeout: float | None = 120.0,
    ) -> None:
        if not str(model or "").strip():
            raise ValueError(f"model must be the name of a model, not {model!r}.")
        if layout != "messages":
            build_messages(
                {"context": "c", "question": "q"}, layout
            )  # says which layouts there are
        elif cache_control != "none":
            raise ValueError(
                "layout=messages sends messages as they were recorded; their own cache_control counts."
            )
        if type(max_tokens) is not int or max_tokens < 1:
            raise ValueError(f"max_tokens must be a whole number above 0, not {max_tokens!r}.")
        if cache_control not in _CACHED:
            raise ValueError(
                f"cache_control is {cache_control!r}, but must be one of {', '.join(_CACHED)}."
            )
        self._client = MessagesClient(
            base_url,
            api_key,
            version=anthropic_version,
            timeout=timeout,
            extra_headers=extra_headers,
            failure_headers=failure_headers,
        )
        self.name = name or f"anthropic_{self._client.endpoint.label}"
        self.model = model
        self.layout = layout
        self.system_prompt = system_prompt
        self._cached = (cache_control, cache_ttl)
        self._version = anthropic_version
        self._stream = stream
        thinking = (
            None
            if thinking_budget is None
            else {"type": "enabled", "budget_tokens": thinking_budget}
        )
        sampling = {
            "temperature": temperature,
            "top_p": top_p,
            "top_k": top_k,
            "thinking": thinking,
        }
        self._parameters = {
            "max_tokens": max_tokens,
            **{parameter: value for parameter, value in sampling.items() if value is not None},
            **read_extra_body(extra_body, _RESERVED),
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._client.endpoint.shown!r}, model={self.model!r}, name={self.name!r})"

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the endpoint's answer to an example.

        An example with ``multi_turn`` is asked turn by turn, see `process_conversation`.

        Raises:
            EndpointError: The endpoint gave no usable reply.
            ValueError: The example has nothing to ask.
        """
        if _is_conversation(example):
            return self.process_conversation(example["turns"]).output
        return output_of(self._client.ask(self._request(self._prompt(example))))

    async def aprocess(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the endpoint's answer to an example without blocking the event loop; see `process`."""
        if _is_conversation(example):
            return (await self.aprocess_conversation(example["turns"])).output
        return output_of(await self._client.aask(self._request(self._prompt(example))))

    def process_conversation(self, turns: Sequence[Any]) -> Replies:
        """Return the assistant messages of a conversation, one request for each turn that has no answer yet.

        Each request holds the turns before it and the model's own replies to them. The returned list of
        ``{"role", "content"}`` carries the summed ``usage`` and the whole ``output`` as attributes.

        Args:
            turns: User turns as text, or turns as ``{"role", "content"}``.
        """
        conversation = Conversation(turns, self.system_prompt, output_of)
        for messages in conversation.requests():
            conversation.add(self._client.ask(self._request(prompt_of(messages))))
        return conversation.result()

    async def aprocess_conversation(self, turns: Sequence[Any]) -> Replies:
        """Return the assistant messages of a conversation without blocking the event loop."""
        conversation = Conversation(turns, self.system_prompt, output_of)
        for messages in conversation.requests():
            conversation.add(await self._client.aask(self._request(prompt_of(messages))))
        return conversation.result()

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change an answer, and no secret, timeout or display name."""
        return {
            "adapter": "anthropic",
            "version": ADAPTER_VERSION,
            "endpoint": self._client.endpoint.shown,
            "model": self.model,
            "layout": self.layout,
            "system_prompt": self.system_prompt,
            "parameters": self._parameters,
            "cache_control": list(self._cached),
            "stream": self._stream,
            "anthropic_version": self._version,
            "headers": headers_identity(self._client.extra_headers),
            "failure_headers": self._client.failure_headers.rules,
        }

    def close(self) -> None:
        """Close the connections of the threads; those of an event loop close with it."""
        self._client.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._client.aclose()

    def _prompt(self, example: Mapping[str, Any]) -> dict[str, Any]:
        return prompt_of_example(example, self.layout, self.system_prompt)

    def _request(self, prompt: Mapping[str, Any]) -> dict[str, Any]:
        fields = with_breakpoint(prompt, *self._cached)
        return {
            "model": self.model,
            **self._parameters,
            **fields,
            "stream": True if self._stream else None,
        }


def _is_conversation(example: Mapping[str, Any]) -> bool:
    return bool(example.get("multi_turn")) and bool(example.get("turns"))
