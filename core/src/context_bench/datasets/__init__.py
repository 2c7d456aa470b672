"""The installed datasets, by the names of their classes: ``from context_bench.datasets import ...``.

Each name is looked up in the manifests of the installed plugins when it is first used. A name of the project's own whose
plugin is not installed raises an ImportError that says how to install it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from context_bench.datasets._first_party import *  # noqa: F403


def __getattr__(name: str) -> Any:
    from context_bench.plugins.loading import resolve

    value = resolve("datasets", __name__, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from context_bench.plugins.loading import exported_names

    return exported_names("datasets")
