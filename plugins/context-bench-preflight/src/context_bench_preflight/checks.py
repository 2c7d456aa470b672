"""A check of the doctor's: one thing that was looked at, and the state that it is in."""

from __future__ import annotations

from attrs import frozen

FINE, NOTE, WARNING, ERROR = STATES = ("ok", "note", "warning", "error")


@frozen
class Check:
    """One thing that was looked at.

    Attributes:
        subject: What it is.
        state: ``"ok"``, ``"note"``, ``"warning"`` or ``"error"``; an error means that something cannot work.
        text: What was found.
    """

    subject: str
    state: str
    text: str
