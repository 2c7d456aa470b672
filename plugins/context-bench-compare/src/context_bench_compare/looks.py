"""Looks at a run that goes on: when they are taken, how much error each may spend, and whether the gates are decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from context_bench import EvalRow
from context_bench.errors import ConfigurationError, RunStoppedError
from context_bench.runs import Run, open_run
from context_bench_compare import normal
from context_bench_compare.gates import FAILED, INCONCLUSIVE, Gate, Outcome, exit_code
from context_bench_compare.gating import SUMS, judge
from context_bench_compare.places import place_of
from context_bench_compare.rendering import gate_sentence
from context_bench_compare.sequential import bounds
from context_bench_compare.strata import Growing

LOOKS = 5
"""How often a run is looked at, its end included."""


class GatesDecidedError(RunStoppedError):
    """No fault: the gates are decided, and the run stops resumably with their exit code."""

    def __init__(self, outcomes: Sequence[Outcome], examples: int, planned: int) -> None:
        self.outcomes = tuple(outcomes)
        told = " ".join(map(gate_sentence, outcomes))
        super().__init__(
            f"Decided after {examples} of {planned} examples, so no more are asked. {told}",
            exit_code=exit_code(list(outcomes)),
        )


@lru_cache(maxsize=64)
def confidences(alpha: float, looks: int = LOOKS, earlier: float = 0.0) -> tuple[float, ...]:
    """Return the confidence of the interval that decides at each look, so that all together spend ``alpha``.

    >>> [round(one, 5) for one in confidences(0.05)]
    [1.0, 0.99921, 0.99264, 0.97797, 0.95775]

    Args:
        alpha: Two-sided error of the whole run.
        looks: Looks, after equal shares of the examples of the last dataset.
        earlier: Share of all examples that earlier datasets have. The mean over all datasets is known the better, the more is
            there of the last one: with the share f of its rows, as if ``1 / (earlier + (1 - earlier) / f)`` of all were there.
    """
    shares = [(number + 1) / looks for number in range(looks)]
    found = bounds([1 / (earlier + (1 - earlier) / share) for share in shares], alpha)
    return tuple(1 - 2 * float(normal.beyond(bound)) for bound in found)


@frozen
class _Plan:
    """What is known of the run once its last dataset is begun.

    Attributes:
        number: Number of the last dataset; with one dataset it is the only one.
        examples: Examples of it that will be asked.
        earlier: Examples of the datasets before it.
        rows: Rows of each example.
        has_gaps: Whether the examples are chosen from the dataset, so that positions are left out.
    """

    number: int
    examples: int
    earlier: int
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
        self._counts: Counter[tuple[int, int]] = Counter()
        self._plan: _Plan | None = None
        self._last: int | None = None
        self._next = 0

    def start(self, path: Path) -> None:
        """Count the rows that earlier sessions finished; the looks that they took are not taken again."""
        self._path = path
        if path.is_file():
            with open_run(path) as run:
                self._counts.update((row.dataset_number, row.position) for row in run.rows())
                if self._counts:
                    self._begin(run, max(self._counts)[0])
                    while self._due() is not None:
                        self._next += 1

    def add(self, row: EvalRow) -> None:
        """Count a row, and look when it is time.

        Raises:
            GatesDecidedError: Every gate is decided, or a gate failed.
            ConfigurationError: A run like this cannot be looked at.
        """
        self._counts[row.dataset_number, row.position] += 1
        if self._plan is None and self._last in (None, row.dataset_number):
            with open_run(self._path) as run:
                self._begin(run, row.dataset_number)
        while self._plan is not None and (last := self._due()) is not None:
            number, self._next = self._next, self._next + 1
            with open_run(self._path) as run:
                outcomes = self._look(run, number, last + 1)
            states = {outcome.state for outcome in outcomes}
            if FAILED in states or INCONCLUSIVE not in states:
                asked = self._plan.earlier + self._size(number)
                raise GatesDecidedError(outcomes, asked, self._plan.earlier + self._plan.examples)

    def last(self, run: Run) -> list[Outcome]:
        """Return how the gates came out at the end, with what error is left."""
        if self._plan is None and len(run.datasets) > 1:
            self._plan = _plan_of(run)
        return self._look(run, LOOKS - 1, None)

    def _begin(self, run: Run, number: int) -> None:
        """Take note of which dataset is the last, and of the plan once that one is begun."""
        _require_size(run)
        self._last = len(run.datasets) - 1
        if number == self._last:
            self._plan = _plan_of(run)

    def _due(self) -> int | None:
        """Return the position up to which the next look reaches, None when its rows are not all there."""
        plan = self._plan
        if plan is None or self._next >= LOOKS - 1:
            return None
        size = self._size(self._next)
        found: int | None = None
        if not plan.has_gaps:
            there = size > 0 and all(
                self._counts[plan.number, at] >= plan.rows for at in range(size - 1, -1, -1)
            )
            found = size - 1 if there else None
        else:
            finished = sorted(at for at in self._finished() if at[0] == plan.number)
            found = finished[size - 1][1] if 0 < size <= len(finished) else None
        if found is None or sum(1 for at in self._finished() if at[0] < plan.number) < plan.earlier:
            return None
        return found

    def _finished(self) -> Iterator[tuple[int, int]]:
        """Yield dataset and position of the examples that every system has answered."""
        assert self._plan is not None
        return (at for at, count in self._counts.items() if count >= self._plan.rows)

    def _size(self, number: int) -> int:
        assert self._plan is not None
        return self._plan.examples * (number + 1) // LOOKS

    def _look(self, run: Run, number: int, until: int | None) -> list[Outcome]:
        plan = self._plan
        share = plan.earlier / (plan.earlier + plan.examples) if plan is not None else 0.0
        spent = {
            gate.confidence: confidences(round(1 - gate.confidence, 12), LOOKS, share)
            for gate in self._gates
        }
        gates = [evolve(gate, confidence=spent[gate.confidence][number]) for gate in self._gates]
        if until is None or plan is None:
            return judge(run, gates, folder=self._folder)
        growing = Growing(plan.number, plan.examples / self._size(number)) if plan.earlier else None
        place = place_of(plan.number, until)
        return [
            _so_far(one)
            for one in judge(run, gates, folder=self._folder, until=place, growing=growing)
        ]


def _so_far(outcome: Outcome) -> Outcome:
    """Return an outcome before the end: a sum that passes may still grow, and two sums may part."""
    is_sum = any(outcome.gate.metric.endswith(name) for name in SUMS) and not outcome.gate.relative
    if is_sum and not (outcome.gate.kind == "max" and outcome.state == FAILED):
        return evolve(outcome, state=INCONCLUSIVE)
    return outcome


def _require_size(run: Run) -> None:
    """Refuse a run of which nobody knows how long it is.

    Raises:
        ConfigurationError: It is such a run.
    """
    if not run.completeness.rows_expected:
        names = (
            ", ".join(str(one["label"]) for one in run.datasets if one["label"]) or "the examples"
        )
        raise ConfigurationError(
            f"--stop-when-decided must know how many examples there are, and nobody knows how many {names} gives: give a number "
            "with -n, such as -n 500, or evaluate() a list in place of an iterator. A larger number than there are will do."
        )


def _plan_of(run: Run) -> _Plan | None:
    """Return what will be asked in a run; None while it is not written how long its earlier datasets are."""
    request: Mapping[str, Any] = run.request.get("request") or run.request
    rows = len(run.systems) * int(request.get("repeat") or 1)
    lengths = [one["length"] for one in run.datasets[:-1]]
    if any(length is None for length in lengths):
        return None
    earlier = sum(lengths)
    bounds_of = [
        (run.completeness.rows_expected or 0) // rows - earlier,
        run.datasets[-1]["length"],
    ]
    bounds_of += [request.get("limit"), request.get("sample"), len(request.get("ids") or ())]
    examples = min(bound for bound in bounds_of if bound)
    has_gaps = bool(request.get("sample") or request.get("ids"))
    return _Plan(int(run.datasets[-1]["number"]), examples, earlier, rows, has_gaps)
