"""Loading: one component is imported, and what goes wrong with it becomes a state with a remedy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from threading import Timer
from typing import Any

from context_bench.console import echo_err, stdout_aside
from context_bench.errors import (
    ConfigurationError,
    ContextBenchError,
    PluginError,
    message_of,
)
from context_bench.installation import install_hint
from context_bench.plugins.component import (
    FAILED,
    MISSING_DEPENDENCY,
    OK,
    Component,
    State,
    definition_of,
    with_state,
)
from context_bench.plugins.options import read_options
from context_bench.redaction import Redactor, secrets_in


def load(component: Component) -> Any:
    """Return the object that a component's entry point names.

    Raises:
        PluginError: The component is in no state to be loaded, or loading it failed; the message
            says why and what to do, and the cause is chained.
    """
    loaded, value, cause = try_load(component.require_ok())
    try:
        loaded.require_ok()
    except PluginError as error:
        raise error from cause
    return value


def try_load(component: Component) -> tuple[Component, Any, BaseException | None]:
    """Load a component and return it with the state that loading it leaves it in, its object, and
    what it raised."""
    module_name, _, attribute = component.target.partition(":")
    module_name = module_name.strip()
    attribute = attribute.partition("[")[0].strip()
    try:
        with stdout_aside():
            value: Any = sys.modules.get(module_name) or _imported(component, module_name)
            for name in filter(None, attribute.split(".")):
                value = getattr(value, name)
            value = _bind(value, component)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a plugin may raise anything at import, SystemExit and its like too
        return _stopped(component, module_name, error), None, error
    return component, value, None


def _stopped(component: Component, module: str, error: BaseException) -> Component:
    """Return a component in the state that an error at its import leaves it in."""
    distribution = component.distribution.name
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing and missing.partition(".")[0] != module.partition(".")[0]:
        reason = f"it needs the module {missing!r}, which is not installed"
        remedy = (
            f"reinstall {distribution} with its dependencies, or install what provides {missing!r}"
        )
        return with_state(component, State(MISSING_DEPENDENCY, reason, remedy))
    text = " ".join(message_of(error).split())[:_LONGEST] or "no message"
    reason = f"loading it raised {type(error).__name__}: {text}"
    leave_out = f"leave it out with --exclude {component.name}"
    remedy = f"upgrade {distribution}, uninstall it, or {leave_out}"
    return with_state(component, State(FAILED, reason, remedy))


def _imported(component: Component, module: str) -> Any:
    """Import a module; one that takes long is named meanwhile."""
    text = f"Importing {component.id} (module {module}) takes more than {_LONG:g} s."
    watch = Timer(_LONG, echo_err, [text])
    watch.daemon = True
    watch.start()
    try:
        return import_module(module)
    finally:
        watch.cancel()


_LONG = 5.0
_LONGEST = 1000


def _bind(loader: Any, component: Component) -> Any:
    """Return what loads a component: the loader itself, or what it makes of the component's card.

    Raises:
        TypeError: The loader reads no cards.
    """
    definition = definition_of(component)
    if definition is None:
        return loader
    make = getattr(loader, "from_definition", None)
    if make is None:
        raise TypeError(
            f"{component.target} reads no definitions: it has no from_definition(name, definition)"
        )
    return make(component.name, component.dataset.described())


def build(
    component: Component, options: Mapping[str, Any], environ: Mapping[str, str] | None = None
) -> Any:
    """Return a configured instance of a component (for a dataset: see
    :mod:`context_bench.datasets`).

    Args:
        component: What to load.
        options: Values by option name, as text or typed.
        environ: Where options that name an environment variable find it.

    Raises:
        PluginError: It cannot be loaded, or its constructor failed.
        ConfigurationError: An option is unknown or has a value that does not fit.
    """
    factory = load(component)
    where = f"{component.noun} {component.name}"
    declared = component.manifest.options
    accepts_any = component.manifest.extra_options or not component.is_described
    arguments = read_options(declared, options, where, environ, accepts_any=accepts_any)
    if not callable(factory):
        if arguments:
            raise ConfigurationError(
                f"{where} takes no options: its entry point names an object, not a class."
            )
        return factory
    secrets: list[str] = []
    for name, option in declared.items():
        if option.secret:
            secrets += secrets_in(arguments.get(name))
    redactor = Redactor(secrets)
    try:
        return factory(**arguments)
    except ContextBenchError:
        raise
    except (TypeError, ValueError, OSError) as error:
        text = f"{where} cannot be set up: {message_of(error)}"
        raise ConfigurationError(redactor.of(text)) from error
    except (Exception, SystemExit, GeneratorExit) as error:
        kind = type(error).__name__
        text = f"{where} ({component.id}) cannot be set up: {kind}: {message_of(error)}"
        raise PluginError(redactor.of(text)) from error


def unfit(component: Component, lacks: str, promised: str = "") -> PluginError:
    """Return the error for what a component made that is not what its kind promises."""
    return PluginError(
        f"The {component.noun} {component.id} is no {promised or component.noun}: {lacks}. "
        f"Tell the authors of {component.distribution.name}, or leave it out."
    )


def attempted(
    owner: str, function: Callable[..., Any], *arguments: object, **options: object
) -> Any:
    """Return what a function of a package returns.

    Raises:
        PluginError: It raised something that no one raises on purpose; the message says whose
            function it is.
    """
    try:
        return function(*arguments, **options)
    except ContextBenchError:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        raise PluginError(f"{owner} failed: {type(error).__name__}: {message_of(error)}") from error


def facade(
    kind: str, module: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a module that exports what installed plugins of a
    kind do, by its namespace."""

    def find(name: str) -> Any:
        value = resolve(kind, module["__name__"], name)
        module[name] = value
        return value

    def names() -> list[str]:
        from context_bench.plugins.discovery import discover

        usable = {
            component.manifest.class_name
            for component in discover().of_kind(kind)
            if component.state == OK
        }
        return sorted(filter(None, usable))

    return find, names


def resolve(kind: str, module: str, name: str) -> Any:
    """Return what an installed plugin exports as ``name``.

    Args:
        kind: Kind of component that the facade is for.
        module: Name of the facade, for messages.
        name: Attribute that was asked for.

    Raises:
        ImportError: The name is one of the project's own, and its plugin is not installed or cannot
            be used. An ImportError inside the plugin is the cause of a PluginError and never
            hidden.
        AttributeError: Nobody exports such a name.
        PluginError: The plugin is there and cannot be loaded.
    """
    if name.startswith("_"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    from context_bench.plugins.discovery import discover
    from context_bench.plugins.first_party import COMPONENTS

    components = [
        component for component in discover().of_kind(kind) if component.manifest.class_name == name
    ]
    candidates = [component for component in components if component.state == OK] or components
    distribution = dict(COMPONENTS.get(kind, {}).values()).get(name)
    if len(candidates) > 1:
        first_party = [
            component for component in candidates if component.distribution.name == distribution
        ]
        candidates = first_party or candidates
    if len(candidates) > 1:
        ids = ", ".join(component.id for component in candidates)
        raise ImportError(f"{name} is exported by {ids}. Import it from the package that you mean.")
    if candidates:
        return load(candidates[0])
    if distribution is not None:
        raise not_installed(name, distribution)
    raise AttributeError(
        f"module {module!r} has no attribute {name!r}: no installed plugin exports it. "
        "`context-bench plugins list` shows what is installed."
    )


def not_installed(name: str, distribution: str) -> ImportError:
    """Return the error for what a package of the project's own exports that is not installed."""
    return ImportError(
        f"{name} comes with {distribution}, which is not installed: {install_hint(distribution)}",
        name=distribution.replace("-", "_"),
    )
