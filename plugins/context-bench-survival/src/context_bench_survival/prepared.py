"""What an evaluator needs to know of an example, worked out once for all systems of a run."""

from __future__ import annotations

import marshal
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

from context_bench.answers import references
from context_bench_sessions.messages import Message
from context_bench_survival.contexts import given
from context_bench_survival.literals import literals, unescaped
from context_bench_survival.pairs import Fault, faults
from context_bench_survival.probes import Probe, probes
from context_bench_survival.remains import Remains

REMEMBERED = 4
"""Examples that are kept ready; the rows of one example come one after the other, whatever the system."""


class Prepared:
    """An example, ready to be held against.

    Attributes:
        before: Its messages in the canonical form, or its context as one.
        region: First message that may be taken away, and the one behind the last.
        asked: Its probes.
        whole: What it tells.
        faults: What the self-check found wrong; None before it was made.
    """

    def __init__(self, original: Mapping[str, Any], most: int | None, seed: int) -> None:
        before, region = given(original)
        self.before: Sequence[Message] = before or []
        self.region = region
        future = original.get("future") or references(original)
        self.asked: Sequence[Probe] = (
            probes(self.before, region, future, most, seed) if before else []
        )
        self.whole = Remains(self.before)
        self.faults: list[str] | None = None

    @cached_property
    def text(self) -> str:
        """All that the example tells, escapes resolved too."""
        text = "\n".join(self.whole.texts)
        return text + ("\n" + unescaped(text) if "\\" in text else "")

    @cached_property
    def texts(self) -> frozenset[str]:
        """What each message tells."""
        return frozenset(self.whole.texts)

    @cached_property
    def own_faults(self) -> Counter[Fault]:
        """What does not fit together in the example itself."""
        return faults(self.before, self.before)

    @cached_property
    def known(self) -> frozenset[str]:
        """The literals of that text."""
        text = "\n".join(self.whole.texts)
        resolved = unescaped(text).splitlines() if "\\" in text else ()
        return frozenset(self.whole.holders).union(
            one.text for line in resolved for one in literals(line)
        )


_ready: OrderedDict[Any, Prepared] = OrderedDict()
_lock = Lock()


def prepared(original: Mapping[str, Any], most: int | None = 400, seed: int = 0) -> Prepared:
    """Return an example, ready to be held against; the last few are remembered by their content."""
    key = (_content(original), most, seed)
    with _lock:
        found = _ready.get(key)
        if found is not None:
            _ready.move_to_end(key)
            return found
    found = Prepared(original, most, seed)
    with _lock:
        _ready[key] = found
        while len(_ready) > REMEMBERED:
            _ready.popitem(last=False)
    return found


def asked_of(original: Mapping[str, Any], most: int | None = 400, seed: int = 0) -> list[Probe]:
    """Return the probes of an example: those of a session's region, or of a plain context."""
    return list(prepared(original, most, seed).asked)


def _content(original: Mapping[str, Any]) -> bytes | str:
    names = (
        ("messages", "context", "region", "future") if original.get("messages") else ("context",)
    )
    asked = () if original.get("future") else tuple(references(original))
    return content_key([*(original.get(name) for name in names), *asked])


def content_key(content: Any) -> bytes | str:
    """Return what is alike for equal contents and for no others, to remember them by; for JSON's types faster than ``repr``."""
    try:
        return marshal.dumps(
            content, 2
        )  # version 2 refers to no object twice, so that equal contents are written alike
    except ValueError:
        return repr(content)
