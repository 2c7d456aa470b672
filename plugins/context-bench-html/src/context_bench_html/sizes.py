"""Sizes as people write them: ``20MB``."""

from __future__ import annotations

import re

from context_bench.errors import ConfigurationError

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
    "kib": 1024,
    "mib": 1024**2,
    "gib": 1024**3,
}


def size_of(text: str | int) -> int:
    """Return a size in bytes.

    >>> size_of("20MB"), size_of("1.5 KiB"), size_of(0)
    (20000000, 1536, 0)

    Raises:
        ConfigurationError: It is no size.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(text).lower())
    if found is None or found[2] not in _UNITS:
        raise ConfigurationError(
            f"{text!r} is no size. Write a number and B, KB, MB or GB, such as 20MB."
        )
    return int(float(found[1]) * _UNITS[found[2]])
