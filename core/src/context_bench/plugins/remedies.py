"""Remedies: what a message tells the user to do about a component that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable

from context_bench.errors import PluginError
from context_bench.installation import install_hint, is_own

_NOUNS = {"flags": "option group", "hooks": "extension"}


def singular(kind: str) -> str:
    """Return the word for one component of a kind."""
    return _NOUNS.get(kind, kind.removesuffix("s"))


def contested(kind: str, name: str, ids: Iterable[str]) -> PluginError:
    """Return the error for a short name that several components share."""
    ids = sorted(ids)
    return PluginError(
        f"The {singular(kind)} name {name!r} is contested by {' and '.join(ids)}. Write the whole "
        f"id, switch one off (-p no:{ids[-1]}), or say which one it means, under [plugins.prefer] "
        "in "
        "context-bench.toml: "
        f'{name} = "{ids[0].partition("/")[0]}".'
    )


def reinstallation(distribution: str) -> str:
    """Return what to do about a distribution whose files are damaged."""
    again = f"install it again (`pip install --force-reinstall {distribution}`)"
    if is_own(distribution):
        again = install_hint(distribution, force=True)
    return f"{again}, or uninstall it: `pip uninstall {distribution}`"
