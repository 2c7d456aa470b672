"""Remedies: what a message tells the user to do about a component that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable

from context_bench.errors import PluginError

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
    return (
        f"install it again (`pip install --force-reinstall {distribution}`), or uninstall it: "
        f"`pip uninstall {distribution}`"
    )


def install_line(*distributions: str) -> str:
    """Return the command that installs some of the project's own plugins from a checkout."""
    from context_bench.plugins.first_party import NEEDS

    names: dict[str, None] = {}
    for distribution in distributions:
        names.update(dict.fromkeys([*NEEDS.get(distribution, "").split(), distribution]))
    return " ".join(["pip install ./core", *(f"./plugins/{name}" for name in names)])


def install_command(missing: Iterable[str]) -> str:
    """Return the command that installs what is missing, the project's own packages from a
    checkout."""
    from context_bench.plugins.first_party import COMPONENTS, NEEDS

    first_party: set[str] = set()
    for components in COMPONENTS.values():
        first_party.update(component.distribution for component in components.values())
    for needs in NEEDS.values():
        first_party.update(needs.split())
    local = [name for name in missing if name in first_party]
    line = install_line(*local) if local else "pip install"
    return " ".join([line, *(name for name in missing if name not in local)])
