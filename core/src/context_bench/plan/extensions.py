"""Extensions: which of them are active in a run, with which options.

An extension is active when it is named, when one of its options is given, or by default as its
manifest declares. It appears in the plan, the lock file and the run file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from attrs import evolve, frozen

from context_bench.errors import ConfigurationError, PluginError, message_of
from context_bench.installation import install_hint
from context_bench.plan.run_config import RunConfig
from context_bench.plan.specs import DatasetSpec, specs_in
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import OK, Component, edition_of
from context_bench.plugins.first_party import COMPONENTS
from context_bench.plugins.hooks import WATCHING, Hooks
from context_bench.plugins.manifest import CONVERSATION, ENDPOINT, INSTALLED, REFERENCE
from context_bench.plugins.options import read_option
from context_bench.redaction import without_secrets
from context_bench.run.systems import endpoint_of


@frozen
class ActiveExtension:
    """An extension that takes part in a run.

    Attributes:
        component: The extension.
        options: Its options, as they were given.
        is_requested: Whether the user named it or gave one of its options.
    """

    component: Component
    options: Mapping[str, Any]
    is_requested: bool

    @property
    def only_watches(self) -> bool:
        """Whether its manifest declares hooks that watch, and no others."""
        implements = self.component.extension.implements
        return bool(implements) and WATCHING.issuperset(implements)

    @property
    def may_adjust_wiring(self) -> bool:
        """Whether it can change a plan, as its manifest tells; an extension without a manifest
        may."""
        implements = self.component.extension.implements
        return not implements or "adjust_wiring" in implements

    def describe(self) -> dict[str, Any]:
        """Return what the plan, the lock file and the run file hold of it."""
        return {
            **edition_of(self.component),
            "implements": list(self.component.extension.implements),
            "capabilities": list(self.component.capabilities),
            "options": without_secrets([self.component], self.options),
        }


def active_extensions(
    catalog: Catalog, request: RunConfig, conditions: Sequence[str] = ()
) -> list[ActiveExtension]:
    """Return the active extensions of a request in the order of their calls; nothing is imported.

    Args:
        catalog: What is installed.
        request: The request.
        conditions: Conditions that the run meets beyond those that the request itself shows.

    Raises:
        ContextBenchError: A name is unknown, an extension cannot be used, or one that the request
            needs is not installed.
    """
    requested = _requested(catalog, request)
    met = [*_conditions(catalog, request), *conditions]
    by_default = default_extensions(catalog, met, requested)
    active = [*requested, *by_default]
    if request.reference is not None and not any(
        "answer_source" in extension.component.extension.implements for extension in active
    ):
        require_extension(catalog, REFERENCE, "--reference-from", "context-bench-agreement")
    return active


def describe_extensions(extensions: Iterable[ActiveExtension]) -> dict[str, dict[str, Any]]:
    """Return what plan, lock file and run file hold of extensions, by their ids."""
    return {extension.component.id: extension.describe() for extension in extensions}


def default_extensions(
    catalog: Catalog, conditions: Iterable[str], requested: Sequence[ActiveExtension] = ()
) -> list[ActiveExtension]:
    """Return the usable extensions that are active by default.

    Those of the project come first, and an extension is left out when others provide all that it
    decides: installing a package replaces nothing.

    Args:
        catalog: What is installed.
        conditions: The conditions that the run meets.
        requested: The extensions that the user requested.
    """
    ids = {extension.component.id for extension in requested}
    provided = {
        name for extension in requested for name in extension.component.extension.implements
    }
    extensions = []
    for component in _candidates(catalog, conditions):
        decided = set(component.extension.implements) - WATCHING
        if component.state != OK or component.id in ids or (decided and decided <= provided):
            continue
        provided |= decided
        extensions.append(ActiveExtension(component, {}, is_requested=False))
    return extensions


def require_extension(catalog: Catalog, condition: str, need: str, distribution: str) -> NoReturn:
    """Refuse a run that needs an extension.

    Args:
        catalog: What is installed.
        condition: The condition under which the extension is active by default.
        need: What no extension provides, as the subject of a sentence.
        distribution: The package of the project that provides it.

    Raises:
        ContextBenchError: An extension is installed and cannot be used, or none is installed.
    """
    for component in _candidates(catalog, [condition]):
        component.require_ok()
    raise ConfigurationError(
        f"{need} needs an extension that is not installed. Install it: "
        f"{install_hint(distribution)}."
    )


def load_extensions(
    extensions: Iterable[ActiveExtension], warn: Callable[[str], None] | None = None
) -> Hooks:
    """Return the hooks of extensions, each of which is imported and built.

    An extension that nobody requested and that only watches is left out with a warning when it
    cannot be used.

    Args:
        extensions: The extensions in the order of their calls.
        warn: Receives what the user should know, from any thread.

    Raises:
        ContextBenchError: An extension cannot be imported or built, or implements other hooks than
            its manifest declares.
    """
    hooks = Hooks(warn)
    register_extensions(hooks, extensions, warn)
    return hooks


def register_extensions(
    hooks: Hooks,
    extensions: Iterable[ActiveExtension],
    warn: Callable[[str], None] | None = None,
) -> None:
    """Add extensions to the hooks of a run; see :func:`load_extensions`."""
    for extension in reversed(list(extensions)):  # the last one that is registered is called first
        component = extension.component
        try:
            hooks.register(component, component.build(extension.options))
        except PluginError as error:
            if extension.is_requested or not extension.only_watches:
                raise
            if warn is not None:
                reason = " ".join(message_of(error).split()).rstrip(".")
                warn(f"{reason}. Extension '{component.id}' is switched off.")


def names_conversations(catalog: Catalog, request: RunConfig) -> bool:
    """Return whether a request names a dataset whose manifest declares conversations."""
    names = [spec.name for spec in request.datasets if isinstance(spec, DatasetSpec)]
    return any(
        "multi_turn" in component.dataset.fields
        for name in names
        for component in catalog.named("datasets", name)
    )


def with_extension_options(
    catalog: Catalog, request: RunConfig, values: Mapping[str, Any], kind: str = "flag"
) -> RunConfig:
    """Return a request with options of extensions.

    Args:
        catalog: What is installed.
        request: The request.
        values: Values by flag, or by key of the project file.
        kind: ``"flag"`` or ``"key"``: which of them names a value.

    Raises:
        ConfigurationError: A value does not fit the type of its option.
    """
    given = {name: dict(options) for name, options in request.extension_options.items()}
    for component in catalog.of_kind("hooks"):
        for option in component.manifest.options.values():
            name = getattr(option, kind)
            if not name or name not in values or component.called_by_id().state != OK:
                continue
            options = given.setdefault(component.name, {})
            value = values[name]
            if option.type == "tables":
                # Tables are read now, so that the run file holds them. The component merges them.
                where = f"extension {component.name}"
                earlier = options.get(option.name, [])
                value = [
                    table for part in (earlier, value) for table in read_option(option, part, where)
                ]
            options[option.name] = value
    return evolve(request, extension_options=given)


def _requested(catalog: Catalog, request: RunConfig) -> list[ActiveExtension]:
    """Return the extensions that the user named or gave options, in the order of their ids."""
    requested: dict[str, ActiveExtension] = {}
    for name in (*request.extensions, *request.extension_options):
        component = catalog.find("hooks", name).require_ok()
        earlier = requested.get(component.id)
        options = {
            **({} if earlier is None else earlier.options),
            **request.extension_options.get(name, {}),
        }
        requested[component.id] = ActiveExtension(component, options, is_requested=True)
    return [requested[name] for name in sorted(requested)]


def _candidates(catalog: Catalog, conditions: Iterable[str]) -> list[Component]:
    """Return the extensions that their manifests make active under some conditions, those of the
    project first."""
    first_party = {distribution for _, distribution in COMPONENTS.get("hooks", {}).values()}
    conditions = set(conditions)
    components = [
        component.called_by_id()
        for component in catalog.of_kind("hooks")
        if component.extension.active_when in conditions
    ]
    return sorted(
        components,
        key=lambda component: (component.distribution.name not in first_party, component.id),
    )


def _conditions(catalog: Catalog, request: RunConfig) -> list[str]:
    conditions = [INSTALLED]
    if _calls_endpoint(catalog, request):
        conditions.append(ENDPOINT)
    if request.reference is not None:
        conditions.append(REFERENCE)
    if names_conversations(catalog, request):
        conditions.append(CONVERSATION)
    return conditions


def _calls_endpoint(catalog: Catalog, request: RunConfig) -> bool:
    """Return whether a requested system uses the network, or is an object that names its
    endpoint."""
    for system in (*request.systems, request.reader, request.baseline, request.reference):
        components = [
            component
            for spec in specs_in(system)
            for component in catalog.named("systems", spec.name)
        ]
        if any("network" in component.capabilities for component in components):
            return True
        if endpoint_of(system) is not None:
            return True
    return False
