"""Token counts of several calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def add_usage(usages: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sum of several usages, count by count.

    >>> add_usage([{"input_tokens": 3}, {"input_tokens": 4, "output_tokens": 1}])
    {'input_tokens': 7, 'output_tokens': 1}
    """
    total: dict[str, int] = {}
    for usage in usages:
        for name, count in usage.items():
            total[name] = total.get(name, 0) + count
    return total
