"""Asking the judge's server for as much as it takes.

A judge asks for temperature 0, a token limit and a JSON schema. Servers refuse one or the other with a 400: the schema is
not implemented, a reasoning model takes no temperature. What a server refuses is left out and not asked for again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from context_bench_http import RequestRefusedError
from context_bench_openai import ChatReply

_OPTIONAL = ("response_format", "temperature", "seed", "max_tokens")


@dataclass(frozen=True)
class Request:
    """One request to the judge.

    Attributes:
        messages: The messages.
        parameters: Further fields of the request.
    """

    messages: list[dict[str, str]]
    parameters: Mapping[str, Any]


Exchange = Generator[Request, ChatReply, ChatReply]


@dataclass
class ClientPolicy:
    """Which parameters the server has taken, and which it has refused.

    Both only grow, and by whole replacement, so threads may share it.
    """

    refused: frozenset[str] = frozenset()
    accepted: frozenset[str] = frozenset()

    def exchange(
        self, messages: Callable[[bool], list[dict[str, str]]], parameters: Mapping[str, Any]
    ) -> Exchange:
        """Yield requests until one is taken; return its reply.

        Args:
            messages: Makes the messages, told whether a JSON schema goes with them.
            parameters: What to ask for at best.

        Raises:
            EndpointError: What the last request met with.
        """
        left_out = self.refused
        while True:
            wanted = {name: value for name, value in parameters.items() if name not in left_out}
            try:
                reply = yield Request(messages("response_format" in wanted), wanted)
            except RequestRefusedError as error:
                blamed = self._blamed(error, wanted)
                if not blamed:
                    raise
                left_out = left_out | blamed
                continue
            self.refused = self.refused | left_out
            self.accepted = self.accepted | wanted.keys()
            return reply

    def _blamed(self, error: RequestRefusedError, wanted: Mapping[str, Any]) -> frozenset[str]:
        """Return the parameters to leave out after a refusal: those it names, else the schema."""
        if type(error) is not RequestRefusedError or error.status not in (400, 422):
            return frozenset()
        droppable = [name for name in _OPTIONAL if name in wanted and name not in self.accepted]
        words = re.sub(r"[\s_-]+", "_", error.message.lower())
        named = frozenset(name for name in droppable if name in words)
        if named:
            return named
        return frozenset({"response_format"} & set(droppable))
