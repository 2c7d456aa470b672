"""Routes: which systems and evaluators need more than the caller's thread."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import iscoroutinefunction
from typing import Any

from context_bench.runner.job import Job
from context_bench.runner.parts import Scorer, Slot


def is_async(slot: Slot) -> bool:
    """Whether a system is called on the event loop."""
    return callable(getattr(slot.system, "aprocess", None)) or iscoroutinefunction(slot.system.process)


def async_score(evaluator: Any) -> Any:
    """Return what is awaited for an evaluator's scores; None when it is not async."""
    found = getattr(evaluator, "ascore", None)
    if callable(found):
        return found
    return evaluator.score if iscoroutinefunction(evaluator.score) else None


def takes_batches(scorer: Scorer) -> bool:
    """Whether an evaluator scores many rows at once."""
    return callable(getattr(scorer.evaluator, "score_batch", None))


def is_slow(scorer: Scorer) -> bool:
    """Whether a scorer scores after the commit: it is bound to the processor, async, or takes batches."""
    return scorer.cpu_bound or takes_batches(scorer) or async_score(scorer.evaluator) is not None


def scorers_of(job: Job) -> Sequence[Scorer]:
    """Return who is to score a job."""
    return job.wiring.scorers if job.only is None else job.only


def slow_scorers(job: Job) -> list[Scorer]:
    """Return who scores a job after its commit."""
    return [scorer for scorer in scorers_of(job) if is_slow(scorer)]


def needs_lanes(job: Job) -> bool:
    """Whether a job is not to be done on the caller's thread."""
    return (job.output is None and is_async(job.slot)) or bool(slow_scorers(job))
