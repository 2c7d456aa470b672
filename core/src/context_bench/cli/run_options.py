"""The options of ``run``, and the configuration of these options and the project file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import evolve

from context_bench.cli.declared_options import flag_values, help_all_option, options_given
from context_bench.cli.options import open_catalog, plugin_option, project_option, together
from context_bench.cli.reports import extending
from context_bench.console import warn
from context_bench.errors import UnusedOptionError
from context_bench.plan.datasets import find_dataset
from context_bench.plan.expansion import expanded
from context_bench.plan.extensions import with_extension_options
from context_bench.plan.project import flags_over, project_request, request_of_flags
from context_bench.plan.run_config import PARAMETERS, RunConfig
from context_bench.plan.specs import DatasetSpec
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import OK, Component, stated
from context_bench.plugins.settings import LOCK_FILE, load_project

if TYPE_CHECKING:
    from context_bench.plan.plan import Plan


def parameters_of(command: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a command the flags of its parameters of a run."""
    options = [
        parameter.click_option()
        for parameter in PARAMETERS.values()
        if parameter.flags and command in parameter.commands
    ]
    return together(*options)


set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=VALUE",
    help="Set anything: evaluators.judge.model=NAME; repeatable.",
)


lock_file_option = click.option(
    "--lock-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Lock file.  [default: {LOCK_FILE}]",
)


_proxy_options = together(
    click.option(
        "--proxy",
        "proxies",
        multiple=True,
        metavar="URL",
        help="An endpoint with the usual chat interface; repeatable.",
    ),
    click.option(
        "--name",
        "names",
        multiple=True,
        metavar="LABEL",
        help="Label of the proxy in the same place.",
    ),
    click.option("--model", metavar="MODEL", help="Model that the proxies use."),
)


def request_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that define a run."""
    return together(
        _proxy_options,
        parameters_of("run" if command.__name__ == "run" else "plan"),
        set_option,
        plugin_option,
        project_option,
        help_all_option,
    )(command)


def wiring_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command those options of ``run`` that select evaluators and extensions."""
    return parameters_of("explain")(plugin_option(project_option(command)))


def requested_config(flags: Mapping[str, Any], **more: Any) -> tuple[Catalog, RunConfig]:
    """Return what is installed, and the configuration that the project file and the flags of a
    command request.

    Args:
        flags: Values of the options of :func:`request_options`, or of :func:`wiring_options`. The
            latter do not use the systems of the project file, which need not be complete then.
        **more: Further values by the names of the parameters of a run.
    """
    project = load_project(flags["project_path"])
    catalog = open_catalog(flags["plugin_switches"], project, flags["exclude"])
    if "proxies" not in flags:
        return catalog, flags_over(project_request(project, catalog), flags)
    config = request_of_flags(catalog, project, {**flags, **more})
    return catalog, expanded(catalog, with_declared_flags(catalog, config, flags))


def with_declared_flags(catalog: Catalog, config: RunConfig, flags: Mapping[str, Any]) -> RunConfig:
    """Return a configuration with the values of declared flags, as options of the components that
    declare them."""
    options = dict(config.options)
    values = flag_values(flags)
    for component in catalog.of_kind("evaluators"):
        declared = options_given(component, values)
        if declared and component.called_by_id().state == OK:
            options[component.name] = {**options.get(component.name, {}), **declared}
    datasets = config.datasets
    if values:
        datasets = tuple(_dataset_with_flags(catalog, dataset, values) for dataset in datasets)
    config = evolve(config, options=options, datasets=datasets)
    return with_extension_options(catalog, config, values)


def _dataset_with_flags(catalog: Catalog, dataset: Any, values: Mapping[str, Any]) -> Any:
    """Return a dataset with the values of the flags that it declares; its spec has precedence."""
    if not isinstance(dataset, DatasetSpec):
        return dataset
    component, _ = find_dataset(catalog, dataset)
    options = options_given(component, values)
    split = options.pop("split", None)
    return evolve(dataset, split=dataset.split or split, options={**options, **dataset.options})


def unused_options(
    catalog: Catalog, flags: Mapping[str, Any], used: Collection[tuple[str, str]]
) -> Iterator[UnusedOptionError]:
    """Yield an error for each declared flag, option of an evaluator by ``--set``, and score prefix
    that has no effect.

    Args:
        catalog: What is installed.
        flags: Values of the command's parameters.
        used: Kind and id of the components in use.
    """
    for flag, owners in _owners_of_options(catalog, flags).items():
        if any((owner.kind, owner.id) in used for owner in owners):
            continue
        names = [_name_with_state(owner) for owner in owners if owner.kind != "flags"]
        listed = ", ".join(names[:_LISTED])
        if len(names) > _LISTED:
            listed += f" and {len(names) - _LISTED} more"
        yield UnusedOptionError(flag, listed)


_LISTED = 3


def _owners_of_options(
    catalog: Catalog, flags: Mapping[str, Any]
) -> dict[str, Sequence[Component]]:
    """Return the components that could use an option, by the option as the user wrote it, without
    its value."""
    owners: dict[str, Sequence[Component]] = {}
    for flag in flag_values(flags):
        owners[flag] = [component for component in catalog if options_given(component, {flag: ""})]
    for setting in flags.get("settings", ()):
        path = setting.partition("=")[0]  # what follows may be a secret
        kind, _, option = path.partition(".")
        if kind == "evaluators":
            owners[f"--set {path}"] = catalog.named(kind, option.rpartition(".")[0])
    for prefix in flags.get("score_prefixes", ()):
        name = prefix.partition("=")[0]
        owners[f"--score-prefix {prefix}"] = catalog.named("evaluators", name)
    return owners


def _name_with_state(component: Component) -> str:
    if component.state == OK:
        return component.name
    return f"{component.name}, which {stated(component.state)}: {component.reason}"


def require_used(
    catalog: Catalog,
    plan: Plan,
    flags: Mapping[str, Any],
    used: Collection[tuple[str, str]] = (),
) -> None:
    """Check that a run uses the components whose flags and settings were given.

    If rows can still name a dataset whose evaluators use one, this is a warning.

    Args:
        catalog: What is installed.
        plan: The plan of the run.
        flags: Values of the command's parameters.
        used: Kind and id of components in use in addition to those of the run.

    Raises:
        UnusedOptionError: Nothing uses one of them.
    """
    in_use = {*used, *plan.components()}
    in_use |= {(component.kind, component.id) for component in extending(catalog, "run")}
    possible = set()
    if plan.is_open:
        possible = {
            ("evaluators", component.id)
            for component in catalog.of_kind("evaluators")
            if component.state == OK
        }
    for error in unused_options(catalog, flags, in_use | possible):
        raise error
    for error in unused_options(catalog, flags, in_use):
        warn(f"{error} A row that names another dataset may still be scored by one.")
