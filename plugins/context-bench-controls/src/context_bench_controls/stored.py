"""The run part ``controls``: for each compressor of a run, four rows that keep as many tokens without thinking."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from context_bench.errors import ConfigurationError
from context_bench.messages import region_text
from context_bench.protocols import DerivedSlot
from context_bench_controls.choosing import NAMES, chosen, kept_tokens
from context_bench_controls.measuring import achieved_tokens
from context_bench_controls.units import Region, kept_messages, region_of
from context_bench_survival import content_key, given, left

VERSION = "1"
REMEMBERED = 4


class Controls:
    """Adds to each system that puts out a context the rows ``random``, ``newest``, ``head+tail`` and ``drop-oldest-results``.

    Each keeps at most the tokens that the system's own row achieved. They are stored, and scored by the evaluators of the run.

    Args:
        controls: ``"stored"``, or ``"reader"`` for the run's reader to answer from them too.
        seed: Seed of the random control.
    """

    name = "controls"

    def __init__(self, controls: str = "stored", seed: int = 0) -> None:
        self._is_read, self._seed = controls == "reader", seed

    def accepts(self, system: Any) -> bool:
        """Whether a system can put out a context: anything but an endpoint that only answers."""
        if getattr(system, "puts_out_context", False) or len(getattr(system, "steps", ())) > 1:
            return True
        fingerprint = getattr(system, "fingerprint", None)
        found = fingerprint() if callable(fingerprint) else fingerprint
        return not isinstance(found, Mapping) or "endpoint" not in found

    def slots(self, labels: Sequence[str]) -> Sequence[DerivedSlot]:
        """Return four slots for each system.

        Raises:
            ConfigurationError: No system puts out a context.
        """
        if not labels:
            raise ConfigurationError(
                "Controls are for systems that put out a context or messages, and this run has none: name a compressor, or "
                "measure a proxy with the system forwarded."
            )
        return [
            DerivedSlot(
                f"{label} {name}",
                label,
                {"version": VERSION, "control": name, **({"seed": self._seed} if name == "random" else {})},
                partial(controlled, name=name, seed=self._seed),
                self._is_read,
            )
            for label in labels
            for name in NAMES
        ]


def controlled(example: Mapping[str, Any], source: Mapping[str, Any], *, name: str, seed: int = 0) -> dict[str, Any]:
    """Return what a control leaves of an example, at the tokens that another system's output achieved.

    Args:
        example: The example as systems see it.
        source: That output.
        name: One of :data:`~context_bench_controls.choosing.NAMES`.
        seed: Of the random control.

    Returns:
        What the source put out, a context or messages, and ``control``: its name, the tokens that it was allowed, and those
        that it kept. Where the source put out neither, only a note.
    """
    before, region = given(example)
    found = None if before is None else _region(before, region)
    budget = None if before is None or found is None else _budget(example, source, before, region, found)
    if before is None or found is None or budget is None:
        return {"control": {"name": name, "note": "the source put out no context"}}
    kept = chosen(found, name, budget, f"{seed}:{example.get('id', '')}")
    messages = kept_messages(before, region, found, kept)
    told = {"control": {"name": name, "tokens_allowed": budget, "tokens_kept": kept_tokens(found, kept)}}
    context = region_text(messages, (0, len(messages)))
    if source.get("messages") is None or not example.get("messages"):
        return {"context": context, **told}
    whole = [*before[: region[0]], *messages, *before[region[1] :]]
    new = [region[0], region[0] + len(messages)]
    return {"messages": whole, "raw_messages": [], "region": new, "context": context, **told}


_regions: OrderedDict[Any, Region] = OrderedDict()
"""The units of the last few examples: the controls of one come one after the other."""

_budgets: OrderedDict[Any, int | None] = OrderedDict()
"""The tokens that the last few outputs achieved; None of one without a context."""

_lock = Lock()

_Value = TypeVar("_Value")


def _region(before: Sequence[Mapping[str, Any]], region: tuple[int, int]) -> Region:
    return _once(_regions, content_key([before, region]), lambda: region_of(before, region, ()))


def _budget(
    example: Mapping[str, Any],
    source: Mapping[str, Any],
    before: Sequence[Mapping[str, Any]],
    region: tuple[int, int],
    found: Region,
) -> int | None:
    def achieved() -> int | None:
        after = left(example, source)
        return None if after is None else min(achieved_tokens(before, region, after), found.tokens)

    put_out = [source.get("messages"), source.get("context"), bool(example.get("messages"))]
    return _once(_budgets, content_key([before, region, put_out]), achieved)


def _once(ready: OrderedDict[Any, _Value], key: object, work: Callable[[], _Value]) -> _Value:
    """Return a value that is worked out once, and remembered while it is among the last few."""
    with _lock:
        if key in ready:
            ready.move_to_end(key)
            return ready[key]
    value = work()
    with _lock:
        ready[key] = value
        while len(ready) > REMEMBERED:
            ready.popitem(last=False)
    return value
