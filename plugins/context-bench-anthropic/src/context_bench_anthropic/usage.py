"""Token counts of the Messages API under the names of context-bench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def read_usage(reported: Any) -> dict[str, int]:
    """Return the token counts of a ``usage`` object; a count that was not reported is not there.

    The interface counts in ``input_tokens`` what it neither read from its cache nor wrote into it. Here ``input_tokens`` is
    the whole prompt, as everywhere in context-bench, so that numbers of two providers can be compared.

    >>> read_usage({"input_tokens": 3, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7, "output_tokens": 5})
    {'input_tokens': 100, 'output_tokens': 5, 'cache_read_tokens': 90, 'cache_write_tokens': 7}
    """
    if not isinstance(reported, Mapping):
        return {}
    fresh = _count(reported.get("input_tokens"))
    read, written = (
        _count(reported.get("cache_read_input_tokens")),
        _count(reported.get("cache_creation_input_tokens")),
    )
    details = reported.get("output_tokens_details")
    thinking = details.get("thinking_tokens") if isinstance(details, Mapping) else None
    counts = {
        "input_tokens": None if fresh is None else fresh + (read or 0) + (written or 0),
        "output_tokens": _count(reported.get("output_tokens")),
        "cache_read_tokens": read,
        "cache_write_tokens": written,
        "reasoning_tokens": _count(thinking),
    }
    return {name: count for name, count in counts.items() if count is not None}


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        return None
    return value
