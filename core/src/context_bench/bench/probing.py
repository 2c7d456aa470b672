"""Probing: one system is asked, request by request, and every request is counted.

What can be changed about a system is what its manifest declares: an option ``layout`` with choices, ``max_retries``,
``timeout``, ``temperature``, ``base_url``. So a plugin has to do nothing to be probed; it may have a method ``models()``,
which returns the names of the models that its endpoint offers, and errors with a ``finding`` or an HTTP ``status``.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from inspect import isawaitable
from threading import Thread
from time import perf_counter
from typing import Any

from attrs import evolve

from context_bench.bench.builders import build_system
from context_bench.bench.diagnostics import Reply
from context_bench.bench.specs import SystemSpec
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.options import Option
from context_bench.runner.admission import endpoint_of
from context_bench.runner.conversation import with_conversations
from context_bench.store.encoding import isolate

PATIENCE = 120.0
"""Seconds after which a system that has not answered is given up."""

_REQUEST_TIMEOUT = 60.0


class Probe:
    """Asks a system and its variants.

    Args:
        catalog: What is installed.
        spec: The system, its steps included.
        label: What it is called in the run.
        patience: Seconds that one request may take.

    Attributes:
        replies: Every reply so far, in order.
    """

    def __init__(self, catalog: Catalog, spec: SystemSpec, label: str, patience: float = PATIENCE) -> None:
        self._catalog = catalog
        self.spec = self._changed(spec, {"max_retries": 0}, {"timeout": min(_REQUEST_TIMEOUT, patience)})
        self.label = label
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
            spec = self._changed(self.spec, options)
            self._systems[variant] = with_conversations(build_system(self._catalog, spec, os.environ))
        return self._systems[variant]

    def ask(self, purpose: str, example: Mapping[str, Any], name: str = "", **options: Any) -> Reply:
        """Ask the system, or a variant of it, and return what came of it; whatever goes wrong is in the reply.

        Raises:
            ContextBenchError: The variant cannot be set up.
        """
        system = self.system(**options)
        reply = asked(system, purpose, example, name, self._patience)
        self.replies.append(reply)
        return reply

    def models(self) -> list[str] | BaseException | None:
        """Return the models that its endpoint offers, the error that came instead, or None when it cannot be asked."""
        ask = getattr(self.system(), "models", None)
        if not callable(ask):
            return None
        reply = asked(ask, "models", None, "", self._patience)
        self.replies.append(reply)
        if reply.error is not None:
            return reply.error
        found = (reply.output or {}).get("models")
        return [str(name) for name in found] if isinstance(found, list | tuple) else None

    @property
    def endpoint(self) -> str | None:
        """The endpoint that it asks, without secrets; None when it asks none."""
        return endpoint_of(self.system())

    def option(self, name: str) -> tuple[Option, Any] | None:
        """Return an option that one of its steps declares, and its value; None when none declares it."""
        for step in (self.spec, *self.spec.steps):
            facts = self._catalog.find("systems", step.name).facts
            if facts is not None and name in facts.options:
                option = facts.options[name]
                return option, _given(step).get(name, option.default)
        return None

    def close(self) -> None:
        """Let go of connections."""
        for system in self._systems.values():
            close = getattr(system, "close", None)
            if callable(close):
                close()

    def _changed(
        self, spec: SystemSpec, changes: Mapping[str, Any], unless_given: Mapping[str, Any] = {}
    ) -> SystemSpec:
        facts = self._catalog.find("systems", spec.name).facts
        declared = facts.options if facts is not None else {}
        own = {name: value for name, value in changes.items() if name in declared}
        weak = {name: value for name, value in unless_given.items() if name in declared}
        steps = tuple(self._changed(step, changes, unless_given) for step in spec.steps)
        return evolve(spec, options={**weak, **_given(spec), **own}, steps=steps)


def asked(
    system: Any, purpose: str, example: Mapping[str, Any] | None, name: str = "", patience: float = PATIENCE
) -> Reply:
    """Ask a system about an example - or, without one, call it - on a thread that can be left behind."""
    found: list[Any] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            said = system() if example is None else system.process(isolate(example))
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
        return Reply(purpose, None, TimeoutError(f"no answer came within {patience:g} s"), seconds, name)
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


def _given(spec: SystemSpec) -> dict[str, Any]:
    return {name.replace("-", "_"): value for name, value in spec.options.items()}


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
            return {**example, "turns": [*before, {**last, "content": f"{last['content']} ({nonce})"}]}
    return None
