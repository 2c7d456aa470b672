"""Token counts: those of one reply are consistent or unknown; those of several are added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_LARGEST = 2**53
"""The largest count that is read: beyond it, no sum of counts is exact."""


_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


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
    counts = _read_counts(raw, problems)
    if counts.get("input_tokens") == 0 and not (raw.cache_is_beside_input and _cached(counts)):
        problems.append("the server reports 0 prompt tokens")
        _forget(counts, "input_tokens")
    if counts.get("output_tokens") == 0 and has_text:
        problems.append("the server reports 0 completion tokens beside a reply")
        _forget(counts, "output_tokens")
    _add_parts(counts, raw, problems)
    _check_part(counts, "input_tokens", _cached(counts), "cached tokens in a prompt", problems)
    reasoning = counts.get("reasoning_tokens", 0)
    _check_part(counts, "output_tokens", reasoning, "reasoning tokens in a completion", problems)
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


def _read_counts(raw: RawUsage, problems: list[str]) -> dict[str, int]:
    """Return the numbers that are counts; a number that is not one is a problem."""
    counts: dict[str, int] = {}
    for name in _COUNTS:
        value = getattr(raw, name)
        if _is_count(value):
            counts[name] = int(value)
        elif _is_number(value):
            problems.append(f"the server reports {value!r} as {name}")
    return counts


def _add_parts(counts: dict[str, int], raw: RawUsage, problems: list[str]) -> None:
    """Add the cache to the prompt and the reasoning to the completion, where they are outside of them.

    The interface or the sum of all tokens shows it. Where no sum is that of all tokens, both are unknown.
    """
    prompt, completion = counts.get("input_tokens"), counts.get("output_tokens")
    cached = _cached(counts)
    reasoning = counts.get("reasoning_tokens", 0)
    is_beside = raw.cache_is_beside_input
    added_to_prompt = cached if is_beside else 0
    added_to_completion = 0
    total = int(raw.total_tokens) if _is_count(raw.total_tokens) else 0
    if total and prompt is not None and completion is not None:
        additions = [(0, 0), (0, reasoning), (cached, 0), (cached, reasoning)]
        missing = total - prompt - completion
        fitting = [addition for addition in additions if sum(addition) == missing]
        if not fitting:
            problems.append(
                f"the server reports {prompt} prompt tokens, {completion} completion tokens and {total} tokens in all"
            )
            _forget(counts, "input_tokens")
            _forget(counts, "output_tokens")
            return
        more_prompt, added_to_completion = fitting[0]
        added_to_prompt = cached if is_beside else more_prompt
    if prompt is not None:
        counts["input_tokens"] = prompt + added_to_prompt
    if completion is not None:
        counts["output_tokens"] = completion + added_to_completion


def _check_part(
    counts: dict[str, int], whole: str, part: int, words: str, problems: list[str]
) -> None:
    """Forget a count that is smaller than a part of it."""
    count = counts.get(whole)
    if count is not None and part > count:
        problems.append(f"the server reports {part} {words} of {count} tokens")
        _forget(counts, whole)


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
