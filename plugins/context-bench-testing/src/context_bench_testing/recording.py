"""A mapping that records which of its fields are read."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any


class RecordingDict(dict[str, Any]):
    """A dictionary that records which fields were read.

    It is a real dictionary, because components may check for one. Only the top level records.

    Attributes:
        read: Names of the fields that were read or looked for.
        listed: Whether all fields were listed at once.
    """

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.read: set[str] = set()
        self.listed = False

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str):
            self.read.add(name)
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, and record its name."""
        self.read.add(name)
        return super().get(name, default)

    def pop(self, name: str, *default: Any) -> Any:
        """Remove a field, and record its name."""
        self.read.add(name)
        return super().pop(name, *default)

    def __iter__(self) -> Iterator[str]:
        self.listed = True
        return super().__iter__()

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        """Return the names of all fields, and record that they were listed."""
        self.listed = True
        return super().keys()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        """Return all fields, and record that they were listed."""
        self.listed = True
        return super().values()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        """Return all fields by name, and record that they were listed."""
        self.listed = True
        return super().items()
