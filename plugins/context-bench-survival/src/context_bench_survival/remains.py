"""What messages tell, read once: their tokens, their literals and where each of them stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

from context_bench.messages import whole_text
from context_bench.tokens import WordTokenizer
from context_bench_sessions.messages import Message
from context_bench_survival.literals import Literal, holds, literals, words_of
from context_bench_survival.probes import keyed

count_tokens = WordTokenizer().count
r"""Matches of ``\w+|[^\w\s]``: the rule of a run's own tokenizer."""


class Told(NamedTuple):
    """What one message tells.

    Attributes:
        text: All of it, JSON by its keys.
        tokens: The tokens of the message as it is.
        lines: Its lines that hold literals, with these.
        known: The literals of the text.
    """

    text: str
    tokens: int
    lines: Sequence[tuple[str, tuple[Literal, ...]]]
    known: frozenset[str]


class Remains:
    """What a system was given, or what it left.

    Attributes:
        texts: What each message tells, JSON by its keys, and what else is told.
        tokens: The tokens of the messages.
        holders: The texts in which each literal stands.
        lines: The lines of the messages as they are that hold literals, with these.
        read: What each message tells, by what it is made of.

    Args:
        messages: The messages in the canonical form.
        more: What else is told.
        read: What was read already: of another's messages those that stay as they were are not read again.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        more: Sequence[str] = (),
        read: Mapping[Any, Told] = MappingProxyType({}),
    ) -> None:
        self.texts: list[str] = []
        self.tokens = 0
        self.holders: dict[str, list[str]] = {}
        self.lines: list[tuple[str, tuple[Literal, ...]]] = []
        self.read: dict[Any, Told] = {}
        for message in messages:
            calls = message.get("tool_calls", ())
            key = (
                message["role"],
                str(message["content"]),
                *[str(one["arguments"]) for one in calls],
            )
            told = self.read[key] = read.get(key) or _told(message)
            self.tokens += told.tokens
            self.lines += told.lines
            self._add(told.text, told.known)
        for text in more:
            self._add(text, _literals_of(text))

    def _add(self, text: str, known: Iterable[str]) -> None:
        self.texts.append(text)
        for literal_text in known:
            self.holders.setdefault(literal_text, []).append(text)

    @cached_property
    def whole(self) -> str:
        """All texts as one."""
        return "\n".join(self.texts)

    def held(self, answers: Iterable[str]) -> frozenset[str]:
        """Return which literals still stand: on token boundaries, also where one is a part of a longer one."""
        wanted = frozenset(answers)
        found = wanted & self.holders.keys()
        words = {answer: words_of(answer) for answer in wanted - found}
        there = frozenset(chain.from_iterable(words.values())).intersection(
            words_of(self.whole) if words else ()
        )
        return found.union(
            answer
            for answer, own in words.items()
            if there.issuperset(own) and holds(self.whole, answer)
        )


def _told(message: Message) -> Told:
    whole, by_key = whole_text(message), "\n".join(keyed(message))
    lines = [(line, found) for line in whole.splitlines() if (found := literals(line))]
    known = frozenset(literal.text for _, found in lines for literal in found)
    if by_key:
        return Told(f"{whole}\n{by_key}", count_tokens(whole), lines, known | _literals_of(by_key))
    return Told(whole, count_tokens(whole), lines, known)


def _literals_of(text: str) -> frozenset[str]:
    return frozenset(literal.text for line in text.splitlines() for literal in literals(line))


def tokens_of(messages: Sequence[Message]) -> int:
    """Return the tokens of messages: matches of a word or of a sign."""
    return sum(count_tokens(whole_text(message)) for message in messages)
