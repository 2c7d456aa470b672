"""Token counts as servers report them, under one set of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_DETAIL_GROUPS = (
    "prompt_tokens_details",
    "input_tokens_details",
    "completion_tokens_details",
    "output_tokens_details",
)
_CACHE_READ = (
    "cached_tokens",
    "cache_read_input_tokens",
    "prompt_cache_hit_tokens",
    "cache_read_tokens",
    "num_cached_tokens",
    "cacheReadInputTokens",
)
_CACHE_WRITE = (
    "cache_creation_input_tokens",
    "cache_write_tokens",
    "cache_creation_tokens",
    "cache_write_input_tokens",
    "cacheWriteInputTokens",
)
_BESIDE_THE_INPUT = (
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "cacheReadInputTokens",
    "cacheWriteInputTokens",
)


def read_usage(reported: Any) -> dict[str, int]:
    """Return the token counts of a ``usage`` object; a count that was not reported is not there.

    ``input_tokens`` is the whole prompt, cached or not, as OpenAI counts it. Servers that pass on Anthropic's counts
    report ``input_tokens`` without the cached part; it is added here, so that numbers of two endpoints can be compared.

    >>> read_usage({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}})
    {'input_tokens': 9, 'output_tokens': 2, 'cache_read_tokens': 4}
    """
    if not isinstance(reported, dict):
        return {}
    places = [
        reported,
        *(reported[group] for group in _DETAIL_GROUPS if isinstance(reported.get(group), dict)),
    ]
    counts = {
        "input_tokens": _first_count(places, ("prompt_tokens", "input_tokens", "inputTokens")),
        "output_tokens": _first_count(
            places, ("completion_tokens", "output_tokens", "outputTokens")
        ),
        "cache_read_tokens": _first_count(places, _CACHE_READ),
        "cache_write_tokens": _first_count(places, _CACHE_WRITE),
        "reasoning_tokens": _first_count(places, ("reasoning_tokens",)),
    }
    usage = {name: count for name, count in counts.items() if count is not None}
    if "prompt_tokens" not in reported and "input_tokens" in usage:
        usage["input_tokens"] += sum(_count(reported.get(name)) or 0 for name in _BESIDE_THE_INPUT)
    return usage


def _first_count(places: Iterable[Mapping[str, Any]], names: Iterable[str]) -> int | None:
    for place in places:
        for name in names:
            if name in place and (count := _count(place[name])) is not None:
                return count
    return None


def _count(value: Any) -> int | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 2**63:
        return int(value)
    return None
