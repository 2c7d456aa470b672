"""Systems of a run: what a system reports about itself, how it is called, and chains of systems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import iscoroutinefunction
from time import perf_counter
from typing import Any

from attrs import Factory, frozen

from context_bench.errors import ConfigurationError, message_of
from context_bench.protocols import System
from context_bench.records import quantity
from context_bench.run.stopping import CaughtError, capture
from context_bench.store.encoding import isolate

_WORKERS_OF_AN_ENDPOINT = 64
_WORKERS_THAT_WAIT = 8


@frozen(eq=False)
class RunSystem:
    """A system of a run.

    Attributes:
        number: Its number in the run.
        label: Its label in the run.
        system: The system.
        key: Its key.
        shared: Whether the key is valid in other runs, because the system has a fingerprint.
        reads: Fields of an example that it reads; None means all.
        description: What the run file records about it.
        owned: Whether the run created the system, and so closes it at the end.
        model: Name of the model that it calls; None when it names none.
        max_tokens: Tokens of its longest answer; None when they are unknown.
        sees: Which fields of an example it receives: see :func:`context_bench.run.datasets.shown`.
        source: Number of the system whose rows its rows are derived from; None for a system that
            is called.
        is_compressor: Whether it, or the first of its steps, is a context transformer.
    """

    number: int
    label: str
    system: System
    key: bytes
    shared: bool
    reads: tuple[str, ...] | None = None
    description: Mapping[str, Any] = Factory(dict)
    owned: bool = False
    model: str | None = None
    max_tokens: int | None = None
    sees: str = "everything"
    source: int | None = None
    is_compressor: bool = False

    @property
    def is_recorded(self) -> bool:
        """Whether it passes on responses of earlier calls, which take no time and no money now."""
        return bool(getattr(self.system, "is_recorded", False))


def usual_workers(systems: Iterable[RunSystem], is_waiting: bool) -> int:
    """Return how many calls are in flight when the user sets no number.

    Args:
        systems: The systems.
        is_waiting: Whether one of them waits for a network or a process.
    """
    if any(endpoint_of(run_system.system) is not None for run_system in systems):
        return _WORKERS_OF_AN_ENDPOINT
    return _WORKERS_THAT_WAIT if is_waiting else 1


def close_systems(systems: Iterable[RunSystem]) -> list[str]:
    """Close the systems that the run created, where they have a ``close()``.

    Returns:
        A message for each system that could not be closed.
    """
    messages = []
    for run_system in systems:
        if not run_system.owned:
            continue
        for step in steps_of_system(run_system.system):
            close = getattr(step, "close", None)
            if not callable(close):
                continue
            result = capture(close)
            if isinstance(result, CaughtError):
                kind = type(result.error).__name__
                reason = message_of(result.error)
                label = run_system.label
                messages.append(f"System {label} could not be closed: {kind}: {reason}")
    return messages


def endpoint_of(system: Any) -> str | None:
    """Return the endpoint that a system calls, from its fingerprint; None when it names none."""
    return _first_text(_fingerprint(step).get("endpoint") for step in steps_of_system(system))


def model_of(system: Any) -> str | None:
    """Return the model that a system calls, from its fingerprint or its attribute ``model``."""
    steps = reversed(steps_of_system(system))
    return _first_text(
        _fingerprint(step).get("model", getattr(step, "model", None)) for step in steps
    )


def models_of(run_system: RunSystem, output: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the names of a response's model: the requested model, and the one that answered."""
    answered = output.get("model")
    return run_system.model, answered if isinstance(answered, str) else None


def max_tokens_of(system: Any) -> int | None:
    """Return the tokens of a system's longest answer, from its fingerprint; None if unknown."""
    for step in reversed(steps_of_system(system)):
        fingerprint = _fingerprint(step)
        parameters = fingerprint.get("parameters")
        if not isinstance(parameters, Mapping):
            parameters = {}
        for values in (parameters, fingerprint):
            for name in ("max_tokens", "max_completion_tokens"):
                limit = values.get(name)
                if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0:
                    return limit
    return None


def resources_of(system: Any) -> dict[str, float]:
    """Return what a call of a system needs of a worker: the most that one of its steps declares.

    Raises:
        ConfigurationError: What it declares is not a mapping of names to positive numbers.
    """
    return most_resources(_declared_resources(step) for step in steps_of_system(system))


def most_resources(needs: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the most of each kind."""
    most: dict[str, float] = {}
    for need in needs:
        for name, amount in need.items():
            most[name] = max(amount, most.get(name, 0))
    return most


def _declared_resources(step: Any) -> Mapping[str, float]:
    declared = getattr(step, "resources", None)
    if declared is None:
        return {}
    if not isinstance(declared, Mapping) or not all(
        isinstance(name, str) and (quantity(amount) or 0) > 0 for name, amount in declared.items()
    ):
        raise ConfigurationError(
            f"System {step.name!r} declares resources {declared!r}. They must be positive numbers "
            "by name, such as {'gpus': 1}."
        )
    return declared


def _first_text(values: Iterable[object]) -> str | None:
    return next((value for value in values if isinstance(value, str)), None)


def _fingerprint(step: Any) -> Mapping[str, Any]:
    """Return the fingerprint of a step; empty when it has none that can be used."""
    fingerprint = capture(lambda: step.fingerprint())
    return fingerprint if isinstance(fingerprint, Mapping) else {}


def steps_of_system(system: Any) -> tuple[Any, ...]:
    """Return the steps of a chain, or the one system itself."""
    steps = getattr(system, "steps", None)
    return steps if isinstance(steps, tuple) else (system,)


def async_method(component: Any, name: str) -> Callable[..., Any] | None:
    """Return the method to await: ``a<name>``, or the method itself when it is async, or None."""
    method = getattr(component, f"a{name}", None)
    if callable(method):
        return method  # type: ignore[no-any-return]
    method = getattr(component, name, None)
    return method if iscoroutinefunction(method) else None


def is_async(run_system: RunSystem) -> bool:
    """Whether a system is called on the event loop."""
    return async_method(run_system.system, "process") is not None


def can_converse(system: Any) -> bool:
    """Whether a system has a method for conversations.

    A system with ``process_conversation`` alone that reads ``multi_turn`` receives the
    conversation through ``process``.
    """
    if callable(getattr(system, "process_turn", None)):
        return True
    if callable(getattr(system, "aprocess_turn", None)) and async_method(system, "process"):
        return True
    reads = getattr(system, "reads", None) or ()
    return callable(getattr(system, "process_conversation", None)) and "multi_turn" not in reads


def is_conversation(example: Mapping[str, Any], system: Any) -> bool:
    """Whether an example is marked as a conversation, and its system has a method for it."""
    turns = example.get("turns") if example.get("multi_turn") else None
    return isinstance(turns, list | tuple) and bool(turns) and can_converse(system)


_OF_A_CALL = ("usage", "latency", "system_latency")
"""What a step reports about its own call, and no later step receives."""


class Chain:
    """Systems in a row: each receives the example, updated with what earlier steps returned.

    Of these fields a step that declares what it reads receives no others.

    The output contains what every step returned, later steps overriding earlier ones. So
    evaluators see a compressor's ``context`` and its reader's ``response``.

    Args:
        steps: The systems, in order.
        name: Name of the chain.
    """

    def __init__(self, steps: Sequence[System], name: str | None = None) -> None:
        self.steps = tuple(steps)
        self.name = name or "+".join(step.name for step in self.steps)
        self.latency_headers: list[str] = []
        for step in self.steps:
            self.latency_headers += getattr(step, "latency_headers", None) or ()

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the merged outputs of all steps, with the seconds of all, and of all but the last.

        A step that measures its own time returns ``latency``, which replaces the measured time.
        """
        output: dict[str, Any] = {}
        result: Mapping[str, Any] = {}
        seconds: list[float] = []
        for number, step in enumerate(self.steps):
            earlier = {name: value for name, value in output.items() if name not in _OF_A_CALL}
            fields = _readable(step, {**example, **earlier})
            started = perf_counter()
            result = step.process(isolate(fields) if number else fields)
            measured = perf_counter() - started
            if not isinstance(result, Mapping):
                raise TypeError(f"step {step.name} returned {type(result).__name__}, not a mapping")
            seconds.append(seconds_of(result.get("latency"), measured))
            output.update(result)
        if len(seconds) > 1:
            system_seconds = sum(seconds[:-1])
            if "system_latency" in result:
                system_seconds += seconds_of(output.pop("system_latency"), 0.0)
            output["latency"] = sum(seconds)
            output["system_latency"] = system_seconds
        return output


def _readable(step: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that a step declares to read, and the id; all where it declares nothing."""
    reads = getattr(step, "reads", None)
    if not isinstance(reads, tuple | list):
        return fields
    return {name: value for name, value in fields.items() if name == "id" or name in reads}


def seconds_of(reported: object, otherwise: float) -> float:
    """Return the seconds that a system reported, or else the default."""
    seconds = quantity(reported)
    return otherwise if seconds is None else float(seconds)
