"""The system ``recorded``: the compaction that is in the session file, placed as the agent placed it. It costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench.messages import region_text


class Recorded:
    """Head, the summary that the agent wrote, and the messages that it kept.

    Where the session holds the whole history that the agent went on with (Codex), that stands behind the head, without the
    messages of the head that it repeats.

    A row before whose cut the agent made no compaction has an output without messages: it is unscored.
    """

    name = "recorded"
    reads = ("messages", "head", "region", "tail", "position", "recorded_compaction")

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the messages as the agent left them when it compacted."""
        made = example.get("recorded_compaction")
        if not made:
            return {
                "compression": {
                    "note": "the agent made no compaction before this cut that can be read"
                }
            }
        messages = list(example["messages"])
        head_end = int((example.get("head") or (0, 0))[1])
        kept = messages[max(head_end, int(made["first_kept"])) :]
        placed = list(
            made.get("replacement") or [{"role": "user", "content": str(made["summary"])}]
        )
        for message in messages[:head_end]:
            if message in placed:
                placed.remove(message)
        new = [*messages[:head_end], *placed, *kept]
        start, end = example.get("region") or (0, len(messages))
        region = [start, max(start, len(new) - (len(messages) - end))]
        return {
            "messages": new,
            "raw_messages": [],
            "region": region,
            "context": region_text(new, region),
        }

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output: nothing but the version."""
        return {}
