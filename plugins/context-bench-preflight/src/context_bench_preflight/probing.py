"""Probing: one system is asked, request by request, and every request is counted.

What can be changed about a system is what its manifest declares: an option ``layout`` with choices,
``timeout``, ``temperature``, ``base_url``. So a plugin has to do nothing to be probed; it may have a method ``models()``,
which returns the names of the models that its endpoint offers, and errors with a ``finding`` or an HTTP ``status``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from inspect import isawaitable
from threading import Thread
from time import perf_counter
from typing import Any

from context_bench.config import SystemConfig
from context_bench_preflight.diagnostics import Reply

PATIENCE = 120.0
"""Seconds after which a system that has not answered is given up."""

_REQUEST_TIMEOUT = 60.0


class Probe:
    """Asks a system and its variants.

    Args:
        asked_for: The system.
        patience: Seconds that one request may take.
        on_asking: Is told of each request before it is sent: the system's label, the number of the request, and its purpose.

    Attributes:
        replies: Every reply so far, in order.
    """

    def __init__(
        self,
        asked_for: SystemConfig,
        patience: float = PATIENCE,
        on_asking: Callable[[str, int, str], None] = lambda label, number, purpose: None,
    ) -> None:
        self._on_asking = on_asking
        self.asked_for = asked_for.with_options({}, {"timeout": min(_REQUEST_TIMEOUT, patience)})
        self.label = asked_for.label
        self._patience = patience
        self._systems: dict[tuple[tuple[str, Any], ...], Any] = {}
        self.replies: list[Reply] = []

    def system(self, **options: Any) -> Any:
        """Return the system with some of its options changed, where it declares them.

        Raises:
            ContextBenchError: It cannot be set up.
        """
        variant = tuple(sorted(options.items()))
        if variant not in self._systems:
            self._systems[variant] = self.asked_for.with_options(options).build()
        return self._systems[variant]

    def ask(
        self, purpose: str, example: Mapping[str, Any], name: str = "", **options: Any
    ) -> Reply:
        """Ask the system, or a variant of it, and return what came of it; whatever goes wrong is in the reply.

        Raises:
            ContextBenchError: The variant cannot be set up.
        """
        system = self.system(**options)
        self._on_asking(self.label, len(self.replies) + 1, purpose)
        reply = asked(system, purpose, example, name, self._patience)
        self.replies.append(reply)
        return reply

    def models(self) -> list[str] | BaseException | None:
        """Return the models that its endpoint offers, the error that came instead, or None when it cannot be asked."""
        ask = getattr(self.system(), "models", None)
        if not callable(ask):
            return None
        self._on_asking(self.label, len(self.replies) + 1, "models")
        reply = asked(ask, "models", None, "", self._patience)
        self.replies.append(reply)
        if reply.error is not None:
            return reply.error
        found = (reply.output or {}).get("models")
        return [str(name) for name in found] if isinstance(found, list | tuple) else None

    @property
    def endpoint(self) -> str | None:
        """The endpoint that it asks, without secrets; None when it asks none."""
        return self.endpoint_with()

    def endpoint_with(self, **options: Any) -> str | None:
        """Return the endpoint that it asks with some of its options changed."""
        return self.asked_for.endpoint_of(self.system(**options))

    def option(self, name: str) -> tuple[tuple[Any, ...], Any] | None:
        """Return the choices and the value of an option that one of its steps declares; None when none declares it."""
        return self.asked_for.option(name)

    def close(self) -> None:
        """Let go of connections."""
        for system in self._systems.values():
            close = getattr(system, "close", None)
            if callable(close):
                close()


def asked(
    system: Any,
    purpose: str,
    example: Mapping[str, Any] | None,
    name: str = "",
    patience: float = PATIENCE,
) -> Reply:
    """Ask a system about an example - or, without one, call it - on a thread that can be left behind."""
    found: list[Any] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            said = system() if example is None else system.process(deepcopy(dict(example)))
            found.append(asyncio.run(_awaited(said)) if isawaitable(said) else said)
        except BaseException as error:  # noqa: BLE001 - a system may raise anything; it is this request's failure
            errors.append(error)

    started = perf_counter()
    thread = Thread(target=call, name=f"context-bench-{purpose}", daemon=True)
    thread.start()
    thread.join(patience)
    seconds = perf_counter() - started
    if errors:
        return Reply(purpose, None, errors[0], seconds, name)
    if not found:
        return Reply(
            purpose, None, TimeoutError(f"no answer came within {patience:g} s"), seconds, name
        )
    if example is None:
        return Reply(purpose, {"models": found[0]}, None, seconds, name)
    if not isinstance(found[0], Mapping):
        wrong = TypeError(f"the system returned {type(found[0]).__name__}, not a mapping")
        return Reply(purpose, None, wrong, seconds, name)
    measured = found[0].get("latency")
    if isinstance(measured, int | float) and not isinstance(measured, bool):
        seconds = float(measured)
    return Reply(purpose, found[0], None, seconds, name)


async def _awaited(coming: Any) -> Any:
    return await coming


def with_nonce(example: Mapping[str, Any], nonce: str) -> dict[str, Any] | None:
    """Return an example that asks the same in other words, so that no cache knows it; None when it has no text."""
    for field in ("question", "prompt", "instruction", "context"):
        text = example.get(field)
        if isinstance(text, str) and text.strip():
            return {**example, field: f"{text} ({nonce})"}
    turns = example.get("turns")
    if isinstance(turns, Sequence) and not isinstance(turns, str) and turns:
        *before, last = turns
        if isinstance(last, str):
            return {**example, "turns": [*before, f"{last} ({nonce})"]}
        if isinstance(last, Mapping) and isinstance(last.get("content"), str):
            return {
                **example,
                "turns": [*before, {**last, "content": f"{last['content']} ({nonce})"}],
            }
    return None
