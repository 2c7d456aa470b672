from __future__ import annotations

from typing import Any

import pytest


class Same:
    """An evaluator: is the response the answer?"""

    name = "same"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        if original.get("answer") is None:
            return {}
        return {"same": float(original["answer"] == processed["response"])}


@pytest.fixture
def same() -> Same:
    return Same()
