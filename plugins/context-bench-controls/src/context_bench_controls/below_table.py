"""The advantage below the table of a run; nothing that takes long to import, as it stands below every table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from context_bench.runs import open_run


def section(result: Any) -> str | None:
    """Return what stands below the table of a run with controls: the advantage of each system over random deletion."""
    path = result.config.get("run_file")
    if not path:
        return None
    with open_run(Path(path)) as opened:
        if not any("derived" in entry["description"] for entry in opened.systems):
            return None
        from context_bench_controls.commands import table_of
        from context_bench_controls.measuring import failures_of, held_rows
        from context_bench_controls.summing import lines_of

        lines = lines_of(list(held_rows(opened)))
        failures = failures_of(opened)
    return (
        f"Held against deletion at random\n{table_of(lines, failures=failures)}" if lines else None
    )
