"""The extension ``controls``: for each compressor of a run, five systems that keep as many tokens by a simple rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench.hookspecs import hookimpl
from context_bench.messages import region_text
from context_bench.protocols import DerivedSystemSpec
from context_bench_controls.choosing import NAMES, chosen, kept_tokens
from context_bench_controls.measuring import achieved_tokens
from context_bench_controls.units import Region, kept_messages, region_of
from context_bench_survival import content_key, given, left

VERSION = "2"


class Controls:
    """Adds to each system that puts out a context the rows ``random``, ``newest``, ``head+tail``,
    ``drop-oldest-results`` and ``clear-results``.

    Each keeps at most the tokens that the system's own row achieved. They are stored, and scored by the evaluators of the run.
    A system with a method ``matched_controls``, such as an agent, brings its own: functions by name that return the control's
    output, given the example and the output of the system.

    Args:
        controls: ``"stored"``, or ``"reader"`` for the run's reader to answer from them too.
        seed: Seed of the random control.
    """

    def __init__(self, controls: str = "stored", seed: int = 0) -> None:
        self._is_read, self._seed = controls == "reader", seed

    @hookimpl
    def derived_systems(self, systems: Mapping[str, Any]) -> list[DerivedSystemSpec]:
        """Return the controls that a system brings, and five systems for each other one that can return a context.

        Raises:
            ConfigurationError: No system has controls.
        """
        derived: list[DerivedSystemSpec] = []
        for label, system in systems.items():
            own = getattr(system, "matched_controls", None)
            if callable(own):
                derived += [_own_control(label, name, run) for name, run in own().items()]
            elif returns_context(system):
                derived += [self._control(label, name) for name in NAMES]
        if not derived:
            raise ConfigurationError(
                "Controls are for systems that put out a context or messages, and for agents behind a proxy, and this run has "
                "none: name a compressor, measure a proxy with the system forwarded, or give an agent a base_url."
            )
        return derived

    def _control(self, label: str, name: str) -> DerivedSystemSpec:
        key: dict[str, Any] = {"version": VERSION, "control": name}
        if name == "random":
            key["seed"] = self._seed
        return DerivedSystemSpec(
            label=f"{label} {name}",
            source_label=label,
            key=key,
            process=partial(controlled, name=name, seed=self._seed),
            is_read=self._is_read,
        )


def _own_control(label: str, name: str, run: Callable[..., Any]) -> DerivedSystemSpec:
    """Return a control that a system brings along."""
    return DerivedSystemSpec(
        label=f"{label} {name}",
        source_label=label,
        key={"version": VERSION, "control": name},
        process=run,
    )


def returns_context(system: Any) -> bool:
    """Return whether a system can return a context: any system but an endpoint that only answers."""
    if getattr(system, "puts_out_context", False) or len(getattr(system, "steps", ())) > 1:
        return True
    fingerprint = getattr(system, "fingerprint", None)
    if callable(fingerprint):
        fingerprint = fingerprint()
    return not isinstance(fingerprint, Mapping) or "endpoint" not in fingerprint


def controlled(
    example: Mapping[str, Any], source: Mapping[str, Any], *, name: str, seed: int = 0
) -> dict[str, Any]:
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
    found = None if before is None else region_of(before, region, ())
    budget = (
        None if before is None or found is None else _budget(example, source, before, region, found)
    )
    if before is None or found is None or budget is None:
        return {"control": {"name": name, "note": "the source put out no context"}}
    kept = chosen(found, name, budget, f"{seed}:{example.get('id', '')}")
    messages = kept_messages(before, region, found, kept)
    told = {
        "control": {"name": name, "tokens_allowed": budget, "tokens_kept": kept_tokens(found, kept)}
    }
    context = region_text(messages, (0, len(messages)))
    if source.get("messages") is None or not example.get("messages"):
        return {"context": context, **told}
    whole = [*before[: region[0]], *messages, *before[region[1] :]]
    new = [region[0], region[0] + len(messages)]
    return {"messages": whole, "raw_messages": [], "region": new, "context": context, **told}


def _budget(
    example: Mapping[str, Any],
    source: Mapping[str, Any],
    before: Sequence[Mapping[str, Any]],
    region: tuple[int, int],
    found: Region,
) -> int | None:
    """Return the tokens that an output achieved, at most those of the region; None of one without a context."""
    key = content_key(
        [source.get("messages"), source.get("context"), bool(example.get("messages"))]
    )
    if key not in found.achieved:
        after = left(example, source)
        found.achieved[key] = (
            None if after is None else min(achieved_tokens(before, region, after), found.tokens)
        )
    return found.achieved[key]
