"""Traffic: what every system is asked, through the limits of its endpoint and the budget of the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Event, Lock
from typing import Any

from attrs import evolve

from context_bench.errors import ContextBenchError
from context_bench.prices import Prices
from context_bench.records import Usage
from context_bench.runner.budget import Budget
from context_bench.runner.conversation import Conversational
from context_bench.runner.limits import Limiter
from context_bench.runner.parts import Slot
from context_bench.runner.refusals import is_refusal, pause, wait_asked_for
from context_bench.runner.work import models_of

_MOST_REFUSALS = 10
_GLANCE = 0.25


class BudgetSpentError(ContextBenchError):
    """The run may not cost more."""


class Road:
    """The way to one endpoint; slots that ask the same endpoint share it.

    Attributes:
        limiter: Its limits.
        turnstile: Held by the one thread that waits for the limits, so that the others sleep.
    """

    def __init__(self, limiter: Limiter) -> None:
        self.limiter = limiter
        self.turnstile = Lock()


class Traffic:
    """Lets calls go, and learns from what became of them. Safe to use from any thread.

    Args:
        slots: The systems.
        workers: Calls in flight at most.
        requests_per_minute, tokens_per_minute: What the user knows of each endpoint's limits.
        budget: What the run may cost; None for no limit.
        prices: What tokens cost.
    """

    def __init__(
        self,
        slots: Iterable[Slot],
        workers: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        budget: Budget | None = None,
        prices: Prices | None = None,
    ) -> None:
        self.prices = prices or Prices()
        self.stopping = Event()
        self.budget = budget
        self.in_flight: dict[int, int] = {}
        self.retried: dict[int, int] = {}
        self.cost: dict[int, float] = {}
        self.is_limited = requests_per_minute is not None or tokens_per_minute is not None or budget is not None
        self._lock = Lock()
        self._roads: dict[int, Road] = {}
        self._listening: list[Any] = []
        roads: dict[str, Road] = {}
        for slot in slots:
            endpoint = endpoint_of(slot.system)
            name = endpoint or f"slot {slot.number}"
            if name not in roads:
                roads[name] = Road(
                    Limiter(workers, requests_per_minute, tokens_per_minute, gentle=endpoint is not None)
                )
            self._roads[slot.number] = roads[name]
            self.in_flight[slot.number] = self.retried[slot.number] = 0
            self.is_limited = self.is_limited or endpoint is not None
            self._listen(slot)

    def road(self, slot: Slot) -> Road:
        """Return the road of a slot."""
        return self._roads[slot.number]

    def enter(self, slot: Slot, input_tokens: int = 0) -> float:
        """Take a place for a call and return 0; or return the seconds after which to ask again.

        Raises:
            BudgetSpentError: Another call would cost more than the run may.
        """
        limiter = self._roads[slot.number].limiter
        wait = limiter.enter()
        if wait > 0:
            return min(wait, _GLANCE)
        if self.budget is not None:
            allowed = self.budget.enter(self._expected(slot, input_tokens))
            if not allowed:
                limiter.leave()
                if allowed is None:
                    raise BudgetSpentError(
                        f"The run has cost {self.budget.spent:.4f} {self.prices.currency}, and another call might exceed the "
                        f"{self.budget.most:g} that it may cost (--max-cost)."
                    )
                return 0.01
        with self._lock:
            self.in_flight[slot.number] += 1
        return 0.0

    def leave(self, slot: Slot, usage: Usage | None, has_answered: bool, input_tokens: int = 0) -> None:
        """Give the place of a call back; ``input_tokens`` is what :meth:`enter` was told."""
        self._roads[slot.number].limiter.leave()
        cost = usage.cost if usage is not None else None
        if self.budget is not None:
            self.budget.leave(cost, has_answered, self._expected(slot, input_tokens))
        with self._lock:
            self.in_flight[slot.number] -= 1
            if cost is not None:
                self.cost[slot.number] = self.cost.get(slot.number, 0.0) + cost

    def answered(self, slot: Slot, output: Any, seconds: float) -> Usage | None:
        """Learn from an output, and return its usage, with its cost where that is known."""
        usage = Usage.read(output) if isinstance(output, Mapping) else None
        if usage is not None and (usage.cost is not None or self.prices.models):
            usage = evolve(usage, cost=self.prices.bill(usage, models_of(slot, output))[0])
        tokens = 0 if usage is None else int((usage.input_tokens or 0) + (usage.output_tokens or 0))
        self._roads[slot.number].limiter.answered(seconds, tokens)
        return usage

    def pause_after(self, slot: Slot, error: BaseException, attempt: int) -> float | None:
        """Learn from an error, and return the seconds after which to ask again; None when that is of no use."""
        if not is_refusal(error):
            return None
        asked = wait_asked_for(error)
        limiter = self._roads[slot.number].limiter
        limiter.refused(asked)
        wait = pause(attempt, asked)
        if wait is None or attempt >= _MOST_REFUSALS:
            return None
        with self._lock:
            self.retried[slot.number] += 1
        return limiter.reserve(wait)

    def _expected(self, slot: Slot, input_tokens: int) -> float | None:
        """Return what a call will cost at most; None where the price or the longest answer is unknown."""
        price = self.prices.find([slot.model])
        if price is None or slot.max_tokens is None:
            return None
        return price.at_most(input_tokens, slot.max_tokens)

    def close(self) -> None:
        """Let go of the systems."""
        for system in self._listening:
            system.on_retry = None

    def _listen(self, slot: Slot) -> None:
        """Hear of retries inside a system that tells them: it calls ``on_retry(error, pause)`` and waits as told."""
        for system in _steps(slot.system):
            if not hasattr(system, "on_retry"):
                continue

            def told(error: BaseException, wait: float, slot: Slot = slot) -> float:
                with self._lock:
                    self.retried[slot.number] += 1
                limiter = self._roads[slot.number].limiter
                if is_refusal(error):
                    limiter.refused(wait_asked_for(error))
                return limiter.reserve(wait)

            system.on_retry = told
            self._listening.append(system)


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
    for step in _steps(system):
        found = _fingerprint(step).get("endpoint")
        if isinstance(found, str):
            return found
    return None


def close_systems(slots: Iterable[Slot]) -> list[str]:
    """Close the systems that the run made itself and that have a ``close()``; return a line for each that could not be."""
    told = []
    for slot in slots:
        for step in _steps(slot.system) if slot.owned else ():
            close = getattr(step, "close", None)
            if not callable(close):
                continue
            try:
                close()
            except Exception as error:  # noqa: BLE001 - somebody else's code; the rows are safe already
                told.append(f"System {slot.label} could not be closed: {type(error).__name__}: {error}")
    return told


def model_of(system: Any) -> str | None:
    """Return the model that a system asks, as its fingerprint or its attribute ``model`` names it; None without one."""
    for step in reversed(_steps(system)):
        found = _fingerprint(step).get("model", getattr(step, "model", None))
        if isinstance(found, str):
            return found
    return None


def max_tokens_of(system: Any) -> int | None:
    """Return the tokens of a system's longest answer, as the parameters of its fingerprint tell; None when unsaid."""
    for step in reversed(_steps(system)):
        fingerprint = _fingerprint(step)
        parameters = fingerprint.get("parameters")
        for place in (parameters if isinstance(parameters, Mapping) else {}, fingerprint):
            for name in ("max_tokens", "max_completion_tokens"):
                found = place.get(name)
                if isinstance(found, int) and not isinstance(found, bool) and found > 0:
                    return found
    return None


def _fingerprint(step: Any) -> Mapping[str, Any]:
    try:
        found = step.fingerprint()
    except Exception:  # noqa: BLE001 - a system without a usable fingerprint tells nothing of itself
        return {}
    return found if isinstance(found, Mapping) else {}


def _steps(system: Any) -> tuple[Any, ...]:
    if isinstance(system, Conversational):
        system = vars(system)["_system"]
    steps = getattr(system, "steps", None)
    return steps if isinstance(steps, tuple) else (system,)
