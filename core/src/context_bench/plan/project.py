"""The configuration of a run from the project file, from flags, and from ``evaluate()``.

``context-bench.toml`` holds the same things as the flags of ``run``:

reader = "needle-oracle"
baseline = "full"           # label of the system that the others are compared with
reference-from = "full"     # label of the system whose responses replace missing gold answers

[run]                       # limit, sample, threshold ...: the keys that parameters declare
limit = 50

[[systems]]                 # or spec = "short=bm25:ratio=0.3"
name = "bm25"
label = "short"
steps = ["needle-oracle"]
options = { ratio = 0.3 }

[systems.defaults]          # options of every system that has them and gives none itself
temperature = 0

[[datasets]]                # or spec = "needle:multi-key,length=8000"
name = "results.jsonl"
fields = { answers = "ground_truth" }

[prices."small-1"]      # money for a million tokens; currency and date beside the models
input = 0.15
output = 0.6

[evaluators.answer-quality] # options of an evaluator
contains = "word"

[plugins]                   # disable, allow, prefer
disable = ["rouge"]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from attrs import evolve

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.installation import install_hint
from context_bench.plan.extensions import with_extension_options
from context_bench.plan.run_config import PARAMETERS, RunConfig, called_here
from context_bench.plan.specs import Examples, SystemSpec, numbered
from context_bench.plan.value_types import parse_pairs
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.options import Option
from context_bench.plugins.settings import file_name_of

_KEYS = {one.key: one for one in PARAMETERS.values() if one.key is not None}
_DEFAULTS = _KEYS["systems.defaults"].name
_TABLES = ("run", "plugins")


def project_request(project: Mapping[str, Any], catalog: Catalog) -> RunConfig:
    """Return what the project file asks for; flags are laid over it.

    Args:
        project: The project file.
        catalog: What is installed: extensions declare keys of their own.

    Raises:
        ConfigurationError: A key is unknown or has a value of the wrong kind; the message names it.
    """
    values: dict[str, Any] = {}
    of_extensions: dict[str, Any] = {}
    own = extension_keys(catalog)
    file_name = file_name_of(project)
    table = _with_defaults_apart(_with_extensions(catalog, project))
    for key, value in _by_key(table, file_name).items():
        if key in own:
            of_extensions[key] = value
        elif key in _KEYS:
            values[_KEYS[key].name] = _KEYS[key].type.of_file(value, f"{file_name}: {key}")
        else:
            raise _unknown(key, own, file_name)
    return with_extension_options(catalog, RunConfig(**values), of_extensions, "key")


def _by_key(project: Mapping[str, Any], file_name: str) -> dict[str, Any]:
    """Return what the project file says of a run, by the keys that parameters declare."""
    run = project.get("run", {})
    if not isinstance(run, Mapping):
        raise ConfigurationError(f"{file_name}: run must be a table.")
    found = {key: value for key, value in project.items() if key not in _TABLES}
    return found | {f"run.{key}": value for key, value in run.items()}


def _unknown(key: str, own: Iterable[str], file_name: str) -> UnknownNameError:
    if not key.startswith("run."):
        known = [*(one for one in (*_KEYS, *own) if "." not in one), *_TABLES]
        return UnknownNameError(f"table of {file_name}", key, known, absent_key(key))
    name = key.removeprefix("run.")
    here = _called_here(name)
    known = (
        []
        if here
        else [one.removeprefix("run.") for one in (*_KEYS, *own) if one.startswith("run.")]
    )
    return UnknownNameError(f"key of [run] in {file_name}", name, known, absent_key(key) or here)


def extension_keys(catalog: Catalog) -> frozenset[str]:
    """Return the keys of the project file that installed extensions declare."""
    return frozenset(option.key for option in _options_of_extensions(catalog) if option.key)


def _options_of_extensions(catalog: Catalog) -> Iterator[Option]:
    return (option for one in catalog.of_kind("hooks") for option in one.manifest.options.values())


def absent_key(key: str) -> str:
    """Return which package of ours brings a key of the project file; empty for any other."""
    from context_bench.plugins.first_party import KEYS

    return f"It comes with {KEYS[key]}: {install_hint(KEYS[key])}." if key in KEYS else ""


def _called_here(name: str) -> str:
    at_the_top = "{}, at the top of the file, outside of every table"
    return called_here(
        name, lambda one: one.key if "." in (one.key or ".") else at_the_top.format(one.key)
    )


def set_value(request: RunConfig, path: str, value: str, catalog: Catalog) -> RunConfig:
    """Return the request with one thing changed: ``--set evaluators.judge.model=large-1``.

    Raises:
        ConfigurationError: Nothing has that path.
    """
    kind, _, rest = path.partition(".")
    name, _, option = rest.rpartition(".")
    one = _KEYS.get(path)
    if kind == "evaluators" and name and option:
        given = request.options.get(name, {})
        return evolve(request, options={**request.options, name: {**given, option: value}})
    if path in extension_keys(catalog):
        return with_extension_options(catalog, request, {path: value}, "key")
    if kind == "run" and one is not None and one.type.of_text is not None:
        return _changed(request, one.name, one.type.of_text(value, f"--set {path}"))
    if kind == "systems" and name == "defaults" and option:
        return _changed(request, _DEFAULTS, {**getattr(request, _DEFAULTS), option: value})
    if kind in ("systems", "datasets") and name and option:
        return _set_option(request, kind, name, option, value)
    hint = f"{_called_here(rest)} ".lstrip() if kind == "run" else ""
    raise ConfigurationError(
        f"--set {path} names no setting. {hint}Write evaluators.NAME.OPTION, "
        "systems.LABEL.OPTION, systems.defaults.OPTION, datasets.LABEL.OPTION or run.KEY."
    )


def _changed(request: RunConfig, name: str, value: Any) -> RunConfig:
    changes: dict[str, Any] = {name: value}
    return evolve(request, **changes)


def flags_over(request: RunConfig, flags: Mapping[str, Any]) -> RunConfig:
    """Return a request with the flags of its parameters, those that were given, laid over it.

    Args:
        request: What the project file or a run file asks for.
        flags: Values by the names of the request's fields.

    Raises:
        ConfigurationError: A value is none of its parameter's kind.
    """
    given = {name: flags[name] for name in PARAMETERS if flags.get(name) not in (None, ())}
    changes: dict[str, Any] = {
        name: PARAMETERS[name].of_flag(value) for name, value in given.items()
    }
    return evolve(request, **changes)


def settings_over(request: RunConfig, flags: Mapping[str, Any], catalog: Catalog) -> RunConfig:
    """Return a request with the values of ``--set`` laid over it, once all that they may name is
    there."""
    for path, value in parse_pairs(flags["settings"], "--set", "PATH=VALUE").items():
        request = set_value(request, path, value, catalog)
    return request


def request_of_flags(
    catalog: Catalog, project: Mapping[str, Any], flags: Mapping[str, Any]
) -> RunConfig:
    """Return what the project file and the flags of a command ask for.

    Args:
        catalog: What is installed.
        project: The project file.
        flags: As for :func:`flags_over`, and ``settings``, the values of ``--set``, ``proxies``,
            ``names`` and ``model``.

    Raises:
        ContextBenchError: Something that was asked for cannot be.
    """
    is_asked = flags["proxies"] or flags["names"] or flags["model"]
    proxies = proxies_of(flags, catalog.proxy_system) if is_asked else []
    request = project_request(project, catalog)
    request = flags_over(evolve(request, systems=()) if proxies else request, flags)
    request = settings_over(evolve(request, systems=(*request.systems, *proxies)), flags, catalog)
    unsaid = {name: one.usual for name, one in PARAMETERS.items() if getattr(request, name) is None}
    return evolve(request, **unsaid)


def request_of_arguments(catalog: Catalog, arguments: Mapping[str, Any]) -> RunConfig:
    """Return what the arguments of ``evaluate()`` ask for.

    Raises:
        ConfigurationError: One of them is none of its parameter's kind.
    """
    values = {
        name: arguments[one.python]
        for name, one in PARAMETERS.items()
        if one.python and one.python in arguments
    }
    request = with_extension_options(
        catalog, RunConfig(**values), _flags_of(catalog, arguments["flags"])
    )
    first = arguments["dataset"]
    if first is not None:
        is_examples = isinstance(first, Iterable) and not isinstance(first, str)
        request = evolve(
            request, datasets=(Examples(None, first) if is_examples else first, *request.datasets)
        )
    return request


def _flags_of(catalog: Catalog, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of arguments that are named after flags of extensions, by flag.

    Raises:
        UnknownNameError: No installed extension declares such a flag.
    """
    from context_bench.plugins.first_party import FLAGS

    flags = [option.flag for option in _options_of_extensions(catalog) if option.flag]
    declared = {flag.removeprefix("--").replace("-", "_"): flag for flag in flags}
    for name in arguments:
        if name not in declared:
            owner = FLAGS.get(f"--{name.replace('_', '-')}", ("", ""))[1]
            hint = f"It comes with {owner}: {install_hint(owner)}." if owner else ""
            here = called_here(name, lambda one: one.python)
            known = [one.python for one in PARAMETERS.values() if one.python]
            raise UnknownNameError(
                "argument of evaluate()", name, [] if here else [*known, *declared], hint or here
            )
    return {declared[name]: value for name, value in arguments.items() if value is not None}


def _with_extensions(catalog: Catalog, project: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the project with the tables that are called like an extension moved to ``extensions``,
    such as ``[gate]``."""
    own = [key for key in project if key not in (*_KEYS, *_TABLES) and catalog.named("hooks", key)]
    given = project.get("extensions", {})
    if not own or not isinstance(given, Mapping):
        return project
    rest = {key: value for key, value in project.items() if key not in own}
    return {**rest, "extensions": {**given, **{key: project[key] for key in own}}}


def proxies_of(flags: Mapping[str, Any], endpoint: str) -> list[SystemSpec]:
    """Return the systems of ``--proxy``, ``--name`` and ``--model``; ``endpoint`` is the name of
    what asks an address."""
    urls = flags["proxies"]
    names = flags["names"]
    if len(names) > len(urls):
        raise ConfigurationError(
            f"There are {len(names)} --name but {len(urls)} --proxy: each name belongs to a proxy."
        )
    if flags["model"] and not urls:
        raise ConfigurationError(
            "--model is given, but no --proxy. A spec has its own: --system NAME:model=MODEL."
        )
    labels = list(names)
    for url in urls[len(names) :]:
        labels.append(_label(url, labels))
    model = {"model": flags["model"]} if flags["model"] else {}
    return [
        SystemSpec(endpoint, {"base_url": url, **model}, label)
        for url, label in zip(urls, labels, strict=True)
    ]


def _set_option(request: RunConfig, kind: str, name: str, option: str, value: str) -> RunConfig:
    specs = list(getattr(request, kind))
    matching = [number for number, spec in enumerate(specs) if name in (spec.label, spec.name)]
    if not matching:
        raise UnknownNameError(
            f"entry of {kind} in this run", name, [spec.label or spec.name for spec in specs]
        )
    for number in matching:
        specs[number] = evolve(specs[number], options={**specs[number].options, option: value})
    return _changed(request, kind, tuple(specs))


def _with_defaults_apart(project: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a project file with a separate ``systems.defaults``.

    After ``[[systems]]``, TOML adds ``[systems.defaults]`` to the last system. Without
    ``[[systems]]``, further tables ``[systems.LABEL]`` are systems.
    """
    systems = project.get("systems")
    if isinstance(systems, Mapping):
        separated = {
            **project,
            "systems": [
                _labelled(label, entry) for label, entry in systems.items() if label != "defaults"
            ],
        }
        holder = systems
    elif isinstance(systems, list) and systems and isinstance(systems[-1], Mapping):
        holder = systems[-1]
        last = {key: value for key, value in holder.items() if key != "defaults"}
        separated = {**project, "systems": [*systems[:-1], last]}
    else:
        return project
    if "defaults" in holder:
        separated["systems.defaults"] = holder["defaults"]
    return separated


def _labelled(label: str, entry: Any) -> dict[str, Any]:
    values = entry if isinstance(entry, Mapping) else {"spec": entry}
    return {"label": label, **values}


def _label(url: str, taken: Sequence[str]) -> str:
    """Return a name for a proxy that has none: its host, with the path or a number when that is
    taken."""
    from urllib.parse import urlsplit

    parts = urlsplit(url if "//" in url else f"//{url}")
    host = parts.netloc.rpartition("@")[2] or url
    path = parts.path.strip("/").removesuffix("v1").strip("/")
    with_path = f"{host}/{path}" if path else host
    return next(name for name in chain([host], numbered(with_path, "-")) if name not in taken)
