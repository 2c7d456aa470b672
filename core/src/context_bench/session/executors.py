"""Open the executor that the user named: that of core, or that of an extension."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.installation import install_hint
from context_bench.plan.extensions import ActiveExtension
from context_bench.plugins.catalog import Catalog
from context_bench.protocols import Executor
from context_bench.session.hooks import RunHooks

PROCESSES = "processes"
_FIRST_PARTY = {"dask": "context-bench-dask", "ray": "context-bench-ray"}
"""The package that provides an executor."""


@contextmanager
def open_executor(
    catalog: Catalog,
    requested: str,
    resources: Mapping[str, float],
    warn: Callable[[str], None],
) -> Iterator[Executor]:
    """Open an executor, and close it.

    Args:
        catalog: What is installed.
        requested: ``processes``, ``processes:N``, or the name of an extension with the hook
            ``executor``, with an address after a colon.
        resources: The most that a system of the run needs of each kind.
        warn: Receives a line for the user.

    Raises:
        ContextBenchError: There is no such executor, or it cannot be opened.
    """
    name, _, address = requested.partition(":")
    executor: Executor
    if name == PROCESSES:
        from context_bench.run.processes import ProcessExecutor

        executor = ProcessExecutor(address)
    else:
        executor = _of_extension(catalog, name, address, resources)
    link = getattr(executor, "link", None)
    if link:
        warn(f"The executor {name} shows its work at {link}.")
    try:
        yield executor
    finally:
        executor.close()


def _of_extension(
    catalog: Catalog, name: str, address: str, resources: Mapping[str, float]
) -> Executor:
    known = [
        component
        for component in catalog.of_kind("hooks")
        if "executor" in component.extension.implements
    ]
    if not any(component in known for component in catalog.named("hooks", name)):
        if name in _FIRST_PARTY:
            raise ConfigurationError(
                f"--executor {name} needs an extension that is not installed. Install it: "
                f"{install_hint(_FIRST_PARTY[name])}."
            )
        names = ["local", PROCESSES, *(component.name for component in known)]
        raise UnknownNameError("executor", name, names)
    component = catalog.find("hooks", name)
    hooks = RunHooks(catalog, [ActiveExtension(component, {}, is_requested=True)], None)
    return hooks.executor(address, resources)
