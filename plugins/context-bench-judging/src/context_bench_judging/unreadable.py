"""A reply that does not say what was asked."""

from __future__ import annotations

from context_bench.answers import UNREADABLE


class UnreadableReply(ValueError):  # noqa: N818 - names what the judge sent, and is caught by us alone
    """The judge's reply holds no rating or verdict that a reader would be sure of; the message says why."""


def reason_of(cause: Exception) -> str:
    """Return why a row is unscored; an unreadable reply is marked as such, and counted in the table.

    >>> reason_of(UnreadableReply("the judge gave an empty reply")), reason_of(OSError("it hung up"))
    ('unreadable: the judge gave an empty reply', 'it hung up')
    """
    return f"{UNREADABLE}{cause}" if isinstance(cause, UnreadableReply) else str(cause)


def beginning_of(reply: str, length: int = 160) -> str:
    """Return the beginning of a reply in one line, for a message."""
    line = " ".join(reply[: 4 * length].split())
    return repr(line if len(line) <= length else line[: length - 1] + "…")
