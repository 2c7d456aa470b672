"""Token counts as servers report them, under one set of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_bench_http.usage import RawUsage, ReportedUsage, checked_usage

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


def read_usage(reported: Any, has_text: bool = False, cached_tokens: Any = None) -> ReportedUsage:
    """Return the token counts of a ``usage`` object, checked: see `checked_usage`.

    ``input_tokens`` is the whole prompt, cached or not, as OpenAI counts it. Servers that pass on Anthropic's counts
    report ``input_tokens`` without the cached part; it is added here, so that numbers of two endpoints can be compared.

    Args:
        reported: The object.
        has_text: Whether the reply has a text or a tool call.
        cached_tokens: Tokens read from a cache, where the server reports them outside of ``usage``.

    >>> read_usage({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}).counts
    {'input_tokens': 9, 'output_tokens': 2, 'cache_read_tokens': 4}
    """
    if not isinstance(reported, dict):
        return ReportedUsage()
    places = [
        reported,
        *(reported[group] for group in _DETAIL_GROUPS if isinstance(reported.get(group), dict)),
    ]
    prompt = _first(places, ("prompt_tokens", "input_tokens", "inputTokens", "promptTokens"))
    has_exclusive_names = any(name in reported for name in _BESIDE_THE_INPUT)
    cache_read = _first(places, _CACHE_READ)
    raw = RawUsage(
        input_tokens=prompt,
        output_tokens=_first(
            places, ("completion_tokens", "output_tokens", "outputTokens", "completionTokens")
        ),
        cache_read_tokens=cached_tokens if cache_read is None else cache_read,
        cache_write_tokens=_first(places, _CACHE_WRITE),
        reasoning_tokens=_first(places, ("reasoning_tokens",)),
        total_tokens=_first([reported], ("total_tokens", "totalTokens")),
        cost=reported.get("cost"),
        cache_is_beside_input=has_exclusive_names and "prompt_tokens" not in reported,
    )
    return checked_usage(raw, has_text)


def _first(places: Iterable[Mapping[str, Any]], names: Sequence[str]) -> Any:
    """Return the first number under one of the names; None when there is none."""
    for place in places:
        for name in names:
            value = place.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return value
    return None
