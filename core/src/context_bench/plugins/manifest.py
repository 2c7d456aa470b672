"""Manifests: what a plugin says about itself in ``context_bench_plugin.toml``, without being imported.

Every fault is collected with the path of its field, so that an author sees all of them at once.
``docs/reference/manifest.md`` describes each key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from context_bench.plugins import manifest_fields
from context_bench.plugins.component_metadata import EXTENSIBLE, HOOKS, KINDS, PART_KINDS, Facts, Score, SummaryValue
from context_bench.plugins.installed import UnreadableFileError, read_toml
from context_bench.plugins.manifest_fields import Table, boolean, integer, kind_of, mapping, one_of, text, texts
from context_bench.plugins.options import OPTION_TYPES, Option
from context_bench.secrecy import is_secret_name

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
        if minor > API[1]:
            return f"it needs plugin API {self.api}, this version has only {ours}"
        return None

    @property
    def is_newer(self) -> bool:
        """Whether a newer version of context-bench could use the plugin."""
        return self.schema > SCHEMA or (bool(self.api) and tuple(map(int, self.api.split("."))) > API)


def parse_manifest(source: bytes) -> Manifest:
    """Read a manifest; never raises, every fault is in the result."""
    try:
        document = read_toml(source)
    except UnreadableFileError as error:
        return Manifest(faults=(str(error),))
    faults = list(_unusual(document)) if _is_unusual(document) else []
    if faults:
        return Manifest(faults=tuple(faults))
    warnings: list[str] = []
    top = Table("", document, faults, warnings)
    schema = top.take("schema", manifest_fields.schema, 0, required=True)
    api = top.take("api", manifest_fields.api, "", required=True)
    doctor = top.take("doctor", manifest_fields.target, None)
    components: dict[tuple[str, str], Facts] = {}
    component_faults: dict[tuple[str, str], tuple[str, ...]] = {}
    for kind in KINDS:
        for name, body in top.take(kind, mapping, {}).items():
            own: list[str] = []
            components[kind, name] = _facts(kind, name, body, own, warnings)
            if own:
                component_faults[kind, name] = tuple(own)
    top.close()
    return Manifest(schema, api, components, tuple(faults), component_faults, tuple(warnings), doctor)


def _is_unusual(document: Mapping[str, Any]) -> bool:
    """Whether :func:`_unusual` has anything to say, in a quarter of its time."""
    waiting: list[tuple[Any, int]] = [(document, 0)]
    for value, depth in waiting:
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, dict | list):
                waiting.append((item, depth + 1))
            elif isinstance(item, int) and not -(2**63) <= item < 2**63:
                return True
    return waiting[-1][1] >= _DEEPEST


def _unusual(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what TOML does not allow and its reader lets pass: numbers of more than 64 bits; and tables in many tables."""
    waiting: list[tuple[str, Any, int]] = [("", document, 0)]
    for path, value, depth in waiting:
        if depth > _DEEPEST:
            yield f"{path[:80]}: nested more than {_DEEPEST} times"
            return
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            yield f"{path}: a whole number has at most 64 bits"
        elif isinstance(value, dict):
            waiting += [(f"{path}.{key}".lstrip("."), item, depth + 1) for key, item in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{path}[{index}]", item, depth + 1) for index, item in enumerate(value)]


_DEEPEST = 32


def _facts(kind: str, name: str, body: Any, faults: list[str], warnings: list[str]) -> Facts:
    path = f"{kind}.{name}"
    if not isinstance(body, dict):
        faults.append(f"{path}: expected a table, got {kind_of(body)}")
        return Facts(kind, name)
    if not _is_component_name(name):
        faults.append(f"{path}: a component name is lower-case letters, digits, '-' and '.', and starts with a letter")
    table = Table(path, body, faults, warnings)
    facts = Facts(
        kind,
        name,
        table.take("summary", text, "", required=True),
        table.take("class", text, None, required=_has_class(kind, body)),
        table.take("version", text, "", required=kind == "evaluators"),
        table.take("deterministic", boolean, True),
        table.take("capabilities", manifest_fields.capabilities, ()),
        table.tables("options", _option),
        table.take("more_options", boolean, False),
        table.take("extra", manifest_fields.word, None),
        uses=table.take("uses", texts, ()),
        **(_MORE[kind](table) if kind in _MORE else {}),
    )
    table.close()
    return facts


def _evaluator(table: Table) -> dict[str, Any]:
    primary = table.take("primary", text, None, required=True)
    scores = table.tables("scores", _score)
    if not scores:
        table.faults.append(f"{table.at('scores')}: missing; say what each key means, {{}} for the defaults")
    elif primary is not None and primary not in scores:
        table.faults.append(f"{table.at('primary')}: {primary!r} is none of its scores ({', '.join(scores)})")
    return {
        "primary": primary,
        "scores": scores,
        "needs": table.take("needs", manifest_fields.needs, {}),
        "reads": table.take("reads", texts, None),
        "cpu_bound": table.take("cpu_bound", boolean, False),
        "wire": table.take("wire", manifest_fields.rules, ()),
    }


def _dataset(table: Table) -> dict[str, Any]:
    lists = {key: table.take(key, texts, ()) for key in _DATASET_LISTS}
    default = table.take("default_config", text, None)
    if default is not None and lists["configs"] and default not in lists["configs"]:
        table.faults.append(f"{table.at('default_config')}: {default!r} is none of its configs")
    return {
        **lists,
        "default_config": default,
        "primary": table.take("primary", text, None),
        "licence": table.take("licence", text, ""),
        "homepage": table.take("homepage", text, ""),
        "citation": table.take("citation", text, ""),
        "sizes": table.take("sizes", manifest_fields.counts, {}),
        "card": table.take("card", _card, {} if "card" in table.body else None),
        "by_config": table.tables("by_config", _by_config),
    }


def _card(value: Any) -> dict[str, Any]:
    from context_bench.plugins.cards import card

    return card(value)


def _by_config(name: str, table: Table) -> dict[str, Any]:
    found = {"primary": table.take("primary", text, None), "tags": table.take("tags", texts, None)}
    return {key: value for key, value in found.items() if value is not None}


def _has_class(kind: str, body: Any) -> bool:
    return kind in ("evaluators", "systems", "run_parts") or (
        kind == "datasets" and isinstance(body, dict) and "card" not in body
    )


_DATASET_LISTS = ("tags", "splits", "configs", "fields", "files", "language", "inputs", "gold")


def _system(table: Table) -> dict[str, Any]:
    kind = table.take("kind", one_of("transformer", "reader", "endpoint", "system"), "system")
    return {
        "reads": table.take("reads", texts, None),
        "system_kind": kind,
        "reads_gold": table.take("reads_gold", boolean, False),
        "proxy_default": table.take("proxy_default", boolean, False),
    }


def _reporter(table: Table) -> dict[str, Any]:
    return {"files": table.take("files", texts, ())}


def _command(table: Table) -> dict[str, Any]:
    parent, extends = table.take("parent", text, None), table.take("extends", one_of(*EXTENSIBLE), None)
    if parent is not None and extends is not None:
        table.faults.append(f"{table.at('parent')}: what extends {extends} is no command, and has no parent")
    return {"parent": parent, "extends": extends, "is_group": table.take("group", boolean, False)}


def _run_part(table: Table) -> dict[str, Any]:
    return {"part_kind": table.take("kind", one_of(*PART_KINDS), "", required=True)}


def _hook(table: Table) -> dict[str, Any]:
    return {"implements": table.take("implements", manifest_fields.some_of(*HOOKS), ())}


def _flag_group(table: Table) -> dict[str, Any]:
    for option in table.body.get("options", {}).values() if isinstance(table.body.get("options"), dict) else ():
        if isinstance(option, dict) and "flag" not in option:
            table.faults.append(f"{table.at('options')}: each option of a flag group has a flag")
            break
    return {}


def _metric(table: Table) -> dict[str, Any]:
    return {"default": table.take("default", boolean, False), "values": table.tables("values", _summary_value)}


_MORE = {"evaluators": _evaluator, "datasets": _dataset, "systems": _system, "metrics": _metric, "reporters": _reporter}
_MORE |= {"hooks": _hook, "commands": _command, "run_parts": _run_part, "flags": _flag_group}

_OPTION_TYPE = one_of(*OPTION_TYPES)
_BETTER, _AGGREGATE = one_of("higher", "lower", "neither"), one_of("mean", "sum", "none")
FORMATS = ("score", "percent", "count", "money", "factor", "seconds", "number")


def _summary_value(name: str, table: Table) -> SummaryValue:
    if not name.replace("_", "").replace(":", "").removesuffix("*").isalnum():
        table.faults.append(f"{table.path}: a key of a metric is snake_case")
    return SummaryValue(
        table.take("heading", text, name),
        table.take("format", one_of(*FORMATS), "number"),
        table.take("better", _BETTER, "neither"),
        table.take("aggregate", _AGGREGATE, "none"),
        table.take("order", integer, 500),
        table.take("detail", boolean, False),
    )


def _score(name: str, table: Table) -> Score:
    if not name.replace("_", "").replace("@", "").isalnum():
        table.faults.append(f"{table.path}: a score key is snake_case")
    return Score(
        table.take("range", manifest_fields.value_range, (0.0, 1.0)),
        table.take("better", _BETTER, "higher"),
        table.take("aggregate", _AGGREGATE, "mean"),
    )


def _option(name: str, table: Table) -> Option:
    if not name.isidentifier() or name[:1].isupper():
        table.faults.append(
            f"{table.path}: an option is a keyword, in snake_case where its class does not say otherwise"
        )
    is_secret = is_secret_name(name)
    option = Option(
        name,
        table.take("type", _OPTION_TYPE, "str"),
        help=table.take("help", text, "", required=True),
        secret=table.take("secret", boolean, is_secret),
        flag=table.take("flag", manifest_fields.flag, None),
        env=table.take("env", text, None),
        required=table.take("required", boolean, False),
        bare=table.take("bare", text, None),
        key=table.take("key", text, None),
    )
    if is_secret and not option.secret and name != "key":  # which is a place in a table, too
        table.warnings.append(
            f"{table.at('secret')}: false, though only secrets are called {name}: give it another name"
        )
    if choices := table.take("choices", lambda found: manifest_fields.choices(found, option), ()):
        option = option._replace(choices=choices)
    default = table.take("default", lambda found: manifest_fields.fitting(found, option), None)
    return option if default is None else option._replace(default=default)


def _is_component_name(name: str) -> bool:
    return name[:1].isalpha() and name == name.lower() and name.replace("-", "").replace(".", "").isalnum()


def read_faults(source: bytes) -> list[str]:
    """Return every fault of a manifest, those of its components and its unknown keys included, a line each."""
    manifest = parse_manifest(source)
    of_components = [fault for faults in manifest.component_faults.values() for fault in faults]
    old = [manifest.incompatibility] if manifest.incompatibility else []
    return [*manifest.faults, *old, *of_components, *manifest.warnings]
