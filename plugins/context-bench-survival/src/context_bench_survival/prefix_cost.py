"""What a change to a prefix costs: the provider's cache holds up to the first changed byte, and no further."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.messages import region_text, whole_text
from context_bench_sessions.messages import Message, text_of
from context_bench_survival.contexts import left
from context_bench_survival.prepared import Prepared, prepared
from context_bench_survival.remains import tokens_of
from context_bench_survival.rereads import re_reads


class PrefixCost:
    """The cached prefix that a compressor gives up, priced.

    Before, all of the prefix was read from the provider's cache. Afterwards only what stands before the first changed byte
    is; the rest is written anew. Scores: ``prefix_kept``, the share of the given tokens before that byte;
    ``next_call_price``, the price of the next call's prompt for each unit of what it would have cost untouched - above 1 the
    compression costs money at first; ``later_call_price``, the same for the calls after it; ``calls_to_pay_back``, the calls
    after which it has paid for itself, where it ever does; ``re_reads``, the share of the recorded agent's later reads of files
    that are of one whose content was removed - an upper bound of what it would read again. Prices are in the price of a fresh
    input token.

    Args:
        read: Price of a token that is read from the cache.
        write: Price of a token that is written into it.

    Raises:
        ValueError: A price is below 0, or reading is free.
    """

    def __init__(self, read: float = 0.1, write: float = 1.25) -> None:
        if not 0 < read < float("inf") or not 0 <= write < float("inf"):
            raise ValueError(
                f"read must be above 0 and write at least 0, not {read!r} and {write!r}."
            )
        self.name = "prefix-cost"
        self.read, self.write = float(read), float(write)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Return the scores; nothing when there is no session, or no output of one."""
        after = left(original, processed)
        if after is None or not original.get("messages"):
            return {}
        ready = prepared(original)
        if processed.get("messages") is None:
            same = _unchanged_of_text(ready, text_of(processed["context"]))
        else:
            same = unchanged_tokens(ready.before, after)
        given, now = max(1, ready.whole.tokens), tokens_of(after)
        untouched, later = given * self.read, now * self.read
        first = same * self.read + max(0, now - same) * self.write
        found = {
            "prefix_kept": same / given,
            "next_call_price": first / untouched,
            "later_call_price": later / untouched,
        }
        if untouched > later:
            found["calls_to_pay_back"] = max(0.0, (first - untouched) / (untouched - later))
        again = re_reads(
            ready.before, ready.region, original.get("later_calls") or (), map(whole_text, after)
        )
        return found if again is None else {**found, "re_reads": again}


def unchanged_tokens(before: Sequence[Message], after: Sequence[Message]) -> int:
    """Return the tokens up to the first byte in which two lists of messages differ."""
    count = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            return count + tokens_of(
                [{"role": "", "content": _common(whole_text(one), whole_text(other))}]
            )
        count += tokens_of([one])
    return count


def _unchanged_of_text(ready: Prepared, context: str) -> int:
    """Return the tokens up to the first changed byte where a region was put out as one text."""
    start, end = ready.region
    region = region_text(ready.before, (start, end))
    stays = (
        ready.before[:start] if region != context else [*ready.before[:start], *ready.before[end:]]
    )
    return tokens_of([*stays, {"role": "", "content": _common(region, context)}])


def _common(one: str, other: str) -> str:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return one[:low]
