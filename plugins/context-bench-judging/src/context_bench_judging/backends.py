"""Who is asked: an OpenAI-compatible server, one of the Messages API, or an object with ``invoke``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from context_bench_anthropic import MessageReply, MessagesClient
from context_bench_http import headers_identity
from context_bench_openai import ChatClient, ChatReply

Messages = Sequence[Mapping[str, Any]]
_ANTHROPIC_DEFAULT_TOKENS = 1024


class Backend(Protocol):
    """Somebody who answers messages."""

    def identity(self) -> dict[str, Any]:
        """Return what makes the judge what it is, without secrets."""
        ...

    def chat(self, messages: Messages, **parameters: Any) -> ChatReply:
        """Return the reply to messages."""
        ...

    async def achat(self, messages: Messages, **parameters: Any) -> ChatReply:
        """Return the reply to messages without blocking the event loop."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


class OpenAIBackend:
    """An OpenAI-compatible server.

    Args:
        client: Its client.
        model: The model.
    """

    def __init__(self, client: ChatClient, model: str) -> None:
        self.client = client
        self.model = model

    def identity(self) -> dict[str, Any]:
        """Return endpoint, model and headers."""
        return _identity(
            "openai", self.client.endpoint.shown, self.model, self.client.extra_headers
        )

    def chat(self, messages: Messages, **parameters: Any) -> ChatReply:
        """Return the reply to messages."""
        return self.client.chat(messages, **parameters)

    async def achat(self, messages: Messages, **parameters: Any) -> ChatReply:
        """Return the reply to messages without blocking the event loop."""
        return await self.client.achat(messages, **parameters)

    def close(self) -> None:
        """Close the connections of the threads."""
        self.client.close()


class AnthropicBackend:
    """A server of the Messages API. It knows neither JSON schemas nor seeds: those are left out of a request.

    Args:
        client: Its client.
        model: The model.
    """

    def __init__(self, client: MessagesClient, model: str) -> None:
        self.client = client
        self.model = model

    def identity(self) -> dict[str, Any]:
        """Return endpoint, model and headers."""
        return _identity(
            "anthropic", self.client.endpoint.shown, self.model, self.client.extra_headers
        )

    def chat(self, messages: Messages, **parameters: Any) -> ChatReply:
        """Return the reply to messages."""
        return _chat_reply(self.client.ask(self._request(messages, parameters)))

    async def achat(self, messages: Messages, **parameters: Any) -> ChatReply:
        """Return the reply to messages without blocking the event loop."""
        return _chat_reply(await self.client.aask(self._request(messages, parameters)))

    def close(self) -> None:
        """Close the connections of the threads."""
        self.client.close()

    def _request(self, messages: Messages, parameters: Mapping[str, Any]) -> dict[str, Any]:
        accepted = {
            name: value
            for name, value in parameters.items()
            if name not in ("response_format", "seed")
        }
        system = "\n\n".join(
            str(message["content"]) for message in messages if message["role"] == "system"
        )
        return {
            "model": self.model,
            "max_tokens": _ANTHROPIC_DEFAULT_TOKENS,
            **accepted,
            "system": system or None,
            "messages": [dict(message) for message in messages if message["role"] != "system"],
        }


class InvokedBackend:
    """An object with ``invoke`` or ``ainvoke``, such as a chat model of LangChain.

    It is given a list of ``{"role", "content"}`` and may return a text, or something with ``content``. Parameters stay its own.

    Args:
        llm: The object.
    """

    def __init__(self, llm: Any) -> None:
        self.llm = llm

    def identity(self) -> dict[str, Any]:
        """Return the class of the object and the model that it names."""
        kind = type(self.llm)
        named = next(
            (
                getattr(self.llm, name, None)
                for name in ("model_name", "model")
                if hasattr(self.llm, name)
            ),
            None,
        )
        return {
            "interface": "invoke",
            "endpoint": f"{kind.__module__}.{kind.__qualname__}",
            "model": str(named or ""),
        }

    def chat(self, messages: Messages, **parameters: Any) -> ChatReply:
        """Return the reply to messages."""
        if callable(getattr(self.llm, "invoke", None)):
            return _invoked(self.llm.invoke([dict(message) for message in messages]))
        return asyncio.run(self.achat(messages))

    async def achat(self, messages: Messages, **parameters: Any) -> ChatReply:
        """Return the reply to messages without blocking the event loop."""
        if callable(getattr(self.llm, "ainvoke", None)):
            return _invoked(await self.llm.ainvoke([dict(message) for message in messages]))
        return await asyncio.to_thread(self.chat, messages)

    def close(self) -> None:
        """Leave the object open: it is its owner's."""


def _identity(
    interface: str, endpoint: str, model: str, headers: Mapping[str, str]
) -> dict[str, Any]:
    shown = headers_identity(headers)
    return {
        "interface": interface,
        "endpoint": endpoint,
        "model": model,
        **({"headers": shown} if shown else {}),
    }


def _chat_reply(reply: MessageReply) -> ChatReply:
    finish = {"max_tokens": "length", "refusal": "content_filter"}.get(
        reply.finish_reason or "", reply.finish_reason
    )
    return ChatReply(
        text=reply.text,
        usage=reply.usage,
        finish_reason=finish,
        headers=reply.headers,
        latency=reply.latency,
        model=reply.model,
        refusal=reply.refusal,
        reasoning=reply.reasoning,
    )


def _invoked(result: Any) -> ChatReply:
    content = getattr(result, "content", result)
    if isinstance(content, list):  # parts, as some models write them
        content = "".join(
            part if isinstance(part, str) else str(part.get("text", "")) for part in content
        )
    return ChatReply(text=content if isinstance(content, str) else str(content))
