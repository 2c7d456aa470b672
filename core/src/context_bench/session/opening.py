"""``context_bench.open``: the result of a run, which a run file or a store has."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from context_bench.results.reading import read_result

if TYPE_CHECKING:
    from context_bench.plugins.catalog import Catalog
    from context_bench.results.result import EvalResult
    from context_bench.runs import Run


def open_result(
    path: str | os.PathLike[str] | Run,
    score_field: str | None = None,
    threshold: float | None = None,
    baseline: str | None = None,
    catalog: Catalog | None = None,
    *,
    as_stored: bool = False,
) -> EvalResult:
    """Return the result of a run; nothing is run.

    Args:
        path: The run file, a run that :func:`~context_bench.runs.open_run` has opened, or the
            address of a run in a store, such as ``"postgresql://HOST/DATABASE#RUN"``; its local
            copy is brought up to date first.
        score_field, threshold: What the usual metrics look at, and what passes; None takes those of
            the run.
        baseline: Label of the system that the others are compared with; None takes that of the run.
        catalog: What is installed; None looks.
        as_stored: Whether to take the values that the run's metrics had at its end, where it has
            ended, without the means of further scores: no row is read for them. ``total_cost`` in
            the ``config`` is what all rows cost, None where no row knows it.

    Raises:
        StoreError: It is not a run file, or is damaged; or the store has no such run.
        UnknownNameError: No system of the run is called as the baseline is.
        MetricError: The run has no such score.
    """
    if isinstance(path, str) and "://" in path:
        from context_bench.session.store_addresses import local_copy

        path = local_copy(path)
    return read_result(path, score_field, threshold, baseline, catalog, as_stored=as_stored)
