"""What is counted of the requests of a row: tokens, the cached prefix, calls, and reads that were repeated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.tokens import WordTokenizer
from context_bench_agents_live.controls import result_tokens
from context_bench_agents_live.conversation import Body, ToolCall, prompt_text, turns_of
from context_bench_agents_live.policy import read_path
from context_bench_agents_live.prices import Budget


class RequestLog:
    """Counts the requests of one row.

    A side request offers no tools where others do, such as one for a title. It is billed, but it is not a turn.
    The cached prefix of a request is what it has in common with the row's previous request, up to the first change.

    Args:
        budget: What the row may cost; None for no bound.
        earlier: The counts of a conversation that goes on: its calls and its last request are known, and not counted.
        max_turns: Turns that are answered; None for no bound.

    Attributes:
        requests: Number of requests, side requests included.
        results_sent: Tokens in results of tools before anything was cut.
        results_kept: Tokens in results of tools that arrived.
        gave_up: Whether the policy ended the work without a result.
        stopped_by: The bound because of which a request was not answered, such as ``max_cost``; empty where there was none.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        earlier: RequestLog | None = None,
        max_turns: int | None = None,
    ) -> None:
        self._budget = budget
        self._max_turns = max_turns
        self._tokenizer = WordTokenizer()
        self._previous: str = earlier._previous if earlier else ""
        self._earlier = Counter(earlier._reads) if earlier else Counter[str]()
        self._calls: Counter[str] = Counter()
        self._reads: Counter[str] = Counter()
        self._offering = 0
        self.requests = 0
        self.tokens_sent = 0
        self.tokens_side = 0
        self.results_sent = 0
        self.results_kept = 0
        self.tokens_cached = 0
        self.tokens_written = 0
        self.gave_up = False
        self.stopped_by = ""

    @classmethod
    def of_session(cls, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any]) -> RequestLog:
        """Return the counts of a recorded session, as what a conversation goes on from: its calls and its last request.

        Args:
            messages: The session for chat completions.
            tools: What each request offers.
        """
        log = cls()
        models = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
        if models:
            log._previous = prompt_text({"tools": tools, "messages": messages[: models[-1]]})
        for turn in turns_of("chat", {"messages": messages}):
            for call in turn.calls:
                log._reads[_read(call)] += 1
        return log

    def stops(self, body: Body) -> bool:
        """Return whether a request is not to be answered because a bound is reached, and remember which."""
        if self.is_spent:
            self.stopped_by = "max_cost"
        turns = self._offering + bool(body.get("tools")) or self.requests + 1
        if self._max_turns is not None and turns > self._max_turns:
            self.stopped_by = f"{self._max_turns} turns"
        return bool(self.stopped_by)

    def add(self, body: Body, text: str, calls: Sequence[ToolCall]) -> None:
        """Count a request and its reply."""
        prompt = prompt_text(body)
        self.requests += 1
        common = ""
        if body.get("tools") or not self._offering:
            common = _common_prefix(self._previous, prompt)
            self._previous = prompt
        self._offering += bool(body.get("tools"))
        tokens = self._tokenizer.count(prompt)
        self.tokens_sent += tokens
        if not body.get("tools") and self._offering:
            self.tokens_side += tokens
        self.results_kept += result_tokens(dict(body))
        self.tokens_cached += self._tokenizer.count(common)
        self.tokens_written += self._tokenizer.count(text)
        for call in calls:
            shown = _shown(call)
            self.tokens_written += self._tokenizer.count(shown)
            self._calls[call.name] += 1
            self._reads[_read(call)] += 1

    @property
    def turns(self) -> int:
        """The requests, without side requests."""
        return self._offering or self.requests

    @property
    def is_spent(self) -> bool:
        """Whether the requests cost what the row may cost."""
        return self._budget is not None and self._budget.is_spent(self.record())

    @property
    def kept_share(self) -> float | None:
        """The share of the tokens in results of tools that arrived; None where what was sent is unknown."""
        return self.results_kept / self.results_sent if self.results_sent else None

    def _repeated(self, call: str) -> int:
        is_first = call not in self._earlier
        return self._reads[call] - is_first

    def record(self) -> Mapping[str, Any]:
        """Return the counts as a row stores them.

        ``turns``, ``side_requests``, ``calls`` by tool, ``re_reads`` (equal calls after the first, and searches of a file that was read), and tokens: ``tokens_sent``,
        ``tokens_cached`` and ``tokens_side`` (of side requests) of these, and ``tokens_written`` by the model. ``kept_share`` is
        the share of the tokens in results of tools that arrived, where it is known.
        """
        kept = {} if self.kept_share is None else {"kept_share": self.kept_share}
        return {
            "turns": self.turns,
            "side_requests": self.requests - self.turns,
            "calls": dict(sorted(self._calls.items())),
            "re_reads": sum(self._repeated(call) for call in self._reads),
            "tokens_sent": self.tokens_sent,
            "tokens_cached": self.tokens_cached,
            "tokens_side": self.tokens_side,
            "tokens_written": self.tokens_written,
            **kept,
        }


def _read(call: ToolCall) -> str:
    """Return what a call reads: a file, or else the call itself."""
    return read_path(call) or _shown(call)


def _shown(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(dict(call.arguments), sort_keys=True)}"


def _common_prefix(first: str, second: str) -> str:
    """Return the longest text with which both texts begin, by halving what is not yet known."""
    known = 0
    limit = min(len(first), len(second))
    while known < limit:
        middle = (known + limit + 1) // 2
        if first[known:middle] == second[known:middle]:
            known = middle
        else:
            limit = middle - 1
    return first[:known]
