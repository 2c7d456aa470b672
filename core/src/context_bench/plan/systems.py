"""The systems of a run by name: the reader after each transformer, labels, the baseline, and
objects as systems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any

from attrs import evolve

from context_bench.errors import ConfigurationError, UnknownNameError, misfit
from context_bench.plan.specs import SystemSpec, safe_spec, specs_in
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import Component
from context_bench.plugins.manifest import TRANSFORMER
from context_bench.protocols import System
from context_bench.store.encoding import storable


class FunctionSystem:
    """A plain function as a system: it gets the example, and returns an output or the response as
    text."""

    def __init__(self, function: Callable[[dict[str, Any]], Any]) -> None:
        self._function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def process(self, example: dict[str, Any]) -> Mapping[str, Any]:
        """Return what the function returned; a text is a response."""
        return _output(self._function(example))


class AsyncFunctionSystem(FunctionSystem):
    """An ``async def`` function as a system: it is awaited on the event loop."""

    async def aprocess(self, example: dict[str, Any]) -> Mapping[str, Any]:
        """Return what the function returned; a text is a response."""
        return _output(await self._function(example))


def _output(result: Any) -> Mapping[str, Any]:
    return {"response": result} if isinstance(result, str) else result


def with_reader(
    catalog: Catalog, specs: Sequence[SystemSpec], reader: SystemSpec | None
) -> list[SystemSpec]:
    """Return the specs with the reader after each context transformer.

    Raises:
        ConfigurationError: A reader is given, but no system is a transformer.
    """
    read = followed(catalog, specs, reader)
    if reader is not None and read == list(specs):
        raise ConfigurationError(
            f"The reader {reader.text} follows no system: none of the systems is a context "
            "transformer given as a spec. Leave the reader out."
        )
    return read


def followed(
    catalog: Catalog, systems: Sequence[SystemSpec | Any], reader: SystemSpec | None
) -> list[Any]:
    """Return the systems with the reader, where there is one, after each spec of a context
    transformer."""

    def read(spec: SystemSpec | Any) -> Any:
        if reader is None or not isinstance(spec, SystemSpec) or spec.steps:
            return spec
        if catalog.find("systems", spec.name).system.system_kind != TRANSFORMER:
            return spec
        return evolve(spec, steps=(reader,), label=spec.label or safe_spec(catalog, spec).text)

    return [read(spec) for spec in systems]


def labels_of(
    catalog: Catalog, systems: Sequence[SystemSpec | Any], reader: SystemSpec | None = None
) -> list[str]:
    """Return the labels that systems have in a run. A spec without a label has its name, or its
    whole text where two would have one label.

    Args:
        catalog: What is installed.
        systems: Specs and objects.
        reader: What follows each context transformer among the specs.

    Raises:
        ConfigurationError: Two systems have one label.
    """
    named = [
        safe_spec(catalog, system) if isinstance(system, SystemSpec) else as_system(system)
        for system in followed(catalog, systems, reader)
    ]
    labels = [storable(_short_label(system)) for system in named]
    repeated = {label for label in labels if labels.count(label) > 1}
    for number, system in enumerate(named):
        if isinstance(system, SystemSpec) and system.label is None and labels[number] in repeated:
            labels[number] = storable(system.text)
    for label in labels:
        if labels.count(label) > 1:
            raise ConfigurationError(
                f"Two systems are called {label!r}. Give each a separate label: --system a={label} "
                f"--system b={label}."
            )
    return labels


def _short_label(system: SystemSpec | System) -> str:
    return system.plain_label if isinstance(system, SystemSpec) else str(system.name)


def baseline_of(labels: Sequence[str], requested: str | None = None) -> str | None:
    """Return the label of the baseline: the requested one, else ``direct`` or ``baseline``."""
    if requested is not None:
        return requested
    return next((label for label in labels if label in _BASELINES), None)


_BASELINES = ("direct", "baseline")


def require_labels(labels: Sequence[str], baseline: object, reference: object) -> None:
    """Check that the baseline and the reference of a run are labels of its systems.

    Raises:
        UnknownNameError: One of them is none.
    """
    for what, label in {"baseline": baseline, "reference": reference}.items():
        if label is not None and label not in labels:
            raise UnknownNameError(f"system of this run for the {what}", str(label), labels)


def oracles(catalog: Catalog, systems: Iterable[Any]) -> list[str]:
    """Return the names of the systems among specs whose manifests say that they read gold."""
    names = dict.fromkeys(spec.name for system in systems for spec in specs_in(system))
    components = [component for name in names for component in catalog.named("systems", name)]
    return [component.name for component in components if component.system.reads_gold]


def reaches_out(component: Component) -> bool:
    """Return whether a system uses the network or starts a program."""
    return bool({"network", "subprocess"} & set(component.capabilities))


def needs_threads(catalog: Catalog, systems: Sequence[SystemSpec | Any]) -> bool:
    """Whether a system waits for something outside this process, so that several calls at once make
    it faster."""

    def waits(system: SystemSpec | Any) -> bool:
        if isinstance(system, SystemSpec):
            return any(reaches_out(catalog.find("systems", step.name)) for step in specs_in(system))
        return callable(getattr(system, "aprocess", None)) or iscoroutinefunction(
            getattr(system, "process", system)
        )

    return any(map(waits, systems))


def as_transformer(built: Any) -> Any:
    """Return what has ``transform(messages, tools)`` and no ``process`` as a system, and anything
    else as it is."""
    is_transformer = callable(getattr(built, "transform", None)) and not hasattr(built, "process")
    if not is_transformer or isinstance(built, type):
        return built
    from context_bench.messages import MessageTransformer

    return MessageTransformer(built)


def as_system(thing: Any) -> System:
    """Return an object as a system: a system as it is, and a transformer or a function as one.

    Raises:
        ConfigurationError: It is none of these.
    """
    thing = as_transformer(thing)
    if isinstance(thing, System) and not isinstance(thing, type):
        return thing
    if callable(thing) and not isinstance(thing, type):
        if iscoroutinefunction(thing) or iscoroutinefunction(type(thing).__call__):
            return AsyncFunctionSystem(thing)
        return FunctionSystem(thing)
    raise misfit(thing, "system", "it has no name and process(), and is not a function")
