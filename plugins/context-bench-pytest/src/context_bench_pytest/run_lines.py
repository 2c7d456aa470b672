"""The section at the end of a session: what was run, as JSON values that a worker can send, and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from context_bench import EvalResult
from context_bench.console import escape_control

Line = Mapping[str, Any]


def lines_of(result: EvalResult, run_file: Path) -> list[dict[str, Any]]:
    """Return a line for each system of a result: label, name of the score, mean, interval, numbers of rows, run file."""
    score = _score_name(result)
    return [
        {
            "system": system,
            "score": score,
            "mean": values.get("mean_score"),
            "low": values.get("mean_score_low"),
            "high": values.get("mean_score_high"),
            "rows": values.get("num_rows", 0),
            "failed": values.get("num_failed", 0),
            "unscored": values.get("num_unscored", 0),
            "run_file": str(run_file),
        }
        for system, values in result.summary.items()
    ]


def line_of_error(error: Exception, run_file: Path) -> dict[str, Any]:
    """Return the line of a benchmark that did not return a result."""
    return {"error": f"{type(error).__name__}: {error}", "run_file": str(run_file)}


def _score_name(result: EvalResult) -> str:
    """Return the key of the score that `mean_score` is the mean of; `score` where datasets have different ones."""
    chosen = str(result.config.get("score_field", "score"))
    if chosen != "score":
        return chosen
    primaries = {plan.get("primary") for plan in result.config.get("wiring", {}).values()}
    only = primaries.pop() if len(primaries) == 1 else None
    return only if isinstance(only, str) else chosen


def text_lines(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the lines of the section: one for each system, grouped by test."""
    previous = ""
    for line in lines:
        test = line["test"] or "no test"
        heading = f"{test} [{line['worker']}]" if line["worker"] else test
        if heading != previous:
            previous = heading
            yield escape_control(heading, lines=False)
        yield escape_control(f"  {_outcome(line)}", lines=False)
        yield escape_control(f"    run file: {line['run_file']}", lines=False)


def _outcome(line: Line) -> str:
    if "error" in line:
        return f"no result: {' '.join(line['error'].split())}"
    parts = [_score_text(line), f"{line['rows']} row{'' if line['rows'] == 1 else 's'}"]
    parts += [f"{line[state]} {state}" for state in ("failed", "unscored") if line[state]]
    return f"{line['system']}: {', '.join(parts)}"


def _score_text(line: Line) -> str:
    if line["mean"] is None:
        return f"no row has a {line['score']}"
    text = f"{line['score']} {line['mean']:.4g}"
    if line["low"] is None:
        return text
    return f"{text} (95 %: {line['low']:.4g} to {line['high']:.4g})"
