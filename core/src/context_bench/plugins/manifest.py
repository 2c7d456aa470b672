"""Manifests: what a plugin says about itself in ``context_bench_plugin.toml``, without being imported.

Every fault is collected with the path of its field, so that an author sees all of them at once.
``docs/reference/manifest.md`` describes each key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from context_bench.hookspecs import HOOKS
from context_bench.plugins import manifest_fields as fields
from context_bench.plugins.component_metadata import (
    ACTIVE_WHEN,
    EXTENSIBLE,
    FACTS,
    FACTS_OF_KIND,
    INSTALLED,
    KINDS,
    Facts,
    Score,
    SummaryValue,
)
from context_bench.plugins.manifest_fields import Reader, Table, boolean, one_of, text, texts
from context_bench.plugins.options import OPTION_TYPES, Option
from context_bench.redaction import is_secret_name

SCHEMA = 1
"""The manifest format that this version reads."""

API = (1, 0)
"""The plugin API of this version, as (major, minor)."""

FILE_NAME = "context_bench_plugin.toml"


class Manifest(NamedTuple):
    """A manifest as read.

    Attributes:
        schema: Its format; 0 when it says none.
        api: Plugin API that it was written for, as text; empty when it says none.
        components: Facts by (kind, name), those with faults included as far as they could be read.
        faults: What is wrong with the file as a whole, a line each.
        component_faults: What is wrong with a component, by (kind, name).
        warnings: Keys that this version does not know, a line each.
        doctor: ``module:function`` that tells ``context-bench doctor`` how the plugin fares here, or None.
    """

    schema: int = 0
    api: str = ""
    components: Mapping[tuple[str, str], Facts] = {}
    faults: tuple[str, ...] = ()
    component_faults: Mapping[tuple[str, str], tuple[str, ...]] = {}
    warnings: tuple[str, ...] = ()
    doctor: str | None = None

    @property
    def incompatibility(self) -> str | None:
        """Why this version cannot use the plugin, or None: equal major API, and a minor that is not newer."""
        if self.schema > SCHEMA:
            return f"its manifest has format {self.schema}, this version reads {SCHEMA}"
        if not self.api:
            return None  # a fault, not an incompatibility
        major, minor = map(int, self.api.split("."))
        ours = ".".join(map(str, API))
        if major != API[0]:
            return f"it was written for plugin API {self.api}, this version has {ours}"
        return (
            f"it needs plugin API {self.api}, this version has only {ours}"
            if minor > API[1]
            else None
        )

    @property
    def is_newer(self) -> bool:
        """Whether a newer version of context-bench could use the plugin."""
        return self.schema > SCHEMA or (
            bool(self.api) and tuple(map(int, self.api.split("."))) > API
        )


@lru_cache(maxsize=256)
def parse_manifest(source: bytes) -> Manifest:
    """Read a manifest; never raises, every fault is in the result. A process that looks again reads the same text once."""
    import tomli

    try:
        document = tomli.loads(source.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # of tomli, or of the encoding
        return Manifest(faults=(f"not valid TOML: {error}",))
    faults: list[str] = []
    warnings: list[str] = []
    top = Table("", document, faults, warnings)
    schema = top.take("schema", fields.at_least(1), 0, required=True)
    api = top.take("api", fields.api, "", required=True)
    doctor = top.take("doctor", fields.target, None)
    components: dict[tuple[str, str], Facts] = {}
    component_faults: dict[tuple[str, str], tuple[str, ...]] = {}
    for kind in KINDS:
        for name, body in top.take(kind, fields.mapping, {}).items():
            own: list[str] = []
            components[kind, name] = _facts(kind, name, body, own, warnings)
            if own:
                component_faults[kind, name] = tuple(own)
    top.close()
    return Manifest(
        schema, api, components, tuple(faults), component_faults, tuple(warnings), doctor
    )


FORMATS = ("score", "percent", "count", "money", "factor", "seconds", "number")
_KEYS = {
    "class_name": "class",
    "is_group": "group",
    "system_kind": "kind",
    "active_when": "default",
}
"""What a manifest calls those facts that Python cannot, or that two kinds have under one name."""
_REQUIRED = {
    "evaluators": ("summary", "class_name", "version", "primary"),
    "systems": ("summary", "class_name"),
    "datasets": ("summary", "class_name"),
    "hooks": ("summary", "implements"),
}


def _facts(kind: str, name: str, body: Any, faults: list[str], warnings: list[str]) -> Facts:
    path = f"{kind}.{name}"
    if not isinstance(body, dict):
        faults.append(f"{path}: expected a table, got {fields.kind_of(body)}")
        return Facts(kind, name)
    letters = name.replace("-", "").replace(".", "")
    if not (name.isascii() and name[:1].isalpha() and name == name.lower() and letters.isalnum()):
        faults.append(
            f"{path}: a component name is lower-case letters, digits, '-' and '.', and starts with a letter"
        )
    table = Table(path, body, faults, warnings)
    has_definition = kind == "datasets" and "definition" in body
    required = ("summary",) if has_definition else _REQUIRED.get(kind, ("summary",))
    names = (*FACTS, *FACTS_OF_KIND.get(kind, ()))
    said = _take(
        table, [name for name in names if name not in _TABLES], Facts._field_defaults, required
    )
    said |= {name: table.tables(name, _TABLES[name]) for name in names if name in _TABLES}
    table.close()
    if has_definition and said["definition"] is None:
        said["definition"] = {}  # it has one, which cannot be read: no loader of its own is missing
    facts = Facts(kind, name, **said)
    for key, fault in _contradictions(facts, body):
        table.fault(key, fault)
    return facts


def _contradictions(facts: Facts, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys that do not fit to others, and why."""
    if facts.kind == "evaluators" and not facts.scores:
        yield "scores", "missing; say what each key means, {} for the defaults"
    elif (
        facts.kind == "evaluators"
        and facts.primary is not None
        and facts.primary not in facts.scores
    ):
        yield "primary", f"{facts.primary!r} is none of its scores ({', '.join(facts.scores)})"
    if (
        facts.default_config is not None
        and facts.configs
        and facts.default_config not in facts.configs
    ):
        yield "default_config", f"{facts.default_config!r} is none of its configs"
    if facts.parent is not None and facts.extends is not None:
        yield "parent", f"what extends {facts.extends} is no command, and has no parent"
    if facts.active_when:
        yield from _not_by_default(facts)
    if facts.kind == "flags" and any("flag" not in body["options"][name] for name in facts.options):
        yield "options", "each option of a option group has a flag"


def _not_by_default(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield why an extension cannot be active by default: the user has not asked for what it does."""
    allowed = ACTIVE_WHEN[facts.active_when]
    for name in facts.implements:
        if name not in allowed and not HOOKS[name].watches:
            yield "default", f"an extension that implements {name} must be requested by the user"
    if facts.active_when == INSTALLED and facts.capabilities:
        yield (
            "default",
            f"an extension that needs {facts.capabilities[0]} must be requested by the user",
        )


def _take(
    table: Table, names: Iterable[str], defaults: Mapping[str, Any], required: Collection[str] = ()
) -> dict[str, Any]:
    return {
        name: table.take(
            _KEYS.get(name, name), _READERS[name], defaults[name], required=name in required
        )
        for name in names
    }


def _config_overrides(name: str, table: Table) -> dict[str, Any]:
    found = _take(table, ("primary", "tags"), {"primary": None, "tags": None})
    return {key: value for key, value in found.items() if value is not None}


def _summary_value(name: str, table: Table) -> SummaryValue:
    if not name.replace("_", "").replace(":", "").removesuffix("*").isalnum():
        table.faults.append(f"{table.path}: a key of a metric is snake_case")
    return SummaryValue(
        **_take(table, SummaryValue._fields, {**SummaryValue._field_defaults, "heading": name})
    )


def _score(name: str, table: Table) -> Score:
    if not name.replace("_", "").replace("@", "").isalnum():
        table.faults.append(f"{table.path}: a score key is snake_case")
    return Score(**_take(table, Score._fields, Score._field_defaults))


def _option(name: str, table: Table) -> Option:
    if not name.isidentifier() or name[:1].isupper():
        table.faults.append(
            f"{table.path}: an option is a keyword, in snake_case where its class does not say otherwise"
        )
    is_secret = is_secret_name(name)
    option = Option(
        name, **_take(table, _OPTION, {**Option._field_defaults, "secret": is_secret}, ("help",))
    )
    if is_secret and not option.secret and name != "key":  # which is a place in a table, too
        table.warnings.append(
            f"{table.at('secret')}: false, though only secrets are called {name}: give it another name"
        )

    def fitting(value: Any) -> Any:
        if problem := option.misfit(value):
            raise fields.FaultError(problem)
        return value

    option = option._replace(choices=table.take("choices", fields.list_of(fitting), ()))
    return option._replace(default=table.take("default", fitting, None))


_OPTION = ("type", "help", "secret", "flag", "env", "required", "bare", "key")
_TABLES: dict[str, Callable[[str, Table], Any]]
_TABLES = {
    "options": _option,
    "scores": _score,
    "config_overrides": _config_overrides,
    "values": _summary_value,
}
_READERS: dict[str, Reader] = {
    **dict.fromkeys(
        ("summary", "class_name", "version", "primary", "parent", "default_config", "license"), text
    ),
    **dict.fromkeys(("homepage", "citation", "heading", "help", "env", "bare", "key"), text),
    **dict.fromkeys(
        ("option_groups", "reads", "tags", "splits", "configs", "fields", "files"), texts
    ),
    **dict.fromkeys(("language", "inputs", "gold"), texts),
    **dict.fromkeys(
        ("deterministic", "extra_options", "cpu_bound", "reads_gold", "proxy_default"), boolean
    ),
    **dict.fromkeys(("is_group", "default", "detail", "secret", "required"), boolean),
    "capabilities": fields.list_of(fields.capability),
    "extra": fields.word,
    "needs": fields.needs,
    "wire": fields.list_of(fields.rule),
    "sizes": fields.table_of(fields.at_least(0)),
    "definition": fields.definition,
    "system_kind": one_of("transformer", "reader", "endpoint", "system"),
    "active_when": one_of(*ACTIVE_WHEN),
    "extends": one_of(*EXTENSIBLE),
    "implements": fields.list_of(one_of(*HOOKS)),
    "range": fields.value_range,
    "better": one_of("higher", "lower", "neither"),
    "aggregate": one_of("mean", "sum", "none"),
    "format": one_of(*FORMATS),
    "order": fields.integer,
    "type": one_of(*OPTION_TYPES),
    "flag": fields.flag,
}
"""How each fact is read, whatever has it."""


def read_faults(source: bytes) -> list[str]:
    """Return every fault of a manifest, those of its components and its unknown keys included, a line each."""
    manifest = parse_manifest(source)
    of_components = [fault for faults in manifest.component_faults.values() for fault in faults]
    old = [manifest.incompatibility] if manifest.incompatibility else []
    return [*manifest.faults, *old, *of_components, *manifest.warnings]
