"""What messages tell, read once: their tokens, their literals and where each of them stands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from context_bench.messages import whole_text
from context_bench.tokens import WordTokenizer
from context_bench_sessions.messages import Message
from context_bench_survival.literals import Literal, holds, literals, words_of
from context_bench_survival.probes import keyed

count_tokens = WordTokenizer().count
r"""Matches of ``\w+|[^\w\s]``: the rule of a run's own tokenizer."""


class Remains:
    """What a system was given, or what it left.

    Attributes:
        texts: What each message tells, JSON by its keys, and what else is told.
        tokens: The tokens of the messages.
        holders: The texts in which each literal stands.
        lines: The lines of the messages as they are that hold literals, with these.
    """

    def __init__(self, messages: Sequence[Message], more: Sequence[str] = ()) -> None:
        self.texts: list[str] = []
        self.tokens = 0
        self.holders: dict[str, list[str]] = {}
        self.lines: list[tuple[str, tuple[Literal, ...]]] = []
        for message in messages:
            whole, by_key = whole_text(message), "\n".join(keyed(message))
            self.tokens += count_tokens(whole)
            found = [(line, one) for line in whole.splitlines() if (one := literals(line))]
            self.lines += found
            text = f"{whole}\n{by_key}" if by_key else whole
            self._add(text, by_key, {literal.text for _, one in found for literal in one})
        for text in more:
            self._add(text, text, set())

    def _add(self, text: str, unread: str, known: set[str]) -> None:
        self.texts.append(text)
        if unread:
            known.update(literal.text for line in unread.splitlines() for literal in literals(line))
        for literal_text in known:
            self.holders.setdefault(literal_text, []).append(text)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(words_of(self._whole))

    @cached_property
    def _whole(self) -> str:
        return "\n".join(self.texts)

    def holds(self, answer: str) -> bool:
        """Whether a literal still stands: on token boundaries, also where it is a part of a longer one."""
        return answer in self.holders or (self._words.issuperset(words_of(answer)) and holds(self._whole, answer))


def tokens_of(messages: Sequence[Message]) -> int:
    """Return the tokens of messages: matches of a word or of a sign."""
    return sum(count_tokens(whole_text(message)) for message in messages)
