"""``context-bench otel``: send the scores of a run."""

from __future__ import annotations

import os
from pathlib import Path

import click

from context_bench.console import echo
from context_bench.errors import ConfigurationError
from context_bench.runs import Run, open_run
from context_bench_otel.events import events_of
from context_bench_otel.sending import send_by_http

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


@click.command()
@click.argument("run_file", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--endpoint",
    metavar="URL",
    help="Base address of an OTLP endpoint, such as http://localhost:4318. [default: OTEL_EXPORTER_OTLP_ENDPOINT]",
)
@click.option(
    "--score", "scores", multiple=True, metavar="KEY", help="Send this score only; repeatable."
)
@click.option("--system", metavar="LABEL", help="Send the rows of this system only.")
@click.option(
    "--explanations",
    is_flag=True,
    help="Send explanations of evaluators too; they can quote the response.",
)
def otel(
    run_file: Path,
    endpoint: str | None,
    scores: tuple[str, ...],
    system: str | None,
    explanations: bool,
) -> None:
    """Send the scores of a run as OpenTelemetry GenAI evaluation events, by OTLP over HTTP.

    Headers, such as keys, come from OTEL_EXPORTER_OTLP_HEADERS.
    """
    if endpoint is None and not any(os.environ.get(name) for name in _ENDPOINTS):
        raise ConfigurationError(
            "No OTLP endpoint given. Pass --endpoint URL or set OTEL_EXPORTER_OTLP_ENDPOINT."
        )
    with open_run(run_file) as run:
        number = None if system is None else _number_of(run, system)
        events = events_of(run.rows(number), scores=scores, explanations=explanations)
        sent = send_by_http(events, _resource(run), endpoint=endpoint)
    noun = "event" if sent.events == 1 else "events"
    echo(f"Sent {sent.events} {noun}, {sent.failures} of them failures.")


def _number_of(run: Run, label: str) -> int:
    numbers = {str(system["label"]): int(system["system_number"]) for system in run.systems}
    if label not in numbers:
        raise ConfigurationError(
            f"The run has no system {label!r}. Choose from: {', '.join(numbers)}."
        )
    return numbers[label]


def _resource(run: Run) -> dict[str, str]:
    return {
        "service.name": os.environ.get("OTEL_SERVICE_NAME", "context-bench"),
        "service.version": str(run.provenance.get("context_bench", "")),
        "context_bench.run.id": run.id,
        "context_bench.run.status": run.status,
    }
