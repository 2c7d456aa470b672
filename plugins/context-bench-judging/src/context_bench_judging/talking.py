"""Holding a conversation with the judge that a generator leads: blocking, or on an event loop."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

from context_bench.answers import UNREADABLE
from context_bench_http import EndpointError
from context_bench_judging.asking import Request
from context_bench_judging.language_model import LanguageModel
from context_bench_judging.unreadable import UnreadableReply
from context_bench_openai import ChatReply

_Outcome = TypeVar("_Outcome")
Talk = Generator[Request, ChatReply, _Outcome]


def talk(model: LanguageModel, begin: Callable[[], Talk[_Outcome]]) -> _Outcome:
    """Return what a talk ends with; each request that it yields is asked, and errors are thrown into it.

    Where it ends without a reply that can be read, no cache keeps the replies to its last question. If one of them came out of
    the cache, where an earlier version or another rule of reading had left it, the talk is held again, and the judge asked.

    Args:
        model: The judge.
        begin: Begins the talk.
    """
    led = _held(model, begin)
    try:
        request = next(led)
        while True:
            try:
                reply = model.chat(request.messages, **request.parameters)
            except EndpointError as error:
                request = led.throw(error)
            else:
                request = led.send(reply)
    except StopIteration as end:
        outcome: _Outcome = end.value
        return outcome


async def atalk(model: LanguageModel, begin: Callable[[], Talk[_Outcome]]) -> _Outcome:
    """Return what a talk ends with, without blocking the event loop; see `talk`."""
    led = _held(model, begin)
    try:
        request = next(led)
        while True:
            try:
                reply = await model.achat(request.messages, **request.parameters)
            except EndpointError as error:
                request = led.throw(error)
            else:
                request = led.send(reply)
    except StopIteration as end:
        outcome: _Outcome = end.value
        return outcome


def _held(model: LanguageModel, begin: Callable[[], Talk[_Outcome]]) -> Talk[_Outcome]:
    """Lead a talk, and once more where a reply of the cache could not be read."""
    asked = _Asked(model)
    while True:
        try:
            outcome = yield from _noted(begin(), asked)
        except UnreadableReply:
            if not asked.are_kept_no_longer():
                raise
        else:
            if _is_readable(outcome) or not asked.are_kept_no_longer():
                return outcome


def _noted(led: Talk[_Outcome], asked: _Asked) -> Talk[_Outcome]:
    """Lead a talk, and take note of what it asks and is told."""
    try:
        request = next(led)
        while True:
            try:
                reply = yield request
            except EndpointError as error:
                asked.add(request)
                request = led.throw(error)
            else:
                asked.add(request, reply)
                request = led.send(reply)
    except StopIteration as end:
        outcome: _Outcome = end.value
        return outcome


def _is_readable(outcome: object) -> bool:
    details = getattr(outcome, "details", None) or {}
    return not str(details.get("unscored", "")).startswith(UNREADABLE)


class _Asked:
    """What a talk has asked, and whether nobody was: the reply came out of the cache."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._requests: list[tuple[Request, bool]] = []
        self._forgotten: list[Request] = []

    def add(self, request: Request, reply: ChatReply | None = None) -> None:
        """Take note of a request and its reply; None where there was none."""
        is_kept = self._model.cache is not None and reply is not None and reply.is_cached
        self._requests.append((request, is_kept))

    def are_kept_no_longer(self) -> bool:
        """Keep the replies to the last question no longer; return whether the cache gave one of them, for the first time."""
        found, self._requests = self._requests, []
        question = _last_question([request for request, _ in found]) if found else []
        self._model.forget(question)
        is_stale = any(
            is_kept and one in question and one not in self._forgotten for one, is_kept in found
        )
        self._forgotten += question
        return is_stale


def _last_question(asked: list[Request]) -> list[Request]:
    """Return the last request with all that ask the same, its repairs among them: they begin with the same messages."""
    last = asked[-1].messages
    question = min(
        (one.messages for one in asked if last[: len(one.messages)] == one.messages), key=len
    )
    return [one for one in asked if one.messages[: len(question)] == question]
