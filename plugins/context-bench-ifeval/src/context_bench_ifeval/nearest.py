"""What somebody may have meant by a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: object, choices: Iterable[str]) -> str:
    """A sentence that names the choices most like `name`, or all of them if none is alike."""
    from difflib import get_close_matches  # needed for messages only

    choices = list(choices)
    alike = get_close_matches(name[:200], choices) if isinstance(name, str) else []
    if alike:
        return f"Did you mean {' or '.join(map(repr, alike))}?"
    return f"It can be {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}."
