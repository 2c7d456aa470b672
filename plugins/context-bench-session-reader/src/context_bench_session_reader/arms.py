"""Arms: what the reader is given of a row. Those that no system changes are asked once for all systems."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Generic, TypeVar

from attrs import frozen

from context_bench_sessions.messages import Message
from context_bench_survival import given, left

_Said = TypeVar("_Said")


@frozen(eq=False)
class Arms:
    """What the reader is given.

    Attributes:
        whole: Everything: the ceiling.
        outside: Head and tail only: the floor.
        compressed: What the system left.
        region: What it might take away.
    """

    whole: Sequence[Message]
    outside: Sequence[Message]
    compressed: Sequence[Message]
    region: Sequence[Message]

    @classmethod
    def of(cls, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Arms | None:
        """Return the arms of a row; None when there is no context, or no output of one."""
        before, (start, end) = given(original)
        after = left(original, processed)
        if before is None or after is None:
            return None
        return cls(before, [*before[:start], *before[end:]], after, before[start:end])


class Memory(Generic[_Said]):
    """The replies to the last few texts, so that the arms that systems share are asked once.

    Args:
        most: Replies that are kept.
    """

    def __init__(self, most: int = 256) -> None:
        self._most, self._lock = most, Lock()
        self._kept: OrderedDict[Any, _Said] = OrderedDict()

    def get(self, key: Any) -> _Said | None:
        """Return the reply under a key; None when there is none."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: Any, said: _Said) -> _Said:
        """Keep a reply, and return it."""
        with self._lock:
            self._kept[key] = said
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return said
