"""``context-bench doctor``: is everything here that a run needs?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from attrs import asdict

from context_bench.catalog import open_catalog
from context_bench.config import load_config
from context_bench.console import echo, style, wrap_text, write_json
from context_bench.errors import ContextBenchError

_COLOURS = {"ok": "green", "note": "cyan", "warning": "yellow", "error": "red"}


@click.command()
@click.option(
    "--system",
    "-s",
    "systems",
    multiple=True,
    metavar="SPEC",
    help="Look at this system, too; repeatable.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="URL",
    help="Look at this endpoint, too; repeatable.",
)
@click.option(
    "--name", "names", multiple=True, metavar="LABEL", help="Label of the proxy in the same place."
)
@click.option("--model", metavar="MODEL", help="Model that the proxies should have.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 86_400),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="What an endpoint may take for its list of models.",
)
@click.option(
    "--offline", is_flag=True, help="Ask no endpoint, not even those of the project file."
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.option(
    "-p",
    "switches",
    multiple=True,
    metavar="[no:]NAME",
    help="Switch a plugin off (no:NAME) or on, against the environment and the project file.",
)
@click.option(
    "--project",
    "project_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Project file.  [default: context-bench.toml here, if there is one]",
)
def doctor(
    *,
    systems: tuple[str, ...],
    proxies: tuple[str, ...],
    names: tuple[str, ...],
    model: str | None,
    timeout: float,
    offline: bool,
    as_json: bool,
    switches: tuple[str, ...],
    project_path: Path | None,
) -> int:
    """Look over this installation: versions, plugins and their states, keys, endpoints, sandbox, disk.

    Endpoints are asked only when the project file or a flag names them, and only for their list of models. Keys are never
    shown. The exit code is 2 when something cannot work.
    """
    from context_bench_preflight.checks import ERROR
    from context_bench_preflight.doctor import examine

    faults: list[str] = []
    further = (systems, proxies, names, model)
    try:
        catalog = open_catalog(switches, project_path)
        config = load_config(*further, project=project_path)
    except ContextBenchError as error:
        faults.append(str(error))
        catalog = open_catalog(switches, {})
        config = load_config(*further, project={})
    sections = examine(catalog, config, None if offline else timeout, faults)
    is_fine = all(line.state != ERROR for lines in sections.values() for line in lines)
    if as_json:
        told: dict[str, Any] = {
            name: [asdict(line) for line in lines] for name, lines in sections.items()
        }
        write_json({**told, "ok": is_fine})
        return 0 if is_fine else 2
    for name, lines in sections.items():
        echo(style(name[:1].upper() + name[1:], bold=True))
        for line in lines:
            state = style(line.state.ljust(8), color=_COLOURS[line.state])
            echo(f"  {state} {wrap_text('', f'{line.subject}: {line.text}', 11, 0).lstrip()}")
        if not lines:
            echo("  none")
    return 0 if is_fine else 2
