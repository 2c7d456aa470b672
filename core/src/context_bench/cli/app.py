"""The top of the command line: what commands there are, and where each of them lives."""

from __future__ import annotations

from importlib import import_module

import click

from context_bench import __version__
from context_bench.cli.groups import CommandGroup

_COMMANDS = {
    "run": ("context_bench.cli.run:run", "Give a dataset's examples to systems and score the answers."),
    "resume": ("context_bench.cli.runs:resume", "Finish a run that was interrupted."),
    "rescore": ("context_bench.cli.runs:rescore", "Score stored responses with new or changed evaluators."),
    "report": ("context_bench.cli.runs:report", "Show or write the result of a run file."),
    "export": ("context_bench.cli.runs:export", "Write the rows of a run file as JSON lines."),
    "lock": ("context_bench.cli.run:lock", "Write down which evaluators score which dataset."),
    "explain": ("context_bench.cli.explain:explain", "Tell why things are as they are."),
    "plugins": ("context_bench.cli.plugins:plugins", "What is installed, in what state, wired to what."),
    "datasets": ("context_bench.cli.listing:datasets", "The installed datasets."),
    "systems": ("context_bench.cli.listing:systems", "The installed systems."),
    "evaluators": ("context_bench.cli.listing:evaluators", "The installed evaluators."),
    "metrics": ("context_bench.cli.listing:metrics", "The installed metrics."),
}


class _Top(CommandGroup):
    """The top group: its commands are imported when they are called. Flags without a command mean ``run``."""

    words = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if set(args) in ({"--version", "-v"}, {"--version", "--verbose"}):
            _say_versions()
            ctx.exit()
        if args and args[0].startswith("-") and args[0] not in ("--help", "-h", "--version"):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def own(self) -> dict[str, str]:
        return {name: summary for name, (_, summary) in _COMMANDS.items()}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, _, name = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


def _say_versions() -> None:
    """Say the version of everything that takes part, for a report of a fault."""
    import platform
    import sys

    from context_bench.cli.common import catalog_of_environment
    from context_bench.console import say

    say(f"context-bench, version {__version__}\nPython {platform.python_version()} on {sys.platform}")
    trouble: dict[str, list[str]] = {}
    for component in catalog_of_environment():
        found = trouble.setdefault(f"{component.distribution.name} {component.distribution.told_version}", [])
        if component.condition not in ("ok", "optional"):
            found.append(f"{component.name} {component.condition}")
    for distribution in sorted(trouble):
        say(f"{distribution}{': ' if trouble[distribution] else ''}{', '.join(trouble[distribution])}")


@click.group(cls=_Top, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__, prog_name="context-bench")
def app() -> None:
    """Measure systems that touch an LLM's context, and score what they answer.

    Flags without a command mean `run`: context-bench --system identity --dataset needle.
    """
