"""Token counts of the Messages API under the names of context-bench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench_http.usage import RawUsage, ReportedUsage, checked_usage


def read_usage(reported: Any, has_text: bool = False) -> ReportedUsage:
    """Return the token counts of a ``usage`` object, checked: see `checked_usage`.

    The interface counts in ``input_tokens`` what it neither read from its cache nor wrote into it. Here ``input_tokens`` is
    the whole prompt, as everywhere in context-bench, so that numbers of two providers can be compared. What was written into
    the cache is reported as one number, or by the lifetime of the entry (``cache_creation``).

    Args:
        reported: The object.
        has_text: Whether the reply has a text or a tool call.

    >>> reported = {"input_tokens": 3, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7, "output_tokens": 5}
    >>> read_usage(reported).counts
    {'input_tokens': 100, 'output_tokens': 5, 'cache_read_tokens': 90, 'cache_write_tokens': 7}
    """
    if not isinstance(reported, Mapping):
        return ReportedUsage()
    details = reported.get("output_tokens_details")
    thinking = details.get("thinking_tokens") if isinstance(details, Mapping) else None
    written = reported.get("cache_creation_input_tokens")
    parts = reported.get("cache_creation")
    if not written and isinstance(parts, Mapping):
        counts = [
            count
            for count in parts.values()
            if isinstance(count, int) and not isinstance(count, bool)
        ]
        written = sum(counts) if counts else written
    raw = RawUsage(
        input_tokens=reported.get("input_tokens"),
        output_tokens=reported.get("output_tokens"),
        cache_read_tokens=reported.get("cache_read_input_tokens"),
        cache_write_tokens=written,
        reasoning_tokens=thinking,
        total_tokens=reported.get("total_tokens"),
        cost=reported.get("cost"),
        cache_is_beside_input=True,
    )
    return checked_usage(raw, has_text)
