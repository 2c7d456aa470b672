"""The scores of a run as OpenTelemetry GenAI evaluation events.

`events_of` makes the events, `send` hands them to any logger provider. Nothing is sent without a call.
"""

from context_bench_otel.events import EVENT_NAME, Event, events_of
from context_bench_otel.sending import Sent, logger_provider, send

__all__ = ["EVENT_NAME", "Event", "Sent", "events_of", "logger_provider", "send"]
