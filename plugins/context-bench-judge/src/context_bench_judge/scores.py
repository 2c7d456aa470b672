"""Scores with what led to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Scores(dict[str, float]):
    """Scores of one row by key; `details` hold the judge's reason, or why there is no score.

    Attributes:
        details: JSON-like values that are stored with the row.
    """

    def __init__(self, scores: Mapping[str, float] | None = None, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(scores or {})
        self.details: dict[str, Any] = dict(details or {})
