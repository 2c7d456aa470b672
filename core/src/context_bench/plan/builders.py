"""Assembly: specs and objects become slots and streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from inspect import iscoroutinefunction
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from context_bench.errors import (
    ConfigurationError,
    ContextBenchError,
    DatasetError,
    MissingValueError,
    PluginError,
    UnknownNameError,
    UnstorableError,
    did_you_mean,
    message_of,
    misfit,
    reason_of,
)
from context_bench.plan.parameters import (
    DatasetSpec,
    Examples,
    SystemSpec,
    numbered,
    parse_dataset,
    redact_errors,
    safe_spec,
    specs_in,
)
from context_bench.plugins.catalog import Catalog, Component, component_of, edition, of_suffix
from context_bench.plugins.loading import attempted, load, unfit
from context_bench.plugins.options import read_options
from context_bench.plugins.wiring import (
    Choice,
    DatasetFacts,
    DatasetPlan,
    decide_dataset,
    plan_dataset,
)
from context_bench.protocols import BuiltSystem, System, Tokenizer
from context_bench.records import quantity
from context_bench.redaction import Redactor, secret_values, without_secrets
from context_bench.results.pairing import held_against
from context_bench.run.examples import bounded
from context_bench.run.model import (
    COLUMNS,
    EVERYTHING,
    INPUT,
    Chain,
    RunDataset,
    RunSystem,
    close_systems,
    gold_sources,
    max_tokens_of,
    model_of,
    steps_of_system,
)
from context_bench.store.encoding import storable
from context_bench.store.keys import chain_key, system_key, unshared_key
from context_bench.tokens import WordTokenizer

if TYPE_CHECKING:
    from context_bench.plan.run_config import RunConfig
    from context_bench.plan.run_hooks import RunHooks


_CHUNK = 1 << 20
_LONGEST = 200


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
        raise unfit(component, f"{type(system).__name__} has no name or no process()")
    return (
        system
        if not spec.steps
        else Chain([system, *(build_system(catalog, step) for step in spec.steps)])
    )


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
            f"There is a reader ({reader.text}), but no system that it could follow: none is a context transformer that "
            "is named by a spec. Leave the reader out."
        )
    return read


def followed(
    catalog: Catalog, systems: Sequence[SystemSpec | Any], reader: SystemSpec | None
) -> list[Any]:
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
    asked = [
        safe_spec(catalog, one) if isinstance(one, SystemSpec) else _as_system(one)
        for one in systems
    ]
    plain = [
        storable(one.plain_label if isinstance(one, SystemSpec) else str(one.name)) for one in asked
    ]
    labels = [
        storable(one.text)
        if isinstance(one, SystemSpec) and one.label is None and plain.count(label) > 1
        else label
        for one, label in zip(asked, plain, strict=True)
    ]
    for label in labels:
        if labels.count(label) > 1:
            raise ConfigurationError(
                f"Two systems are called {label!r}. Give each a label of its own: --system a={label} --system b={label}."
            )
    return labels


def baseline_of(labels: Sequence[str], named: str | None = None) -> str | None:
    """Return which system the others' prompts are compared with.

    That is the one that the user named, else the one that is called ``direct`` or ``baseline``.
    """
    return (
        named
        if named is not None
        else next((label for label in labels if label in _BASELINES), None)
    )


_BASELINES = ("direct", "baseline")


def system_identity(
    catalog: Catalog, system: Any, run: str, slot: int
) -> tuple[bytes, bool, dict[str, Any]]:
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
    told = component.version_info if component else edition(str(getattr(system, "version", "")))
    description: dict[str, Any] = {"adapter": adapter, **told}
    parameters = fingerprint_of(system, f"system {system.name}")
    if parameters is None:
        return unshared_key(run, slot), False, description
    try:
        key = system_key(adapter, told["version"], parameters)
    except (UnstorableError, RecursionError) as error:
        raise ConfigurationError(f"The fingerprint of system {system.name}: {error}") from error
    return key, True, description | {"fingerprint": dict(parameters)}


def fingerprint_of(thing: Any, who: str) -> Mapping[str, Any] | None:
    """Return what a system or an evaluator says of itself that can change what it gives; None where it says nothing.

    Raises:
        ConfigurationError: That is no mapping, or saying it failed.
    """
    found = getattr(thing, "fingerprint", None)
    if found is None:
        return None
    try:
        found = found() if callable(found) else found
    except (Exception, SystemExit, GeneratorExit) as error:
        raise ConfigurationError(
            f"{who[0].upper()}{who[1:]} cannot be used: {reason_of(error)}"
        ) from error
    if not isinstance(found, Mapping):
        raise ConfigurationError(
            f"The fingerprint of {who} is {type(found).__name__}, not a mapping."
        )
    return found


def system_reads(catalog: Catalog, system: Any) -> tuple[str, ...] | None:
    """Return the fields of an example that a system looks at, or None for all."""
    if isinstance(system, Chain):
        found = [system_reads(catalog, step) for step in system.steps]
        return (
            None
            if None in found
            else tuple(dict.fromkeys(name for reads in found for name in reads or ()))
        )
    if hasattr(system, "reads"):
        return None if system.reads is None else tuple(system.reads)
    component = component_of(catalog, "systems", system)
    return component.manifest.reads if component else None


def system_sees(catalog: Catalog, system: Any) -> str:
    """Return how much of an example a system that was named by a spec is shown; a chain sees what any of its steps does.

    An attribute ``reads_gold`` or ``reads_columns`` of a system says more than its manifest.
    """
    if isinstance(system, Chain):
        seen = [system_sees(catalog, step) for step in system.steps]
        return next((sight for sight in (EVERYTHING, COLUMNS) if sight in seen), INPUT)
    component = component_of(catalog, "systems", system)
    if getattr(system, "reads_gold", bool(component and component.manifest.reads_gold)):
        return EVERYTHING
    return COLUMNS if getattr(system, "reads_columns", False) else INPUT


def oracles(catalog: Catalog, systems: Iterable[Any]) -> list[str]:
    """Return the names of the systems among specs whose manifests say that they read gold."""
    names = dict.fromkeys(spec.name for system in systems for spec in specs_in(system))
    found = [one for name in names for one in catalog.named("systems", name)]
    return [component.name for component in found if component.manifest.reads_gold]


def make_slots(
    catalog: Catalog,
    systems: Sequence[SystemSpec | Any],
    run: str,
    baseline: str | None = None,
    rebuilt: Callable[[Sequence[BuiltSystem]], Sequence[Any]] | None = None,
) -> list[RunSystem]:
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
        raise MissingValueError("system", "Pass --system NAME (see 'context-bench systems list').")
    labels = labels_of(catalog, systems)
    built = [
        build_system(catalog, one) if isinstance(one, SystemSpec) else _as_system(one)
        for one in systems
    ]
    if rebuilt is not None:
        keys = [
            system_identity(catalog, system, run, number)[0] for number, system in enumerate(built)
        ]
        told = [
            BuiltSystem(one, key, _may_ask(catalog, one))
            for one, key in zip(built, keys, strict=True)
        ]
        built = list(rebuilt(told))
    slots = []
    for number, (asked, system, label) in enumerate(zip(systems, built, labels, strict=True)):
        key, shared, identity = system_identity(catalog, system, run, number)
        owned = isinstance(asked, SystemSpec)
        sees = system_sees(catalog, system) if owned else EVERYTHING
        traits = {"baseline": label == baseline, "reads_gold": owned and sees == EVERYTHING}
        description = {
            "label": label,
            **identity,
            **{trait: True for trait, is_so in traits.items() if is_so},
        }
        reads, model, most = system_reads(catalog, system), model_of(system), max_tokens_of(system)
        slots.append(
            RunSystem(
                number, label, system, key, shared, reads, description, owned, model, most, sees
            )
        )
    for number, other in held_against(
        labels, baseline, [slot.description for slot in slots]
    ).items():
        slots[number] = evolve(
            slots[number], description={**slots[number].description, "held_against": other}
        )
    return slots


def derived_slots(
    catalog: Catalog, request: RunConfig, hooks: RunHooks, slots: Sequence[RunSystem]
) -> list[RunSystem]:
    """Return the slots that extensions add to those of a run.

    Raises:
        ContextBenchError: A label is taken, a reader is missing, or the examples are not kept.
    """
    found = hooks.derived_systems({slot.label: slot.system for slot in slots})
    if not found:
        return []
    request.require_examples(f"{found[0][0]} derives rows from the run file")
    from context_bench.run.second_pass import DerivedSystem

    numbers = {slot.label: slot.number for slot in slots}
    made = []
    for number, (extension, one) in enumerate(found, len(slots)):
        if one.is_read and not isinstance(request.reader, SystemSpec):
            raise ConfigurationError(f"{extension} has a reader answer. Name it with --reader.")
        keys, reader, sees = [system_key(extension, "", one.key)], None, INPUT
        described: dict[str, Any] = {}
        if one.is_read and request.reader is not None:
            reader = build_system(catalog, request.reader)
            key, _, described = system_identity(catalog, reader, "", number)
            keys.append(key)
            sees = system_sees(catalog, reader)
        told = {
            "label": one.label,
            "derived": {"by": extension, "from": one.source_label, **one.key},
            **described,
        }
        system, key, source = DerivedSystem(one, reader), chain_key(keys), numbers[one.source_label]
        model, most = model_of(system), max_tokens_of(system)
        made.append(
            RunSystem(
                number, one.label, system, key, False, None, told, True, model, most, sees, source
            )
        )
    return made


def derived_lines(catalog: Catalog, request: RunConfig) -> list[str]:
    """Return a line for each slot that is derived in a run of a request, with the calls that it makes; systems are set up.

    Raises:
        ContextBenchError: Something that the request needs is not there.
    """
    from context_bench.plan.baseline import resolve_baselines
    from context_bench.plan.planner import known_extensions
    from context_bench.plan.run_hooks import RunHooks

    with redact_errors(catalog, request):
        hooks = RunHooks(catalog, known_extensions(catalog, request))
        request = resolve_baselines(catalog, hooks.prepare_systems(request))
        slots = make_slots(catalog, with_reader(catalog, request.systems, request.reader), "")
        size = request.size()
        calls = "a call a row" if size is None else f"{size} calls"
        lines = []
        for slot in derived_slots(catalog, request, hooks, slots):
            asked = "no call" if slot.model is None else f"{calls} to {slot.model}"
            lines.append(f"{slot.label}: derived from {slots[slot.source or 0].label}, {asked}")
        close_systems(slots)
    return lines


def tokenizer_of(catalog: Catalog, name: str) -> Tokenizer:
    """Return the tokenizer that a name means; core's own counts words.

    Raises:
        ContextBenchError: Nothing installed has that name, or it cannot be set up.
    """
    if name == WordTokenizer.name:
        return WordTokenizer()
    component = catalog.find("tokenizers", name)
    tokenizer = component.build({})
    if not isinstance(tokenizer, Tokenizer) or not isinstance(tokenizer.name, str):
        raise unfit(component, f"{type(tokenizer).__name__} has no name or no count()")
    return CheckedTokenizer(tokenizer, f"The tokenizer {component.id}")


class CheckedTokenizer:
    """A tokenizer of a package, whose counts are whole numbers from 0 on; anything else is told with its name."""

    def __init__(self, tokenizer: Tokenizer, who: str) -> None:
        self.name, self._count, self._who = tokenizer.name, tokenizer.count, who

    def count(self, text: str) -> int:
        """Return how many tokens a text has."""
        found = attempted(self._who, self._count, text)
        number = quantity(found)
        if type(number) is not int:
            raise PluginError(
                f"{self._who} failed: count() returned {found!r}, not a whole number from 0 on."
            )
        return number


def _may_ask(catalog: Catalog, system: Any) -> bool:
    """Whether a system may ask a model: it is a plugin's that uses the network or a program, or nobody knows."""
    found = [component_of(catalog, "systems", step) for step in steps_of_system(system)]
    return any(one is None or _reaches_out(one) for one in found)


def _reaches_out(component: Component) -> bool:
    return bool({"network", "subprocess"} & set(component.capabilities))


def needs_threads(catalog: Catalog, systems: Sequence[SystemSpec | Any]) -> bool:
    """Whether a system waits for something outside this process, so that several calls at once make it faster."""

    def waits(asked: SystemSpec | Any) -> bool:
        if isinstance(asked, SystemSpec):
            return any(_reaches_out(catalog.find("systems", step.name)) for step in specs_in(asked))
        return callable(getattr(asked, "aprocess", None)) or iscoroutinefunction(
            getattr(asked, "process", asked)
        )

    return any(map(waits, systems))


def find_dataset(catalog: Catalog, spec: DatasetSpec) -> tuple[Component, DatasetSpec]:
    """Return the component of a dataset, and the spec with the options that a path stands for.

    Raises:
        ContextBenchError: The name is unknown, or no loader reads such a file.
    """
    if catalog.named("datasets", spec.name) or not _looks_like_path(catalog, spec.name):
        return catalog.find("datasets", spec.name), spec
    claims = catalog.suffixes("datasets")
    written = (
        spec.name.lower().rstrip("/" + os.sep) + "/"
        if os.path.isdir(spec.name)
        else spec.name.lower()
    )
    for suffix in sorted(claims, key=len, reverse=True):
        if written.endswith(suffix):
            return of_suffix(catalog, "datasets", suffix), evolve(
                spec, options={"path": spec.name, **spec.options}
            )
    known = f"Known are {', '.join(sorted(claims))}." if claims else _NO_FILES
    raise ConfigurationError(f"No loader reads the file {spec.name!r}. {known}")


_NO_FILES = "No loader for files is installed: `pip install ./core ./plugins/context-bench-local`."


def make_stream(
    catalog: Catalog,
    dataset: DatasetSpec | Examples,
    number: int,
    request: RunConfig,
    taken: Collection[str] = (),
) -> tuple[RunDataset, DatasetFacts | None]:
    """Return the stream of a dataset, and what wiring needs to know of it, where it is no object.

    Raises:
        ContextBenchError: The dataset or an option is unknown, or the loader cannot be loaded, or not in time.
    """
    make: Callable[[], tuple[RunDataset, DatasetFacts | None]]
    if isinstance(dataset, Examples):
        name = f"dataset {dataset.label!r}" if dataset.label else "the dataset"
        make = partial(_of_object, dataset, number, request)
    else:
        name = f"dataset {dataset.name!r}"
        make = partial(_of_spec, catalog, dataset, number, request, taken)
    return bounded(make, request.patience, name)  # type: ignore[no-any-return]


def _of_object(given: Examples, number: int, request: RunConfig) -> tuple[RunDataset, None]:
    examples = given.source if request.limit is None else islice(given.source, request.limit)
    described = {"label": given.label, **_present(revision=revision_of(given.source))}
    return RunDataset(
        number, given.label, examples, "", described, request.selection(), (), request.inputs
    ), None


def _of_spec(
    catalog: Catalog, spec: DatasetSpec, number: int, request: RunConfig, taken: Collection[str]
) -> tuple[RunDataset, DatasetFacts]:
    component, spec = find_dataset(catalog, spec)
    facts, limit, where = component.manifest, request.limit, f"dataset {component.name}"
    known, fixed = describe_dataset(component, spec, taken)
    loader = load(component)
    options = read_options(
        facts.options, spec.options, where, os.environ, more=component.facts is None
    )
    which = _present(config=spec.config, split=spec.split)
    examples = _load(loader, component, _present(limit=limit) | which, options)
    if spec.fields:
        examples = rename_fields(examples, spec.fields, str(spec.options.get("path", where)))
    if limit is not None:
        examples = islice(examples, limit)
    source = source_of(options["path"]) if facts.files and "path" in options else None
    description = {
        "label": known.label,
        "component": component.id,
        **component.version_info,
        "config": spec.config,
        "split": spec.split,
        "options": without_secrets([component], spec.options),
        "fields": dict(spec.fields),
        **_present(revision=revision_of(loader, which | options), source=source),
    }
    gold = (*facts.gold, *gold_sources(spec.fields, facts.gold))
    name, chosen = known.label if fixed else None, request.selection()
    return RunDataset(
        number, name, examples, known.label, description, chosen, facts.inputs, request.inputs, gold
    ), known


def _present(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def describe_dataset(
    component: Component, spec: DatasetSpec, taken: Collection[str]
) -> tuple[DatasetFacts, bool]:
    """Return what wiring needs to know of a dataset, and whether its label holds for all of its rows.

    The label holds, unless the dataset is a file without a name of its own: there each row's ``dataset`` field counts.

    Raises:
        UnknownNameError: The dataset has no such configuration or split.
    """
    facts = component.manifest
    for what, asked, names in (
        ("configuration", spec.config, facts.configs),
        ("split", spec.split, facts.splits),
    ):
        if names and asked is not None and asked not in names:
            raise UnknownNameError(f"{what} of dataset {component.name}", asked, names)
    is_file = "path" in spec.options and bool(facts.files)
    name = component.name
    if is_file:
        name = storable(
            os.path.basename(os.path.normpath(str(spec.options["path"]))).partition(".")[0]
        )
    usual = numbered(name if spec.config is None else f"{name}:{spec.config}", "#")
    label = storable(spec.label) if spec.label else next(one for one in usual if one not in taken)
    names = (label,) if is_file else tuple(dict.fromkeys((label, component.name)))
    own = facts.config_overrides.get(spec.config or facts.default_config or "", {})
    tags, primary = own.get("tags", facts.tags), own.get("primary", facts.primary)
    return DatasetFacts(label, names, tags, primary), spec.label is not None or not is_file


def explained(catalog: Catalog, dataset: str, tags: Iterable[str], choice: Choice) -> DatasetPlan:
    """Return the wiring of a dataset, a file, or any label that rows may carry, whether or not a run could go on.

    Args:
        catalog: What is installed.
        dataset: The dataset.
        tags: Tags beyond its own.
        choice: What the user says about evaluators.

    Raises:
        ContextBenchError: The dataset is no spec, or the choice names what is not installed.
    """
    spec, facts = parse_dataset(dataset), DatasetFacts(dataset, (dataset,))
    warnings, stop = list[str](), list[ContextBenchError]()
    try:
        component, spec = find_dataset(catalog, spec)
        facts, _ = describe_dataset(component, spec, ())
        component.require_ok()
    except PluginError as error:
        stop.append(error)
    except UnknownNameError as error:
        if error.kind != "dataset":
            raise
        hint = did_you_mean(dataset, error.known)
        told = f"Unknown dataset {dataset!r}, so it is taken for a label that rows carry. "
        warnings.append(f"{told}{hint if hint.startswith('Did') else ''}".rstrip())
    facts = evolve(facts, tags=tuple(dict.fromkeys((*facts.tags, *tags))))
    try:
        plan = plan_dataset(catalog, facts, choice)
    except ContextBenchError as error:
        plan = DatasetPlan(facts, tuple(decide_dataset(catalog, facts, choice)), None)
        stop.append(error)
    return evolve(plan, error=str(stop[0]) if stop else None, warnings=(*warnings, *plan.warnings))


def _load(
    loader: Any, component: Component, which: Mapping[str, Any], options: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    hide = Redactor(secret_values([component], options)).of
    try:
        yield from loader(**which, **options)
    except ContextBenchError:
        raise
    except (OSError, ValueError, TypeError) as error:
        raise DatasetError(
            hide(f"Dataset {component.name} cannot be read: {message_of(error)}")
        ) from error


def as_transformer(built: Any) -> Any:
    """Return what has ``transform(messages, tools)`` and no ``process`` as a system, and anything else as it is."""
    is_transformer = callable(getattr(built, "transform", None)) and not hasattr(built, "process")
    if not is_transformer or isinstance(built, type):
        return built
    from context_bench.messages import MessageTransformer

    return MessageTransformer(built)


def _as_system(asked: Any) -> System:
    asked = as_transformer(asked)
    if isinstance(asked, System) and not isinstance(asked, type):
        return asked
    if callable(asked) and not isinstance(asked, type):
        is_async = iscoroutinefunction(asked) or iscoroutinefunction(type(asked).__call__)
        return (AsyncFunctionSystem if is_async else FunctionSystem)(asked)
    raise misfit(asked, "system", "it has no name and process(), and is no function")


def revision_of(thing: Any, arguments: Mapping[str, Any] | None = None) -> str | None:
    """Return the revision that a dataset or its loader tells, or None.

    It is an attribute ``revision`` or ``fingerprint`` (or ``_fingerprint``, as the library ``datasets`` has it): a text, or a
    function that returns one. A loader's function is called with the loader's own arguments.

    Raises:
        DatasetError: The function failed.
    """
    for name in ("revision", "fingerprint", "_fingerprint"):
        found = getattr(thing, name, None)
        if callable(found):
            try:
                found = found(**(arguments or {}))
            except DatasetError:
                raise
            except Exception as error:
                raise DatasetError(
                    f"The {name} of a dataset cannot be told: {reason_of(error)}"
                ) from error
        if isinstance(found, str | int) and not isinstance(found, bool) and str(found):
            return str(found)[:_LONGEST]
    return None


def source_of(path: Any) -> dict[str, Any] | None:
    """Return name, size and SHA-256 of a dataset's file; None when there is no such file, which its loader will tell.

    The name comes without its folders: where a file lies is nobody's business.
    """
    try:
        file = Path(os.path.expanduser(path))
        if not file.is_file():
            return None
        content = sha256()
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                content.update(chunk)
            size = stream.tell()
    except (OSError, TypeError, ValueError):
        return None
    return {"file": file.name, "bytes": size, "sha256": content.hexdigest()}


def _looks_like_path(catalog: Catalog, name: str) -> bool:
    if "/" in name or os.sep in name or os.path.exists(name):
        return True
    return name.lower().endswith(
        (*catalog.suffixes("datasets"), ".jsonl", ".json", ".csv", ".tsv", ".gz")
    )


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
        elif (
            isinstance(value, list | tuple)
            and part.lstrip("-").isdecimal()
            and -len(value) <= int(part) < len(value)
        ):
            value = value[int(part)]
        else:
            return _ABSENT
    return value


def _check(
    example: Mapping[str, Any], fields: Mapping[str, str], found: Mapping[str, Any], name: str
) -> None:
    for target, source in fields.items():
        if found[target] is _ABSENT:
            columns = list(example)
            hint = did_you_mean(source, columns)
            raise DatasetError(
                f"--field {target}={source}: the first row of {name} has no {source!r}. "
                f"{hint + ' ' if hint.startswith('Did') else ''}Its columns are: {', '.join(columns)}."
            )
