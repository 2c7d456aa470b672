"""Usage as assistants on the command line report it, in the names that a run counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def claude_usage(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return Claude Code's counts; its ``input_tokens`` leave out what was read from the cache or written into it."""
    told = found.get("usage")
    told = told if isinstance(told, Mapping) else {}
    read, written = (
        _count(told, "cache_read_input_tokens"),
        _count(told, "cache_creation_input_tokens"),
    )
    fresh = _count(told, "input_tokens")
    usage = {
        "input_tokens": None if fresh is None else fresh + (read or 0) + (written or 0),
        "output_tokens": _count(told, "output_tokens"),
        "cache_read_tokens": read,
        "cache_write_tokens": written,
        "cost": _amount(found.get("total_cost_usd")),
    }
    return _known(usage)


def codex_usage(told: Any) -> dict[str, Any]:
    """Return Codex's counts."""
    told = told if isinstance(told, Mapping) else {}
    return _known(
        {
            "input_tokens": _count(told, "input_tokens"),
            "output_tokens": _count(told, "output_tokens"),
            "cache_read_tokens": _count(told, "cached_input_tokens"),
            "reasoning_tokens": _count(told, "reasoning_output_tokens"),
        }
    )


def gemini_usage(models: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Gemini CLI's counts; its candidates leave out the thoughts, which are billed as output."""
    total: dict[str, int] = {}
    for told in models.values():
        tokens = told.get("tokens") if isinstance(told, Mapping) else None
        if not isinstance(tokens, Mapping):
            continue
        counts = {
            "input_tokens": (_count(tokens, "prompt") or 0) + (_count(tokens, "tool") or 0),
            "output_tokens": (_count(tokens, "candidates") or 0)
            + (_count(tokens, "thoughts") or 0),
            "cache_read_tokens": _count(tokens, "cached") or 0,
            "reasoning_tokens": _count(tokens, "thoughts") or 0,
        }
        total = {name: total.get(name, 0) + count for name, count in counts.items()}
    return dict(total)


def _count(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _amount(value: Any) -> float | None:
    return (
        float(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        else None
    )


def _known(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in usage.items() if value is not None}
