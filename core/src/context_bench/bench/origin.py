"""Origin: which edition of a dataset a run was given, as far as anybody can tell before its examples are read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from context_bench.errors import DatasetError

_CHUNK = 1 << 20
_LONGEST = 200


def revision_of(thing: Any, arguments: Mapping[str, Any] | None = None) -> str | None:
    """Return the revision that a dataset or its loader tells, or None.

    It is an attribute ``revision`` or ``fingerprint`` (or ``_fingerprint``, as the library ``datasets`` has it): a text, or a
    function that returns one. A loader's function is called with the loader's own arguments.

    Raises:
        DatasetError: The function failed.
    """
    for name in ("revision", "fingerprint", "_fingerprint"):
        found = getattr(thing, name, None)
        if callable(found):
            try:
                found = found(**(arguments or {}))
            except Exception as error:
                raise DatasetError(
                    f"The {name} of a dataset cannot be told: {type(error).__name__}: {error}"
                ) from error
        if isinstance(found, str | int) and not isinstance(found, bool) and str(found):
            return str(found)[:_LONGEST]
    return None


def source_of(path: Any) -> dict[str, Any] | None:
    """Return name, size and SHA-256 of a dataset's file; None when there is no such file, which its loader will tell.

    The name comes without its folders: where a file lies is nobody's business.
    """
    try:
        file = Path(os.path.expanduser(path))
        if not file.is_file():
            return None
        content = sha256()
        size = 0
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                content.update(chunk)
                size += len(chunk)
    except (OSError, TypeError, ValueError):
        return None
    return {"file": file.name, "bytes": size, "sha256": content.hexdigest()}
