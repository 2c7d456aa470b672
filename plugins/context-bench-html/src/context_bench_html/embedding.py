"""Values and texts that cannot leave the place where they stand in a page."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from markupsafe import Markup

from context_bench.console import escape_control

_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"}


def embedded(value: Any) -> Markup:
    """Return a value as JSON that can stand in a script element of an HTML page, whatever texts it holds.

    ``<``, ``>`` and ``&`` are written as escapes, so nothing in it ends the element or begins a comment; so is everything
    that is not printable, such as line separators, changes of direction and lone surrogates.

    >>> embedded({"a": "</script>", "b": float("nan")})
    Markup('{"a":"\\\\u003c/script\\\\u003e","b":null}')
    """
    text = json.dumps(_json(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(escape_control(text, is_json=True).translate(_ESCAPES))


def visible(text: object) -> str:
    """Return a text of one line in which control characters and changes of direction are seen."""
    return escape_control(text, lines=False).encode("utf-8", "backslashreplace").decode("utf-8")


def policy_hash(text: str) -> str:
    """Return what a content security policy calls an inline script or style by."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _json(value: Any) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value == int(value) and abs(value) < 1e15 else value
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json(item) for item in value]
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return str(value)
