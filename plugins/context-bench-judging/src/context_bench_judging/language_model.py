"""The one client of all judges."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench_anthropic import MessagesClient
from context_bench_http import Retries
from context_bench_judging.asking import Request
from context_bench_judging.backends import (
    AnthropicBackend,
    Backend,
    InvokedBackend,
    Messages,
    OpenAIBackend,
)
from context_bench_judging.cache import ReplyCache
from context_bench_openai import ChatClient, ChatReply

PROVIDERS = ("openai", "anthropic")
URL_VARIABLE = "CONTEXT_BENCH_JUDGE_URL"
MODEL_VARIABLE = "CONTEXT_BENCH_JUDGE_MODEL"
PROVIDER_VARIABLE = "CONTEXT_BENCH_JUDGE_PROVIDER"


class LanguageModel:
    """A model that judges are asked through: bounded, as often as its endpoint allows, and with a cache where one is given.

    Args:
        backend: Who answers.
        cache: Where replies are kept.
        max_in_flight: How many requests may be on their way at a time.
        retries: Repeats requests that failed; None for the usual number of times.

    Raises:
        ValueError: The bound is no whole number above 0.
    """

    def __init__(
        self,
        backend: Backend,
        cache: ReplyCache | None = None,
        max_in_flight: int = 16,
        retries: Retries | None = None,
    ) -> None:
        if type(max_in_flight) is not int or max_in_flight < 1:
            raise ValueError(
                f"max_in_flight must be a whole number above 0, not {max_in_flight!r}."
            )
        self.backend = backend
        self.cache = cache
        self.max_in_flight = max_in_flight
        self._retries = retries or Retries()
        self._free = threading.BoundedSemaphore(max_in_flight)
        self._free_of_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]
        self._free_of_loop = weakref.WeakKeyDictionary()

    def __repr__(self) -> str:
        identity = self.backend.identity()
        return f"{type(self).__name__}({identity['endpoint']!r}, model={identity['model']!r})"

    def chat(self, messages: Messages, **parameters: Any) -> ChatReply:
        """Return the reply to messages, out of the cache where it is there.

        Raises:
            EndpointError: No usable reply came, after all retries.
        """
        key, known = self._known(messages, parameters)
        if known is not None:
            return known
        with self._free:
            return self._kept(
                key, self._retries.call(lambda: self.backend.chat(messages, **parameters))
            )

    async def achat(self, messages: Messages, **parameters: Any) -> ChatReply:
        """Return the reply to messages without blocking the event loop; see `chat`."""
        key, known = self._known(messages, parameters)
        if known is not None:
            return known
        loop = asyncio.get_running_loop()
        free = self._free_of_loop.setdefault(loop, asyncio.Semaphore(self.max_in_flight))
        async with free:
            return self._kept(
                key, await self._retries.acall(lambda: self.backend.achat(messages, **parameters))
            )

    def forget(self, requests: Iterable[Request]) -> None:
        """Keep the replies to some requests no longer, where a cache keeps them."""
        if self.cache is not None:
            self.cache.forget(
                [
                    ReplyCache.key(self.identity(), request.messages, request.parameters)
                    for request in requests
                ]
            )

    def identity(self) -> dict[str, Any]:
        """Return endpoint and model, without secrets: part of the key of every score that rests on them."""
        return self.backend.identity()

    def close(self) -> None:
        """Close connections and cache."""
        self.backend.close()
        if self.cache is not None:
            self.cache.close()

    def _known(
        self, messages: Messages, parameters: Mapping[str, Any]
    ) -> tuple[str, ChatReply | None]:
        if self.cache is None:
            return "", None
        key = ReplyCache.key(self.identity(), messages, parameters)
        return key, self.cache.get(key)

    def _kept(self, key: str, reply: ChatReply) -> ChatReply:
        if self.cache is not None:
            self.cache.put(key, reply)
        return reply


class JudgeOnDemand:
    """A judge that is built once, by the first row that needs it: a machine without one can score the rows that need none.

    Args:
        llm: What judges: see `language_model`.
        settings: Its other arguments.

    Raises:
        ConfigurationError: What is given now, an ``llm`` or a ``base_url``, cannot judge.
    """

    def __init__(self, llm: Any = None, **settings: Any) -> None:
        self._build = partial(language_model, llm, **settings)
        self._lock = threading.Lock()
        is_given = llm is not None or bool(settings.get("base_url"))
        self._model: LanguageModel | None = self._build() if is_given else None

    @property
    def is_built(self) -> bool:
        """Whether it was given, or was needed before."""
        return self._model is not None

    def get(self) -> LanguageModel:
        """Return it.

        Raises:
            ConfigurationError: None was given, and none is configured.
        """
        with self._lock:
            if self._model is None:
                self._model = self._build()
            return self._model

    def close(self) -> None:
        """Close its connections and cache, where it was built."""
        if self._model is not None:
            self._model.close()


def judge_model(
    base_url: str,
    model: str = "gpt-4",
    *,
    provider: str = "openai",
    api_key: str | None = None,
    cache: str | Path | None = None,
    max_in_flight: int = 16,
    timeout: float | None = 60.0,
    max_retries: int = 3,
    retry_base_delay: float = 1.0,
    extra_headers: Mapping[str, str] | Iterable[str] | None = None,
) -> LanguageModel:
    """Return the model behind an endpoint.

    Args:
        base_url: Address of the server, with or without ``/v1``.
        model: Model to ask.
        provider: ``openai`` for an OpenAI-compatible server, ``anthropic`` for one of the Messages API.
        api_key: The key; None takes the provider's from the environment.
        cache: File that keeps replies.
        max_in_flight: How many requests may be on their way at a time.
        timeout: Seconds for one attempt as a whole; None for no limit.
        max_retries: Requests after the first one.
        retry_base_delay: Upper bound of the first pause in seconds; it doubles each time.
        extra_headers: Further request headers.

    Raises:
        ValueError: An argument cannot be used.
    """
    if not str(model or "").strip():
        raise ValueError(f"model must be the name of a model, not {model!r}.")
    if provider not in PROVIDERS:
        raise ValueError(f"provider is {provider!r}, but must be one of {', '.join(PROVIDERS)}.")
    settings: dict[str, Any] = {
        "timeout": timeout,
        "extra_headers": extra_headers,
    }
    backend: Backend
    if provider == "openai":
        backend = OpenAIBackend(ChatClient(base_url, api_key, model=model, **settings), model)
    else:
        backend = AnthropicBackend(MessagesClient(base_url, api_key, **settings), model)
    retries = Retries(max_retries, retry_base_delay)
    return LanguageModel(backend, ReplyCache(cache) if cache else None, max_in_flight, retries)


def language_model(
    llm: Any = None,
    *,
    base_url: str | None = None,
    model: str = "gpt-4",
    provider: str = "openai",
    cache: str | Path | None = None,
    max_in_flight: int = 16,
    **settings: Any,
) -> LanguageModel:
    """Return what judges: a `LanguageModel` as it is, a client, an object with ``invoke`` or ``ainvoke``; None means the
    model behind ``base_url``, or else the configured judge.

    Args:
        llm: What judges.
        base_url, model, provider: As in `judge_model`, where there is no ``llm``.
        cache, max_in_flight: As in `judge_model`, for all but a `LanguageModel`, which has its own.
        settings: Further arguments of `judge_model`, where there is no ``llm``.

    Raises:
        ConfigurationError: It is none of them, no judge is configured, or a cache cannot be kept for it.
    """
    if llm is None:
        if not base_url:
            base_url, model, provider = configured(model, provider)
        return judge_model(
            base_url, model, provider=provider, cache=cache, max_in_flight=max_in_flight, **settings
        )
    if isinstance(llm, LanguageModel):
        if cache:
            raise ConfigurationError(
                "A judge_model(...) keeps its own cache: give it the argument `cache`."
            )
        return llm
    backend = _backend_of(llm)
    if cache and not backend.identity()["model"]:
        raise ConfigurationError(
            f"Replies of {type(llm).__name__} cannot be cached: it names no model (`model_name` or `model`), so that they could "
            "not be told from those of another."
        )
    return LanguageModel(backend, ReplyCache(cache) if cache else None, max_in_flight)


def _backend_of(llm: Any) -> Backend:
    if isinstance(llm, ChatClient):
        if not llm.model:
            raise ConfigurationError(
                "The ChatClient that judges needs a model: ChatClient(url, model=...)."
            )
        return OpenAIBackend(llm, llm.model)
    if callable(getattr(llm, "invoke", None)) or callable(getattr(llm, "ainvoke", None)):
        return InvokedBackend(llm)
    raise ConfigurationError(
        f"{type(llm).__name__} cannot judge: give a judge_model(...), a ChatClient with a model, or an object with `invoke`."
    )


def is_configured() -> bool:
    """Whether the environment names a judge."""
    return bool(os.environ.get(URL_VARIABLE, "").strip())


def configured_judge() -> LanguageModel:
    """Return the judge that the environment names.

    Raises:
        ConfigurationError: It names none; the message says how to.
    """
    return language_model()


def configured(model: str = "gpt-4", provider: str = "openai") -> tuple[str, str, str]:
    """Return address, model and provider of the judge that the environment names.

    Args:
        model: The model where the environment names none.
        provider: The provider where the environment names none.

    Raises:
        ConfigurationError: There is no address; the message says how to give one.
    """
    base_url = _variable(URL_VARIABLE)
    if not base_url:
        raise ConfigurationError(
            f"No judge is configured: give llm=..., or set {URL_VARIABLE} and {MODEL_VARIABLE} "
            "(on the command line --judge-url and --judge-model)."
        )
    return base_url, _variable(MODEL_VARIABLE) or model, _variable(PROVIDER_VARIABLE) or provider


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip()
