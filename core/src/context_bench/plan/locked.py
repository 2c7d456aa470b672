"""The extensions and metrics of a run, as far as its lock file names them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from context_bench.plan.extensions import ActiveExtension, active_extensions, describe_extensions
from context_bench.plan.run_config import RunConfig
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import edition_of
from context_bench.plugins.remedies import singular
from context_bench.results.registry import RunMetric, active_metrics, metrics_for


def lock_of(config: RunConfig) -> Path | None:
    """Return the lock file that a run must match; None for a run that is not locked."""
    return None if config.locked is None else Path(config.locked)


def known_extensions(
    catalog: Catalog, request: RunConfig, warn: Callable[[str], None] | None = None
) -> list[ActiveExtension]:
    """Return the active extensions of a request that its lock file names, where it has one; nothing
    is imported.

    Args:
        catalog: What is installed.
        request: The request.
        warn: Receives a line for each extension that is left out because it is not locked.

    Raises:
        ContextBenchError: A requested extension cannot be used or is not locked, or a locked
            extension has changed.
    """
    active = active_extensions(catalog, request)
    requested = [extension.component.id for extension in active if extension.is_requested]
    left_out = _unlocked(request, "extensions", describe_extensions(active), requested, warn)
    return [extension for extension in active if extension.component.id not in left_out]


def known_metrics(
    catalog: Catalog, request: RunConfig, warn: Callable[[str], None] | None = None
) -> tuple[RunConfig, dict[str, dict[str, Any]]]:
    """Return a request without the metrics that its lock does not name, and what is recorded of the
    others of packages.

    Raises:
        ContextBenchError: A metric is unknown; or it is asked for by name, and not locked.
    """
    active, named = active_metrics(catalog, request.metrics, request.add_metrics, request.exclude)
    editions = {component.id: edition_of(component) for component in active}
    left_out = _unlocked(request, "metrics", editions, named, warn)
    recorded = {name: edition for name, edition in editions.items() if name not in left_out}
    return evolve(request, exclude=(*request.exclude, *left_out)), recorded


def metrics_of(
    catalog: Catalog, request: RunConfig, warn: Callable[[str], None]
) -> list[RunMetric]:
    """Return the metrics of a run, without those that its lock does not name.

    Raises:
        ContextBenchError: One is unknown, cannot be used, is not locked, or has an option that does
            not fit.
    """
    request, _ = known_metrics(catalog, request, warn)
    return metrics_for(
        catalog,
        request.metrics,
        request.add_metrics,
        request.exclude,
        score_field=request.score_field,
        threshold=request.threshold,
    )


def _unlocked(
    request: RunConfig,
    kind: str,
    active: Mapping[str, Mapping[str, Any]],
    named: Collection[str],
    warn: Callable[[str], None] | None,
) -> list[str]:
    """Return the ids of active extensions or metrics that the lock file does not name, and warn of
    each."""
    lock = lock_of(request)
    if lock is None:
        return []
    from context_bench.plugins.lock import unlocked

    left_out = unlocked(lock, kind, active, named)
    for name in left_out:
        if warn is not None:
            warn(
                f"The {singular(kind)} {name} is not in {lock}, so this locked run does not load "
                "it."
            )
    return left_out
