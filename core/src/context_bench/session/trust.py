"""The source of a value, and what a run file of another installation may not do.

Programs, addresses, keys, capabilities, consent and sandboxes are used where the user requests
them: now, by flags, environment or Python; or in a file of the user, such as the project file or a
run file that this installation wrote. A run file of another installation is read, and nothing that
it names is built before the user has seen a list of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from context_bench.errors import ContextBenchError, UntrustedFileError
from context_bench.plan.run_config import RunConfig
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import Component
from context_bench.plugins.remedies import singular
from context_bench.redaction import without_secrets
from context_bench.store.mark import is_own
from context_bench.store.reader import RunReader


class Source(Enum):
    """Where a value comes from."""

    USER = "the user, now"
    OWN_FILE = "a file of the user"
    FOREIGN_FILE = "a file of somebody else"

    @property
    def is_trusted(self) -> bool:
        """Whether its values may start programs, name addresses and capabilities, and give
        consent."""
        return self is not Source.FOREIGN_FILE


def source_of(reader: RunReader, *, is_trusted: bool = False) -> Source:
    """Return the source of the configuration of a run file.

    Args:
        reader: The run file.
        is_trusted: Whether the user trusts the file, which makes the user the source.
    """
    if is_trusted:
        return Source.USER
    return Source.OWN_FILE if is_own(reader) else Source.FOREIGN_FILE


def require_trust(
    command: str, source: Source, path: Path, catalog: Catalog, config: RunConfig
) -> None:
    """Refuse to build the components of a run file of another installation.

    Args:
        command: The command that would build them: ``resume`` or ``rescore``.
        source: The source of the configuration.
        path: The run file.
        catalog: The installed components.
        config: The configuration of the file.

    Raises:
        UntrustedFileError: Another installation wrote the file. The message lists what the command
            would use.
    """
    if not source.is_trusted:
        kinds = ("evaluators", "capabilities") if command == "rescore" else None
        raise UntrustedFileError(path, command, actions_of(catalog, config, kinds))


def actions_of(
    catalog: Catalog, config: RunConfig, kinds: Iterable[str] | None = None
) -> list[str]:
    """Return the programs, addresses and data that a configuration would use, a line each.

    Args:
        catalog: The installed components; nothing is imported.
        config: The configuration.
        kinds: The kinds of components to look at; None looks at all.
    """
    selected = None if kinds is None else set(kinds)
    lines = [
        _line(kind, name, catalog.named(kind, name), options)
        for kind, name, options in config.named_components()
        if selected is None or kind in selected
    ]
    if config.evaluators is None:
        lines.append("every evaluator that is wired to the datasets")
    return list(dict.fromkeys(lines))


def reason_to_leave_out(
    component: Component, options: Mapping[str, Any], source: Source
) -> str | None:
    """Return why an evaluator does not score again for a recomputation; None where it does.

    Args:
        component: The evaluator.
        options: Its options in the run file.
        source: The source of the options.
    """
    remote = [need for need in component.capabilities if need not in _LOCAL]
    if remote:
        return f"it needs {', '.join(remote)}"
    if source.is_trusted:
        return None
    runs_model_code = "executes-model-code" in component.capabilities
    if component.capabilities and not runs_model_code:
        capabilities = ", ".join(component.capabilities)
        return f"it needs {capabilities}, and this installation did not write the run file"
    declared = component.manifest.options
    names = [name.replace("-", "_") for name in options]
    files = [name for name in names if name in declared and declared[name].type in _OF_A_PLACE]
    if files:
        return (
            f"its option {files[0]} names a file, and this installation did not write the run file"
        )
    if runs_model_code and not _isolates(component):
        return "no isolating sandbox works here, and this installation did not write the run file"
    return None


def _isolates(component: Component) -> bool:
    """Whether code of a model is isolated by default."""
    try:
        isolation = getattr(component.build({}), "isolation", None)
        return bool(isolation()) if callable(isolation) else False
    except (ContextBenchError, RuntimeError):
        return False


def without_consent(
    catalog: Catalog, options: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return the options of evaluators without those that can weaken a sandbox or a limit."""
    safe: dict[str, dict[str, Any]] = {}
    for name, values in options.items():
        weakening: set[str] = set()
        for component in catalog.named("evaluators", name):
            declared = component.manifest.options.values()
            weakening.update(option.name for option in declared if option.needs_trust)
        safe[name] = {
            key: value for key, value in values.items() if key.replace("-", "_") not in weakening
        }
    return safe


_LOCAL = ("subprocess", "executes-model-code")
"""Capabilities with which no data leaves this machine, and no data of the user is read."""
_OF_A_PLACE = ("path", "tables", "words")


def _line(kind: str, name: str, components: list[Component], options: Mapping[str, Any]) -> str:
    if kind == "capabilities":
        return f"allow {name}"
    shown = ", ".join(
        f"{key}={value!r}" for key, value in without_secrets(components, options).items()
    )
    facts = [f"with {shown}"] if shown else []
    needed = dict.fromkeys(need for component in components for need in component.capabilities)
    variables = [need.removeprefix("env:") for need in needed if need.startswith("env:")]
    facts += [_WORDS.get(need, f"uses {need}") for need in needed if not need.startswith("env:")]
    variables += [
        option.env
        for component in components
        for option in component.manifest.options.values()
        if option.env and option.name not in options
    ]
    if sent := [variable for variable in dict.fromkeys(variables) if os.environ.get(variable)]:
        facts.append(f"reads the environment variable {', '.join(sent)}")
    if not components:
        # a dataset may be the path of a file, which the loader for its suffix reads
        is_dataset = kind == "datasets"
        facts.append("is a file, or is not installed" if is_dataset else "is not installed")
    label = f"{singular(kind)} {name}"
    return f"{label}: {'; '.join(facts)}" if facts else label


_WORDS = {
    "network": "calls the network",
    "subprocess": "starts programs",
    "executes-model-code": "runs code that a model wrote",
    "model-download": "downloads a model",
}
