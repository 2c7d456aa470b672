"""``context-bench run``, ``lock``, and what is done with a run file: ``resume``, ``rescore``, ``report``, ``export``.

Results go to standard output as a table or text, and to files by their suffix; then packages do what they do after a run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import click
from attrs import evolve

from context_bench.cli import commands
from context_bench.cli.commands import flag_values, open_catalog, together
from context_bench.console import (
    Screen,
    atomic_write,
    check_place,
    echo,
    echo_err,
    warn,
    write_json,
)
from context_bench.errors import (
    ConfigurationError,
    MissingValueError,
    PluginError,
    UnknownNameError,
    UnusedOptionError,
)
from context_bench.plan.datasets import find_dataset
from context_bench.plan.extensions import with_extension_options
from context_bench.plan.project import flags_over, project_request, request_of_flags, settings_over
from context_bench.plan.run_config import PARAMETERS, RunConfig, require_sample
from context_bench.plan.specs import DatasetSpec
from context_bench.plan.systems import oracles
from context_bench.plugins.catalog import Catalog, of_suffix
from context_bench.plugins.component import OK, Component, stated
from context_bench.plugins.loading import attempted, build, load, unfit
from context_bench.plugins.options import read_options
from context_bench.plugins.settings import LOCK_FILE, load_project
from context_bench.plugins.wiring import Explanation, broken_plugins
from context_bench.protocols import Reporter
from context_bench.records import Completeness
from context_bench.reporters import TableReporter
from context_bench.results.result import EvalResult
from context_bench.session.systems import derived_lines

if TYPE_CHECKING:
    from context_bench.plan.plan import Plan

SUFFIXES = {".md": "markdown", ".json": "json", ".csv": "csv", ".txt": "table"}

report_options = together(
    click.option(
        "-o",
        "--output",
        "outputs",
        multiple=True,
        type=click.Path(path_type=Path, dir_okay=False),
        help=f"Write a report; its suffix says which: {' '.join(SUFFIXES)}. Repeatable.",
    ),
    click.option(
        "--format",
        "result_format",
        default="table",
        show_default=True,
        metavar="NAME",
        help="What standard output gets: table, markdown, json, csv, none, or an installed reporter.",
    ),
    click.option(
        "--brief", is_flag=True, help="Only the headline in the table, no further scores."
    ),
)
"""Gives a command the options that say where its result goes, and how; :class:`Reports` takes their values."""


class Reports:
    """The reports that a command was asked for; anything wrong with them is found before the run.

    Attributes:
        used: Kind and id of the reporters that write them.

    Args:
        catalog: What is installed.
        flags: Values of the command's parameters: those of :func:`report_options`, and of flags that reporters declare.
        taken: Files that the command reads or writes itself.

    Raises:
        ConfigurationError: A file has no known suffix, or no folder to lie in, or is taken.
        UnknownNameError: There is no such reporter.
    """

    def __init__(
        self, catalog: Catalog, flags: Mapping[str, Any], taken: Iterable[Any] = ()
    ) -> None:
        given = flag_values(flags)
        brief = {"brief": True} if flags["brief"] else {}
        name = flags["result_format"]
        self._catalog = catalog
        self.used: set[tuple[str, str]] = set()
        self._screen = None if name == "none" else self._reporter(name, given, brief)
        used = {Path(str(one)).resolve() for one in taken if one is not None}
        for path in flags["outputs"]:
            if path.resolve() in used:
                raise ConfigurationError(
                    f"The report {path} would replace what this command reads or writes itself."
                )
            used.add(path.resolve())
        self._files = [
            (path, self._reporter(_format_of(catalog, path), given)) for path in flags["outputs"]
        ]

    def write(self, result: EvalResult) -> None:
        """Write the result everywhere it was asked for, and below the table the sections that packages add."""
        own = isinstance(
            self._screen, TableReporter
        )  # its texts are printable, and rich knows the terminal
        if self._screen is not None:
            _write(self._screen, result, sys.stdout if own else cast("TextIO", Screen()))
        for path, reporter in self._files:
            with atomic_write(path, "The report") as stream:
                _write(reporter, result, stream)
            echo_err(f"Report: {path}")
        for component in _extending(self._catalog, "table") if own else ():
            if text := attempted(component.id, load(component), result):
                echo(str(text))

    def _reporter(
        self, name: str, flags: Mapping[str, Any], own: Mapping[str, Any] | None = None
    ) -> Reporter:
        component = self._catalog.find("reporters", name)
        declared = component.manifest.options
        options = {option: value for option, value in (own or {}).items() if option in declared}
        reporter = build(component, {**options, **options_given(component, flags)})
        if not isinstance(reporter, Reporter):
            raise unfit(component, f"{type(reporter).__name__} has no name or no write()")
        self.used.add((component.kind, component.id))
        return reporter


def _write(reporter: Reporter, result: EvalResult, stream: TextIO) -> None:
    try:
        attempted(f"The reporter {reporter.name}", reporter.write, result, stream)
    except PluginError as error:
        if isinstance(error.__cause__, OSError):  # the disk is full, or nobody reads any more
            raise error.__cause__ from None
        raise


def _format_of(catalog: Catalog, path: Path) -> str:
    if not path.parent.is_dir():
        raise ConfigurationError(f"There is no folder {path.parent} for the report {path.name}.")
    check_place(path, "The report")
    suffix, claims = path.suffix.lower(), catalog.suffixes("reporters")
    if suffix not in SUFFIXES and suffix not in claims:
        raise UnknownNameError("report suffix", path.suffix or path.name, [*SUFFIXES, *claims])
    return SUFFIXES.get(suffix) or of_suffix(catalog, "reporters", suffix).id


def after_run(catalog: Catalog, result: EvalResult, flags: Mapping[str, Any]) -> int:
    """Call what packages do after a run where one of their flags is given, and return the highest exit code.

    Raises:
        ContextBenchError: A value does not fit its option, or what is called fails.
    """
    values, codes = flag_values(flags), [0]
    for component in _extending(catalog, "run"):
        if given := options_given(component, values):
            options = read_options(component.manifest.options, given, f"command {component.name}")
            code = attempted(component.id, load(component), result, **options)
            codes.append(code if isinstance(code, int) else 0)
    return max(codes)


def _extending(catalog: Catalog, what: str) -> list[Component]:
    return [
        one
        for one in catalog.of_kind("commands")
        if one.state == OK and one.command.extends == what
    ]


INCOMPLETE = 3


def parameters_of(command: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what gives a command the flags of a request's parameters that it takes, as they are declared."""
    return together(
        *(
            one.click_option()
            for one in PARAMETERS.values()
            if one.flags and command in one.commands
        )
    )


_set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=VALUE",
    help="Set anything: evaluators.judge.model=NAME; repeatable.",
)
_lock_file_option = click.option(
    "--lock-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Lock file.  [default: {LOCK_FILE}]",
)
_partial_option = click.option(
    "--partial",
    is_flag=True,
    help="Take a run that is not complete as it is; else the exit code is 3.",
)
_run_argument = click.argument("run_file", metavar="RUN", type=click.Path(path_type=Path))
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
    click.option("--model", metavar="MODEL", help="Model that the proxies are asked for."),
)


def request_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say what is run."""
    own = parameters_of("run" if command.__name__ == "run" else "plan")
    return together(
        _proxy_options,
        own,
        _set_option,
        commands.plugin_option,
        commands.project_option,
        commands.help_all_option,
    )(command)


def wiring_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command those of the options of ``run`` that say which evaluators and extensions are used."""
    return parameters_of("explain")(commands.plugin_option(commands.project_option(command)))


def asked(flags: Mapping[str, Any], **more: Any) -> tuple[Catalog, RunConfig]:
    """Return what is installed, and what the flags of :func:`request_options` or fewer, and the project file, ask for."""
    project = load_project(flags["project_path"])
    catalog = open_catalog(flags["plugin_switches"], project, flags["exclude"])
    if (
        "proxies" not in flags
    ):  # nothing is asked of the systems of the project, so they need not be in order
        return catalog, flags_over(project_request(project, catalog), flags)
    return catalog, with_declared_flags(
        catalog, request_of_flags(catalog, project, {**flags, **more}), flags
    )


def with_declared_flags(
    catalog: Catalog, request: RunConfig, flags: Mapping[str, Any]
) -> RunConfig:
    """Return a request with the declared flags that were given, as options of the components that have them."""
    options = dict(request.options)
    values = flag_values(flags)
    for component in catalog.of_kind("evaluators"):
        given = options_given(component, values)
        if given and component.called_by_id().state == OK:
            options[component.name] = {**options.get(component.name, {}), **given}
    datasets = tuple(_dataset_with_flags(catalog, spec, values) for spec in request.datasets)
    return with_extension_options(
        catalog, evolve(request, options=options, datasets=datasets), values
    )


def _dataset_with_flags(catalog: Catalog, spec: Any, values: Mapping[str, Any]) -> Any:
    """Return a dataset with the flags that were given and that it takes; what its own spec says comes first."""
    taken = (
        options_given(find_dataset(catalog, spec)[0], values)
        if isinstance(spec, DatasetSpec) and values
        else {}
    )
    split = taken.pop("split", None)
    return (
        evolve(spec, split=spec.split or split, options={**taken, **spec.options})
        if taken or split
        else spec
    )


def idle(
    catalog: Catalog, flags: Mapping[str, Any], used: Collection[tuple[str, str]]
) -> Iterator[UnusedOptionError]:
    """Yield an error for each flag of a package, option of an evaluator by ``--set``, and prefix that nothing in use takes.

    Args:
        catalog: What is installed.
        flags: Values of the command's parameters.
        used: Kind and id of the components in use.
    """
    owners = {
        flag: [one for one in catalog if options_given(one, {flag: ""})]
        for flag in flag_values(flags)
    }
    for path in (
        setting.partition("=")[0] for setting in flags.get("settings", ())
    ):  # what follows may be a secret
        kind, _, rest = path.partition(".")
        if kind == "evaluators":
            owners[f"--set {path}"] = catalog.named(kind, rest.rpartition(".")[0])
    for prefix in flags.get("score_prefixes", ()):
        owners[f"--score-prefix {prefix}"] = catalog.named("evaluators", prefix.partition("=")[0])
    for given, found in owners.items():
        if not any((one.kind, one.id) in used for one in found):
            others = [one for one in found if one.kind != "flags"]
            names = [
                one.name
                if one.state == OK
                else f"{one.name}, which {stated(one.state)}: {one.reason}"
                for one in others
            ]
            told = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            yield UnusedOptionError(given, told)


def options_given(component: Component, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a component whose flags were given."""
    declared = component.manifest.options.items()
    return {
        name: values[option.flag]
        for name, option in declared
        if option.flag and option.flag in values
    }


@click.command(cls=commands.RunOptions)
@request_options
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show the plan - which evaluators score what, and why - and stop.",
)
@click.option(
    "--locked", "is_locked", is_flag=True, help="Stop when the wiring differs from the lock file."
)
@_lock_file_option
@report_options
def run(dry_run: bool, is_locked: bool, lock_file: Path | None, **flags: Any) -> int:
    """Give a dataset's examples to systems, score what comes back, and show what it adds up to.

    Evaluators are wired from the datasets; `context-bench explain wiring` tells why.
    """
    from context_bench.plan.plan import check_plan, make_plan
    from context_bench.session.location import run_path
    from context_bench.session.run import run as run_plan

    if lock_file is not None and not is_locked:
        raise UnusedOptionError(f"--lock-file {lock_file}", "--locked")
    lock_path = lock_file or Path(LOCK_FILE) if is_locked else None
    catalog, config = asked(flags, locked=lock_path and str(lock_path))
    require_sample(config)
    plan = make_plan(catalog, config)
    for line in broken_plugins(catalog):  # after planning, which refuses those that are needed
        warn(line)
    sources = [place for one in config.datasets for place in (one.name, one.options.get("path"))]
    path = run_path(config)
    reports = Reports(catalog, flags, [path, *sources])
    refuse_idle(catalog, plan, flags, reports.used)
    if dry_run:
        for line in plan.warnings:
            warn(line)
        check_plan(plan)
        _show(catalog, plan)
        return 0
    with _aside():
        result = run_plan(catalog, plan, path, on_warning=warn)
    try:
        reports.write(result)
    finally:
        echo_err(f"Run file: {path}")
    code = exit_code_of_run(result, path)
    return after_run(catalog, result, flags) or code


def refuse_idle(
    catalog: Catalog,
    plan: Plan,
    flags: Mapping[str, Any],
    used: Collection[tuple[str, str]] = (),
) -> None:
    """Refuse flags and settings of components that a run does not use.

    Where rows can still name a dataset whose evaluators use one, that is a warning.

    Args:
        catalog: What is installed.
        plan: The plan of the run.
        flags: Values of the command's parameters.
        used: Kind and id of components in use in addition to those of the run.

    Raises:
        UnusedOptionError: Nothing uses one of them.
    """
    in_use = {*used, *plan.components()}
    in_use |= {(one.kind, one.id) for one in _extending(catalog, "run")}
    possible = set()
    if plan.is_open:
        possible = {
            ("evaluators", one.id) for one in catalog.of_kind("evaluators") if one.state == OK
        }
    for certain in idle(catalog, flags, in_use | possible):
        raise certain
    for error in idle(catalog, flags, in_use):
        warn(f"{error} A row that names another dataset may still be scored by one.")


def _show(catalog: Catalog, plan: Plan) -> None:
    """Write a plan: its derived systems, wiring and extensions, and the systems that read gold."""
    extensions = plan.describe_extensions()
    if any("derived_systems" in one["implements"] for one in extensions.values()):
        for line in derived_lines(catalog, plan.config):
            echo(line)
    echo("\n".join(Explanation(tuple(plan.wiring.values()), extensions).lines()))
    for name in oracles(catalog, plan.config.systems):
        echo(f"{name} reads gold: it is shown the right answers.")


@click.command(cls=commands.RunOptions)
@request_options
@_lock_file_option
@click.option(
    "--label", "labels", multiple=True, help="Lock a label that rows carry too; repeatable."
)
def lock(lock_file: Path | None, labels: tuple[str, ...], **flags: Any) -> None:
    """Write down which evaluators score which dataset, so that `run --locked` notices any change."""
    from context_bench.plan.plan import make_plan
    from context_bench.plugins.lock import write_lock

    catalog, config = asked(flags)
    require_sample(config)
    if not config.datasets and not labels:
        raise MissingValueError("dataset", "Pass --dataset NAME, or --label LABEL.")
    plan = make_plan(catalog, config, labels)
    for line in plan.warnings:
        warn(line)
    refuse_idle(catalog, plan, flags)
    path = lock_file or Path(LOCK_FILE)
    write_lock(
        path,
        plan.wiring_record(),
        extensions=plan.describe_extensions(),
        metrics=plan.metrics,
    )
    echo(f"Locked {', '.join(plan.wiring)} in {path}.")


def _aside() -> redirect_stdout[TextIO]:
    """Have what plugins print go to standard error: standard output is for results."""
    return redirect_stdout(cast("TextIO", Screen(aside=True)))


def exit_code_of_run(result: Any, path: Path) -> int:
    """Return the exit code of a complete run: 12 for too many failed rows, else what an extension sets."""
    return failed_share(result, path) or int(result.config.get("exit_code", 0))


def failed_share(result: Any, path: Path) -> int:
    """Say how many rows failed and why, and return exit code 12 when they are more than may."""
    allowed = result.config["request"].get("max_failed")
    allowed = PARAMETERS["max_failed"].usual if allowed is None else allowed
    rows = sum(values.get("num_rows", 0) for values in result.summary.values())
    failed = sum(values.get("num_failed", 0) for values in result.summary.values())
    if not failed:
        return 0
    share = 100 * failed / rows
    shown = f"{share:.1f}" if share >= 0.1 else f"{share:.1g}"
    echo_err(f"{failed:.0f} of {rows:.0f} rows failed ({shown} %) and count as wrong.")
    from context_bench.results.reading import failure_causes

    for cause in failure_causes(path):
        echo_err(f"  {cause}")
    if share > 100 * allowed:
        echo_err(f"That is more than the {100 * allowed:g} % that --max-failed allows.")
        return 12
    return 0


@click.command(cls=commands.AdmissionOptions)
@_run_argument
@parameters_of("resume")
@report_options
@commands.catalog_options
def resume(run_file: Path, catalog: Catalog, **flags: Any) -> int:
    """Finish a run: what was answered is not asked again, what failed is."""
    from context_bench.session.run import resume as resume_run

    def change(request: RunConfig) -> RunConfig:
        return with_declared_flags(catalog, flags_over(request, flags), flags)

    reports = Reports(catalog, flags, [run_file])
    with _aside():
        result = resume_run(catalog, run_file, change=change, on_warning=warn)
    reports.write(result)
    return exit_code_of_run(result, run_file)


@click.command()
@_run_argument
@parameters_of("rescore")
@_set_option
@click.option(
    "--force", is_flag=True, help="Score again also what the same evaluators scored before."
)
@report_options
@commands.catalog_options
def rescore(run_file: Path, force: bool, catalog: Catalog, **flags: Any) -> None:
    """Score the stored responses of a run with new or changed evaluators; no system is asked."""
    from context_bench.session.rescoring import rescore as score_again

    def change(request: RunConfig) -> RunConfig:
        changed = settings_over(
            flags_over(request, flags), flags, Catalog()
        )  # what extensions declare is for a run
        merged: dict[str, Any] = {
            name: tuple(dict.fromkeys((*getattr(request, name), *flags[name])))
            for name in ("add_evaluators", "exclude")
        }
        return evolve(changed, **merged)

    reports = Reports(catalog, flags, [run_file])
    with _aside():
        result = score_again(catalog, run_file, change, force=force, on_warning=warn)
    reports.write(result)


@click.command(cls=commands.ReportOptions)
@_run_argument
@click.option(
    "--score-field", metavar="KEY", help="Score that the metrics look at.  [default: as in the run]"
)
@click.option(
    "--threshold", type=float, metavar="X", help="Score that passes.  [default: as in the run]"
)
@click.option(
    "--baseline",
    metavar="LABEL",
    help="The system that the others are held against.  [default: as in the run]",
)
@report_options
@_partial_option
@commands.plugin_option
def report(
    run_file: Path,
    score_field: str | None,
    threshold: float | None,
    baseline: str | None,
    partial: bool,
    **flags: Any,
) -> int:
    """Show the result of a run again, or write it in another form; nothing is run."""
    from context_bench.results.reading import read_result

    catalog = open_catalog(flags["plugin_switches"], {})
    reports = Reports(catalog, flags, [run_file])
    for error in idle(catalog, flags, reports.used):
        raise error
    result = read_result(run_file, score_field, threshold, baseline, catalog)
    for line in result.warnings:
        warn(line)
    reports.write(result)
    return _told(result.completeness, partial)


def _told(completeness: Completeness, partial: bool) -> int:
    """Say on standard error what is missing of a run, and return the exit code."""
    for sentence in completeness.sentences:
        warn(sentence)
    return 0 if partial or completeness.is_complete else INCOMPLETE


@click.command()
@_run_argument
@click.option(
    "--canonical",
    is_flag=True,
    help="Leave out what differs between equal runs: timing, attempts, reuse.",
)
@_partial_option
def export(run_file: Path, canonical: bool, partial: bool) -> int:
    """Write the rows of a run as JSON lines to standard output, in canonical order."""
    from context_bench.results.reading import canonical_row
    from context_bench.results.result import row_to_dict, strict
    from context_bench.runs import open_run

    with open_run(run_file) as run:
        for row in run.rows():
            told = canonical_row(row) if canonical else row_to_dict(row)
            write_json(strict(told), None)
        return _told(run.completeness, partial)
