"""Why rows of a run failed, in a line for each kind of failure."""

from __future__ import annotations

from pathlib import Path

from context_bench.runs import open_run


def failure_causes(path: Path, most: int = 3) -> list[str]:
    """Return a line for each kind of failure of a run, the most frequent first: how many, whose, what it said, and where.

    Beyond ``most`` kinds, one more line says how many there are.
    """
    with open_run(path) as run:
        found = run.causes()
    lines = []
    for first, count in found[:most]:
        failure = first.failure
        who = f"evaluator {failure.evaluator}" if failure.evaluator else first.system
        said = " ".join(failure.message.split())
        said = f": {said[:_LONGEST_CAUSE]}{'...' * (len(said) > _LONGEST_CAUSE)}" if said else ""
        rows = "1 row" if count == 1 else f"{count} rows"
        lines.append(f"{who}, {rows}: {failure.kind}{said} (explain row {path} '{first.example_id}')")
    if len(found) > most:
        others = len(found) - most
        lines.append(f"and {others} other {'kind' if others == 1 else 'kinds'} of failure")
    return lines


_LONGEST_CAUSE = 200
