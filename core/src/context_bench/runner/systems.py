"""Systems as the runner sees them: what they tell of themselves, chains of them, and their answers without what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

from attrs import define

from context_bench.answers import parted_output
from context_bench.protocols import System
from context_bench.records import Usage, quantity
from context_bench.runner.parts import Slot, async_way
from context_bench.runner.stopping import Raised, guarded, message_of
from context_bench.store.encoding import isolate, to_json


def usual_workers(slots: Iterable[Slot], is_waiting: bool) -> int:
    """Return how many calls are in flight when the user does not say.

    An endpoint gets up to 64: it begins with few, and has more only as long as it answers more for it.

    Args:
        slots: The systems.
        is_waiting: Whether one of them waits for a network or a process.
    """
    if any(endpoint_of(slot.system) is not None for slot in slots):
        return 64
    return 8 if is_waiting else 1


def endpoint_of(system: Any) -> str | None:
    """Return the endpoint that a system asks, as its fingerprint names it; None when it names none."""
    return _first_text(_fingerprint(step).get("endpoint") for step in steps_of_system(system))


def close_systems(slots: Iterable[Slot]) -> list[str]:
    """Close the systems that the run made itself and that have a ``close()``; return a line for each that could not be."""
    told = []
    for slot in slots:
        for step in steps_of_system(slot.system) if slot.owned else ():
            close = getattr(step, "close", None)
            if not callable(close):
                continue
            found = guarded(close)
            if isinstance(found, Raised):
                kind, message = type(found.error).__name__, message_of(found.error)
                told.append(f"System {slot.label} could not be closed: {kind}: {message}")
    return told


def model_of(system: Any) -> str | None:
    """Return the model that a system asks, as its fingerprint or its attribute ``model`` names it; None without one."""
    steps = reversed(steps_of_system(system))
    return _first_text(_fingerprint(step).get("model", getattr(step, "model", None)) for step in steps)


def max_tokens_of(system: Any) -> int | None:
    """Return the tokens of a system's longest answer, as the parameters of its fingerprint tell; None when unsaid."""
    for step in reversed(steps_of_system(system)):
        fingerprint = _fingerprint(step)
        parameters = fingerprint.get("parameters")
        for place in (parameters if isinstance(parameters, Mapping) else {}, fingerprint):
            for name in ("max_tokens", "max_completion_tokens"):
                found = place.get(name)
                if isinstance(found, int) and not isinstance(found, bool) and found > 0:
                    return found
    return None


def _first_text(found: Iterable[object]) -> str | None:
    return next((one for one in found if isinstance(one, str)), None)


def _fingerprint(step: Any) -> Mapping[str, Any]:
    found = guarded(lambda: step.fingerprint())
    return found if isinstance(found, Mapping) else {}  # one without a usable fingerprint tells nothing of itself


def steps_of_system(system: Any) -> tuple[Any, ...]:
    """Return the steps of a chain, or the one system itself."""
    steps = getattr(system, "steps", None)
    return steps if isinstance(steps, tuple) else (system,)


def with_conversations(system: Any) -> Any:
    """Return the system ready for multi-turn rows.

    One that can only be asked for a whole conversation, and reads ``multi_turn`` by itself, stays as it is.
    """
    if not takes_turns(system) and (
        not callable(getattr(system, "process_conversation", None))
        or "multi_turn" in (getattr(system, "reads", None) or ())
    ):
        return system
    from context_bench.runner.conversation import Conversational

    return Conversational(system)


def takes_turns(system: Any) -> bool:
    """Whether a system can be asked turn by turn."""
    if callable(getattr(system, "process_turn", None)):
        return True
    return callable(getattr(system, "aprocess_turn", None)) and async_way(system, "process") is not None


_OF_A_CALL = ("usage", "latency", "system_latency")
"""What a step says of its own call, and no later step sees."""


class Chain:
    """Systems in a row: each sees the example with what the earlier ones returned laid over it.

    The output holds what every step returned, later steps winning; so a compressor's ``context`` and its reader's
    ``response`` stand side by side, and evaluators see both.

    Args:
        steps: The systems, in order.
        name: Name of the whole.
    """

    def __init__(self, steps: Sequence[System], name: str | None = None) -> None:
        self.steps = tuple(steps)
        self.name = name or "+".join(step.name for step in self.steps)
        self.latency_headers = [name for step in self.steps for name in getattr(step, "latency_headers", None) or ()]

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the merged outputs of all steps, with the seconds of all, and of those before the last.

        A step that measures its own time returns ``latency``, which counts instead of the clock.
        """
        output: dict[str, Any] = {}
        seconds: list[float] = []
        for number, step in enumerate(self.steps):
            seen = {**example, **{key: value for key, value in output.items() if key not in _OF_A_CALL}}
            started = perf_counter()
            found = step.process(isolate(seen) if number else seen)
            clock = perf_counter() - started
            if not isinstance(found, Mapping):
                raise TypeError(f"step {step.name} returned {type(found).__name__}, not a mapping")
            seconds.append(seconds_of(found.get("latency"), clock))
            output.update(found)
        if len(seconds) > 1:
            own = seconds_of(output.pop("system_latency", None), 0.0) if "system_latency" in found else 0.0
            output |= {"latency": sum(seconds), "system_latency": sum(seconds[:-1]) + own}
        return output


def seconds_of(told: object, otherwise: float) -> float:
    """Return seconds that a system tells, when they are some."""
    seconds = quantity(told)
    return otherwise if seconds is None else float(seconds)


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
                with suppress(TypeError, ValueError):
                    told = seconds_of(float(value) / 1000, -1.0)
    return min(told, latency) if told >= 0 else None
