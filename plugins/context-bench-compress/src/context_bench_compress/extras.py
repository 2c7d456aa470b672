"""Libraries that come with an extra: found when a component is set up, with the line that installs them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from context_bench.installation import install_hint


def require(owner: str, extra: str, *distributions: str) -> str:
    """Return the names and versions of the distributions of an extra.

    Raises:
        ImportError: One of them is not installed; the message says how to install it.
    """
    found = []
    for distribution in distributions:
        try:
            found.append(f"{distribution} {version(distribution)}")
        except PackageNotFoundError:
            raise ImportError(
                f"{owner} needs {distribution}, which is not installed: {install_hint('context-bench-compress', extra=extra)}.",
                name=distribution.replace("-", "_"),
            ) from None
    return ", ".join(found)
