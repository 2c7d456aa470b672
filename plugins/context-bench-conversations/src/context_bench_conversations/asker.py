"""Who asks conversations: a system with ``process_turn`` turn by turn, one with ``process_conversation`` alone as a whole.

A system with ``process_turn(turns)`` is asked for the answer to the last of the turns it is given, and each answer is safe
before the next turn is asked. One with ``process_conversation(turns)`` alone owns the whole conversation: it gives all of
its replies at once, so there is nothing to keep before the last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from copy import deepcopy
from inspect import isawaitable, iscoroutinefunction
from time import perf_counter
from typing import Any

from context_bench.hookspecs import hookimpl
from context_bench.protocols import Turns
from context_bench_conversations.talk import Forgetful, Talk, conversation_output, is_conversation


class Conversations:
    """The extension: every conversation is held by :class:`Conversational`."""

    @hookimpl
    def drive_conversation(self, system: Any) -> Conversational:
        """Return what holds conversations with a system."""
        return Conversational(system)


class Conversational:
    """A system whose multi-turn rows are asked turn by turn, or as a whole, and all others through ``process``.

    Everything else about the system is as it was.

    Args:
        system: A system with ``process_turn`` or ``process_conversation`` (or their async forms, ``aprocess_turn`` and
            ``aprocess_conversation``). A turn's answer is a text or an output with a text ``response``. A whole conversation
            is the assistant's replies in order, as texts or as ``{"content": ..., "usage": ...}``, or an output with
            ``turn_responses`` of its own.
    """

    def __init__(self, system: Any) -> None:
        self._system = system
        self.name = system.name
        is_async = _async_way(system, "process") is not None
        self._is_asked_by_turn = callable(getattr(system, "process_turn", None)) or (
            is_async and callable(getattr(system, "aprocess_turn", None))
        )
        self._talk = "process_turn" if self._is_asked_by_turn else "process_conversation"
        if iscoroutinefunction(system.process) or (
            is_async and _async_way(system, self._talk) is not None
        ):
            self.aprocess = self._aprocess

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_system", "aprocess"):
            raise AttributeError(
                name
            )  # without an async way to talk, the async way would miss conversations
        return getattr(self._system, name)

    def process(self, example: dict[str, Any]) -> Mapping[str, Any]:
        """Return the output for an example, a conversation or not; nothing is kept before the end."""
        if is_conversation(example):
            return self.converse(example, Forgetful())
        return self._system.process(example)  # type: ignore[no-any-return]

    async def _aprocess(self, example: dict[str, Any]) -> Mapping[str, Any]:
        if is_conversation(example):
            return await self.aconverse(example, Forgetful())
        way = _async_way(self._system, "process") or self._system.process
        return await _awaited(way(example))  # type: ignore[no-any-return]

    def converse(self, example: Mapping[str, Any], turns: Turns) -> Mapping[str, Any]:
        """Return the output of a conversation; turns that are answered already are not asked again."""
        if not self._is_asked_by_turn:
            return conversation_output(self._system.process_conversation(example["turns"]))
        talk = Talk(example["turns"], turns)
        for history in talk.questions():
            started = perf_counter()
            found = self._system.process_turn(deepcopy(history))
            talk.answer(found, perf_counter() - started)
        return talk.output()

    async def aconverse(self, example: Mapping[str, Any], turns: Turns) -> Mapping[str, Any]:
        """Do the same without blocking the event loop."""
        if not self._is_asked_by_turn:
            return conversation_output(await self._asked(example["turns"]))
        talk = Talk(example["turns"], turns)
        questions = talk.questions()
        while (history := await asyncio.to_thread(next, questions, None)) is not None:
            started = perf_counter()
            found = await self._asked(deepcopy(history))
            await asyncio.to_thread(talk.answer, found, perf_counter() - started)
        return talk.output()

    async def _asked(self, turns: Any) -> Any:
        way = _async_way(self._system, self._talk)
        if way is None:
            return await asyncio.to_thread(getattr(self._system, self._talk), turns)
        return await _awaited(way(turns))


def _async_way(system: Any, name: str) -> Callable[..., Any] | None:
    """Return what is awaited for a method: its async form, or itself when it is async; None when it is not."""
    found = getattr(system, f"a{name}", None)
    if callable(found):
        return found  # type: ignore[no-any-return]
    found = getattr(system, name, None)
    return found if iscoroutinefunction(found) else None


async def _awaited(found: Any) -> Any:
    return await found if isawaitable(found) else found
