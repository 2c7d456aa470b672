"""The datasets of a run by name: the component of a spec or a file, its label, and what wiring
needs to know of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.installation import install_hint
from context_bench.plan.specs import DatasetSpec, numbered
from context_bench.plugins.catalog import Catalog, of_suffix
from context_bench.plugins.component import Component
from context_bench.plugins.wiring import DatasetFacts
from context_bench.prompts import AROUND_QUESTIONS, NONE, as_compressible
from context_bench.store.encoding import storable

if TYPE_CHECKING:
    from context_bench.plan.run_config import RunConfig


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
    known = f"Known are {', '.join(sorted(claims))}."
    if not claims:
        known = f"No loader for files is installed: {install_hint('context-bench-local')}."
    raise ConfigurationError(f"No loader reads the file {spec.name!r}. {known}")


def without_label(spec: DatasetSpec) -> DatasetSpec:
    """Return the spec that all have which name the same examples, whatever they call them."""
    options = dict(spec.options)
    if "path" in options:
        options["path"] = os.path.realpath(str(options["path"]))
        spec = evolve(spec, name=options["path"])
    return evolve(spec, label=None, options=options)


def describe_dataset(
    component: Component, spec: DatasetSpec, taken: Collection[str]
) -> tuple[DatasetFacts, bool]:
    """Return what wiring needs to know of a dataset, and whether its label holds for all of its
    rows.

    The label holds, unless the dataset is a file without a name of its own: there each row's
    ``dataset`` field counts.

    Raises:
        UnknownNameError: The dataset has no such configuration or split.
    """
    facts = component.dataset
    for what, asked, names in (
        ("configuration", spec.config, facts.configs),
        ("split", spec.split, facts.splits),
    ):
        if names and asked is not None and asked not in names:
            hint = f"`context-bench datasets show {component.name}` shows all."
            raise UnknownNameError(f"{what} of dataset {component.name}", asked, names, hint)
    is_file = "path" in spec.options and bool(facts.files)
    name = component.name
    if is_file:
        name = storable(
            os.path.basename(os.path.normpath(str(spec.options["path"]))).partition(".")[0]
        )
    usual = numbered(name if spec.config is None else f"{name}:{spec.config}", "#")
    label = storable(spec.label) if spec.label else next(one for one in usual if one not in taken)
    names = (label,) if is_file else tuple(dict.fromkeys((label, component.name)))
    tags = facts.of_config("tags", spec.config)
    primary = facts.of_config("primary", spec.config)
    return DatasetFacts(label, names, tags, primary), spec.label is not None or not is_file


def has_contexts(component: Component, spec: DatasetSpec, config: RunConfig) -> bool:
    """Return whether context compressors find something to change in a dataset, as far as its card
    tells."""
    role = component.dataset.of_config("context_role", spec.config)
    return role != NONE or config.compress_question


def as_asked(
    examples: Iterable[Mapping[str, Any]], config: RunConfig
) -> Iterable[Mapping[str, Any]]:
    """Return the examples as a configuration asks them: without instructions and worked examples
    (``bare``), and with questions that compressors may shorten (``compress_question``)."""
    if config.bare:
        examples = map(_bare, examples)
    return map(_as_compressible, examples) if config.compress_question else examples


def _bare(example: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(example, Mapping):  # the job source reports it, with its position
        return example  # type: ignore[unreachable]
    return {name: value for name, value in example.items() if name not in AROUND_QUESTIONS}


def _as_compressible(example: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(example, Mapping):
        return example  # type: ignore[unreachable]
    return as_compressible(example)


def _looks_like_path(catalog: Catalog, name: str) -> bool:
    if "/" in name or os.sep in name or os.path.exists(name):
        return True
    return name.lower().endswith(
        (*catalog.suffixes("datasets"), ".jsonl", ".json", ".csv", ".tsv", ".gz")
    )
