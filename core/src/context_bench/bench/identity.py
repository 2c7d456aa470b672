"""Who a system or evaluator is: its component, its version, and every parameter that can change what it returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from context_bench.errors import ConfigurationError, UnstorableError
from context_bench.plugins.catalog import Catalog, Component, edition
from context_bench.runner.selection import COLUMNS, EVERYTHING, INPUT, sight_of
from context_bench.runner.systems import Chain
from context_bench.store.encoding import digest
from context_bench.store.keys import chain_key, system_key, unshared_key

ASKED = (
    "model", "layout", "system_prompt", "prompt_template", "endpoint", "temperature", "top_p", "top_k", "seed", "stop",
    "max_tokens", "max_completion_tokens", "context_tokens", "thinking_budget", "extra_body",
)  # fmt: skip
"""Options of endpoints that decide what is asked: layout, sampling and limits."""
_NOT_SAMPLING = ("stream", "stream_options", "n", "user")


def component_of(catalog: Catalog, kind: str, thing: object) -> Component | None:
    """Return the component whose manifest exports the class of ``thing``, or None."""
    kind_of = type(getattr(thing, "transformer", thing))
    package = kind_of.__module__.partition(".")[0]
    for component in catalog.of_kind(kind):
        if component.facts and component.facts.class_name == kind_of.__name__:
            module = component.target.partition(":")[0].strip()
            if module.partition(".")[0] == package:
                return component
    return None


def system_identity(catalog: Catalog, system: Any, run: str, slot: int) -> tuple[bytes, bool, dict[str, Any]]:
    """Return a system's key, whether the key is valid in other runs, and what is recorded about it.

    Raises:
        ConfigurationError: Its fingerprint is no mapping of JSON-like values.
    """
    if isinstance(system, Chain):
        parts = [system_identity(catalog, step, run, slot) for step in system.steps]
        key = chain_key([part[0] for part in parts])
        return key, all(part[1] for part in parts), {"steps": [part[2] for part in parts]}
    component = component_of(catalog, "systems", system)
    own = getattr(system, "transformer", system)
    adapter = component.id if component else f"{type(own).__module__}.{type(own).__qualname__}"
    told = component.edition if component else edition(str(getattr(system, "version", "")))
    description: dict[str, Any] = {"adapter": adapter, **told}
    fingerprint = getattr(system, "fingerprint", None)
    if fingerprint is None:
        return unshared_key(run, slot), False, description
    try:
        parameters = fingerprint() if callable(fingerprint) else fingerprint
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"System {system.name} cannot be used: {error}") from error
    if not isinstance(parameters, Mapping):
        raise ConfigurationError(
            f"The fingerprint of system {system.name} is {type(parameters).__name__}, not a mapping."
        )
    try:
        key = system_key(adapter, told["version"], parameters)
    except UnstorableError as error:
        raise ConfigurationError(f"The fingerprint of system {system.name}: {error}") from error
    return key, True, description | {"fingerprint": dict(parameters)}


def system_reads(catalog: Catalog, system: Any) -> tuple[str, ...] | None:
    """Return the fields of an example that a system looks at, or None for all."""
    if isinstance(system, Chain):
        fields: list[str] = []
        for step in system.steps:
            reads = system_reads(catalog, step)
            if reads is None:
                return None
            fields += [name for name in reads if name not in fields]
        return tuple(fields)
    if hasattr(system, "reads"):
        return None if system.reads is None else tuple(system.reads)
    component = component_of(catalog, "systems", system)
    return component.said.reads if component else None


def system_sees(catalog: Catalog, system: Any) -> str:
    """Return how much of an example a system that was named by a spec is shown; a chain sees what any of its steps does."""
    if isinstance(system, Chain):
        seen = [system_sees(catalog, step) for step in system.steps]
        return next((sight for sight in (EVERYTHING, COLUMNS) if sight in seen), INPUT)
    component = component_of(catalog, "systems", system)
    return sight_of(system, bool(component and component.said.reads_gold))


def oracles(catalog: Catalog, systems: Iterable[Any]) -> list[str]:
    """Return the names of the systems among specs whose manifests say that they read gold."""
    specs = [step for spec in systems for step in (spec, *getattr(spec, "steps", ()))]
    names = [spec.name for spec in specs if isinstance(getattr(spec, "name", None), str)]
    found = [component for name in dict.fromkeys(names) for component in catalog.named("systems", name)]
    return [component.name for component in found if component.said.reads_gold]


def held_against(
    labels: Sequence[str], baseline: str | None, descriptions: Sequence[Mapping[str, Any]]
) -> dict[int, int]:
    """Return the slots that are held against another baseline than the first, by slot: that with their own parameters.

    Args:
        labels: Labels of all systems, by slot.
        baseline: Label of the first baseline.
        descriptions: What is recorded of each system.
    """
    others = [slot for slot, label in enumerate(labels) if baseline is not None and label.startswith(f"{baseline}:")]
    found = {slot: slot for slot in others}
    for slot, description in enumerate(descriptions):
        if slot not in found and labels[slot] != baseline and others:
            main = descriptions[labels.index(str(baseline))]
            if unpaired(description, main):
                twins = [other for other in others if not unpaired(description, descriptions[other])]
                found |= {slot: twins[0]} if twins else {}
    return found


def unpaired(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return in what two systems are asked differently - layout, sampling, limits - as far as they say, by parameter."""
    left, right = _asked(one), _asked(other)
    if left is None or right is None:
        return {}
    return {
        name: (left.get(name), right.get(name))
        for name in dict.fromkeys([*left, *right])
        if left.get(name) != right.get(name)
    }


def _asked(description: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the request parameters that a recorded system tells: those of the endpoint, which is a chain's last step."""
    last = description["steps"][-1] if description.get("steps") else description
    told = last.get("fingerprint")
    if not isinstance(told, Mapping) or not {"model", "parameters"} <= told.keys():
        return None
    sampling = told["parameters"] if isinstance(told["parameters"], Mapping) else {}
    asked = {name: told.get(name) for name in ASKED if name in told and name != "endpoint"}
    return asked | {name: value for name, value in sampling.items() if name not in _NOT_SAMPLING}


def evaluator_parameters(evaluator: Any) -> dict[str, Any]:
    """Return every parameter of an evaluator that can change a score.

    Its ``fingerprint()``, else its public attributes. When neither has a written form, a value that never repeats, so
    that its scores are always computed anew.
    """
    fingerprint = getattr(evaluator, "fingerprint", None)
    parameters = fingerprint() if callable(fingerprint) else fingerprint
    if parameters is None:
        parameters = {k: v for k, v in getattr(evaluator, "__dict__", {}).items() if not k.startswith("_")}
    try:
        digest(parameters)
    except UnstorableError:
        return {"unrepeatable": uuid4().hex}
    return dict(parameters)
