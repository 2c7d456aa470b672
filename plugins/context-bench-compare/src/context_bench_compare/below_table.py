"""The verdicts below the table of a run; nothing that takes long to import, as it stands below every table."""

from __future__ import annotations

from typing import Any

from context_bench.console import wrap_text
from context_bench.runs import open_run


def verdicts(result: Any) -> str | None:
    """Return the verdicts that stand below the table of a run with a baseline, about the score that the table is about."""
    path = result.config.get("run_file")
    if not path or len(result.config.get("systems", ())) < 2 or "baseline" not in result.config:
        return None
    if all(
        values.get("num_scored") == 0 for values in result.summary.values()
    ):  # nothing has a gold answer
        return None
    with open_run(path) as run:
        if not run.completeness.is_complete:
            return None
        from context_bench_compare.columns import PRIMARY, threshold_of
        from context_bench_compare.comparing import compare_runs
        from context_bench_compare.rendering import sentences
        from context_bench_compare.verdicts import Rules

        score = str(result.config.get("score_field") or PRIMARY)
        lines = compare_runs(
            [run], (score,), Rules(threshold=threshold_of(run)), str(result.config["baseline"])
        )
    return "\n".join(
        wrap_text("", sentence.strip(), 0, 0)
        for sentence in sentences(lines)
        if not sentence.startswith("  ")
    )
