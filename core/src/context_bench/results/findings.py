"""Warnings about the numbers of a result: replies that are cut or empty, a baseline that cannot do
the task, evaluators that scored nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from context_bench.answers import UNREADABLE
from context_bench.outcomes import CUT, CUT_EMPTY, EMPTY, FILTERED, REFUSED
from context_bench.records import ANY_KEY, EvalRow
from context_bench.results.columns import Columns
from context_bench.runs import StoredRows

_FEW_ANSWERS = 0.25
_NEAR_ZERO = 0.05
_SHOWN_REASONS = 3

Scores = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Counts and mean of every score of a system, by evaluator and score key."""


def weak_baseline(columns_by_system: Mapping[str, Columns], baseline: str | None) -> Iterator[str]:
    """Yield a warning when the baseline cannot do the task: savings are cheap when nobody
    answers."""
    columns = columns_by_system.get(baseline or "")
    others = [other for label, other in columns_by_system.items() if label != baseline]
    if columns is None or not columns.rows or not others:
        return
    most_answers = max(other.answered for other in others)
    if columns.answered < _FEW_ANSWERS * most_answers:
        reason = (
            f"answered {columns.answered} of {columns.rows} rows, another system {most_answers}"
        )
    else:
        values = columns.values("score")
        if not values or columns.better("score") != "higher":
            return
        mean = sum(values) / len(values)
        if mean >= _NEAR_ZERO:
            return
        reason = f"scores {mean:.4f}"
    yield (
        f"The baseline {baseline} cannot do the task: it {reason}. "
        "Savings are cheap when nobody answers."
    )


_OUTCOME_TEXTS = {
    CUT_EMPTY: "are empty, cut at the token limit: raise max_tokens",
    CUT: "are cut at the token limit: raise max_tokens",
    FILTERED: "were removed by a content filter",
    REFUSED: "are refusals of the model",
    EMPTY: "are empty",
}


def outcome_warnings(columns_by_system: Mapping[str, Columns]) -> Iterator[str]:
    """Yield a warning for each outcome of the replies of a system other than a complete answer, and
    one for reported token counts that are unknown."""
    for label, columns in columns_by_system.items():
        if columns.is_derived:
            continue
        for outcome, text in _OUTCOME_TEXTS.items():
            if count := columns.outcomes[outcome]:
                yield f"{count} of {columns.answered} answers of {label} {text}."
        if columns.usage_problems:
            yield (
                f"Token counts of {columns.usage_problems.total()} of {columns.answered} answers "
                f"of {label} are unknown: {_listed(columns.usage_problems)}."
            )


class Silence(NamedTuple):
    """Rows of a system without a score of an evaluator, for one reason.

    Attributes:
        system: Label of the system.
        evaluator: Canonical id of the evaluator.
        reason: Why there is no score.
        rows: How many rows.
        has_scored: Whether the evaluator scored other rows.
    """

    system: str
    evaluator: str
    reason: str
    rows: int
    has_scored: bool


def silence_warnings(
    rows: Sequence[EvalRow], scores_by_system: Mapping[str, Scores]
) -> Iterator[str]:
    """Yield a warning for each evaluator that scored no row of a system, where the table would only
    lack its line.

    Also one for each evaluator and system with replies of a judge that could not be read, with
    their share.
    """
    silent: dict[str, list[str]] = {}
    speaking: set[str] = set()
    called_rows: dict[tuple[str, str], int] = {}
    for system, scores_by_evaluator in scores_by_system.items():
        for evaluator, scores in scores_by_evaluator.items():
            if any(score["unscored"] for score in scores.values()):
                called_rows[evaluator, system] = max(map(_called, scores.values()))
            has_scored = any(score["n"] - score["failed"] for score in scores.values())
            if evaluator == ANY_KEY or not scores or has_scored:
                speaking.add(evaluator)
            else:
                silent.setdefault(evaluator, []).append(system)
    reasons: dict[str, Counter[str]] = {evaluator: Counter() for evaluator in silent}
    unreadable: Counter[tuple[str, str]] = Counter()
    for silence in _silences(rows, bool(called_rows)):
        evaluator = silence.evaluator
        is_unknown = evaluator not in speaking and evaluator not in silent
        if silence.system in silent.get(evaluator, ()) or (is_unknown and not silence.has_scored):
            reasons.setdefault(evaluator, Counter())[silence.reason] += silence.rows
        key = (evaluator, silence.system)
        if key in called_rows and silence.reason.startswith(UNREADABLE):
            unreadable[key] += silence.rows
    for evaluator, counts in reasons.items():
        if counts:
            systems = f" of {', '.join(silent[evaluator])}" if evaluator in speaking else ""
            yield f"{evaluator} scored none of {counts.total()} rows{systems}: {_listed(counts)}."
    for (evaluator, system), count in unreadable.items():
        rows_of_system = called_rows[evaluator, system]
        percent = 100 * count / rows_of_system
        yield (
            f"{evaluator}: the judge's reply could not be read in {count} of {rows_of_system} rows "
            f"of {system} ({percent:.1f} %)."
        )


def _called(score: Mapping[str, Any]) -> int:
    """Return for how many rows an evaluator was called."""
    return int(score["n"] - score["failed"] + score["unscored"])


def _listed(reasons: Counter[str]) -> str:
    most_common = reasons.most_common(_SHOWN_REASONS)
    return "; ".join(f"{' '.join(reason.split())} ({count})" for reason, count in most_common)


def _silences(rows: Sequence[EvalRow], is_unscored: bool) -> Iterator[Silence]:
    """Yield the rows without a score, by system, evaluator and reason."""
    if isinstance(rows, StoredRows):
        from context_bench.store.queries import silences

        for system, evaluator, reason, count, has_scored in silences(rows.reader, is_unscored):
            yield Silence(system, evaluator, reason, count, bool(has_scored))
        return
    for row in rows:
        if row.is_extra:
            continue
        for evaluator, reason in row.unscored.items():
            yield Silence(row.system, evaluator, reason, rows=1, has_scored=True)
        for error in row.errors:
            if error.evaluator:
                reason = f"{error.kind}: {error.message}"
                yield Silence(row.system, error.evaluator, reason, rows=1, has_scored=True)
