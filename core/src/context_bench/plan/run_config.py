"""Requests: a run as it is asked for. Each parameter of a run is declared here, once.

The command line, the project file and ``evaluate()`` build a request, and a run file keeps it. A
request holds no secret once it is kept; an object that ``evaluate()`` was given is kept by its name
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

from attrs import evolve, fields, frozen

from context_bench.errors import ConfigurationError, ExclusiveOptionsError, UnusedOptionError
from context_bench.plan import spec_types, value_types
from context_bench.plan.parameters import PLANNED, Parameter, named, parameter
from context_bench.plan.specs import Examples, SystemSpec, specs_in
from context_bench.plan.value_types import AbsentObject
from context_bench.plugins import values
from context_bench.plugins.catalog import Catalog, without_alias
from context_bench.plugins.component import Component
from context_bench.plugins.wiring import Choice
from context_bench.plugins.wiring_text import Explanation
from context_bench.run.examples import ById, RandomSample, Selection, Shard
from context_bench.store.keys import require_room

ORDERS = ("interleaved", "system")
_NAMES = value_types.names(is_repeated=True)
_resumed = partial(parameter, commands=(*PLANNED, "resume"))
_scored = partial(parameter, commands=(*PLANNED, "rescore"))
_explained = partial(parameter, commands=(*PLANNED, "rescore", "explain"))
_of_runs = partial(parameter, commands=("run", "resume"))
_of_new_runs = partial(parameter, commands=("run",))
_of_a_session = partial(parameter, commands=("run", "resume"), key=None, stored=False)


@frozen(field_transformer=named)
class RunConfig:
    """A run as it is asked for; the declaration of each field says what it means.

    Raises:
        ConfigurationError: A value is none of its parameter's kind, two exclude each other, or
            there are more than a run holds.
    """

    systems: tuple[Any, ...] = parameter(
        spec_types.several_systems(),
        "A system to measure: [label=]name[:key=value,...].",
        *("--system SPEC", "-s"),
        key="systems",
        told=(
            "A system or several: objects with ``name`` and ``process``, functions, or specs such "
            "as "
            '``"bm25:ratio=0.3"``.'
        ),
        keyed=True,
    )
    system_defaults: Mapping[str, Any] = parameter(
        value_types.table(),
        "Options of every system given as a spec that has them and gives none itself.",
        key="systems.defaults",
        stored=False,  # an expanded request has them in its systems, which take secrets out
        keyed=True,
    )
    datasets: tuple[Any, ...] = parameter(
        spec_types.several_datasets(),
        "A dataset: [label=]name[:config][,key=value...], or a file.",
        *("--dataset SPEC", "-d"),
        key="datasets",
        told="Several datasets: specs, or iterables by label.",
        keyed=True,
    )
    fields: Mapping[str, str] = parameter(
        value_types.pairs("TARGET=SOURCE"),
        "Take a field of named datasets from another column (answer=outputs.0).",
        "--field TARGET=SOURCE",
        key=None,
        told="Source of a field by its name, for datasets given as specs: "
        '``{"answer": "outputs.0"}``.',
        keyed=True,
    )
    inputs: tuple[str, ...] = parameter(
        _NAMES,
        "A field of the examples that named systems may see besides the usual ones; gold answers "
        "stay home.",
        "--input NAME",
        keyed=True,
    )
    bare: bool = parameter(
        values.switch(),
        "Leave out worked examples and the instructions about the form of the answer.",
        "--bare",
        keyed=True,
    )
    compress_question: bool = parameter(
        values.switch(),
        "Let context compressors shorten the questions of examples that have no context.",
        "--compress-question",
        keyed=True,
    )
    reader: SystemSpec | None = parameter(
        spec_types.one_system(),
        "System that follows each context transformer.",
        "--reader SPEC",
        key="reader",
        keyed=True,
    )
    baseline: Any = parameter(
        spec_types.label_or_system(),
        "The system that the others are compared with: the label of one of them, or a spec or "
        "address of one more.",
        "--baseline LABEL",
        key="baseline",
    )
    reference: Any = parameter(
        spec_types.label_or_system(),
        "The system whose responses replace a missing gold answer; as the baseline. It is called "
        "twice there.",
        "--reference-from LABEL",
        key="reference-from",
        python="reference_from",
    )
    limit: int | None = parameter(
        values.whole(),
        "At most N examples of each dataset.",
        *("-n N", "--limit", "--max-examples"),
        python="max_examples",
    )
    sample: int | None = parameter(
        values.whole(), "N examples of each dataset at random, instead of the first.", "--sample N"
    )
    seed: int = parameter(
        values.whole(None),
        "Seed of that sample: the same seed selects the same examples.",
        "--seed S",
        default=0,
    )
    ids: tuple[str, ...] = parameter(
        value_types.names(), "Only the examples with these ids.", "--ids A,B"
    )
    shard: Shard | None = parameter(
        value_types.shard(),
        "Only part I of N of the examples, for several machines; `context-bench merge` joins the "
        "run files.",
        "--shard I/N",
        key=None,
        python=None,
        commands=("run",),
    )
    repeat: int = parameter(
        values.whole(), "How often each example is given to each system.", "--repeat K", default=1
    )
    order: str = parameter(
        values.text(*ORDERS, about="order"),
        "interleaved gives each example to all systems in turn, system all examples to one system "
        "first.",
        "--order [interleaved|system]",
        default="interleaved",
    )
    max_workers: int | None = parameter(
        values.whole(),
        "Calls of systems in flight; judges have a bound of their own.",
        "--max-workers N",
        unset="up to 64 for an endpoint, 8 for programs, else 1",
        told=(
            "Calls of systems in flight; async evaluators, as judges are, have a bound of their "
            "own (max_in_flight). None takes up to 64 where a system names an endpoint, 8 when one "
            "waits for a network or a process, else 1."
        ),
    )
    executor: str = _of_a_session(
        values.text(),
        "Where rows are done: local (this process), processes or processes:N, or an executor of a "
        "package, such as dask, with :ADDRESS for a cluster that runs.",
        "--executor NAME[:ADDRESS]",
        default="local",
        python=None,
    )
    row_timeout: float | None = _resumed(
        values.number(),
        "Seconds that one row may take, retries and scoring included.",
        "--row-timeout SECONDS",
    )
    dataset_timeout: float | None = _resumed(
        values.number(),
        "Maximum seconds for a dataset to yield one example; after that the run stops.",
        "--dataset-timeout SECONDS",
    )
    requests_per_minute: float | None = parameter(
        values.number(0.001), "Requests a minute for each endpoint.", "--rpm N", key="run.rpm"
    )
    tokens_per_minute: float | None = parameter(
        values.number(0.001), "Tokens a minute for each endpoint.", "--tpm N", key="run.tpm"
    )
    max_failed: float | None = _of_runs(
        value_types.share(),
        "More failed rows than this share give exit code 12, as soon as they are certain.",
        "--max-failed SHARE",
        unset="1%",
        usual=0.01,
        told='Share of rows that may fail, ``0.01`` or ``"1%"``; the run stops when more must.',
    )
    keep_going: bool = _of_runs(
        values.switch(),
        "Go on where the first ten rows of a system, or later thirty in a row, fail with one "
        "cause; else the run stops there.",
        "--keep-going",
    )
    evaluators: tuple[Any, ...] | None = _explained(
        value_types.names(thing="Evaluator"),
        "Exactly these evaluators, instead of the automatic ones.",
        "--evaluators A,B",
        told=(
            "Exactly these, as objects or names. None wires them from each row's ``dataset`` "
            "field, or from the dataset's name."
        ),
        default=None,
    )
    add_evaluators: tuple[str, ...] = _explained(
        _NAMES, "An evaluator added to the automatic ones.", "--add-evaluator NAME"
    )
    exclude: tuple[str, ...] = _explained(_NAMES, "An evaluator left out.", "--exclude NAME")
    allow: tuple[str, ...] = _explained(
        _NAMES,
        "A capability that auto-wired evaluators may use: network or executes-model-code.",
        "--allow CAPABILITY",
    )
    score_prefixes: Mapping[str, str] = _explained(
        value_types.pairs("NAME=PREFIX"),
        "A prefix for the score keys of an evaluator, by its name.",
        "--score-prefix NAME=PREFIX",
    )
    options: Mapping[str, Mapping[str, Any]] = parameter(
        value_types.evaluator_options(),
        "Options of evaluators, by name.",
        key="evaluators",
        keyed=True,
    )
    extensions: tuple[str, ...] = parameter(
        _NAMES,
        "An extension to use: a package's set of hooks.",
        "--extension NAME",
        commands=(*PLANNED, "explain"),
    )
    extension_options: Mapping[str, Mapping[str, Any]] = parameter(
        value_types.evaluator_options("hooks"), "Options of extensions, by name.", key="extensions"
    )
    metrics: tuple[Any, ...] | None = _scored(
        value_types.names(thing="Metric"),
        "Exactly these metrics, instead of those that are on by default: NAME or "
        "NAME:option=value,...",
        "--metrics A,B",
        default=None,
    )
    add_metrics: tuple[Any, ...] = _scored(
        value_types.names(is_repeated=True, thing="Metric"),
        "A metric added to those that are on by default.",
        "--add-metric NAME",
    )
    score_field: str = _scored(
        values.text(),
        "Score that the usual metrics look at; score is each row's primary score.",
        "--score-field KEY",
        default="score",
    )
    threshold: float = _scored(
        values.number(-inf),
        "Score that passes, for the usual metrics.",
        "--threshold X",
        default=0.7,
    )
    tokenizer: str = parameter(
        values.text(),
        "What counts tokens where an endpoint reports none: words, or an installed tokenizer.",
        "--tokenizer NAME",
        default="words",
    )
    text_fields: tuple[str, ...] | None = parameter(
        value_types.names(),
        "Fields whose tokens count as the prompt, instead of context, question and their like.",
        "--text-fields A,B",
        default=None,
    )
    store_examples: bool = _of_new_runs(
        values.switch(),
        "Whether the run file stores the examples; without them it cannot be rescored.",
        "--store-examples/--no-store-examples",
        unset="it does",
        default=True,
    )
    progress: bool = _of_a_session(
        values.switch(),
        "No progress.",
        *("--quiet", "-q"),
        told="Whether to show progress on standard error.",
        default=True,
    )
    log_format: str = _of_a_session(
        values.text("text", "json", about="log format"),
        "Format of the progress log without a terminal.",
        "--log-format [text|json]",
        default="text",
    )
    run_file: str | None = _of_new_runs(
        values.path(),
        "Where to keep the run.",
        "--run-file FILE",
        unset="runs/TIME-ID-NAME.sqlite",
        key=None,
        stored=False,
        told="Where to keep the run: a file, or the address of a run in a store. A run that is "
        "there already is resumed. None keeps it as long as the result.",
    )
    reuse: tuple[str, ...] = _of_a_session(
        _NAMES,
        "Run file or folder: take responses whose key matches.",
        "--reuse PATH",
        python=None,
        commands=("run",),
    )
    cache_dir: str | None = _of_new_runs(
        values.path(),
        "Folder of run files: responses whose key matches are taken from there, and this run is "
        "added.",
        "--cache-dir FOLDER",
        key=None,
        stored=False,
    )
    locked: str | None = parameter(
        values.path(),
        "Lock file that the wiring must match.",
        "--lock-file FILE",
        key=None,
        python=None,
        commands=(),
    )

    def __attrs_post_init__(self) -> None:
        require_room(len(self.datasets), len(self.systems), self.repeat)
        if self.reference is not None:
            self.require_examples(
                "Rows without an answer are scored from the run file, once the reference has "
                "answered"
            )
        self.selection()

    def require_examples(self, reason: str) -> None:
        """Refuse a run that does not keep its examples.

        Raises:
            ConfigurationError: It does not; the message begins with the reason.
        """
        if not self.store_examples:
            raise ConfigurationError(
                f"{reason}: its examples must be kept (leave --no-store-examples out)."
            )

    def selection(self) -> Selection | None:
        """Return which examples of a dataset are taken, beyond the limit.

        Raises:
            ConfigurationError: More than one of ``limit``, ``sample`` and ``ids`` is given.
        """
        given = [
            flag
            for flag, value in (("-n", self.limit), ("--sample", self.sample), ("--ids", self.ids))
            if value
        ]
        if len(given) > 1:
            raise ExclusiveOptionsError(*given)
        if not self.sample and not self.ids:
            return None
        return RandomSample(self.sample, self.seed) if self.sample else ById(self.ids)

    @property
    def patience(self) -> float | None:
        """The seconds that a dataset may take for one example; None for any."""
        return self.dataset_timeout

    def size(self) -> int | None:
        """Return how many rows each system has at most; None if that is not known before the
        end."""
        limit = self.limit or self.sample or len(self.ids) or None
        rows = 0
        for dataset in self.datasets:
            length = dataset.count() if isinstance(dataset, Examples) else None
            bounds = [bound for bound in (length, limit) if bound is not None]
            if not bounds:
                return None
            examples = min(bounds)
            rows += examples if self.shard is None else self.shard.size(examples)
        return rows * self.repeat

    def to_dict(self, catalog: Catalog) -> dict[str, Any]:
        """Return the request as JSON-like values, secrets taken out, and objects by their names."""
        kinds = {name: one.type for name, one in PARAMETERS.items() if one.stored}
        values = {name: getattr(self, name) for name in kinds}
        return {
            name: None if value is None else kinds[name].stored(value, catalog)
            for name, value in values.items()
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> RunConfig:
        """Return the request that :meth:`to_dict` wrote."""
        kept = {
            name: value for name, value in found.items() if name in PARAMETERS and value is not None
        }
        return cls(**{name: PARAMETERS[name].type.restored(value) for name, value in kept.items()})

    def named_components(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Yield kind, name and options of each component that it names, and as ``capabilities``
        those that it allows."""
        for requested in (*self.systems, self.reader, *self.datasets):
            for spec in specs_in(requested):
                yield spec.group, spec.name, spec.options
        named = [*(self.evaluators or ()), *self.add_evaluators, *self.options]
        for name in dict.fromkeys(one for one in named if isinstance(one, str)):
            yield "evaluators", name, self.options.get(name, {})
        for name, options in self.extension_options.items():
            yield "hooks", name, options
        for name in self.allow:
            yield "capabilities", name, {}

    def options_of(self, evaluator: Component) -> dict[str, Any]:
        """Return the options of an evaluator, given by its short name or its id."""
        return {**self.options.get(evaluator.name, {}), **self.options.get(evaluator.id, {})}

    def choice(self, catalog: Catalog) -> Choice:
        """Return what the request says about evaluators that have names."""
        flags = [
            option.flag.removeprefix("--")
            for component in catalog.of_kind("evaluators")
            for option in component.manifest.options.values()
            if option.flag and option.name in self.options_of(component)
        ]
        exact = None
        if self.evaluators is not None:
            exact = tuple(name for name in self.evaluators if isinstance(name, str))
        return Choice(
            exact=exact,
            also=self.add_evaluators,
            without=frozenset(self.exclude),
            given=frozenset(flags),
            allowed=frozenset(self.allow),
            prefixes=self.score_prefixes,
        )

    def explanation(
        self,
        catalog: Catalog,
        datasets: Sequence[str],
        tags: Sequence[str] = (),
        given: Sequence[str] = (),
    ) -> Explanation:
        """Return which evaluators would score the rows of datasets, and why the others would not;
        none is imported.

        Args:
            catalog: What is installed.
            datasets: Dataset specs, files, or any labels that rows may carry.
            tags: Tags beyond those of the datasets.
            given: Flags that would be given beside the options of evaluators, such as
                ``judge-url``.

        Raises:
            ContextBenchError: A dataset is no spec, or what is asked for by name cannot be used.
        """
        from context_bench.plan.explanation import explain

        return explain(catalog, self, datasets, tags, given)


def without_aliases(catalog: Catalog, config: RunConfig) -> RunConfig:
    """Return a configuration with the names of evaluators instead of their aliases."""

    def name_of(item: Any) -> Any:
        return without_alias(catalog, "evaluators", item) if isinstance(item, str) else item

    changes: dict[str, Any] = {}
    for field in ("evaluators", "add_evaluators", "exclude"):
        names = getattr(config, field)
        changes[field] = None if names is None else tuple(map(name_of, names))
    options: dict[str, Mapping[str, Any]] = {}
    for name, given in config.options.items():
        options[name_of(name)] = {**options.get(name_of(name), {}), **given}
    changes["options"] = options
    prefixes = config.score_prefixes
    changes["score_prefixes"] = {name_of(name): prefix for name, prefix in prefixes.items()}
    return evolve(config, **changes)


def require_sample(request: RunConfig) -> None:
    """Refuse a seed without a sample that it could choose.

    Raises:
        ConfigurationError: There is one.
    """
    if request.seed and not request.sample:
        raise UnusedOptionError(f"--seed {request.seed}", "--sample")


PARAMETERS: Mapping[str, Parameter] = {
    one.name: one.metadata["parameter"] for one in fields(RunConfig)
}
"""What a run can be asked for, by the name of the request's field."""


def absent(request: RunConfig, *parts: str) -> Iterator[tuple[str, AbsentObject]]:
    """Yield the objects that ``evaluate()`` was given and that no file can keep, with what each is.

    Args:
        request: What was asked for.
        parts: Fields to look at; none looks at all.
    """
    for part in parts or PARAMETERS:
        found = getattr(request, part)
        for one in found if isinstance(found, tuple) else (found,):
            if isinstance(one, AbsentObject):
                yield part.removesuffix("s").removeprefix("add_"), one


def called_here(name: str, here: Callable[[Parameter], str | None]) -> str:
    """Return a sentence with what a parameter is called here that is called ``name`` elsewhere;
    empty when there is none.

    Args:
        name: What it was called: its flag without dashes, its argument of ``evaluate()``, or its
            key.
        here: Returns the name of a parameter here; None where it has none.
    """
    wanted = name.replace("-", "_")
    for one in PARAMETERS.values():
        elsewhere = [one.name, one.python, (one.key or "").rpartition(".")[2]]
        elsewhere += [flag.lstrip("-") for flags in one.flags for flag in flags.split("/")]
        if wanted in [each.replace("-", "_") for each in elsewhere if each] and (
            found := here(one)
        ):
            return f"Here it is {found}."
    return ""
