"""Token counts: those of one reply are consistent or unknown; those of several are added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_LARGEST = 2**53
"""The largest count that is read: beyond it, no sum of counts is exact."""


@dataclass(frozen=True)
class ReportedUsage:
    """The token counts of one reply.

    Attributes:
        counts: The counts that agree with each other and with the reply, by the names of context-bench; ``cost`` where
            the server reported one.
        problem: Why a reported count is unknown; None when every count is known.
    """

    counts: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True)
class RawUsage:
    """What a server reported about one reply, unchecked; None is not reported.

    Attributes:
        input_tokens: Tokens of the prompt.
        output_tokens: Tokens of the completion.
        cache_read_tokens: Prompt tokens that were read from a cache.
        cache_write_tokens: Prompt tokens that were written into a cache.
        reasoning_tokens: Tokens of reasoning.
        total_tokens: All tokens together.
        cost: The price of the reply.
        cache_is_beside_input: Whether the interface counts the two cache counts beside the prompt, not within it.
    """

    input_tokens: Any = None
    output_tokens: Any = None
    cache_read_tokens: Any = None
    cache_write_tokens: Any = None
    reasoning_tokens: Any = None
    total_tokens: Any = None
    cost: Any = None
    cache_is_beside_input: bool = False


def checked_usage(raw: RawUsage, has_text: bool) -> ReportedUsage:
    """Return the counts that agree with each other; a count that does not is unknown, never low.

    ``input_tokens`` is the whole prompt, cached or not, and ``output_tokens`` the whole completion, reasoning included.
    Where ``total_tokens`` shows that a server counts the cache beside the prompt, or the reasoning beside the completion,
    they are added.

    Args:
        raw: What the server reported.
        has_text: Whether the reply has a text or a tool call.

    >>> checked_usage(RawUsage(40, 2, reasoning_tokens=100, total_tokens=142), True).counts["output_tokens"]
    102
    >>> checked_usage(RawUsage(0, 2), True)
    ReportedUsage(counts={'output_tokens': 2}, problem='the server reports 0 prompt tokens')
    """
    problems: list[str] = []
    names = (
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
    )
    counts: dict[str, int] = {}
    for name in names:
        value = getattr(raw, name)
        if _is_count(value):
            counts[name] = int(value)
        elif _is_number(value):
            problems.append(f"the server reports {value!r} as {name}")
            _forget(counts, name)
    if counts.get("input_tokens") == 0 and not (raw.cache_is_beside_input and _cached(counts)):
        problems.append("the server reports 0 prompt tokens")
        _forget(counts, "input_tokens")
    if counts.get("output_tokens") == 0 and has_text:
        problems.append("the server reports 0 completion tokens beside a reply")
        _forget(counts, "output_tokens")
    total = int(raw.total_tokens) if _is_count(raw.total_tokens) and raw.total_tokens else None
    problem = _agree(counts, total, raw.cache_is_beside_input)
    if problem is not None:
        problems.append(problem)
    known: dict[str, Any] = dict(counts)
    is_priced = _is_number(raw.cost) and 0 <= raw.cost < _LARGEST
    if is_priced and (raw.cost > 0 or not problems):
        known["cost"] = raw.cost
    return ReportedUsage(known, problems[0] if problems else None)


def latest_usage(earlier: Mapping[str, Any] | None, later: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usage of a stream after a later report: a count of 0 or of nothing replaces no count above 0.

    >>> latest_usage({"prompt_tokens": 40, "completion_tokens": 1}, {"prompt_tokens": 0, "completion_tokens": 2})
    {'prompt_tokens': 40, 'completion_tokens': 2}
    """
    merged = dict(earlier or {})
    for name, value in later.items():
        if isinstance(value, Mapping):
            known = merged.get(name)
            merged[name] = latest_usage(known if isinstance(known, Mapping) else None, value)
        elif value or not merged.get(name):
            merged[name] = value
    return merged


def add_usage(usages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sum of several usages, count by count; the tokens and the cost of all are unknown when one is.

    >>> add_usage([{"input_tokens": 3}, {"input_tokens": 4, "output_tokens": 1}])
    {'input_tokens': 7}
    """
    known = list(usages)
    total: dict[str, Any] = {}
    for usage in known:
        for name, count in usage.items():
            total[name] = total.get(name, 0) + count
    for name in ("input_tokens", "output_tokens", "cost"):
        if not all(name in usage for usage in known):
            total.pop(name, None)
    return total


def _agree(counts: dict[str, int], total: int | None, is_beside: bool) -> str | None:
    """Make the counts include the cache and the reasoning; forget those that disagree and return the reason."""
    cached = _cached(counts)
    reasoning = counts.get("reasoning_tokens", 0)
    prompt = counts.get("input_tokens")
    completion = counts.get("output_tokens")
    added_to_prompt = cached if is_beside else 0
    added_to_completion = 0
    if total is not None and prompt is not None and completion is not None:
        choices = (
            [(cached, 0), (0, 0)]
            if is_beside
            else [(0, 0), (0, reasoning), (cached, 0), (cached, reasoning)]
        )
        sums = [
            prompt + more_prompt + completion + more_completion
            for more_prompt, more_completion in choices
        ]
        if total not in sums:
            _forget(counts, "input_tokens")
            _forget(counts, "output_tokens")
            return f"the server reports {prompt} prompt tokens, {completion} completion tokens and {total} tokens in all"
        if not is_beside:
            added_to_prompt, added_to_completion = choices[sums.index(total)]
    if prompt is not None:
        prompt += added_to_prompt
        counts["input_tokens"] = prompt
        if cached > prompt:
            _forget(counts, "input_tokens")
            return f"the server reports {cached} cached tokens in a prompt of {prompt} tokens"
    if completion is not None:
        completion += added_to_completion
        counts["output_tokens"] = completion
        if reasoning > completion:
            _forget(counts, "output_tokens")
            return f"the server reports {reasoning} reasoning tokens in a completion of {completion} tokens"
    return None


def _forget(counts: dict[str, int], name: str) -> None:
    """Remove a count, and the parts of it."""
    parts = {
        "input_tokens": ("cache_read_tokens", "cache_write_tokens"),
        "output_tokens": ("reasoning_tokens",),
    }
    for gone in (name, *parts.get(name, ())):
        counts.pop(gone, None)


def _cached(counts: Mapping[str, int]) -> int:
    return counts.get("cache_read_tokens", 0) + counts.get("cache_write_tokens", 0)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and 0 <= value < _LARGEST and value == int(value)
