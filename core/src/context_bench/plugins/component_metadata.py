"""Facts: what a manifest can say about a component.

The records of the plugin layer are named tuples where the rest of core uses attrs: ``plugins list`` makes them, and to
import attrs alone would cost it 1.4 times the CPU time of ``python -c pass``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from context_bench.plugins.options import Option

KINDS = (
    *("evaluators", "datasets", "systems", "metrics", "reporters"),
    *("tokenizers", "hooks", "commands", "flags"),
)
"""The kinds of component, as manifest tables and as ``context_bench.KIND`` entry-point groups. A run uses each of them."""

INSTALLED = "installed"
ENDPOINT = "endpoint"
REFERENCE = "reference"
CONVERSATION = "conversation"
ACTIVE_WHEN = {
    INSTALLED: (),
    ENDPOINT: ("rate_limiter",),
    REFERENCE: ("answer_source",),
    CONVERSATION: ("drive_conversation",),
}
"""When an extension can be active by default, and which hooks it may then implement in addition to those that watch."""

EXTENSIBLE = ("run", "table", "result", "report")
"""What a command can extend: options of ``run``, sections of the table, methods of a result, pictures of a report."""

CAPABILITIES = ("network", "subprocess", "executes-model-code", "model-download")
"""What a component can need, beside ``env:NAME``."""


ALWAYS = "always"
"""The reason of a rule that chooses an evaluator for every dataset."""


class Score(NamedTuple):
    """What a number means: gates, Pareto fronts and failed rows depend on it.

    Attributes:
        range: Lowest and highest value; None where it is unbounded.
        better: ``"higher"``, ``"lower"`` or ``"neither"``.
        aggregate: ``"mean"``, ``"sum"`` or ``"none"``.
    """

    range: tuple[float | None, float | None] = (0.0, 1.0)
    better: str = "higher"
    aggregate: str = "mean"

    @property
    def worst(self) -> float | None:
        """The value of a failed row: the bad end of the range, None when that end is open."""
        return {"higher": self.range[0], "lower": self.range[1]}.get(self.better)


class SummaryValue(NamedTuple):
    """What a value of a metric means, and how people see it.

    Attributes:
        heading: What stands above it; in that of a key with ``*``, what the ``*`` stood for takes its place.
        format: ``score``, ``percent``, ``count``, ``money``, ``factor``, ``seconds`` or ``number``.
        better: ``"higher"``, ``"lower"`` or ``"neither"``.
        aggregate: How it comes from the rows: ``"mean"``, ``"sum"`` or ``"none"`` of these.
        order: Where its column stands: the smallest stands first.
        detail: Whether the table on a terminal leaves it to files.
    """

    heading: str
    format: str = "number"
    better: str = "neither"
    aggregate: str = "none"
    order: int = 500
    detail: bool = False


class WireRule(NamedTuple):
    """One rule that chooses an evaluator for rows without being asked.

    Exactly one of the attributes says something.
    """

    always: bool = False
    datasets: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    option: str | None = None

    def match(
        self, names: tuple[str, ...], tags: tuple[str, ...], given: frozenset[str]
    ) -> str | None:
        """Return why this rule chooses the evaluator for a dataset, or None when it does not.

        Args:
            names: Names that the dataset answers to.
            tags: Tags of the dataset.
            given: Flags that the user gave, without their dashes.
        """
        if self.always:
            return ALWAYS
        for name in names:
            if name in self.datasets:
                return f"dataset {name}"
        for tag in tags:
            if tag in self.tags:
                return f"tag {tag}"
        return (
            f"option --{self.option}" if self.option is not None and self.option in given else None
        )

    def __str__(self) -> str:
        if self.always:
            return "every dataset"
        if self.option is not None:
            return f"any dataset with --{self.option}"
        return ", ".join([*self.datasets, *(f"tag {tag}" for tag in self.tags)])


class Facts(NamedTuple):
    """What a manifest says about one component. Attributes that its kind does not have keep their defaults.

    Attributes:
        kind: One of :data:`KINDS`.
        name: Short name.
        summary: One line.
        class_name: Attribute of the top-level package, under which the facades export it too.
        version: The component's own version: raised when what it returns can change.
        deterministic: Whether the same input always gives the same result.
        capabilities: What it needs: ``network``, ``subprocess``, ``executes-model-code``, ``model-download``, ``env:X``.
        options: Declared options by name.
        extra_options: Whether it takes further options, which are passed on as they are given.
        extra: Extra of its distribution that brings the libraries it needs; None when the distribution itself does.
        needs: Fields that an evaluator cannot do without, by ``original`` and ``processed``; ``a|b`` means one of them.
        reads: Fields that an evaluator or system looks at; None means any.
        wire: Rules that choose an evaluator by themselves.
        scores: What an evaluator's keys mean.
        primary: Key of the headline score that an evaluator or dataset gives its rows.
        cpu_bound: Whether an evaluator is better run in a process of its own.
        tags, splits, configs, default_config, license, homepage, fields: What a dataset is.
        citation, language, sizes: How a dataset is cited, its languages, and the number of its examples by split.
        inputs: Fields of a dataset's examples that a system may see; empty when the dataset does not say.
        gold: Fields that are the right answer, or tell it: kept from systems.
        definition: How a loader of another package reads a dataset; None for one with a loader of its own.
        config_overrides: What is different about a configuration: ``primary`` and ``tags``, by its name.
        files: Suffixes of the files that a dataset loader reads, or that a reporter writes.
        system_kind: ``transformer``, ``reader``, ``endpoint`` or ``system``.
        reads_gold: Whether a system is an oracle, which is given the right answers too.
        proxy_default: Whether a system is what ``--proxy`` and a bare address mean.
        parent: The command group that a command belongs to; None for one at the top.
        extends: One of :data:`EXTENSIBLE`, for what is no command of its own.
        is_group: Whether a command has commands below it.
        uses: Names of the option groups whose options a component takes too.
        default: Whether a metric is computed without being named.
        active_when: Key of :data:`ACTIVE_WHEN`: when an extension is active by default; empty for never.
        implements: Names of the hooks that an extension implements, as :mod:`context_bench.hookspecs` has them.
        values: What the keys of a metric mean; ``*`` at the end of a key stands for anything.
    """

    kind: str
    name: str
    summary: str = ""
    class_name: str | None = None
    version: str = ""
    deterministic: bool = True
    capabilities: tuple[str, ...] = ()
    options: Mapping[str, Option] = {}
    extra_options: bool = False
    extra: str | None = None
    needs: Mapping[str, tuple[str, ...]] = {}
    reads: tuple[str, ...] | None = None
    wire: tuple[WireRule, ...] = ()
    scores: Mapping[str, Score] = {}
    primary: str | None = None
    cpu_bound: bool = False
    tags: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    default_config: str | None = None
    license: str = ""
    homepage: str = ""
    fields: tuple[str, ...] = ()
    citation: str = ""
    language: tuple[str, ...] = ()
    sizes: Mapping[str, int] = {}
    inputs: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    definition: Mapping[str, Any] | None = None
    config_overrides: Mapping[str, Mapping[str, Any]] = {}
    files: tuple[str, ...] = ()
    system_kind: str = "system"
    reads_gold: bool = False
    proxy_default: bool = False
    parent: str | None = None
    extends: str | None = None
    is_group: bool = False
    option_groups: tuple[str, ...] = ()
    default: bool = False
    values: Mapping[str, SummaryValue] = {}
    implements: tuple[str, ...] = ()
    active_when: str = ""


FACTS = (
    "summary",
    "class_name",
    "version",
    "deterministic",
    "capabilities",
    "extra",
    "options",
    "extra_options",
    "option_groups",
)
"""What the manifest can say about a component of any kind."""
FACTS_OF_KIND = {
    "evaluators": ("primary", "scores", "needs", "wire", "cpu_bound", "reads"),
    "datasets": (
        *(
            "primary",
            "tags",
            "splits",
            "configs",
            "default_config",
            "license",
            "homepage",
            "citation",
            "language",
        ),
        *("sizes", "inputs", "gold", "config_overrides", "definition", "fields", "files"),
    ),
    "systems": ("system_kind", "reads", "reads_gold", "proxy_default"),
    "metrics": ("default", "values"),
    "reporters": ("files",),
    "hooks": ("implements", "active_when"),
    "commands": ("parent", "extends", "is_group"),
}
"""What it can say about those of one kind besides."""
