"""One row and the place it was found at."""

from __future__ import annotations

from typing import Any, NamedTuple


class Record(NamedTuple):
    """One row of a file.

    Attributes:
        where: Place in the file, such as ``line 7``, or ``item 7`` of a JSON array; both count from 1.
        columns: The row's own columns.
    """

    where: str
    columns: dict[str, Any]
