"""Systems and datasets as they are asked for: specs, tables of the project file, and objects of ``evaluate()``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from functools import partial
from os import environ
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from context_bench.bench.parameters import (
    AbsentObject,
    DatasetSpec,
    Kind,
    SystemSpec,
    dataset_from_dict,
    parse_dataset,
    parse_system,
    recorded,
    restored_object,
    spec_to_dict,
    system_from_dict,
)
from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.plugins.settings import PROJECT_FILE
from context_bench.secrecy import Secrecy, secret_values, secrets_in, without_secrets

if TYPE_CHECKING:
    from context_bench.bench.requests import Request
    from context_bench.plugins.catalog import Catalog


@frozen(eq=False)
class Examples:
    """Examples that were given as an object.

    Attributes:
        label: Their label; None where each row has its own.
        source: The examples.
    """

    label: str | None
    source: Iterable[Mapping[str, Any]]

    def count(self) -> int | None:
        """Return how many there are, or None when nobody knows before the end."""
        return len(self.source) if isinstance(self.source, Sized) else None


def one_system(is_label: bool = False) -> Kind:
    """Return the kind of one system: a spec, a table, or an object.

    Args:
        is_label: Whether a text may be the label of another system of the run too, and so stays a text.
    """

    def check(value: Any, where: str) -> Any:
        return value if is_label else _parsed(value)

    def read(value: Any, where: str) -> Any:
        if is_label and not isinstance(value, str):
            raise ConfigurationError(f"{where} is {value!r}, but must be a label.")
        return value if is_label else _system(value, _place(where))

    written, python = ("str", "Any") if is_label else ("spec or table", "str | SystemSpec")
    return Kind(written, check, check, read, stored=_keep_system, restored=_system_again, python=python)


def several_systems() -> Kind:
    """Return the kind of the systems of a run."""

    def check(value: Any, where: str) -> Any:
        return tuple(map(_parsed, value if isinstance(value, list | tuple) else [value]))

    return _several(check, parse_system, _system, _keep_system, _system_again)


def several_datasets() -> Kind:
    """Return the kind of the datasets of a run."""

    def check(value: Any, where: str) -> Any:
        if isinstance(value, Mapping):
            return tuple(_given(one, label) for label, one in value.items())
        return tuple(_given(one) for one in ((value,) if isinstance(value, str) else value))

    python = "Sequence[str | DatasetSpec] | Mapping[str, Iterable[Mapping[str, Any]]]"
    return _several(check, parse_dataset, _dataset, _keep_dataset, _dataset_again, python)


def _several(
    check: Callable[[Any, str], Any],
    parse: Callable[[str], Any],
    read: Callable[[Any, str], Any],
    keep: Callable[[Any, Any], Any],
    again: Callable[[Any], Any],
    python: str = "Any",
) -> Kind:
    def read_each(value: Any, where: str) -> Any:
        if not isinstance(value, list):
            raise ConfigurationError(f"{where} must be a list.")
        return tuple(read(entry, f"{_place(where)}[{place}]") for place, entry in enumerate(value))

    return Kind(
        "list",
        check,
        lambda texts, where: tuple(map(parse, texts)),
        read_each,
        stored=lambda value, catalog: [keep(one, catalog) for one in value],
        restored=lambda value: tuple(map(again, value)),
        is_repeated=True,
        python=python,
    )


def evaluator_options(kind: str = "evaluators") -> Kind:
    """Return the kind of options of evaluators, or of another kind of component, by the component's name."""

    def check(value: Any, where: str) -> Any:
        if not isinstance(value, Mapping) or not all(isinstance(given, Mapping) for given in value.values()):
            raise ConfigurationError(f"{where} is {value!r}, but must be a table with a table for each of the {kind}.")
        return {name: dict(given) for name, given in value.items()}

    def keep(value: Any, catalog: Any) -> Any:
        return {name: without_secrets(catalog.named(kind, name), given) for name, given in value.items()}

    return Kind("table", check, stored=keep, python="Mapping[str, Mapping[str, Any]]")


def safe_spec(catalog: Catalog, spec: SystemSpec) -> SystemSpec:
    """Return a system spec, its steps included, without secrets."""
    steps = tuple(safe_spec(catalog, step) for step in spec.steps)
    return evolve(spec, options=without_secrets(catalog.named("systems", spec.name), spec.options), steps=steps)


def secrecy_of(catalog: Catalog, request: Request) -> Secrecy:
    """Return what takes the secrets of a run out of texts.

    Known are the values of options that a manifest calls secret, the environment variables that such options name, and the
    credentials in addresses. What an object keeps to itself is known to nobody else.
    """
    asked = [*request.systems, request.reader]
    given = [("systems", spec.name, spec.options) for one in asked for spec in with_steps(one)]
    given += [("datasets", one.name, one.options) for one in request.datasets if isinstance(one, DatasetSpec)]
    given += [("evaluators", name, options) for name, options in request.options.items()]
    found = [secret for kind, name, options in given for secret in secret_values(catalog.named(kind, name), options)]
    for component in catalog:
        for option in component.said.options.values():
            if option.secret and option.env:
                found += secrets_in(environ.get(option.env))
    return Secrecy(found)


def with_steps(asked: Any) -> Iterator[SystemSpec]:
    """Yield a system spec and all that it feeds; nothing of what is no spec."""
    if isinstance(asked, SystemSpec):
        yield asked
        for step in asked.steps:
            yield from with_steps(step)


def _parsed(system: Any) -> Any:
    return parse_system(system) if isinstance(system, str) else system


def _given(one: Any, label: str | None = None) -> DatasetSpec | Examples | AbsentObject:
    if isinstance(one, Examples | AbsentObject):
        return one
    if isinstance(one, str | DatasetSpec):
        spec = parse_dataset(one) if isinstance(one, str) else one
        return spec if label is None else evolve(spec, label=label)
    return Examples(label, one)


def _keep_system(asked: Any, catalog: Any) -> Any:
    if isinstance(asked, str):
        return asked
    return spec_to_dict(safe_spec(catalog, asked)) if isinstance(asked, SystemSpec) else recorded(asked)


def _keep_dataset(asked: Any, catalog: Any) -> Any:
    if isinstance(asked, DatasetSpec):
        options = without_secrets(catalog.named("datasets", asked.name), asked.options)
        return spec_to_dict(evolve(asked, options=options))
    if not isinstance(asked, Examples):
        return recorded(asked)
    kept = recorded(asked.source)
    kept["object"]["name"] = asked.label or kept["object"]["name"]
    return kept


def _again(spec_of: Callable[[Mapping[str, Any]], Any], found: Any) -> Any:
    again = restored_object(found)
    return spec_of(found) if again is found and isinstance(found, Mapping) else again


_system_again, _dataset_again = partial(_again, system_from_dict), partial(_again, dataset_from_dict)


def _place(where: str) -> str:
    return where.rpartition(" ")[2]


def _system(entry: Any, where: str) -> SystemSpec:
    if isinstance(entry, str):
        return parse_system(entry)
    table = _table(entry, where, ("name", "options"), ("label", "steps"))
    steps = tuple(_system(step, f"{where}.steps[{place}]") for place, step in enumerate(table.get("steps", ())))
    if "spec" in table:
        spec = parse_system(table["spec"])
        return evolve(spec, steps=steps, label=table.get("label", spec.label))
    return SystemSpec(table["name"], dict(table.get("options", {})), table.get("label"), steps)


def _dataset(entry: Any, where: str) -> DatasetSpec:
    if isinstance(entry, str):
        return parse_dataset(entry)
    table = _table(entry, where, ("name", "options", "config", "split"), ("label", "fields"))
    if "spec" in table:
        spec = parse_dataset(table["spec"])
        return evolve(spec, label=table.get("label", spec.label), fields=table.get("fields", {}))
    return dataset_from_dict(table)


def _table(entry: Any, where: str, inside: tuple[str, ...], beside: tuple[str, ...]) -> Mapping[str, Any]:
    """Return a table of the project file: of a spec and what stands beside it, or of what it would hold as well."""
    if not isinstance(entry, Mapping):
        raise ConfigurationError(f"{PROJECT_FILE}: {where} is {entry!r}, but must be a spec or a table.")
    for key in entry:
        if key not in ("spec", *inside, *beside):
            raise UnknownNameError(f"key of {where} in {PROJECT_FILE}", key, ("spec", *inside, *beside))
    if ("spec" in entry) == ("name" in entry):
        raise ConfigurationError(f"{PROJECT_FILE}: {where} needs either name or spec.")
    for key in inside:
        if "spec" in entry and key in entry:
            raise ConfigurationError(f"{PROJECT_FILE}: {where} has a spec, so {key} must stand inside of it.")
    return entry
