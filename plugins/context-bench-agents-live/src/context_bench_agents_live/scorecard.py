"""The scorecard of a run of agents: a card for each arm, and what parts it from the baseline, task by task."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from attrs import evolve, frozen

from context_bench.errors import ConfigurationError
from context_bench.records import EvalRow
from context_bench.runs import Run
from context_bench_compare.differences import difference_test, guaranteed_difference
from context_bench_compare.intervals import (
    Clusters,
    Interval,
    TooFew,
    plain_mean_interval,
)

DIRECT = "direct"
"""Label of the arm that is the baseline where no other is named."""
FAILED = "failed"
"""How a row ended that has no output: the system failed."""
_AGENT = "context-bench-agents-live/agent"
_EVALUATOR = "context-bench-agents-live/agent-task"

Task = tuple[int, int, int]


@frozen
class Against:
    """An arm compared with the baseline on the tasks of both.

    Attributes:
        baseline: Label of the baseline.
        tasks: Tasks of both.
        improved, regressed: Tasks that only this arm, or only the baseline, finished.
        difference: Of the shares of tasks that succeed.
        p_value: McNemar's, two-sided, of a difference of zero; 1.0 where the tasks are too few for a test.
        interval: Of the difference, as the test has it; or why there is none.
        guarantee: Interval that holds whatever the tasks did not show; or why there is none.
        turns, bill: Mean difference of a task; None where a task of both was not measured.
    """

    baseline: str
    tasks: int
    improved: int
    regressed: int
    difference: float
    p_value: float
    interval: Interval | TooFew
    guarantee: Interval | TooFew
    turns: float | None
    bill: float | None


@frozen
class AgentCard:
    """One arm.

    Attributes:
        arm: Label of the system.
        tasks: Rows, failed ones included.
        successes: Tasks whose check passes.
        interval: Of the share of tasks that succeed; or why there is none.
        turns, re_reads, bill: Means of a task; None without a measured task.
        cached_share, kept_share: Means, 0 to 1; None where they are unknown.
        bill_per_success: Sum of the bills for each success; infinite without a success, None without a bill.
        advantage: Mean success minus that of the matched random deletion; None without ``controls``.
        endings: Tasks by how they ended; ``failed`` has no output.
        against: The comparison with the baseline; None of the baseline itself, and without a common task.
        controls: The comparison with each of its matched controls, whose label is ``baseline``; empty without ``--controls``.
    """

    arm: str
    tasks: int
    successes: int
    interval: Interval | TooFew
    turns: float | None
    re_reads: float | None
    cached_share: float | None
    kept_share: float | None
    bill: float | None
    bill_per_success: float | None
    advantage: float | None
    endings: Mapping[str, int]
    against: Against | None
    controls: Sequence[Against] = ()

    @property
    def success(self) -> float:
        """Share of the tasks that succeed, 0 to 1."""
        return self.successes / self.tasks


def cards_of(
    rows: Iterable[EvalRow],
    baseline: str | None = None,
    sources: Mapping[str, str] = MappingProxyType({}),
    agents: Collection[str] = (),
) -> list[AgentCard]:
    """Return a card for each arm, in the order of the run; nothing where no system is an agent.

    Args:
        rows: Rows of a run that were scored by ``agent-task``.
        baseline: Label of the arm to compare with; None takes ``direct``, or else the first arm.
        sources: For the label of each matched control, that of the arm whose tokens it keeps.
        agents: Labels of systems that are agents even where all their rows failed.

    Raises:
        ConfigurationError: No arm has the label.
    """
    arms = _arms_of(rows, agents)
    if not arms:
        return []
    if baseline is not None and baseline not in arms:
        raise ConfigurationError(
            f"No agent is called {baseline!r}. Choose from: {', '.join(arms)}."
        )
    reference = baseline or (DIRECT if DIRECT in arms else next(iter(arms)))
    cards = []
    for label, arm in arms.items():
        controls = [name for name, source in sources.items() if source == label and name in arms]
        compared = [_against(arm, name, arms[name]) for name in controls]
        cards.append(
            evolve(
                _card(label, arm, reference, arms[reference]),
                controls=[against for against in compared if against is not None],
            )
        )
    return cards


def sources_of(run: Run) -> dict[str, str]:
    """Return the label of the arm for that of each system which is derived from one, such as a matched control."""
    return {
        system["label"]: system["description"]["derived"]["from"]
        for system in run.systems
        if "derived" in system["description"]
    }


def agents_of(run: Run) -> set[str]:
    """Return the labels of the systems ``agent``, and of what is derived from one; none in a run that ``agent-task`` did not score."""
    if not any(entry["id"] == _EVALUATOR for entry in run.evaluators):
        return set()
    agents = {
        system["label"] for system in run.systems if system["description"].get("adapter") == _AGENT
    }
    return agents | {label for label, source in sources_of(run).items() if source in agents}


def _arms_of(rows: Iterable[EvalRow], agents: Collection[str]) -> dict[str, dict[Task, EvalRow]]:
    arms: dict[str, dict[Task, EvalRow]] = {}
    known = set(agents)
    for row in rows:
        if "control" in row.output and "agent" not in row.output:
            continue  # the arm kept nothing that a control could be matched with
        key = (row.dataset_number, row.position, row.repetition)
        arms.setdefault(row.system, {})[key] = row
        if "agent" in row.output and "task_success" in row.scores:
            known.add(row.system)
    return {label: arm for label, arm in arms.items() if label in known}


def _card(
    label: str, arm: Mapping[Task, EvalRow], baseline: str, reference: Mapping[Task, EvalRow]
) -> AgentCard:
    successes = sum(map(_succeeds, arm.values()))
    passes = np.array([float(_succeeds(row)) for row in arm.values()])
    bills = _scores(arm.values(), "agent_bill")
    per_success = None
    if bills:
        per_success = sum(bills) / successes if successes else math.inf
    return AgentCard(
        arm=label,
        tasks=len(arm),
        successes=successes,
        interval=plain_mean_interval(passes, _examples(arm)),
        turns=_mean(arm.values(), "agent_turns"),
        re_reads=_mean(arm.values(), "agent_re_reads"),
        cached_share=_mean(arm.values(), "agent_cached_share"),
        kept_share=_mean(arm.values(), "agent_kept_share"),
        bill=_mean(arm.values(), "agent_bill"),
        bill_per_success=per_success,
        advantage=_mean(arm.values(), "advantage"),
        endings=dict(Counter(map(_ending, arm.values())).most_common()),
        against=None if label == baseline else _against(arm, baseline, reference),
    )


def _against(
    arm: Mapping[Task, EvalRow], baseline: str, reference: Mapping[Task, EvalRow]
) -> Against | None:
    common = [task for task in arm if task in reference]
    if not common:
        return None
    examples = _examples(common)
    differences = np.array(
        [float(_succeeds(arm[task])) - _succeeds(reference[task]) for task in common]
    )
    tested = difference_test(differences, examples=examples)
    return Against(
        baseline=baseline,
        tasks=len(common),
        improved=int((differences > 0).sum()),
        regressed=int((differences < 0).sum()),
        difference=float(differences.mean()),
        p_value=tested.p_value,
        interval=tested.interval,
        guarantee=guaranteed_difference(differences, examples=examples, tested=tested.interval),
        turns=_mean_difference(arm, reference, common, "agent_turns"),
        bill=_mean_difference(arm, reference, common, "agent_bill"),
    )


def _examples(tasks: Iterable[Task]) -> Clusters | None:
    """Return the number of the task of each row; None when no task was repeated."""
    numbers: dict[tuple[int, int], int] = {}
    found = [numbers.setdefault(task[:2], len(numbers)) for task in tasks]
    return None if len(numbers) == len(found) else np.array(found)


def _mean_difference(
    arm: Mapping[Task, EvalRow],
    reference: Mapping[Task, EvalRow],
    common: Sequence[Task],
    key: str,
) -> float | None:
    """Return the mean difference over the tasks that both measured; None without one."""
    differences = [
        arm[task].scores[key] - reference[task].scores[key]
        for task in common
        if key in arm[task].scores and key in reference[task].scores
    ]
    return statistics.fmean(differences) if differences else None


def _succeeds(row: EvalRow) -> bool:
    return row.scores.get("task_success") == 1.0


def _ending(row: EvalRow) -> str:
    counts: Any = row.output.get("agent")
    return str(counts.get("ended")) if isinstance(counts, Mapping) else FAILED


def _scores(rows: Iterable[EvalRow], key: str) -> list[float]:
    return [row.scores[key] for row in rows if key in row.scores]


def _mean(rows: Iterable[EvalRow], key: str) -> float | None:
    values = _scores(rows, key)
    return statistics.fmean(values) if values else None
