"""A reply that does not say what was asked."""

from __future__ import annotations


class UnreadableReply(ValueError):  # noqa: N818 - names what the judge sent, and is caught by us alone
    """The judge's reply holds no rating or verdict that a reader would be sure of; the message says why."""


def beginning_of(reply: str, length: int = 160) -> str:
    """Return the beginning of a reply in one line, for a message."""
    line = " ".join(reply[: 4 * length].split())
    return repr(line if len(line) <= length else line[: length - 1] + "…")
