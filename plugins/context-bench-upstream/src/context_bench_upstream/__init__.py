"""A recording upstream on this machine, and the system that measures a proxy with it."""

from context_bench_upstream.bodies import messages_of
from context_bench_upstream.forwarding import ForwardedContext, forwarded_context
from context_bench_upstream.recording import Forwarded, RecordingUpstream

__all__ = ["Forwarded", "ForwardedContext", "RecordingUpstream", "forwarded_context", "messages_of"]
