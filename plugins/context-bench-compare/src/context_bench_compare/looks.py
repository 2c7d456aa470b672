"""Looks at a run that goes on: when they are taken, how much error each may spend, and whether the gates are decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from attrs import evolve, frozen
from scipy import stats

from context_bench import EvalRow
from context_bench.errors import ConfigurationError, ContextBenchError
from context_bench.runs import Run, open_run
from context_bench_compare.gates import MISSED, OPEN, Gate, Outcome, exit_code
from context_bench_compare.gating import SUMS, judge
from context_bench_compare.places import place_of
from context_bench_compare.rendering import gate_sentence
from context_bench_compare.sequential import bounds

LOOKS = 5
"""How often a run is looked at, its end included."""


class GatesDecidedError(ContextBenchError):
    """No fault: the gates are decided, and the run stops resumably with their exit code."""

    def __init__(self, outcomes: Sequence[Outcome], examples: int, planned: int) -> None:
        self.exit_code = exit_code(list(outcomes))
        self.outcomes = tuple(outcomes)
        told = " ".join(map(gate_sentence, outcomes))
        super().__init__(f"Decided after {examples} of {planned} examples, so no more are asked. {told}")


@lru_cache(maxsize=64)
def confidences(alpha: float, looks: int = LOOKS) -> tuple[float, ...]:
    """Return the confidence of the interval that decides at each look, so that all together spend ``alpha``.

    >>> [round(one, 5) for one in confidences(0.05)]
    [1.0, 0.99924, 0.99203, 0.97711, 0.95876]

    Args:
        alpha: Two-sided error of the whole run.
        looks: Looks, after equal shares of the examples.
    """
    found = bounds([(number + 1) / looks for number in range(looks)], alpha)
    return tuple(1 - 2 * float(stats.norm.sf(bound)) for bound in found)


@frozen
class _Plan:
    """What is known of the run once its file is there.

    Attributes:
        examples: Examples that will be asked.
        rows: Rows of each example.
        has_gaps: Whether the examples are chosen from the dataset, so that positions are left out.
    """

    examples: int
    rows: int
    has_gaps: bool


class Looks:
    """The looks at one run.

    Args:
        gates: What is to be decided.
        folder: Where named baselines lie.
    """

    def __init__(self, gates: Sequence[Gate], folder: Path) -> None:
        self._gates, self._folder = gates, folder
        self._path = Path()
        self._counts: Counter[int] = Counter()
        self._plan: _Plan | None = None
        self._next = 0

    def start(self, path: Path) -> None:
        """Count the rows that earlier sessions finished; the looks that they took are not taken again."""
        self._path = path
        if path.is_file():
            with open_run(path) as run:
                self._counts.update(row.position for row in run.rows())
                if self._counts:
                    self._plan = _plan_of(run)
                    while self._due() is not None:
                        self._next += 1

    def add(self, row: EvalRow) -> None:
        """Count a row, and look when it is time.

        Raises:
            GatesDecidedError: Every gate is decided, or one is missed.
            ConfigurationError: A run like this cannot be looked at.
        """
        self._counts[row.position] += 1
        if self._plan is None:
            with open_run(self._path) as run:
                self._plan = _plan_of(run)
        while (last := self._due()) is not None:
            number, self._next = self._next, self._next + 1
            with open_run(self._path) as run:
                outcomes = self._look(run, number, place_of(0, last + 1))
            states = {outcome.state for outcome in outcomes}
            if MISSED in states or OPEN not in states:
                raise GatesDecidedError(outcomes, self._size(number), self._plan.examples)

    def last(self, run: Run) -> list[Outcome]:
        """Return how the gates came out at the end, with what error is left."""
        return self._look(run, LOOKS - 1, None)

    def _due(self) -> int | None:
        """Return the position up to which the next look reaches, None when its rows are not all there."""
        assert self._plan is not None
        if self._next >= LOOKS - 1:
            return None
        size = self._size(self._next)
        if not self._plan.has_gaps:
            there = size > 0 and all(self._counts[place] >= self._plan.rows for place in self._waited_for(size))
            return size - 1 if there else None
        finished = sorted(place for place, count in self._counts.items() if count >= self._plan.rows)
        return finished[size - 1] if 0 < size <= len(finished) else None

    def _waited_for(self, size: int) -> range:
        return range(size - 1, -1, -1)  # the last one first: it is the one that is most often missing

    def _size(self, number: int) -> int:
        assert self._plan is not None
        return self._plan.examples * (number + 1) // LOOKS

    def _look(self, run: Run, number: int, until: int | None) -> list[Outcome]:
        at = {gate.confidence: confidences(round(1 - gate.confidence, 12))[number] for gate in self._gates}
        gates = [evolve(gate, confidence=at[gate.confidence]) for gate in self._gates]
        outcomes = judge(run, gates, folder=self._folder, until=until)
        return outcomes if until is None else [_so_far(outcome) for outcome in outcomes]


def _so_far(outcome: Outcome) -> Outcome:
    """Return an outcome before the end: a sum that is met may still grow, and two sums may part."""
    is_sum = any(outcome.gate.metric.endswith(name) for name in SUMS) and not outcome.gate.relative
    if is_sum and not (outcome.gate.kind == "max" and outcome.state == MISSED):
        return evolve(outcome, state=OPEN)
    return outcome


def _plan_of(run: Run) -> _Plan:
    """Return what will be asked in a run.

    Raises:
        ConfigurationError: There are several datasets, or nobody knows how many examples there will be.
    """
    if len(run.datasets) != 1:
        raise ConfigurationError(
            "--stop-when-decided takes one dataset: the rows of several come one after the other, so the first would decide for "
            "all."
        )
    expected = run.completeness.rows_expected
    request: Mapping[str, object] = run.request.get("request") or run.request
    rows = len(run.systems) * int(str(request.get("samples") or 1))
    if not expected:
        raise ConfigurationError("--stop-when-decided must know how many examples there are: give a number with -n.")
    return _Plan(expected // rows, rows, bool(request.get("sample") or request.get("ids")))
