"""``context-bench plugins new | check | validate | diff | enable | disable``."""

from __future__ import annotations

from pathlib import Path

import click

from context_bench.catalog import Catalog, Component, open_catalog
from context_bench.console import echo, style, warn, wrap_text, write_json
from context_bench.errors import UnknownNameError

_json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON.")
_project_option = click.option(
    "--project",
    "project_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Project file.  [default: context-bench.toml here, if there is one]",
)
_switch_option = click.option(
    "-p",
    "switches",
    multiple=True,
    metavar="[no:]NAME",
    help="Switch a plugin off (no:NAME) or on, against the environment and the project file.",
)


KINDS = (
    "evaluator",
    "dataset",
    "system",
    "metric",
    "reporter",
    "tokenizer",
    "extension",
    "command",
    "option-group",
)
"""The kinds of packages that ``plugins new`` writes."""


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--import/--no-load",
    "load",
    default=True,
    help="Import each in a process of its own, which is usual, or look at the manifests only.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0.1, 86_400),
    default=60.0,
    metavar="SECONDS",
    help="For one component.  [default: 60]",
)
@click.option(
    "--run",
    "call",
    is_flag=True,
    help="Call each component, too, and compare what it does with its manifest.",
)
@_json_option
@_switch_option
@_project_option
def check(
    *,
    names: tuple[str, ...],
    load: bool,
    call: bool,
    time_limit: float,
    as_json: bool,
    switches: tuple[str, ...],
    project_path: Path | None,
) -> int:
    """Check plugins as their authors should: manifest, entry points, classes, options.

    A NAME is an installed component or distribution, the folder of a project with a pyproject.toml, or a wheel; the last
    two need not be installed. Without NAMES everything is checked that is not blocked. Unknown manifest keys, which a run
    only warns of, are faults here. With --run each component is called on an example, in a temporary folder and without
    the network: its keys, ranges, reads, capabilities and output are compared with its manifest. The exit code is 2 when
    there is any fault.
    """
    from context_bench_kit.checking import check_components
    from context_bench_kit.uninstalled import made_visible

    with made_visible(names) as visible_names:
        catalog = open_catalog(switches, project_path)
        components = [
            component for name in visible_names for component in _named(catalog, name)
        ] or [component for component in catalog if component.state != "blocked"]
        verdicts = {
            f"{component.id} ({component.noun})": verdict
            for component, verdict in check_components(components, time_limit, load=load, call=call)
        }
    faults = {title: verdict.faults for title, verdict in verdicts.items()}
    notes = {title: verdict.notes for title, verdict in verdicts.items()}
    if as_json and call:
        write_json({title: {"faults": faults[title], "notes": notes[title]} for title in verdicts})
        return 2 if any(faults.values()) else 0
    return _told(faults, as_json, notes)


@click.command()
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False)
)
@_json_option
def validate(files: tuple[Path, ...], as_json: bool) -> int:
    """Validate manifest FILES, without installing or importing anything.

    The exit code is 2 when one of them has a fault.
    """
    return _told({str(path): Catalog.faults_in(path.read_bytes()) for path in files}, as_json)


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("name")
@click.option(
    "--into",
    "parent",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=Path(),
    help="Folder in which the folder of the package is made.  [default: the current one]",
)
def new(kind: str, name: str, parent: Path) -> None:
    """Write a complete package with one component of a KIND; NAME is the name of both.

    The package has a manifest, code, tests, a README and a file for CI. It passes `plugins check --run` and its tests as
    it is written. Nothing is downloaded.
    """
    from context_bench_kit.new_package import write_package

    folder = parent / name
    for path in write_package(kind, name, folder):
        echo(str(path))
    echo(f"Check it with: context-bench plugins check ./{folder} --run")


@click.command()
@click.argument("lock", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@_json_option
@_switch_option
@_project_option
def diff(lock: Path, as_json: bool, switches: tuple[str, ...], project_path: Path | None) -> int:
    """Show how the installed plugins differ from those in a LOCK file.

    The exit code is 2 when a plugin has another version or is missing.
    """
    from context_bench_kit.locked import lock_differences

    found = lock_differences(lock, open_catalog(switches, project_path))
    if as_json:
        write_json(found)
    else:
        echo("\n".join(found) or f"Everything that {lock} names is installed as it was.")
    return 2 if found else 0


@click.command()
@click.argument("name")
@_project_option
def disable(name: str, project_path: Path | None) -> None:
    """Switch a plugin off in the project file."""
    from context_bench_kit.project_file import set_disabled

    _named(open_catalog((), {}), name)
    changed = set_disabled(name, True, project_path)
    echo(f"{name} is {'' if changed else 'already '}disabled in the project file.")


@click.command()
@click.argument("name")
@_project_option
def enable(name: str, project_path: Path | None) -> None:
    """Switch a plugin on again in the project file."""
    from context_bench_kit.project_file import disabled_plugins, set_disabled

    if name not in disabled_plugins(
        project_path
    ):  # one that is not installed any more can be taken out too
        _named(open_catalog((), {}), name)
    changed = set_disabled(name, False, project_path)
    echo(f"{name} is {'' if changed else 'already '}enabled in the project file.")
    for component in open_catalog((), project_path):
        if name in component.names and component.state == "blocked":
            warn(f"{component.id} is still blocked: {component.reason}. {component.remedy_text}")


def _told(
    verdicts: dict[str, list[str]], as_json: bool, notes: dict[str, list[str]] | None = None
) -> int:
    """Print the faults and notes of each thing, and return the exit code."""
    if as_json:
        write_json(verdicts)
    else:
        for name, faults in verdicts.items():
            count = f"{len(faults)} fault{'s' if len(faults) > 1 else ''}"
            echo(f"{name}: {style(count, color='red') if faults else style('ok', color='green')}")
            for fault in faults:
                echo(wrap_text("-", fault, 4, 2))
            for note in (notes or {}).get(name, ()):
                echo(wrap_text("note:", note, 4, 6))
    return 2 if any(verdicts.values()) else 0


def _named(catalog: Catalog, name: str) -> list[Component]:
    found = [component for component in catalog if name in component.names]
    if not found:
        known = {known for component in catalog for known in component.names if "/" not in known}
        raise UnknownNameError(
            "plugin", name, known, "`context-bench plugins list` shows what is installed."
        )
    return found
