"""A recording upstream on this machine, and the system that measures a proxy with it."""

from context_bench_upstream.bodies import messages_of
from context_bench_upstream.forwarding import ForwardedContext, forwarded_context
from context_bench_upstream.recording import Forwarded, RecordingUpstream
from context_bench_upstream.redeeming import RetrievalError
from context_bench_upstream.replies import Call

__all__ = [
    "Call",
    "Forwarded",
    "ForwardedContext",
    "RecordingUpstream",
    "RetrievalError",
    "forwarded_context",
    "messages_of",
]
