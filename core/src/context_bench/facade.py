"""How the facades resolve a name: through the manifests, so that any installed plugin can stand behind it."""

from __future__ import annotations

from typing import Any


def resolve(kind: str, module: str, name: str) -> Any:
    """Return what an installed plugin exports as ``name``.

    Args:
        kind: Kind of component that the facade is for.
        module: Name of the facade, for messages.
        name: Attribute that was asked for.

    Raises:
        ImportError: The name is one of the project's own, and its plugin is not installed or cannot be used. An
            ImportError inside the plugin is the cause of a PluginError and never hidden.
        AttributeError: Nobody exports such a name.
        PluginError: The plugin is there and cannot be loaded.
    """
    if name.startswith("_"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    from context_bench.plugins.catalog import OK, install_line
    from context_bench.plugins.discovery import discover
    from context_bench.plugins.first_party import COMPONENTS
    from context_bench.plugins.loading import load

    ours = dict(COMPONENTS.get(kind, {}).values())
    found = [c for c in discover().of_kind(kind) if c.facts and c.facts.class_name == name]
    usable = [component for component in found if component.state == OK] or found
    if len(usable) > 1 and name in ours:
        usable = [component for component in usable if component.distribution.name == ours[name]] or usable
    if len(usable) > 1:
        ids = ", ".join(component.id for component in usable)
        raise ImportError(f"{name} is exported by {ids}. Import it from the package that you mean.")
    if usable:
        return load(usable[0])
    if name in ours:
        distribution = ours[name]
        raise ImportError(
            f"{name} comes with {distribution}, which is not installed. From a checkout: {install_line(distribution)}",
            name=distribution.replace("-", "_"),
        )
    raise AttributeError(
        f"module {module!r} has no attribute {name!r}: no installed plugin exports it. "
        "`context-bench plugins list` shows what is installed."
    )


def exported_names(kind: str) -> list[str]:
    """Return the names that installed plugins of a kind export."""
    from context_bench.plugins.catalog import OK
    from context_bench.plugins.discovery import discover

    components = discover().of_kind(kind)
    return sorted({c.facts.class_name for c in components if c.state == OK and c.facts and c.facts.class_name})
