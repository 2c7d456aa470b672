"""A validation as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from context_bench.console import escape_control
from context_bench_compare.rendering import aligned
from context_bench_validation.judgements import Judgements
from context_bench_validation.scoring import Scored
from context_bench_validation.statistics import MINIMUM_UNITS, Estimate
from context_bench_validation.validating import Line, Settings, Validation, Worst

EXCERPT = 70
"""Letters of a response that are shown."""


def as_text(
    validation: Validation,
    judgements: Judgements,
    scored: Sequence[Scored],
    file: str,
    settings: Settings,
) -> str:
    """Return a table of the statistics, what its words mean, and the rows of the strongest disagreement."""
    evaluator = scored[0]
    baseline = next((one.name for one in scored if one.name != evaluator.name), None)
    paragraphs = [f"{evaluator.name} ({evaluator.key}) against {file} ({judgements.layout})"]
    paragraphs.append(_table(validation.lines, evaluator.name, baseline))
    paragraphs.append("\n".join(_explanations(validation.lines, settings)))
    if validation.notes:
        paragraphs.append("\n".join(validation.notes))
    if validation.worst:
        shown = [line for worst in validation.worst for line in _excerpts(worst, evaluator.name)]
        paragraphs.append("\n".join(["Strongest disagreement:", *shown]))
    return "\n\n".join(paragraphs)


def _table(lines: Sequence[Line], evaluator: str, baseline: str | None) -> str:
    has_people = any(line.people is not None for line in lines)
    has_guess = any(line.guess is not None for line in lines)
    headings = ["", "rows", "items", evaluator]
    headings += [] if baseline is None else [baseline, "difference"]
    headings += ["people"] if has_people else []
    headings += ["guess"] if has_guess else []
    rows = []
    for line in lines:
        row = [
            f"{line.dimension}: {line.statistic}" if line.dimension else line.statistic,
            str(line.evaluator.rows),
            str(line.evaluator.units),
            _shown(line.evaluator),
        ]
        if baseline is not None:
            row += [_shown(line.baseline), _shown(line.difference, "+")]
        if has_people:
            row.append(_shown(line.people))
        if has_guess:
            row.append("-" if line.guess is None else f"{line.guess:.3f}")
        rows.append(row)
    return aligned(headings, rows)


def _explanations(lines: Sequence[Line], settings: Settings) -> list[str]:
    sentences = [
        f"[low, high]: {settings.confidence:.0%} confidence; rows of one item are never counted as independent."
    ]
    if any(line.evaluator.low is None for line in lines):
        sentences.append(
            f"No interval: fewer than {MINIMUM_UNITS} items, or a statistic that no item changes."
        )
    if any(line.people is not None for line in lines):
        sentences.append("people: how one person agrees with the others.")
    if any(line.guess is not None for line in lines):
        sentences.append("guess: always the most frequent judgement.")
    return sentences


def _excerpts(worst: Worst, evaluator: str) -> list[str]:
    place = f"{worst.dimension}, {worst.label}" if worst.dimension else worst.label
    texts = [f"    {_excerpt(text)}" for text in worst.texts]
    return [
        f"  {escape_control(place, lines=False)}: people {worst.judged}; {evaluator} {worst.scored}",
        *texts,
    ]


def _excerpt(text: str) -> str:
    line = " ".join(escape_control(text, lines=False).split())
    return line if len(line) <= EXCERPT else line[: EXCERPT - 3] + "..."


def _shown(value: Estimate | None, sign: str = "") -> str:
    if value is None or value.value is None:
        return "-"
    text = f"{value.value:{sign}.3f}"
    if value.low is None or value.high is None:
        return text
    return f"{text} [{value.low:{sign}.3f}, {value.high:{sign}.3f}]"


def to_dict(
    validation: Validation, judgements: Judgements, scored: Sequence[Scored], file: str
) -> dict[str, Any]:
    """Return a validation as JSON-like values."""
    return {
        "evaluator": scored[0].name,
        "score": scored[0].key,
        "file": file,
        "layout": judgements.layout,
        "lines": [
            {
                "dimension": line.dimension,
                "statistic": line.statistic,
                "evaluator": _numbers(line.evaluator),
                "baseline": _numbers(line.baseline),
                "difference": _numbers(line.difference),
                "people": _numbers(line.people),
                "guess": line.guess,
            }
            for line in validation.lines
        ],
        "worst": [
            {
                "dimension": worst.dimension,
                "label": worst.label,
                "judged": worst.judged,
                "scored": worst.scored,
                "responses": list(worst.texts),
            }
            for worst in validation.worst
        ],
        "notes": list(validation.notes),
    }


def _numbers(value: Estimate | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {
        "value": value.value,
        "low": value.low,
        "high": value.high,
        "rows": value.rows,
        "items": value.units,
    }
