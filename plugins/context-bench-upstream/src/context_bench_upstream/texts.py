"""The texts of a JSON value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value; the keys of objects are left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from texts_in(item)
