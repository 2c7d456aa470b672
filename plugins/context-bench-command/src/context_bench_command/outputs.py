"""What a program wrote, as the output of a system."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from context_bench_command.errors import CommandOutputError


def text_output(written: bytes, name: str) -> str:
    """Return text without the line ends behind it.

    Raises:
        CommandOutputError: It is empty, or no UTF-8.
    """
    text = decoded(written, name).rstrip("\r\n")
    if not text.strip():
        raise CommandOutputError(f"{name} wrote nothing to standard output")
    return text


def json_output(written: bytes, name: str) -> Any:
    """Return a JSON value.

    Raises:
        CommandOutputError: It is none.
    """
    text = text_output(written, name)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise CommandOutputError(f"{name} wrote what is no JSON: {text[:120]!r}") from None


def output_of(found: Any, text_is: str, name: str) -> dict[str, Any]:
    """Return the output that a JSON value stands for: an object with ``response`` or ``context``, or a text.

    Raises:
        CommandOutputError: It is neither.
    """
    if isinstance(found, str):
        return {text_is: found}
    if not isinstance(found, Mapping):
        raise CommandOutputError(f"{name} wrote {_kind(found)}, not an object with {text_is!r}")
    if text_is not in found and "context" not in found:
        raise CommandOutputError(
            f"{name} wrote an object with {', '.join(found) or 'nothing'}, and no {text_is!r}"
        )
    for key in (text_is, "context"):
        if (
            key in found
            and not isinstance(found[key], str)
            and not (key == "context" and text_is in found)
        ):
            raise CommandOutputError(
                f"{name} wrote an object whose {key!r} is {_kind(found[key])}, not text"
            )
    return dict(found)


def decoded(written: bytes, name: str) -> str:
    """Return bytes as text.

    Raises:
        CommandOutputError: They are no UTF-8.
    """
    try:
        return written.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandOutputError(
            f"{name} wrote what is no UTF-8: byte {written[error.start]:#04x} at {error.start}"
        ) from None


def _kind(found: Any) -> str:
    return {
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "an array",
        dict: "an object",
    }.get(type(found), "null")
