"""An answer: what a system said, parted from what was measured about the call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import define

from context_bench.answers import parted_output
from context_bench.records import Usage, quantity
from context_bench.runner.endpoints import seconds_of
from context_bench.runner.parts import Slot
from context_bench.store.encoding import to_json
from context_bench.store.keys import output_key

_DIGITS = 6
_MEASUREMENTS = ("latency", "system_latency", "attempts", "headers", "ttft", "envelope", "timings")


@define(eq=False)
class Measured:
    """What is recorded about a call and is no part of what the system said.

    Attributes:
        latency: Seconds from the first attempt's sending to the answer.
        attempts: How often the system was asked.
        rest: JSON of response headers, the time to the first token and their like, or None. Where it is more than nothing,
            ``waiting`` is there: the seconds for which the endpoint kept the row waiting - refused attempts, pauses and rates,
            also before the first sending; and ``attempt_latency``, those of the answered attempt, where it was not the first.
        system_latency: Seconds that the system took without its model, or None.
    """

    latency: float
    attempts: int = 1
    rest: str | None = None
    system_latency: float | None = None


@define(eq=False)
class Answer:
    """What a system said.

    Attributes:
        output: What it returned, without what it measured.
        text: The output as JSON.
        digest: The output's content hash.
        measured: What was measured about the call.
    """

    output: Mapping[str, Any]
    text: str
    digest: bytes
    measured: Measured
    _parted: Mapping[str, Any] | None = None

    @property
    def parted(self) -> Mapping[str, Any]:
        """The output as evaluators get it: see :func:`context_bench.answers.parted_output`."""
        if self._parted is None:
            self._parted = parted_output(self.output)
        return self._parted

    @classmethod
    def stored(cls, output: Mapping[str, Any]) -> Answer:
        """Return the answer that a run file holds."""
        return cls(output, "", output_key(output), Measured(0.0))


@define(eq=False)
class Timing:
    """When an output came.

    Attributes:
        seconds: Seconds of the attempt that was answered, as the clock tells.
        attempts: How often the runner asked.
        before: Seconds from the first attempt's sending to that of the answered one.
        waiting: Seconds of waiting for the endpoint, those of ``before`` included.
    """

    seconds: float
    attempts: int = 1
    before: float = 0.0
    waiting: float = 0.0


Bill = Callable[["Usage | None", Iterable["str | None"]], "tuple[float | None, str | None]"]
"""Returns what a response cost, and where that comes from; of its usage, and the names of its model."""


def reported_cost(usage: Usage | None, models: Iterable[str | None]) -> tuple[float | None, str | None]:
    """Return the cost that an endpoint reported, as ``"reported"``; None twice where it reported none."""
    cost = None if usage is None else usage.cost
    return (None, None) if cost is None else (float(cost), "reported")


def models_of(slot: Slot, output: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the names of a response's model: the one asked for, and the one that answered."""
    answered = output.get("model")
    return slot.model, answered if isinstance(answered, str) else None


def take_apart(output: Any, timing: Timing, system: Any = None) -> tuple[Mapping[str, Any], Measured]:
    """Part what a system said from what it measured about the call.

    That is ``latency``, ``system_latency``, ``attempts``, ``headers``, ``ttft``, ``envelope`` and ``timings``, the seconds of
    its parts. They differ from call to call, so they must not reach the output's hash. A recorded latency beats the clock;
    a system that asked several times tells that of the last attempt, and the clock has the rest.

    Raises:
        TypeError: It is no mapping.
        ValueError: It says that there is no response.
    """
    if type(output) is not dict and not isinstance(output, Mapping):
        raise TypeError(
            f"the system returned {type(output).__name__}, not a mapping such as {{'response': ...}} or {{'context': ...}}"
        )
    if "response" in output and output["response"] is None:
        raise ValueError("the system returned no response: 'response' is None")
    if timing.waiting == 0.0 and output.keys().isdisjoint(_MEASUREMENTS):
        return output, Measured(timing.seconds)
    told, attempts = seconds_of(output.get("latency"), timing.seconds), output.get("attempts")
    own_attempts = int(quantity(attempts) or 1)
    whole = max(told, timing.seconds) if own_attempts > 1 and "turn_responses" not in output else told
    rest = {name: output[name] for name in _MEASUREMENTS[3:] if output.get(name) is not None}
    waiting = timing.waiting + whole - told
    if timing.before + whole > told:
        rest["attempt_latency"] = round(told, _DIGITS)
    if waiting > 0:
        rest["waiting"] = round(waiting, _DIGITS)
    measured = Measured(
        timing.before + whole,
        timing.attempts + own_attempts - 1,
        to_json(rest) if rest else None,
        _system_latency(output, whole, system),
    )
    return {name: value for name, value in output.items() if name not in _MEASUREMENTS}, measured


def _system_latency(output: Mapping[str, Any], latency: float, system: Any) -> float | None:
    """Return the seconds that a system took without its model: as it says, or as its proxy does in a header that it names.

    The headers of a conversation are those of its last turn, so they tell nothing of the whole. Nobody takes longer
    than the whole call.
    """
    told = seconds_of(output.get("system_latency"), -1.0)
    headers = output.get("headers")
    if told < 0 and isinstance(headers, Mapping) and "turn_responses" not in output:
        names = [str(name).lower() for name in getattr(system, "latency_headers", None) or ()]
        for name, value in headers.items() if names else ():
            if str(name).lower() in names:
                try:
                    told = seconds_of(float(value) / 1000, -1.0)
                except (TypeError, ValueError):
                    continue
    return min(told, latency) if told >= 0 else None
