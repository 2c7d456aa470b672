"""Assembly: specs and objects become slots and streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import iscoroutinefunction
from itertools import islice
from typing import TYPE_CHECKING, Any

from attrs import evolve

from context_bench.bench.entries import safe_spec
from context_bench.bench.identity import component_of, held_against, system_identity, system_reads, system_sees
from context_bench.bench.parameters import DatasetSpec, SystemSpec
from context_bench.bench.provenance import revision_of, source_of
from context_bench.errors import (
    ConfigurationError,
    ContextBenchError,
    DatasetError,
    PluginError,
    UnknownNameError,
    did_you_mean,
)
from context_bench.plugins.catalog import Catalog, Component, of_suffix
from context_bench.plugins.loading import load
from context_bench.plugins.options import read_options
from context_bench.plugins.wiring import DatasetFacts
from context_bench.protocols import BuiltSystem, System, Tokenizer
from context_bench.runner.parts import Slot, Stream
from context_bench.runner.selection import EVERYTHING, bounded, gold_sources
from context_bench.runner.systems import Chain, max_tokens_of, model_of, steps_of_system, with_conversations
from context_bench.secrecy import Secrecy, secret_values, without_secrets
from context_bench.tokens import WordTokenizer

if TYPE_CHECKING:
    from context_bench.bench.requests import Request


class FunctionSystem:
    """A plain function as a system: it gets the example, and returns an output or the response as text."""

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


def _output(found: Any) -> Mapping[str, Any]:
    return {"response": found} if isinstance(found, str) else found


def build_system(catalog: Catalog, spec: SystemSpec) -> System:
    """Return the system of a spec, its steps chained.

    Raises:
        ContextBenchError: A name or option is unknown, or the system cannot be set up.
    """
    component = catalog.find("systems", spec.name)
    system = as_transformer(component.build(spec.options))
    if not isinstance(system, System):
        raise ConfigurationError(
            f"System {component.id} is no system: {type(system).__name__} has no name or no process()."
        )
    if not spec.steps:
        return system
    return Chain([system, *(build_system(catalog, step) for step in spec.steps)])


def with_reader(catalog: Catalog, specs: Sequence[SystemSpec], reader: SystemSpec | None) -> list[SystemSpec]:
    """Return the specs with the reader after each context transformer.

    Raises:
        ConfigurationError: A reader is given, but no system is a transformer.
    """
    read = followed(catalog, specs, reader)
    if reader is not None and read == list(specs):
        raise ConfigurationError(
            f"There is a reader ({reader.text}), but no system that it could follow: none of "
            f"{', '.join(spec.name for spec in specs)} is a context transformer. Leave the reader out."
        )
    return read


def followed(catalog: Catalog, systems: Sequence[SystemSpec | Any], reader: SystemSpec | None) -> list[Any]:
    """Return the systems with the reader, where there is one, after each spec of a context transformer."""

    def read(spec: SystemSpec | Any) -> Any:
        if reader is None or not isinstance(spec, SystemSpec) or spec.steps:
            return spec
        facts = catalog.find("systems", spec.name).facts
        if facts is None or facts.system_kind != "transformer":
            return spec
        return evolve(spec, steps=(reader,), label=spec.label or safe_spec(catalog, spec).text)

    return [read(spec) for spec in systems]


def labels_of(catalog: Catalog, systems: Sequence[SystemSpec | Any]) -> list[str]:
    """Return the labels of systems, made unique where the specs allow it.

    Raises:
        ConfigurationError: Two systems have one label.
    """
    return _labels([safe_spec(catalog, asked) if isinstance(asked, SystemSpec) else asked for asked in systems])


def baseline_of(labels: Sequence[str], named: str | None = None) -> str | None:
    """Return which system the others' prompts are compared with.

    That is the one that the user named, else the one that is called ``direct`` or ``baseline``.
    """
    return named if named is not None else next((label for label in labels if label in _BASELINES), None)


_BASELINES = ("direct", "baseline")


def make_slots(
    catalog: Catalog,
    systems: Sequence[SystemSpec | Any],
    run: str,
    baseline: str | None = None,
    rebuilt: Callable[[Sequence[BuiltSystem]], Sequence[Any]] | None = None,
) -> list[Slot]:
    """Return a slot for each system; labels are made unique where the specs allow it.

    Args:
        catalog: What is installed.
        systems: The systems as they were asked for.
        run: Id of the run.
        baseline: Label of the system that the others are held against.
        rebuilt: Returns what is asked in place of the systems; None leaves them as they are.

    Raises:
        ConfigurationError: There is no system, two have one label, or one has neither ``process`` nor can be called.
    """
    if not systems:
        raise ConfigurationError("There is no system to measure. Name one with --system.")
    slots = []
    labels = labels_of(catalog, systems)
    built = [build_system(catalog, one) if isinstance(one, SystemSpec) else _as_system(one) for one in systems]
    if rebuilt is not None:
        keys = [system_identity(catalog, system, run, number)[0] for number, system in enumerate(built)]
        told = [BuiltSystem(one, key, _may_ask(catalog, one)) for one, key in zip(built, keys, strict=True)]
        built = list(rebuilt(told))
    for number, (asked, system, label) in enumerate(zip(systems, built, labels, strict=True)):
        key, shared, description = system_identity(catalog, system, run, number)
        reads = system_reads(catalog, system)
        if label == baseline:
            description["baseline"] = True
        model = model_of(system)
        made = with_conversations(system)
        description = {"label": label, **description}
        owned = isinstance(asked, SystemSpec)
        sees = system_sees(catalog, system) if owned else EVERYTHING
        if owned and sees == EVERYTHING:
            description["reads_gold"] = True
        most = max_tokens_of(system)
        slots.append(Slot(number, label, made, key, shared, reads, description, owned, model, most, sees))
    pairs = held_against(labels, baseline, [slot.description for slot in slots])
    return [
        evolve(slot, description={**slot.description, "held_against": pairs[slot.number]})
        if slot.number in pairs
        else slot
        for slot in slots
    ]


def tokenizer_of(catalog: Catalog, name: str) -> Tokenizer:
    """Return the tokenizer that a name means; core's own counts words.

    Raises:
        ContextBenchError: Nothing installed has that name, or it cannot be set up.
    """
    if name == WordTokenizer.name:
        return WordTokenizer()
    component = catalog.find("tokenizers", name)
    tokenizer = component.build({})
    if not isinstance(tokenizer, Tokenizer):
        raise PluginError(f"Tokenizer {component.id} is no tokenizer: it has no name or no count().")
    return tokenizer


def _may_ask(catalog: Catalog, system: Any) -> bool:
    """Whether a system may ask a model: it is a plugin's that uses the network or a program, or nobody knows."""
    found = [component_of(catalog, "systems", step) for step in steps_of_system(system)]
    return any(one is None or bool({"network", "subprocess"} & set(one.capabilities)) for one in found)


def needs_threads(catalog: Catalog, systems: Sequence[SystemSpec | Any]) -> bool:
    """Whether a system waits for something outside this process, so that several calls at once make it faster."""
    for spec in systems:
        if isinstance(spec, SystemSpec):
            for step in (spec, *spec.steps):
                if {"network", "subprocess"} & set(catalog.find("systems", step.name).capabilities):
                    return True
        elif callable(getattr(spec, "aprocess", None)) or iscoroutinefunction(getattr(spec, "process", spec)):
            return True
    return False


def find_dataset(catalog: Catalog, spec: DatasetSpec) -> tuple[Component, DatasetSpec]:
    """Return the component of a dataset, and the spec with the options that a path stands for.

    Raises:
        ContextBenchError: The name is unknown, or no loader reads such a file.
    """
    if catalog.named("datasets", spec.name) or not _looks_like_path(catalog, spec.name):
        return catalog.find("datasets", spec.name), spec
    claims = catalog.suffixes("datasets")
    written = spec.name.lower().rstrip("/" + os.sep) + "/" if os.path.isdir(spec.name) else spec.name.lower()
    for suffix in sorted(claims, key=len, reverse=True):
        if written.endswith(suffix):
            return of_suffix(catalog, "datasets", suffix), evolve(spec, options={"path": spec.name, **spec.options})
    suffixes = (
        f"Known are {', '.join(sorted(claims))}."
        if claims
        else ("No loader for files is installed: `pip install ./core ./plugins/context-bench-local`.")
    )
    raise ConfigurationError(f"No loader reads the file {spec.name!r}. {suffixes}")


def make_stream(
    catalog: Catalog, spec: DatasetSpec, number: int, request: Request, taken: Iterable[str] = ()
) -> tuple[Stream, DatasetFacts]:
    """Return the stream of a dataset spec, and what wiring needs to know of it.

    Raises:
        ContextBenchError: The dataset or an option is unknown, or the loader cannot be loaded, or not in time.
    """
    make = partial(_stream, catalog, spec, number, request, taken)
    found: tuple[Stream, DatasetFacts] = bounded(make, request.patience, f"dataset {spec.name!r}")
    return found


def _stream(
    catalog: Catalog, spec: DatasetSpec, number: int, request: Request, taken: Iterable[str]
) -> tuple[Stream, DatasetFacts]:
    component, spec = find_dataset(catalog, spec)
    facts, limit, where = component.said, request.limit, f"dataset {component.name}"
    known, fixed = describe_dataset(component, spec, taken)
    loader = load(component)
    options = read_options(facts.options, spec.options, where, os.environ, more=component.facts is None)
    examples = _load(loader, component, limit, spec, options)
    if spec.fields:
        examples = rename_fields(examples, spec.fields, str(spec.options.get("path", where)))
    if limit is not None:
        examples = islice(examples, limit)
    label = known.label
    description = {
        "label": label,
        "component": component.id,
        **component.edition,
        "config": spec.config,
        "split": spec.split,
        "options": without_secrets([component], spec.options),
        "fields": dict(spec.fields),
        **_origin(component, spec, loader, options),
    }
    gold = (*facts.gold, *gold_sources(spec.fields, facts.gold))
    name, chosen = label if fixed else None, request.selection()
    return Stream(number, name, examples, label, description, chosen, facts.inputs, gold=gold), known


def describe_examples(label: str | None, examples: Any) -> dict[str, Any]:
    """Return what is recorded about examples that were given as an object."""
    revision = revision_of(examples)
    return {"label": label} if revision is None else {"label": label, "revision": revision}


def _origin(component: Component, spec: DatasetSpec, loader: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the revision that a loader tells, and the hash of the file that it reads."""
    wanted = {"config": spec.config, "split": spec.split}
    arguments = {**{name: value for name, value in wanted.items() if value is not None}, **options}
    found: dict[str, Any] = {}
    revision = revision_of(loader, arguments)
    if revision is not None:
        found["revision"] = revision
    if component.facts and component.facts.files and "path" in options:
        source = source_of(options["path"])
        if source is not None:
            found["source"] = source
    return found


def describe_dataset(component: Component, spec: DatasetSpec, taken: Iterable[str]) -> tuple[DatasetFacts, bool]:
    """Return what wiring needs to know of a dataset, and whether its label holds for all of its rows.

    The label holds, unless the dataset is a file without a name of its own: there each row's ``dataset`` field counts.

    Raises:
        UnknownNameError: The dataset has no such configuration or split.
    """
    facts = component.facts
    where = f"dataset {component.name}"
    if facts and facts.configs and spec.config is not None and spec.config not in facts.configs:
        raise UnknownNameError(f"configuration of {where}", spec.config, facts.configs)
    if facts and facts.splits and spec.split is not None and spec.split not in facts.splits:
        raise UnknownNameError(f"split of {where}", spec.split, facts.splits)
    from_file = "path" in spec.options and bool(facts and facts.files)
    name = (
        os.path.basename(os.path.normpath(str(spec.options["path"]))).partition(".")[0] if from_file else component.name
    )
    label = spec.label or _unique(name if spec.config is None else f"{name}:{spec.config}", taken)
    names = (label,) if from_file else tuple(dict.fromkeys((label, component.name)))
    tags, primary = (facts.tags, facts.primary) if facts else ((), None)
    if facts:
        own = facts.by_config.get(spec.config or facts.default_config or "", {})
        tags, primary = own.get("tags", tags), own.get("primary", primary)
    known = DatasetFacts(label, names, tags, primary, component)
    return known, spec.label is not None or not from_file


def _load(
    loader: Any, component: Component, limit: int | None, spec: DatasetSpec, options: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    wanted = {"limit": limit, "config": spec.config, "split": spec.split}
    hide = Secrecy(secret_values([component], options)).of
    try:
        yield from loader(**{name: value for name, value in wanted.items() if value is not None}, **options)
    except ContextBenchError:
        raise
    except (OSError, ValueError, TypeError) as error:
        raise DatasetError(hide(f"Dataset {component.name} cannot be read: {error}")) from error


def as_transformer(built: Any) -> Any:
    """Return what has ``transform(messages, tools)`` and no ``process`` as a system, and anything else as it is."""
    is_transformer = callable(getattr(built, "transform", None)) and not hasattr(built, "process")
    if not is_transformer or isinstance(built, type):
        return built
    from context_bench.messages import MessageTransformer

    return MessageTransformer(built)


def _as_system(asked: Any) -> System:
    asked = as_transformer(asked)
    if isinstance(asked, System):
        return asked
    if callable(asked) and not isinstance(asked, type):
        is_async = iscoroutinefunction(asked) or iscoroutinefunction(type(asked).__call__)
        return (AsyncFunctionSystem if is_async else FunctionSystem)(asked)
    raise ConfigurationError(
        f"{asked!r} is no system: it has no name and process(), and is no function. A class must be called first."
    )


def _labels(systems: Sequence[SystemSpec | Any]) -> list[str]:
    plain = [_plain_label(system) for system in systems]
    labels = [
        system.text if isinstance(system, SystemSpec) and system.label is None and plain.count(label) > 1 else label
        for system, label in zip(systems, plain, strict=True)
    ]
    for label in labels:
        if labels.count(label) > 1:
            raise ConfigurationError(
                f"Two systems are called {label!r}. Give each a label of its own: --system a={label} --system b={label}."
            )
    return labels


def _plain_label(system: SystemSpec | Any) -> str:
    if isinstance(system, SystemSpec):
        return system.label or "+".join([system.name, *(step.name for step in system.steps)])
    return str(_as_system(system).name)


def _unique(label: str, taken: Iterable[str]) -> str:
    taken = set(taken)
    number = 2
    unique = label
    while unique in taken:
        unique = f"{label}#{number}"
        number += 1
    return unique


def _looks_like_path(catalog: Catalog, name: str) -> bool:
    if "/" in name or os.sep in name or os.path.exists(name):
        return True
    return name.lower().endswith((*catalog.suffixes("datasets"), ".jsonl", ".json", ".csv", ".tsv", ".gz"))


_ABSENT = object()


def rename_fields(
    examples: Iterable[Mapping[str, Any]], fields: Mapping[str, str], name: str
) -> Iterator[Mapping[str, Any]]:
    """Yield the examples with fields taken from other places.

    A source is a column, or a dotted path into one (``outputs.0.text``). A column that is taken whole is renamed: it
    does not stay under its old name. A later row without the source has no such field.

    Raises:
        DatasetError: The first row has no such source; the message lists the columns there are.
    """
    for position, example in enumerate(examples):
        if not isinstance(example, Mapping):  # told by the feed, with its position
            yield example  # type: ignore[unreachable]
            continue
        found = {target: _look_up(example, source) for target, source in fields.items()}
        if position == 0:
            _check(example, fields, found, name)
        renamed = {source for source in fields.values() if source in example}
        kept = {column: value for column, value in example.items() if column not in renamed}
        yield {**kept, **{target: value for target, value in found.items() if value is not _ABSENT}}


def _look_up(example: Mapping[str, Any], path: str) -> Any:
    if path in example:
        return example[path]
    value: Any = example
    for part in path.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list | tuple) and part.lstrip("-").isdecimal() and -len(value) <= int(part) < len(value):
            value = value[int(part)]
        else:
            return _ABSENT
    return value


def _check(example: Mapping[str, Any], fields: Mapping[str, str], found: Mapping[str, Any], name: str) -> None:
    for target, source in fields.items():
        if found[target] is _ABSENT:
            columns = list(example)
            hint = did_you_mean(source, columns)
            raise DatasetError(
                f"--field {target}={source}: the first row of {name} has no {source!r}. "
                f"{hint + ' ' if hint.startswith('Did') else ''}Its columns are: {', '.join(columns)}."
            )
