"""Holding a conversation with the judge that a generator leads: blocking, or on an event loop."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from context_bench_http import EndpointError
from context_bench_judging.asking import Request
from context_bench_judging.language_model import LanguageModel
from context_bench_openai import ChatReply

_Outcome = TypeVar("_Outcome")
Talk = Generator[Request, ChatReply, _Outcome]


def talk(model: LanguageModel, talk: Talk[_Outcome]) -> _Outcome:
    """Return what a talk ends with; each request that it yields is asked, and errors are thrown into it."""
    try:
        request = next(talk)
        while True:
            try:
                reply = model.chat(request.messages, **request.parameters)
            except EndpointError as error:
                request = talk.throw(error)
            else:
                request = talk.send(reply)
    except StopIteration as end:
        outcome: _Outcome = end.value
        return outcome


async def atalk(model: LanguageModel, talk: Talk[_Outcome]) -> _Outcome:
    """Return what a talk ends with, without blocking the event loop; see `talk`."""
    try:
        request = next(talk)
        while True:
            try:
                reply = await model.achat(request.messages, **request.parameters)
            except EndpointError as error:
                request = talk.throw(error)
            else:
                request = talk.send(reply)
    except StopIteration as end:
        outcome: _Outcome = end.value
        return outcome
