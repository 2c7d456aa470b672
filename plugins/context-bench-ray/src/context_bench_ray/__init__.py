"""The executor ``ray``: the rows of a run on a ray cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from context_bench.hookspecs import hookimpl

if TYPE_CHECKING:
    from context_bench.protocols import Executor

__all__ = ["executor"]


@hookimpl
def executor(address: str, cores: int, resources: Mapping[str, float]) -> Executor:
    """Return an executor on a cluster.

    Args:
        address: ``HOST:PORT`` of a cluster's head that this machine is part of, ``auto`` for the
            cluster of this machine, or a number: that many workers on this machine. Empty for as
            many as there are processors.
        cores: How many processors this process may use.
        resources: What the most demanding system of the run needs of each kind.

    Raises:
        ConfigurationError: No cluster answers there, or it has no workers.
    """
    from context_bench_ray.cluster import RayExecutor

    return RayExecutor(address, cores, resources)
