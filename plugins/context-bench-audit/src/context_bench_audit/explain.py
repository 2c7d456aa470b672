"""``context-bench explain row`` and ``explain key``: the story of one example in one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from context_bench.console import echo, style, wrap_text, write_json
from context_bench.records import shown_seconds

run_argument = click.argument("run_file", metavar="RUN", type=click.Path(path_type=Path))
example_argument = click.argument("example_id", metavar="ID")


@click.command("row")
@run_argument
@example_argument
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def row(run_file: Path, example_id: str, as_json: bool) -> None:
    """Show one example of a run: its wiring, attempts, scores with details, and failures.

    ID is the example's id, or `#7` for the one in place 7 when it has none.
    """
    from context_bench_audit.row_history import row_stories

    stories = row_stories(run_file, example_id)
    if as_json:
        write_json(stories)
        return
    for story in stories:
        _show_row(story)


@click.command("key")
@run_argument
@example_argument
@click.option(
    "--reuse",
    "against",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Run file or folder: compare the keys of its responses with this run's; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def key(run_file: Path, example_id: str, against: tuple[Path, ...], as_json: bool) -> None:
    """Show what an example's keys contain, and why its response was or was not reused."""
    from context_bench_audit.row_history import key_stories

    stories = key_stories(run_file, example_id, against)
    if as_json:
        write_json(stories)
        return
    for story in stories:
        _show_key(story)


def _show_row(story: dict[str, Any]) -> None:
    repetition = f" repetition {story['repetition']}" if story["repetition"] else ""
    state = style("failed", color="red") if story["failed"] else f"score {_number(story['score'])}"
    echo(f"{style(story['system'], bold=True)}: {story['example_id']}{repetition}, {state}")
    _line("dataset", f"{story['dataset'] or 'rows without a label'}, place {story['position']}")
    if story["reference"]:
        _line(
            "held to",
            f"the response of {story['reference']}, in place of a gold answer (scores: agreement_...)",
        )
    for name, value in (story["example"] or {}).items():
        _line(name, _short(value))
    for number, turn in enumerate(story["turns"], start=1):
        _line(
            f"turn {number}", f"{_short(turn['response'])} ({shown_seconds(turn['latency'])}, kept)"
        )
    _line("response", _short(story["response"]))
    facts = [shown_seconds(story["latency"]), f"attempts {story['attempts']}"]
    if story["reused"]:
        facts.append("reused from an earlier run")
    facts += [
        f"{name} {value}"
        for name, value in story["metadata"].items()
        if name not in ("headers", "envelope")
    ]
    facts.append(f"{story['input_tokens']} tokens given")
    _line("call", ", ".join(facts))
    for name, why in story["wiring"].items():
        _line("wired", f"{name}: {why}")
    for name, value in story["scores"].items():
        primary = " (the primary score)" if name == story["primary"] else ""
        _line("score", f"{name} = {_number(value)}{primary}")
    for name, details in story["details"].items():
        _line("details", f"{name}: {_short(details)}")
    for name, why in story["unscored"].items():
        _line("unscored", f"{name}: {why}")
    for error in story["errors"]:
        who = error["evaluator"] or "the system"
        _line(
            "failure", f"{who}: {error['kind']}: {error['message']} (attempts: {error['attempts']})"
        )
        if error["traceback"]:
            echo("\n".join(f"      {line}" for line in error["traceback"].rstrip().splitlines()))
    echo()


def _show_key(story: dict[str, Any]) -> None:
    repetition = f" repetition {story['repetition']}" if story["repetition"] else ""
    echo(f"{style(story['system'], bold=True)}: {story['example_id']}{repetition}")
    made_of = story["made_of"]
    _line("key", story["response_key"])
    _line("system", f"{made_of['system_key']} {_short(made_of['system'])}")
    _line("example", made_of["example_hash"])
    _line("not in it", ", ".join(story["in_no_key"]))
    if not story["valid_in_other_runs"]:
        _line(
            "only here",
            "the system has no fingerprint, so its responses are never reused in other runs",
        )
    _line("reused", "yes, from an earlier run" if story["reused"] else "no, the system was asked")
    for name, found in story["score_keys"].items():
        _line("scores", f"{found['key']} {name}")
    for other in story["earlier_runs"]:
        _line("held to", f"{other['run']}: {other['verdict']}")
    echo()


def _line(label: str, text: str) -> None:
    echo(wrap_text(label, " ".join(text.split()), 2, 11))


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _short(value: Any, most: int = 400) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
