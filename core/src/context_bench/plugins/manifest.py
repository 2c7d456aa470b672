"""Manifests: what a package declares in ``context_bench_plugin.toml``, a frozen class for each kind
of component.

The classes are the format: a field is a key with its type and its default, and
:mod:`context_bench.plugins.manifest_reader` reads a file by them, without importing the package.
``docs/reference/manifest.md`` describes each key.
"""

import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, ClassVar

from attrs import Factory, evolve, frozen

from context_bench.hookspecs import HOOKS
from context_bench.plugins.manifest_reader import (
    Checked,
    Fault,
    Findings,
    Pattern,
    entry,
    keys_of,
    read_table,
    table_name,
)
from context_bench.plugins.options import Option
from context_bench.prompts import CONTEXT_ROLES, GIVEN

SCHEMA = 1
"""The manifest format that this version reads."""

API = (1, 0)
"""The plugin API of this version, as (major, minor)."""

FILE_NAME = "context_bench_plugin.toml"

INSTALLED = "installed"
ENDPOINT = "endpoint"
REFERENCE = "reference"
CONVERSATION = "conversation"
SHORTHAND = "shorthand"
ACTIVE_WHEN = {
    INSTALLED: (),
    ENDPOINT: ("rate_limiter",),
    REFERENCE: ("answer_source",),
    CONVERSATION: ("drive_conversation",),
    SHORTHAND: ("expand_request",),
}
"""When an extension can be active by default, and which hooks it may then implement in addition to
those that watch."""

EXTENSIBLE = ("run", "table", "result", "report")
"""What a command can extend: options of ``run``, sections of the table, methods of a result,
pictures of a report."""

CAPABILITIES = ("network", "subprocess", "executes-model-code", "model-download")
"""What a component can need, in addition to ``env:NAME``."""

TRANSFORMER = "transformer"
"""The kind of a system that changes contexts, and answers nothing."""

ANSWER_FORMS = (
    "short",
    "letter",
    "label",
    "number",
    "expression",
    "code",
    "calls",
    "patch",
    "summary",
    "free",
)
"""In which form a task wants its answer."""

FORMATS = ("score", "percent", "count", "money", "factor", "seconds", "number")
"""How people see a value of a metric."""

ALWAYS = "always"
"""The reason of a rule that chooses an evaluator for every dataset."""

_DIRECTIONS = ("higher", "lower", "neither")
_AGGREGATES = ("mean", "sum", "none")
_COMPONENT_NAME = Pattern(
    r"[a-z][a-z0-9.-]*", "lower-case letters, digits, '-' and '.', and a letter first"
)
_SCORE_KEY = Pattern(r"[^\W\d][\w@]*", "a score key in snake_case")
_ALIAS = Pattern(r"[a-z][a-z0-9._-]*", "lower-case letters, digits, '-', '_' and '.'")
_METRIC_KEY = Pattern(r"[\w:]+\*?|\*", "a key of a metric in snake_case, with '*' only at its end")
_OPTION_NAME = Pattern(r"[a-z_]\w*", "a keyword argument, in snake_case")
_CAPABILITY = Pattern(
    "|".join([*CAPABILITIES, "env:.+"]), f"one of {', '.join(CAPABILITIES)}, env:NAME"
)
_OPTION_FLAG = Pattern(r"[a-z0-9][a-z0-9-]*", "a flag without its dashes, such as judge-url")
_EXTRA = Pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*", "the name of an extra")
_COMMIT = Pattern(r"[0-9a-f]{40}", "a commit: 40 hexadecimal digits")
_API = Pattern(r"[0-9]{1,9}\.[0-9]{1,9}", "'MAJOR.MINOR', such as '1.0'")
_TARGET = Pattern(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*", "'module:name'")


def _read_range(value: object) -> tuple[float | None, float | None]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("expected [lowest, highest]")
    low = _read_bound(value[0])
    high = _read_bound(value[1])
    if low is not None and high is not None and low >= high:
        raise ValueError(f"expected [lowest, highest], got {value}")
    return low, high


def _read_bound(value: object) -> float | None:
    if value in ("inf", "-inf"):
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or value != value:
        raise ValueError(f"expected numbers, 'inf' or '-inf', got {value!r}")
    return float(value) if abs(value) <= sys.float_info.max else None


_RANGE_SCHEMA = {
    "type": "array",
    "items": {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]},
    "minItems": 2,
    "maxItems": 2,
}


# The classes of this module have no == and no repr(): nobody compares or prints them, and attrs
# would compile both for each class at every start.


@frozen(kw_only=True, eq=False, repr=False)
class Score:
    """What a number means: gates, Pareto fronts and failed rows depend on it.

    Attributes:
        range: Lowest and highest value; None where it is unbounded.
        better: ``"higher"``, ``"lower"`` or ``"neither"``.
        aggregate: ``"mean"``, ``"sum"`` or ``"none"``.
    """

    range: tuple[float | None, float | None] = entry(
        (0.0, 1.0), read=_read_range, schema=_RANGE_SCHEMA
    )
    better: str = entry("higher", choices=_DIRECTIONS)
    aggregate: str = entry("mean", choices=_AGGREGATES)

    @property
    def worst(self) -> float | None:
        """The value of a failed row: the bad end of the range, None when that end is open."""
        return {"higher": self.range[0], "lower": self.range[1]}.get(self.better)


@frozen(kw_only=True, eq=False, repr=False)
class SummaryValue:
    """What a value of a metric means, and how people see it.

    Attributes:
        heading: Heading of its column; ``*`` is replaced by what the ``*`` of the key matches.
        format: One of :data:`FORMATS`.
        better: ``"higher"``, ``"lower"`` or ``"neither"``.
        aggregate: How it comes from the rows: ``"mean"``, ``"sum"`` or ``"none"`` of these.
        order: Position of its column: the smallest is first.
        until: Key of the value that ends an interval which this one begins: both are one column.
        detail: Whether the table on a terminal leaves it to files.
    """

    heading: str = entry("", from_name=True)
    format: str = entry("number", choices=FORMATS)
    better: str = entry("neither", choices=_DIRECTIONS)
    aggregate: str = entry("none", choices=_AGGREGATES)
    order: int = entry(500)
    until: str = entry("")
    detail: bool = entry(False)


@frozen(kw_only=True, eq=False, repr=False)
class WireRule(Checked):
    """One rule that chooses an evaluator for rows without a request. Exactly one of the attributes
    is set, or ``option`` and one of ``datasets`` and ``tags``: then both have to match."""

    conditions: ClassVar[Mapping[str, Any]] = {
        "minProperties": 1,
        "maxProperties": 2,
        "not": {
            "anyOf": [
                {"required": ["always", "datasets"]},
                {"required": ["always", "tags"]},
                {"required": ["always", "option"]},
                {"required": ["datasets", "tags"]},
            ]
        },
    }

    always: bool = entry(False)
    datasets: tuple[str, ...] = entry(())
    tags: tuple[str, ...] = entry(())
    option: str | None = entry(None, pattern=_OPTION_FLAG)

    def contradictions(self, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with a rule that is not exactly one condition."""
        rows = [self.always, "datasets" in table, "tags" in table].count(True)
        is_valid = rows == 1 and not (self.always and "option" in table)
        if not is_valid and not (rows == 0 and "option" in table):
            yield (
                "",
                (
                    "a rule has exactly one of always = true, datasets, tags, option; option may "
                    "stand with datasets or tags"
                ),
            )

    def match(
        self, names: tuple[str, ...], tags: tuple[str, ...], flags: frozenset[str]
    ) -> str | None:
        """Return why this rule chooses the evaluator for a dataset, or None when it does not.

        Args:
            names: Names that the dataset answers to.
            tags: Tags of the dataset.
            flags: Flags that the user gave, without their dashes.
        """
        if self.always:
            return ALWAYS
        if self.option is not None and self.option not in flags:
            return None
        reason = self._match_dataset(names, tags)
        if self.option is None:
            return reason
        if not (self.datasets or self.tags):
            return f"option --{self.option}"
        return None if reason is None else f"option --{self.option}, {reason}"

    def _match_dataset(self, names: tuple[str, ...], tags: tuple[str, ...]) -> str | None:
        for name in names:
            if name in self.datasets:
                return f"dataset {name}"
        for tag in tags:
            if tag in self.tags:
                return f"tag {tag}"
        return None

    def __str__(self) -> str:
        if self.always:
            return "every dataset"
        datasets = ", ".join([*self.datasets, *(f"tag {tag}" for tag in self.tags)])
        if self.option is not None:
            return f"{datasets or 'any dataset'} with --{self.option}"
        return datasets


@frozen(kw_only=True, eq=False, repr=False)
class Needs:
    """Fields that an evaluator requires; ``a|b`` means one of them.

    Attributes:
        original: Those of the example.
        processed: Those of the output.
    """

    original: tuple[str, ...] = entry(())
    processed: tuple[str, ...] = entry(())

    @property
    def by_side(self) -> dict[str, tuple[str, ...]]:
        """The required fields by side, without a side that requires none."""
        sides = {"original": self.original, "processed": self.processed}
        return {side: names for side, names in sides.items() if names}


@frozen(kw_only=True, eq=False, repr=False)
class DefinitionPart:
    """What a definition and its overrides for a configuration can set; see
    ``docs/reference/manifest.md``."""

    source: str | None = entry(None)
    revision: str | None = entry(None)
    config: str | None = entry(None)
    split: str | None = entry(None)
    files: str | None = entry(None)
    format: str | None = entry(None)
    group_by: str | None = entry(None)
    parts: tuple[str, ...] | None = entry(None)
    fields: Mapping[str, str] | None = entry(None)
    example: str | None = entry(None, pattern=_TARGET)
    tables: Mapping[str, Mapping[str, str]] | None = entry(None)
    prompt: str | None = entry(None, multiline=True)
    shots_template: str | None = entry(None, multiline=True)
    shots_split: str | None = entry(None)
    shots_same: str | None = entry(None)

    def to_dict(self) -> dict[str, Any]:
        """Return what is set, by key."""
        values: dict[str, Any] = {}
        for name in keys_of(type(self)):
            value = getattr(self, name)
            if name == "config_overrides":
                value = {config: part.to_dict() for config, part in value.items()} or None
            if value is not None:
                values[name] = value
        return values


@frozen(kw_only=True, eq=False, repr=False)
class DatasetDefinition(DefinitionPart):
    """How a loader of another package reads a dataset.

    Attributes:
        loader: The dataset component that reads it.
        config_overrides: What is different about a configuration, by its name.
    """

    loader: str = entry("", required=True)
    config_overrides: Mapping[str, DefinitionPart] = entry(Factory(dict))


@frozen(kw_only=True, eq=False, repr=False)
class Pin:
    """The edition of a configuration that the numbers of a card are measured on.

    Attributes:
        commit: The commit of its repository.
        sizes: Number of its records by split.
        first: Hash of the first records of a split, right answers included, by split.
    """

    commit: str = entry("", required=True, pattern=_COMMIT)
    sizes: Mapping[str, int] = entry(Factory(dict), minimum=0)
    first: Mapping[str, str] = entry(Factory(dict))

    def to_dict(self) -> dict[str, Any]:
        """Return it as the loader receives it."""
        return {"commit": self.commit, "sizes": dict(self.sizes), "first": dict(self.first)}


@frozen(kw_only=True, eq=False, repr=False)
class ConfigOverride:
    """What is different about a configuration of a dataset; None as in the dataset."""

    primary: str | None = entry(None)
    tags: tuple[str, ...] | None = entry(None)
    answer_form: str | None = entry(None, choices=ANSWER_FORMS)
    instruction: str | None = entry(None, multiline=True)
    context_role: str | None = entry(None, choices=CONTEXT_ROLES)
    needs_module: str | None = entry(None)


@frozen(kw_only=True, eq=False, repr=False)
class CheckExample:
    """What ``plugins check --run`` calls a component with.

    Attributes:
        options: Options of the component, by name.
        original: Fields of the example.
        processed: Fields of the output that an evaluator scores.
        config: Configuration of a dataset.
        split: Split of a dataset.
    """

    options: Mapping[str, Any] = entry(Factory(dict))
    original: Mapping[str, Any] = entry(Factory(dict))
    processed: Mapping[str, Any] = entry(Factory(dict))
    config: str | None = entry(None)
    split: str | None = entry(None)


@frozen(kw_only=True, eq=False, repr=False)
class ComponentManifest(Checked):
    """What the manifest of every component can declare.

    Attributes:
        name: Short name.
        summary: One line.
        class_name: Attribute of the top-level package, under which the facades export it too.
        version: The component's own version: raised when what it returns can change.
        deterministic: Whether the same input always gives the same result.
        capabilities: What it needs: some of :data:`CAPABILITIES`, or ``env:NAME``.
        extra: Extra of its distribution with the libraries that it needs; None when the
            distribution requires them.
        options: Declared options by name.
        extra_options: Whether it takes further options, which are passed on unchanged.
        option_groups: Names of the option groups whose options it takes too.
        examples: What ``plugins check --run`` calls it with; empty for the example of its kind.
        citation: How the work that it implements or holds is cited: ``AUTHORS YEAR, TITLE, VENUE``,
            several with ``;`` between them.
    """

    kind: ClassVar[str] = ""

    name: str = table_name()
    summary: str = entry("", required=True)
    class_name: str | None = entry(None, name="class")
    version: str = entry("")
    deterministic: bool = entry(True)
    capabilities: tuple[str, ...] = entry((), pattern=_CAPABILITY)
    extra: str | None = entry(None, pattern=_EXTRA)
    options: Mapping[str, Option] = entry(Factory(dict), names=_OPTION_NAME)
    extra_options: bool = entry(False)
    option_groups: tuple[str, ...] = entry(())
    examples: tuple[CheckExample, ...] = entry(())
    citation: str = entry("")


@frozen(kw_only=True, eq=False, repr=False)
class EvaluatorManifest(ComponentManifest):
    """What the manifest of an evaluator can declare.

    Attributes:
        primary: Entry of the primary score that it gives its rows.
        scores: What its keys mean.
        needs: Fields that it requires.
        reads: Fields of the example that can change a score; None means any.
        wire: Rules that choose it automatically.
        aliases: Names that it also has where no other evaluator has them.
        cpu_bound: Whether it is better run in a separate process.
    """

    kind: ClassVar[str] = "evaluators"

    class_name: str | None = entry(None, name="class", required=True)
    version: str = entry("", required=True)
    primary: str | None = entry(None, required=True)
    scores: Mapping[str, Score] = entry(Factory(dict), required=True, names=_SCORE_KEY)
    needs: Needs = entry(Needs())
    reads: tuple[str, ...] | None = entry(None)
    wire: tuple[WireRule, ...] = entry(())
    aliases: tuple[str, ...] = entry((), pattern=_ALIAS)
    cpu_bound: bool = entry(False)

    def contradictions(self, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """Yield that the primary score is not a score."""
        if self.primary is not None and "scores" in table and self.primary not in self.scores:
            yield "primary", f"{self.primary!r} is not one of its scores ({', '.join(self.scores)})"


@frozen(kw_only=True, eq=False, repr=False)
class DatasetManifest(ComponentManifest):
    """What the manifest of a dataset can declare.

    Attributes:
        primary: Entry of the primary score that it asks for.
        tags: What wiring rules can ask for.
        splits: Its splits; empty when any is accepted.
        configs: Its configurations; empty when any is accepted.
        default_config: The configuration that is loaded where the user names none.
        license: License of the data.
        homepage: Address of the data.
        language: Languages of its examples.
        sizes: Number of its examples by split.
        inputs: Fields that a system may see; empty when the dataset does not declare them.
        gold: Fields that are the right answer, or reveal it: hidden from systems.
        fields: Fields of its examples.
        files: Suffixes of the files that it loads.
        answer_form: Entry of :data:`ANSWER_FORMS`: in which form the task wants its answer.
        instruction: What tells a model that form; the ``instruction`` of examples that bring none.
        context_role: Entry of :data:`~context_bench.prompts.CONTEXT_ROLES`: what the context of its
            examples is.
        cluster: What examples have in common that share the value of their ``cluster`` field, such
            as the contract that they are about.
        shots: How many worked examples its authors, or those who publish its numbers, show before
            each question: what ``--shots card`` asks for.
        comparable: Which published numbers its scores can be compared with, and which not.
        needs_module: Module without which the evaluators of its package cannot score its rows.
        config_overrides: What is different about a configuration, by its name.
        pins: The edition of each configuration, by its name, or ``default``; none leaves it to the
            branch of the definition.
        definition: How a loader of another package reads it; None for a dataset with a loader.
    """

    kind: ClassVar[str] = "datasets"
    conditions: ClassVar[Mapping[str, Any]] = {
        "anyOf": [{"required": ["class"]}, {"required": ["definition"]}]
    }

    primary: str | None = entry(None)
    tags: tuple[str, ...] = entry(())
    splits: tuple[str, ...] = entry(())
    configs: tuple[str, ...] = entry(())
    default_config: str | None = entry(None)
    license: str = entry("")
    homepage: str = entry("")
    language: tuple[str, ...] = entry(())
    sizes: Mapping[str, int] = entry(Factory(dict), minimum=0)
    inputs: tuple[str, ...] = entry(())
    gold: tuple[str, ...] = entry(())
    fields: tuple[str, ...] = entry(())
    files: tuple[str, ...] = entry(())
    answer_form: str = entry("", choices=ANSWER_FORMS)
    instruction: str = entry("", multiline=True)
    context_role: str = entry(GIVEN, choices=CONTEXT_ROLES)
    cluster: str = entry("")
    shots: int = entry(0, minimum=0)
    comparable: str = entry("")
    needs_module: str = entry("")
    config_overrides: Mapping[str, ConfigOverride] = entry(Factory(dict))
    pins: Mapping[str, Pin] = entry(Factory(dict))
    definition: DatasetDefinition | None = entry(None)

    def of_config(self, name: str, config: str | None) -> Any:
        """Return the value of a key in a configuration; None takes the default configuration."""
        override = self.config_overrides.get(config or self.default_config or "", ConfigOverride())
        value = getattr(override, name)
        return getattr(self, name) if value is None else value

    def described(self) -> dict[str, Any]:
        """Return the definition as the loader that reads it receives it.

        Beside what the definition sets it holds ``default_config``, ``shots`` and ``pins``,
        and under ``asking`` how the examples are asked: ``instruction`` and ``context_role`` by
        configuration, those of all others under the empty name.
        """
        definition = {} if self.definition is None else self.definition.to_dict()
        asking = {"": _asking(self)}
        for config, override in self.config_overrides.items():
            asking[config] = {**asking[""], **_asking(override)}
        pins = {config: pin.to_dict() for config, pin in self.pins.items()}
        own = {"default_config": self.default_config, "shots": self.shots, "pins": pins}
        return {**own, **definition, "asking": asking}

    def contradictions(self, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """Yield what does not fit to the loader or to the configurations."""
        if "class" not in table and "definition" not in table:
            yield "class", "missing, as there is no definition"
        if self.configs and self.default_config not in (None, *self.configs):
            yield "default_config", f"{self.default_config!r} is not one of its configs"


def _asking(declared: DatasetManifest | ConfigOverride) -> dict[str, str]:
    """Return the fields that examples take from their card, without what it leaves open."""
    found = {"instruction": declared.instruction, "context_role": declared.context_role}
    return {name: value for name, value in found.items() if value is not None}


@frozen(kw_only=True, eq=False, repr=False)
class SystemManifest(ComponentManifest):
    """What the manifest of a system can declare.

    Attributes:
        system_kind: ``transformer``, ``reader``, ``endpoint`` or ``system``.
        reads: Fields of the example that can change the output; None means any.
        reads_gold: Whether it is an oracle, which is given the right answers too.
        proxy_default: Whether ``--proxy`` and an address as the baseline mean this system.
    """

    kind: ClassVar[str] = "systems"

    class_name: str | None = entry(None, name="class", required=True)
    system_kind: str = entry(
        "system", name="kind", choices=(TRANSFORMER, "reader", "endpoint", "system")
    )
    reads: tuple[str, ...] | None = entry(None)
    reads_gold: bool = entry(False)
    proxy_default: bool = entry(False)


@frozen(kw_only=True, eq=False, repr=False)
class MetricManifest(ComponentManifest):
    """What the manifest of a metric can declare.

    Attributes:
        default: Whether a run computes it without a request.
        values: What its keys mean; ``*`` at the end of a key matches anything.
    """

    kind: ClassVar[str] = "metrics"

    default: bool = entry(False)
    values: Mapping[str, SummaryValue] = entry(Factory(dict), names=_METRIC_KEY)


@frozen(kw_only=True, eq=False, repr=False)
class ReporterManifest(ComponentManifest):
    """What the manifest of a reporter can declare.

    Attributes:
        files: Suffixes of the files that it writes.
    """

    kind: ClassVar[str] = "reporters"

    files: tuple[str, ...] = entry(())


@frozen(kw_only=True, eq=False, repr=False)
class TokenizerManifest(ComponentManifest):
    """What the manifest of a tokenizer can declare."""

    kind: ClassVar[str] = "tokenizers"


@frozen(kw_only=True, eq=False, repr=False)
class ExtensionManifest(ComponentManifest):
    """What the manifest of an extension can declare.

    Attributes:
        implements: Names of the hooks that it implements, as :mod:`context_bench.hookspecs` has
            them.
        active_when: Entry of :data:`ACTIVE_WHEN`: when it is active by default; empty for never.
    """

    kind: ClassVar[str] = "hooks"

    implements: tuple[str, ...] = entry((), required=True, choices=tuple(HOOKS))
    active_when: str = entry("", name="default", choices=tuple(ACTIVE_WHEN))

    def contradictions(self, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """Yield why it cannot be active by default: the user has not requested what it does."""
        if not self.active_when:
            return
        allowed = ACTIVE_WHEN[self.active_when]
        for hook in self.implements:
            if hook not in allowed and not HOOKS[hook].watches:
                yield (
                    "default",
                    f"an extension that implements {hook} must be requested by the user",
                )
        if self.active_when == INSTALLED and self.capabilities:
            need = self.capabilities[0]
            yield "default", f"an extension that needs {need} must be requested by the user"


@frozen(kw_only=True, eq=False, repr=False)
class CommandManifest(ComponentManifest):
    """What the manifest of a command can declare.

    Attributes:
        parent: The command group that it belongs to; None for one at the top.
        extends: One of :data:`EXTENSIBLE`, for what is not a command.
        is_group: Whether it has commands below it.
    """

    kind: ClassVar[str] = "commands"
    conditions: ClassVar[Mapping[str, Any]] = {"not": {"required": ["parent", "extends"]}}

    parent: str | None = entry(None)
    extends: str | None = entry(None, choices=EXTENSIBLE)
    is_group: bool = entry(False, name="group")

    def contradictions(self, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """Yield that something that is not a command has a parent."""
        if self.parent is not None and self.extends is not None:
            yield "parent", f"what extends {self.extends} is not a command, and has no parent"


@frozen(kw_only=True, eq=False, repr=False)
class OptionGroupManifest(ComponentManifest):
    """What the manifest of an option group can declare."""

    kind: ClassVar[str] = "flags"

    def contradictions(self, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """Yield the options that have no flag."""
        for name, option in self.options.items():
            if option.flag is None:
                yield f"options.{name}", "each option of an option group has a flag"


MANIFESTS: dict[str, type[ComponentManifest]] = {
    manifest.kind: manifest
    for manifest in (
        EvaluatorManifest,
        DatasetManifest,
        SystemManifest,
        MetricManifest,
        ReporterManifest,
        TokenizerManifest,
        ExtensionManifest,
        CommandManifest,
        OptionGroupManifest,
    )
}
"""The class of each kind of component."""

KINDS = tuple(MANIFESTS)
"""The kinds of component, as manifest tables and as ``context_bench.KIND`` entry-point groups."""


def undeclared(kind: str, name: str) -> ComponentManifest:
    """Return the manifest of a component that no manifest describes: the defaults of its kind."""
    return MANIFESTS.get(kind, ComponentManifest)(name=name)


@frozen(kw_only=True, eq=False, repr=False)
class PluginManifest:
    """A manifest file.

    Attributes:
        schema: Its format; 0 when it has none.
        api: Plugin API that it was written for; empty when it has none.
        doctor: ``module:function`` that reports to ``context-bench doctor`` how the plugin fares
            here, or None.
        faults: What is wrong with it.
        warnings: Keys that this version does not know, and values that are doubtful.
    """

    schema: int = entry(0, required=True, minimum=1)
    api: str = entry("", required=True, pattern=_API)
    doctor: str | None = entry(None, pattern=_TARGET)
    evaluators: Mapping[str, EvaluatorManifest] = entry(Factory(dict), names=_COMPONENT_NAME)
    datasets: Mapping[str, DatasetManifest] = entry(Factory(dict), names=_COMPONENT_NAME)
    systems: Mapping[str, SystemManifest] = entry(Factory(dict), names=_COMPONENT_NAME)
    metrics: Mapping[str, MetricManifest] = entry(Factory(dict), names=_COMPONENT_NAME)
    reporters: Mapping[str, ReporterManifest] = entry(Factory(dict), names=_COMPONENT_NAME)
    tokenizers: Mapping[str, TokenizerManifest] = entry(Factory(dict), names=_COMPONENT_NAME)
    hooks: Mapping[str, ExtensionManifest] = entry(Factory(dict), names=_COMPONENT_NAME)
    commands: Mapping[str, CommandManifest] = entry(Factory(dict), names=_COMPONENT_NAME)
    flags: Mapping[str, OptionGroupManifest] = entry(Factory(dict), names=_COMPONENT_NAME)
    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()

    @property
    def components(self) -> dict[tuple[str, str], ComponentManifest]:
        """The components by kind and name, those with faults included as far as they could be
        read."""
        components: dict[tuple[str, str], ComponentManifest] = {}
        for kind in KINDS:
            for name, manifest in getattr(self, kind).items():
                components[kind, name] = manifest
        return components

    def faults_of(self, kind: str, name: str) -> list[Fault]:
        """Return the faults of the file as a whole and of one of its components."""
        return [
            fault
            for fault in self.faults
            if fault.path[:2] == (kind, name) or not _is_of_component(fault)
        ]

    @property
    def incompatibility(self) -> str | None:
        """Why this version cannot use the plugin, or None: equal major API, and a minor that is not
        newer."""
        if self.schema > SCHEMA:
            return f"its manifest has format {self.schema}, this version reads {SCHEMA}"
        if not self.api:
            return None  # a fault, not an incompatibility
        major, minor = self._api
        current = ".".join(map(str, API))
        if major != API[0]:
            return f"it was written for plugin API {self.api}, this version has {current}"
        if minor > API[1]:
            return f"it needs plugin API {self.api}, this version has only {current}"
        return None

    @property
    def is_newer(self) -> bool:
        """Whether a newer version of context-bench could use the plugin."""
        return self.schema > SCHEMA or (bool(self.api) and self._api > API)

    @property
    def _api(self) -> tuple[int, int]:
        major, _, minor = self.api.partition(".")
        return int(major), int(minor)


def _is_of_component(fault: Fault) -> bool:
    return len(fault.path) > 1 and fault.path[0] in KINDS


@lru_cache(maxsize=256)
def parse_manifest(source: bytes) -> PluginManifest:
    """Read a manifest; never raises, every fault is in the result. A process that looks again reads
    the same text once."""
    import tomli

    try:
        document = tomli.loads(source.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # of tomli, or of the encoding
        return PluginManifest(faults=(Fault((), "not-toml", f"not valid TOML: {error}"),))
    findings = Findings()
    manifest = read_table(PluginManifest, document, (), findings)
    return evolve(manifest, faults=tuple(findings.faults), warnings=tuple(findings.warnings))


def read_faults(source: bytes) -> list[str]:
    """Return every fault of a manifest, its incompatibility and its unknown keys included, a line
    each."""
    manifest = parse_manifest(source)
    incompatible = [manifest.incompatibility] if manifest.incompatibility else []
    return [*map(str, manifest.faults), *incompatible, *map(str, manifest.warnings)]
