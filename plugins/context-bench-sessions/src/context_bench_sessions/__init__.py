"""Recorded agent sessions as a dataset: read in ten formats, cut where a compressor would work on them, redacted on request."""

from context_bench_sessions.files import read_sessions, session_files
from context_bench_sessions.loader import sessions
from context_bench_sessions.messages import Compaction, Message, Session, count_pairs
from context_bench_sessions.recorded import Recorded
from context_bench_sessions.redaction import Redactor
from context_bench_sessions.sniffing import FORMATS

__all__ = [
    "FORMATS",
    "Compaction",
    "Message",
    "Recorded",
    "Redactor",
    "Session",
    "count_pairs",
    "read_sessions",
    "session_files",
    "sessions",
]
