"""The evaluator ``agent-task``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench_tasks import Check

_MILLION = 1_000_000


class AgentTask:
    """Success of a task by its check, and what the agent did for it.

    Score keys: ``task_success`` (0 or 1), ``task_share`` (share of the outputs that are correct), ``agent_turns``,
    ``agent_calls``, ``agent_re_reads`` (equal calls after the first), ``agent_tokens_sent``, ``agent_cached_share`` (share of
    the tokens that equal the row's previous request up to the first change), and ``agent_bill``.

    The bill is in the unit of the prices. Tokens that are not read from the cache are billed at ``price_input``.

    Args:
        price_input: Price of a million tokens that are not read from the cache.
        price_cached: Price of a million tokens read from the cache.
        price_output: Price of a million tokens that the model writes.

    Raises:
        ConfigurationError: A price is negative or not a number.
    """

    name = "agent_task"

    def __init__(
        self, price_input: float = 3.0, price_cached: float = 0.3, price_output: float = 15.0
    ) -> None:
        prices = {"input": price_input, "cached": price_cached, "output": price_output}
        for kind, price in prices.items():
            if not math.isfinite(price) or price < 0:
                raise ConfigurationError(f"price_{kind} is {price}, but must be 0 or more.")
        self._prices = prices

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score the work on one task.

        Args:
            original: The example with its ``check`` and ``files``.
            processed: The output: ``workspace``, digests by path, ``changes``, and ``agent``, the counts.
        """
        counts = processed.get("agent")
        workspace = processed.get("workspace")
        record = original.get("check")
        if not isinstance(counts, Mapping) or not isinstance(workspace, Mapping):
            return {}
        if not isinstance(record, Mapping):
            return {}
        check = Check.of_record(record)
        changes = processed.get("changes") or {}
        files = {**(original.get("files") or {}), **changes}
        texts = {path: text for path, text in files.items() if text is not None}
        sent = counts["tokens_sent"]
        cached = counts["tokens_cached"]
        bill = (
            (sent - cached) * self._prices["input"]
            + cached * self._prices["cached"]
            + counts["tokens_written"] * self._prices["output"]
        ) / _MILLION
        return {
            "task_success": float(check.passes(workspace, texts)),
            "task_share": check.share(workspace, texts),
            "agent_turns": float(counts["turns"]),
            "agent_calls": float(sum(counts["calls"].values())),
            "agent_re_reads": float(counts["re_reads"]),
            "agent_tokens_sent": float(sent),
            "agent_cached_share": cached / sent if sent else 0.0,
            "agent_bill": bill,
        }
