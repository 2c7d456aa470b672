"""The project file, ``context-bench.toml``: it holds the same things as the flags of ``run``.

reader = "needle-oracle"
baseline = "full"           # label of the system that the others are held against
reference-from = "full"     # label of the system whose responses stand in where there is no gold answer

[run]                       # limit, sample, seed, ids, samples, order, score-field, threshold, max-workers, deadline,
                            # rpm, tpm, max-cost, isolate-prefixes, evaluators, also, without, allow, metrics, also-metrics
limit = 50

[[systems]]                 # or spec = "short=bm25:ratio=0.3"
name = "bm25"
label = "short"
steps = ["needle-oracle"]
options = { ratio = 0.3 }

[[datasets]]                # or spec = "needle:multi-key,length=8000"
name = "results.jsonl"
fields = { answers = "ground_truth" }

[prices."gpt-4o-mini"]      # money for a million tokens; currency and date beside the models
input = 0.15
output = 0.6

[evaluators.answer-quality] # options of an evaluator
contains = "word"

[plugins]                   # disable, allow, prefer, allow-current-directory
disable = ["rouge"]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from context_bench.bench.requests import Request
from context_bench.bench.specs import DatasetSpec, SystemSpec, parse_dataset, parse_system
from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.plugins.project_file import PROJECT_FILE
from context_bench.prices import read_prices

_RUN_KEYS: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "limit": ("limit", int),
    "samples": ("samples", int),
    "score-field": ("score_field", str),
    "threshold": ("threshold", (int, float)),
    "max-workers": ("max_workers", int),
    "evaluators": ("evaluators", list),
    "also": ("also", list),
    "metrics": ("metrics", list),
    "also-metrics": ("also_metrics", list),
    "without": ("without", list),
    "allow": ("allow", list),
    "prefixes": ("prefixes", dict),
    "sample": ("sample", int),
    "seed": ("seed", int),
    "ids": ("ids", list),
    "order": ("order", str),
    "deadline": ("deadline", (int, float)),
    "rpm": ("requests_per_minute", (int, float)),
    "tpm": ("tokens_per_minute", (int, float)),
    "max-cost": ("max_cost", (int, float)),
    "isolate-prefixes": ("isolate_prefixes", bool),
}


def project_request(project: Mapping[str, Any]) -> Request:
    """Return what the project file asks for; flags are laid over it.

    Raises:
        ConfigurationError: A key is unknown or has a value of the wrong kind; the message names it.
    """
    known = ("reader", "baseline", "reference-from", "prices", "run", "systems", "datasets", "evaluators", "plugins")
    for key in project:
        if key not in known:
            raise UnknownNameError(f"table of {PROJECT_FILE}", key, known)
    values: dict[str, Any] = {}
    for key, value in _table(project, "run").items():
        if key not in _RUN_KEYS:
            raise UnknownNameError(f"key of [run] in {PROJECT_FILE}", key, _RUN_KEYS)
        name, kind = _RUN_KEYS[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ConfigurationError(f"{PROJECT_FILE}: run.{key} is {value!r}, which is of the wrong kind.")
        _check_value(f"{PROJECT_FILE}: run.{key}", value)
        values[name] = tuple(value) if isinstance(value, list) else value
    values["systems"] = tuple(_system(entry, f"systems[{i}]") for i, entry in enumerate(_list(project, "systems")))
    values["datasets"] = tuple(_dataset(entry, f"datasets[{i}]") for i, entry in enumerate(_list(project, "datasets")))
    if "reader" in project:
        values["reader"] = _system(project["reader"], "reader")
    for key, name in (("baseline", "baseline"), ("reference-from", "reference")):
        if key in project:
            if not isinstance(project[key], str):
                raise ConfigurationError(f"{PROJECT_FILE}: {key} is {project[key]!r}, but must be a label.")
            values[name] = project[key]
    if "prices" in project:
        values["prices"] = read_prices(project["prices"], f"{PROJECT_FILE}: prices").to_dict()
    values["options"] = {name: dict(given) for name, given in _table(project, "evaluators").items()}
    return Request(**values)


def set_value(request: Request, path: str, value: str) -> Request:
    """Return the request with one thing changed: ``--set evaluators.judge.model=gpt-4o``.

    Raises:
        ConfigurationError: Nothing has that path.
    """
    kind, _, rest = path.partition(".")
    name, _, option = rest.rpartition(".")
    if kind == "evaluators" and name and option:
        options = {key: dict(given) for key, given in request.options.items()}
        options.setdefault(name, {})[option] = value
        return evolve(request, options=options)
    if kind == "run" and rest in _RUN_KEYS and _RUN_KEYS[rest][1] in (int, str, (int, float)):
        field, wanted = _RUN_KEYS[rest]
        convert: Callable[[str], Any] = {int: int, str: str}.get(wanted, float)  # type: ignore[arg-type]
        try:
            converted = convert(value)
        except ValueError:
            raise ConfigurationError(f"--set {path}={value}: that is no number.") from None
        _check_value(f"--set {path}", converted)
        return evolve(request, **{field: converted})
    if kind in ("systems", "datasets") and name and option:
        return _set_option(request, kind, name, option, value)
    raise ConfigurationError(
        f"--set {path}={value}: there is no such setting. Write evaluators.NAME.OPTION, systems.LABEL.OPTION, "
        "datasets.LABEL.OPTION or run.KEY."
    )


def _set_option(request: Request, kind: str, name: str, option: str, value: str) -> Request:
    specs = list(getattr(request, kind))
    matching = [number for number, spec in enumerate(specs) if name in (spec.label, spec.name)]
    if not matching:
        raise UnknownNameError(f"entry of {kind} in this run", name, [spec.label or spec.name for spec in specs])
    for number in matching:
        specs[number] = evolve(specs[number], options={**specs[number].options, option: value})
    changes: dict[str, Any] = {kind: tuple(specs)}
    return evolve(request, **changes)


def _system(entry: Any, where: str) -> SystemSpec:
    if isinstance(entry, str):
        return parse_system(entry)
    table = _entry(entry, where, ("spec", "name", "label", "options", "steps"))
    steps = tuple(_system(step, f"{where}.steps[{i}]") for i, step in enumerate(table.get("steps", ())))
    if "spec" in table:
        _refuse_beside_spec(table, where, ("name", "options"))
        spec = parse_system(table["spec"])
        return evolve(spec, steps=steps, label=table.get("label", spec.label))
    return SystemSpec(table["name"], dict(table.get("options", {})), table.get("label"), steps)


def _dataset(entry: Any, where: str) -> DatasetSpec:
    if isinstance(entry, str):
        return parse_dataset(entry)
    table = _entry(entry, where, ("spec", "name", "label", "options", "config", "split", "fields"))
    fields = table.get("fields", {})
    if "spec" in table:
        _refuse_beside_spec(table, where, ("name", "options", "config", "split"))
        spec = parse_dataset(table["spec"])
        return evolve(spec, label=table.get("label", spec.label), fields=fields)
    return DatasetSpec(
        table["name"],
        table.get("config"),
        dict(table.get("options", {})),
        table.get("label"),
        table.get("split"),
        fields,
    )


def _entry(entry: Any, where: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(entry, Mapping):
        raise ConfigurationError(f"{PROJECT_FILE}: {where} is {entry!r}, but must be a spec or a table.")
    for key in entry:
        if key not in known:
            raise UnknownNameError(f"key of {where} in {PROJECT_FILE}", key, known)
    if ("spec" in entry) == ("name" in entry):
        raise ConfigurationError(f"{PROJECT_FILE}: {where} needs either name or spec.")
    return entry


def _refuse_beside_spec(table: Mapping[str, Any], where: str, keys: tuple[str, ...]) -> None:
    for key in keys:
        if key in table:
            raise ConfigurationError(f"{PROJECT_FILE}: {where} has a spec, so {key} must stand inside of it.")


def _check_value(where: str, value: Any) -> None:
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and value <= 0
        and not where.endswith(("threshold", "seed"))
    ):
        raise ConfigurationError(f"{where} is {value}, but must be above zero.")
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        raise ConfigurationError(f"{where} is {value!r}, but must be a list of names.")


def _table(project: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = project.get(key, {})
    if not isinstance(found, Mapping):
        raise ConfigurationError(f"{PROJECT_FILE}: {key} must be a table.")
    return found


def _list(project: Mapping[str, Any], key: str) -> list[Any]:
    found = project.get(key, [])
    if not isinstance(found, list):
        raise ConfigurationError(f"{PROJECT_FILE}: {key} must be a list.")
    return found
