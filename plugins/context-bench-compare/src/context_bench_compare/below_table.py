"""The verdicts below the table of a run; nothing that takes long to import, as it stands below every table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from context_bench.console import wrap_text
from context_bench.runs import Run, open_run

if TYPE_CHECKING:
    from context_bench_compare.columns import Column


def verdicts(result: Any) -> str | None:
    """Return what stands below the table of a complete run of several systems, about the score that the table is about: the
    verdicts against its baseline, and which systems the test does not part."""
    path = result.config.get("run_file")
    if not path or len(result.config.get("systems", ())) < 2:
        return None
    if all(
        values.get("num_scored") == 0 for values in result.summary.values()
    ):  # nothing has a gold answer
        return None
    with open_run(path) as run:
        if not run.completeness.is_complete:
            return None
        found = [*_verdicts(run, result), *_ties(run, result)]
    return "\n".join(wrap_text("", sentence.strip(), 0, 0) for sentence in found) or None


def _verdicts(run: Run, result: Any) -> list[str]:
    if "baseline" not in result.config:
        return []
    from context_bench_compare.columns import PRIMARY, threshold_of
    from context_bench_compare.comparing import compare_runs
    from context_bench_compare.rendering import sentences
    from context_bench_compare.verdicts import Rules

    score = str(result.config.get("score_field") or PRIMARY)
    lines = compare_runs(
        [run], (score,), Rules(threshold=threshold_of(run)), str(result.config["baseline"])
    )
    return [sentence for sentence in sentences(lines) if not sentence.startswith("  ")]


def _ties(run: Run, result: Any) -> list[str]:
    """Return which ranked systems are tied: neighbors by their mean score that the test does not part."""
    ranked = [label for label, values in result.summary.items() if "pareto_rank" in values]
    if len(ranked) < 2:
        return []
    from context_bench_compare.columns import PRIMARY, read_columns
    from context_bench_compare.families import holm

    score = str(result.config.get("score_field") or PRIMARY)
    columns = read_columns(run, [score])
    known = [columns[label, score] for label in ranked if (label, score) in columns]
    if len({column.better for column in known} - {"higher", "lower"}) or len(known) < 2:
        return []
    known.sort(key=lambda column: float(column.values.mean()), reverse=True)
    tests = list(_neighbors(known))
    values = holm([p_value for _, p_value in tests])
    tied = [
        f"{pair} (p = {value:.2g})" for (pair, _), value in zip(tests, values) if value >= _ERROR
    ]
    if not tied:
        return []
    return [f"Tied in {score}, as the test does not part them: {', '.join(tied)}."]


_ERROR = 0.05


def _neighbors(columns: list[Column]) -> Iterator[tuple[str, float]]:
    """Yield each pair of neighboring systems, by name, with the p-value of the test of their difference."""
    from context_bench_compare.differences import difference_test
    from context_bench_compare.matching import paired

    for one, other in pairwise(columns):
        pairs = paired(one, other)
        found = difference_test(
            pairs.ours - pairs.theirs,
            pairs.clusters,
            measured=pairs.measured,
            examples=pairs.examples,
        )
        yield f"{one.system} and {other.system}", found.p_value
