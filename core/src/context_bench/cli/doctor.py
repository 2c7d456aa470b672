"""``context-bench doctor``: is everything here that a run needs?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from attrs import asdict, evolve

from context_bench.cli.common import json_option, open_catalog, plugin_option, project_option
from context_bench.cli.run import proxies_of
from context_bench.console import say, styled, wrapped, write_json
from context_bench.errors import ContextBenchError
from context_bench.plugins.project_file import load_project

_COLOURS = {"ok": "green", "note": "cyan", "warning": "yellow", "error": "red"}


@click.command()
@click.option("--system", "-s", "systems", multiple=True, metavar="SPEC", help="Look at this system, too; repeatable.")
@click.option("--proxy", "proxies", multiple=True, metavar="URL", help="Look at this endpoint, too; repeatable.")
@click.option("--name", "names", multiple=True, metavar="LABEL", help="Label of the proxy in the same place.")
@click.option("--model", metavar="MODEL", help="Model that the proxies should have.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="What an endpoint may take for its list of models.",
)
@click.option("--offline", is_flag=True, help="Ask no endpoint, not even those of the project file.")
@json_option
@plugin_option
@project_option
def doctor(
    systems: tuple[str, ...],
    proxies: tuple[str, ...],
    names: tuple[str, ...],
    model: str | None,
    timeout: float,
    offline: bool,
    as_json: bool,
    plugin_switches: tuple[str, ...],
    project_path: Path | None,
) -> int:
    """Look over this installation: versions, plugins and their states, keys, endpoints, sandbox, disk.

    Endpoints are asked only when the project file or a flag names them, and only for their list of models. Keys are never
    shown. The exit code is 2 when something cannot work.
    """
    from context_bench.bench.checks import ERROR
    from context_bench.bench.doctor import examine
    from context_bench.bench.project import project_request
    from context_bench.bench.requests import Request
    from context_bench.bench.specs import parse_system

    faults: list[str] = []
    request = Request()
    try:
        project = load_project(project_path)
        catalog = open_catalog(plugin_switches, project)
        request = project_request(project)
    except ContextBenchError as error:
        faults.append(str(error))
        catalog = open_catalog(plugin_switches, {})
    given = [parse_system(text) for text in systems]
    given += proxies_of({"proxies": proxies, "names": names, "model": model})
    request = evolve(request, systems=(*request.systems, *given))
    sections = examine(catalog, request, None if offline else timeout, faults)
    is_fine = all(line.state != ERROR for lines in sections.values() for line in lines)
    if as_json:
        told: dict[str, Any] = {name: [asdict(line) for line in lines] for name, lines in sections.items()}
        write_json({**told, "ok": is_fine})
        return 0 if is_fine else 2
    for name, lines in sections.items():
        say(styled(name[:1].upper() + name[1:], bold=True))
        for line in lines:
            state = styled(line.state.ljust(8), colour=_COLOURS[line.state])
            say(f"  {state} {wrapped('', f'{line.subject}: {line.text}', 11, 0).lstrip()}")
        if not lines:
            say("  none")
    return 0 if is_fine else 2
