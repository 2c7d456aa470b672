"""Events through the OpenTelemetry SDK."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from context_bench.errors import ContextBenchError
from context_bench_otel.events import EVENT_NAME, Event

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import LoggerProvider

_BATCH = 200


class SendingError(ContextBenchError):
    """Events could not be sent."""

    code = "not-sent"


@frozen
class Sent:
    """What was sent.

    Attributes:
        events: Number of events.
        failures: How many of them tell a failure.
    """

    events: int
    failures: int


def logger_provider(resource: Mapping[str, str]) -> LoggerProvider:
    """Return a logger provider with the attributes of this run's source; add a processor to it to send events."""
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk.resources import Resource

    return LoggerProvider(resource=Resource.create(dict(resource)), shutdown_on_exit=False)


def send(events: Iterable[Event], provider: Any) -> Sent:
    """Emit events through a logger provider of OpenTelemetry, and flush it.

    Args:
        events: Events of `events_of`.
        provider: Any logger provider, such as that of an application which is instrumented already.

    Raises:
        SendingError: The provider could not flush its events.
    """
    logger = provider.get_logger("context_bench_otel")
    count = 0
    failures = 0
    for event in events:
        _emit(logger, event)
        count += 1
        failures += "error.type" in event.attributes
        if count % _BATCH == 0:
            _flush(provider)
    _flush(provider)
    return Sent(count, failures)


def _flush(provider: Any) -> None:
    if not provider.force_flush():
        raise SendingError("OpenTelemetry could not send the events in time.")


def _emit(logger: Any, event: Event) -> None:
    from opentelemetry._logs import SeverityNumber
    from opentelemetry.trace import (
        NonRecordingSpan,
        SpanContext,
        TraceFlags,
        set_span_in_context,
    )

    context = None
    if event.trace_id and event.span_id:
        parent = SpanContext(
            trace_id=event.trace_id,
            span_id=event.span_id,
            is_remote=True,
            trace_flags=TraceFlags(TraceFlags.SAMPLED),
        )
        context = set_span_in_context(NonRecordingSpan(parent))
    logger.emit(
        timestamp=time.time_ns(),
        context=context,
        severity_number=SeverityNumber.INFO,
        attributes=dict(event.attributes),
        event_name=EVENT_NAME,
    )


def send_by_http(
    events: Iterable[Event],
    resource: Mapping[str, str],
    *,
    endpoint: str | None = None,
    timeout: float = 10.0,
) -> Sent:
    """Send events to an OTLP endpoint by HTTP.

    Args:
        events: Events of `events_of`.
        resource: Attributes of the source.
        endpoint: Base address, such as ``http://localhost:4318``; by default the variables of OpenTelemetry, such as
            ``OTEL_EXPORTER_OTLP_ENDPOINT``. Headers always come from ``OTEL_EXPORTER_OTLP_HEADERS``.
        timeout: Seconds for one request, repetitions included.

    Raises:
        SendingError: The endpoint refused events, or did not answer.
    """
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor

    address = None if endpoint is None else f"{endpoint.rstrip('/')}/v1/logs"
    exporter = OTLPLogExporter(endpoint=address, timeout=timeout)
    provider = logger_provider(resource)
    collected: Any = _Collected(exporter)
    provider.add_log_record_processor(SimpleLogRecordProcessor(collected))
    try:
        return send(events, _Checked(provider, collected))
    finally:
        provider.shutdown()


class _Collected:
    """An exporter that passes batches on, and reports what OpenTelemetry's processors only log: that one was refused."""

    def __init__(self, exporter: Any) -> None:
        self._exporter = exporter
        self._records: list[Any] = []

    def export(self, batch: Any) -> Any:
        """Keep records until they are flushed."""
        from opentelemetry.sdk._logs.export import LogRecordExportResult

        self._records.extend(batch)
        return LogRecordExportResult.SUCCESS

    def deliver(self) -> None:
        """Send what was kept.

        Raises:
            SendingError: The endpoint did not take it.
        """
        from opentelemetry.sdk._logs.export import LogRecordExportResult

        if not self._records:
            return
        result = self._exporter.export(self._records)
        if result is not LogRecordExportResult.SUCCESS:
            raise SendingError(
                "The OTLP endpoint did not accept the events. Check the address and OTEL_EXPORTER_OTLP_HEADERS; "
                "events that were sent before stay there."
            )
        self._records = []

    def force_flush(self, timeout_millis: int = 10_000) -> bool:
        """Nothing is done: `deliver` sends."""
        return True

    def shutdown(self) -> None:
        """Close the exporter."""
        self._exporter.shutdown()


class _Checked:
    """A provider whose flush raises when the endpoint refused events."""

    def __init__(self, provider: LoggerProvider, collected: _Collected) -> None:
        self._provider = provider
        self._collected = collected

    def get_logger(self, name: str) -> Any:
        """Return a logger."""
        return self._provider.get_logger(name)

    def force_flush(self) -> bool:
        """Send what was emitted."""
        self._collected.deliver()
        return True
