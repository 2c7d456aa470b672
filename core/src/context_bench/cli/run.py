"""``context-bench run`` and ``lock``: from flags and the project file to a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from context_bench import __version__
from context_bench.cli.common import (
    failed_option,
    log_option,
    open_catalog,
    plugin_option,
    project_option,
    quiet_option,
    warn,
)
from context_bench.cli.declared_options import DeclaredOptions, with_declared_flags
from context_bench.cli.output import Reports, format_option, output_option
from context_bench.errors import ConfigurationError, MetricError, RunStoppedError
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.project_file import load_project


def request_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say what is run."""
    options = [
        click.option(
            "--system", "-s", "systems", multiple=True, metavar="SPEC", help="[label=]name[:key=value,...]; repeatable."
        ),
        click.option(
            "--proxy", "proxies", multiple=True, metavar="URL", help="An OpenAI-compatible endpoint; repeatable."
        ),
        click.option("--name", "names", multiple=True, metavar="LABEL", help="Label of the proxy in the same place."),
        click.option("--model", metavar="MODEL", help="Model that the proxies are asked for."),
        click.option("--reader", metavar="SPEC", help="System that follows each context transformer."),
        click.option(
            "--baseline",
            metavar="LABEL",
            help="The system that the others are held against: a label, or a spec or address of one more.",
        ),
        click.option(
            "--reference-from",
            metavar="LABEL",
            help="The system whose responses stand in where there is no gold answer; as --baseline. It is asked twice.",
        ),
        click.option(
            "--dataset",
            "-d",
            "datasets",
            multiple=True,
            metavar="SPEC",
            help="[label=]name[:config][,key=value...], or a file; repeatable.",
        ),
        click.option(
            "--field",
            "fields",
            multiple=True,
            metavar="TARGET=SOURCE",
            help="Take a field from another column (answer=outputs.0); repeatable.",
        ),
        click.option(
            "-n",
            "--max-examples",
            "limit",
            type=click.IntRange(1),
            metavar="N",
            help="At most N examples of each dataset.",
        ),
        click.option(
            "--sample",
            type=click.IntRange(1),
            metavar="N",
            help="N examples of each dataset at random, instead of the first.",
        ),
        click.option("--seed", type=int, metavar="S", help="Seed of --sample.  [default: 0]"),
        click.option("--ids", metavar="A,B", help="Only the examples with these ids."),
        click.option(
            "--order",
            type=click.Choice(["interleaved", "system"]),
            help="Give each example to all systems in turn, or all examples to one system first.  [default: interleaved]",
        ),
        click.option(
            "--deadline", type=float, metavar="SECONDS", help="What one row may take, retries and scoring included."
        ),
        click.option(
            "--rpm", "requests_per_minute", type=float, metavar="N", help="Requests a minute for each endpoint."
        ),
        click.option("--tpm", "tokens_per_minute", type=float, metavar="N", help="Tokens a minute for each endpoint."),
        click.option(
            "--max-cost", type=float, metavar="MONEY", help="What the run may cost, where costs or prices are known."
        ),
        click.option(
            "--prices",
            "prices_path",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help='TOML with [prices."MODEL"]: input, output, cache_read, cache_write, reasoning for a million tokens.',
        ),
        click.option(
            "--isolate-prefixes",
            is_flag=True,
            default=None,
            help="Begin each system's prompts with a marker of its own, so that none warms another's prefix cache.",
        ),
        click.option("--evaluators", metavar="A,B", help="Exactly these evaluators, instead of the automatic ones."),
        click.option(
            "--also", multiple=True, metavar="NAME", help="Add an evaluator to the automatic ones; repeatable."
        ),
        click.option("--without", multiple=True, metavar="NAME", help="Leave an evaluator out; repeatable."),
        click.option(
            "--allow",
            multiple=True,
            metavar="CAPABILITY",
            help="Let auto-wired evaluators use network or executes-model-code; repeatable.",
        ),
        click.option(
            "--prefix",
            "prefixes",
            multiple=True,
            metavar="NAME=PREFIX",
            help="Put a prefix before an evaluator's score keys; repeatable.",
        ),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="PATH=VALUE",
            help="Set anything: evaluators.judge.model=gpt-4o; repeatable.",
        ),
        click.option("--samples", type=click.IntRange(1), metavar="K", help="Give each example K times.  [default: 1]"),
        click.option(
            "--metrics", "metrics", metavar="A,B", help="Exactly these metrics: NAME or NAME:option=value,..."
        ),
        click.option(
            "--also-metric",
            "also_metrics",
            multiple=True,
            metavar="NAME",
            help="Add a metric to those that are on by default; repeatable.",
        ),
        click.option(
            "--score-field", metavar="KEY", help="Score that the metrics look at.  [default: each dataset's headline]"
        ),
        click.option("--threshold", type=float, metavar="X", help="Score that passes.  [default: 0.7]"),
        click.option(
            "--max-workers",
            type=click.IntRange(1),
            metavar="N",
            help="Calls in flight.  [default: up to 64 for an endpoint, 8 for programs, else 1]",
        ),
        plugin_option,
        project_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command(cls=DeclaredOptions)
@request_options
@click.option(
    "--run-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to keep the run.  [default: runs/TIME-NAME.sqlite]",
)
@click.option(
    "--reuse",
    "--cache-dir",
    "reuse",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Run file or folder: take responses whose key matches; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Show the plan - which evaluators score what, and why - and stop.")
@click.option("--locked", is_flag=True, help="Stop when the wiring differs from the lock file.")
@click.option(
    "--lock-file", type=click.Path(path_type=Path, dir_okay=False), help="Lock file.  [default: context-bench.lock]"
)
@click.option(
    "--store-examples/--no-store-examples",
    "keep_examples",
    default=True,
    help="Whether the run file holds the examples; without them it cannot be rescored.  [default: it does]",
)
@failed_option
@quiet_option
@log_option
@output_option
@format_option
def run(
    run_file: Path | None,
    reuse: tuple[Path, ...],
    dry_run: bool,
    locked: bool,
    lock_file: Path | None,
    keep_examples: bool,
    max_failed: float | None,
    quiet: bool,
    log_format: str,
    outputs: tuple[Path, ...],
    result_format: str,
    **flags: Any,
) -> int:
    """Give a dataset's examples to systems, score what comes back, and show what it adds up to.

    Evaluators are wired from the datasets; `context-bench explain wiring` tells why.
    """
    from context_bench.bench import runs

    project = load_project(flags["project_path"])
    catalog = open_catalog(flags["plugin_switches"], project, flags["without"])
    allowed = 1.0 if max_failed is None else max_failed
    request = evolve(request_of(catalog, project, flags), keep_examples=keep_examples, max_failed=allowed / 100)
    _warn_of_broken(catalog)
    plans = runs.plan(catalog, request, warn if dry_run else None)
    from context_bench.plugins.lock import FILE_NAME, check_lock

    lock_path = (lock_file or Path(FILE_NAME)) if locked else None
    if lock_path is not None and dry_run:
        check_lock(lock_path, {label: plan.to_dict() for label, plan in plans.items()})
    if dry_run:
        from context_bench.cli.explain import show_plan

        for plan in plans.values():
            show_plan(plan)
        return 0
    reports = Reports(catalog, outputs, result_format)
    path = run_file or _default_path(request)
    from context_bench.bench.provenance import provenance

    try:
        result = runs.run(
            catalog,
            request,
            path,
            reuse=reuse,
            provenance=provenance(catalog),
            locked=lock_path,
            progress=not quiet,
            log_format=log_format,
            on_warning=warn,
        )
    except RunStoppedError as error:
        return stopped(error)
    except MetricError as error:
        click.echo(f"Error: {error}", err=True)
        click.echo(f"The run is complete: context-bench report {path} --score-field KEY", err=True)
        return error.exit_code
    reports.write(result)
    click.echo(f"Run file: {path}", err=True)
    return failed_share(result, allowed, path)


@click.command(cls=DeclaredOptions)
@request_options
@click.option(
    "--lock-file", type=click.Path(path_type=Path, dir_okay=False), help="Lock file.  [default: context-bench.lock]"
)
@click.option("--label", "labels", multiple=True, help="Lock a label that rows carry too; repeatable.")
def lock(lock_file: Path | None, labels: tuple[str, ...], **flags: Any) -> None:
    """Write down which evaluators score which dataset, so that `run --locked` notices any change."""
    from context_bench.bench import runs
    from context_bench.plugins.lock import FILE_NAME, write_lock

    project = load_project(flags["project_path"])
    catalog = open_catalog(flags["plugin_switches"], project, flags["without"])
    request = request_of(catalog, project, flags)
    if not request.datasets and not labels:
        raise ConfigurationError("There is no dataset to lock. Name one with --dataset, or a label with --label.")
    plans = runs.plan(catalog, request, warn, labels)
    path = lock_file or Path(FILE_NAME)
    write_lock(path, {label: plan.to_dict() for label, plan in plans.items()}, __version__)
    click.echo(f"Locked {', '.join(plans)} in {path}.")


def stopped(error: RunStoppedError) -> int:
    """Tell why a run ended early and how to go on, and return its exit code."""
    click.echo(f"Error: {error}", err=True)
    if error.path:
        click.echo(f"What was finished is kept. Go on with: context-bench resume {error.path}", err=True)
    return error.exit_code


def failed_share(result: Any, max_failed: float, path: Path) -> int:
    """Say how many rows failed and why, and return exit code 12 when they are too many."""
    from context_bench.bench.row_history import failure_causes

    rows = sum(values.get("num_rows", 0) for values in result.summary.values())
    failed = sum(values.get("num_failed", 0) for values in result.summary.values())
    if not failed:
        return 0
    share = 100 * failed / rows
    shown = f"{share:.1f}" if share >= 0.1 else f"{share:.1g}"
    click.echo(f"{failed:.0f} of {rows:.0f} rows failed ({shown} %) and count as wrong.", err=True)
    for cause in failure_causes(path):
        click.echo(f"  {cause}", err=True)
    if share > max_failed:
        click.echo(f"That is more than --max-failed {max_failed:g} allows.", err=True)
        return 12
    return 0


def request_of(catalog: Catalog, project: Mapping[str, Any], flags: Mapping[str, Any]) -> Any:
    """Return what the project file and the flags of :func:`request_options` ask for."""
    from context_bench.bench.baseline import with_baseline
    from context_bench.bench.project import project_request, set_value
    from context_bench.bench.specs import parse_dataset, parse_pairs, parse_system
    from context_bench.metrics.registry import split_names
    from context_bench.prices import load_prices

    request = project_request(project)
    systems = [parse_system(text) for text in flags["systems"]] + proxies_of(flags)
    if systems:
        request = evolve(request, systems=tuple(systems))
    if flags["reader"]:
        request = evolve(request, reader=parse_system(flags["reader"]))
    if flags["datasets"]:
        request = evolve(request, datasets=tuple(parse_dataset(text) for text in flags["datasets"]))
    fields = parse_pairs(flags["fields"], "--field")
    if fields:
        mapped = tuple(evolve(spec, fields={**spec.fields, **fields}) for spec in request.datasets)
        request = evolve(request, datasets=mapped)
    if flags["evaluators"] is not None:
        request = evolve(request, evaluators=_names(flags["evaluators"]))
    if flags["metrics"] is not None:
        request = evolve(request, metrics=split_names(flags["metrics"]))
    for name in ("also", "without", "allow", "also_metrics"):
        if flags[name]:
            added: dict[str, Any] = {name: tuple(flags[name])}
            request = evolve(request, **added)
    if flags["prefixes"]:
        request = evolve(request, prefixes=parse_pairs(flags["prefixes"], "--prefix"))
    changes = {name: flags[name] for name in _PLAIN_FLAGS if flags[name] is not None}
    if flags["ids"] is not None:
        changes["ids"] = _names(flags["ids"])
    request = evolve(request, **changes)
    for path, value in parse_pairs(flags["settings"], "--set").items():
        request = set_value(request, path, value)
    if flags["prices_path"] is not None:
        request = evolve(request, prices=load_prices(flags["prices_path"]).over(request.price_table()).to_dict())
    systems, label = with_baseline(catalog, request.systems, request.reader, flags["baseline"] or request.baseline)
    asked = flags["reference_from"] or request.reference
    systems, reference = with_baseline(catalog, systems, request.reader, asked, "reference")
    request = evolve(request, systems=tuple(systems), baseline=label, reference=reference)
    return with_declared_flags(catalog, request, flags)


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))


_PLAIN_FLAGS = (
    "limit",
    "sample",
    "seed",
    "order",
    "samples",
    "score_field",
    "threshold",
    "max_workers",
    "deadline",
    "requests_per_minute",
    "tokens_per_minute",
    "max_cost",
    "isolate_prefixes",
)


def proxies_of(flags: Mapping[str, Any]) -> list[Any]:
    """Return the systems of ``--proxy``, ``--name`` and ``--model``."""
    from context_bench.bench.specs import SystemSpec

    urls, names = flags["proxies"], flags["names"]
    if len(names) > len(urls):
        raise ConfigurationError(
            f"There are {len(names)} --name but {len(urls)} --proxy: each name belongs to a proxy."
        )
    labels = list(names)
    for url in urls[len(names) :]:
        labels.append(_label(url, labels))
    model = {"model": flags["model"]} if flags["model"] else {}
    return [SystemSpec("openai", {"base_url": url, **model}, label) for url, label in zip(urls, labels, strict=True)]


def _label(url: str, taken: Sequence[str]) -> str:
    """Return a name for a proxy that has none: its host, with the path or a number when that is taken."""
    from urllib.parse import urlsplit

    parts = urlsplit(url if "//" in url else f"//{url}")
    host = parts.netloc.rpartition("@")[2] or url
    path = parts.path.strip("/").removesuffix("v1").strip("/")
    with_path = f"{host}/{path}" if path else host
    return next(
        name
        for name in (host, with_path, *(f"{with_path}-{number}" for number in range(2, 2 + len(taken))))
        if name not in taken
    )


def _default_path(request: Any) -> Path:
    from datetime import datetime

    from context_bench.bench.specs import SystemSpec

    names = [
        spec.label or spec.name
        for spec in (*request.systems[:2], *request.datasets[:1])
        if isinstance(spec, SystemSpec) or spec
    ]
    slug = "-".join(
        "".join(c if c.isalnum() else "-" for c in Path(name).name.partition(".")[0]).strip("-") for name in names
    )
    folder = Path("runs")
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-{slug[:60] or 'run'}"
    path, number = folder / f"{stem}.sqlite", 2
    while path.exists():
        path, number = folder / f"{stem}-{number}.sqlite", number + 1
    return path


def _warn_of_broken(catalog: Catalog) -> None:
    from context_bench.plugins.wiring import broken_plugins

    for line in broken_plugins(catalog):
        warn(line)
