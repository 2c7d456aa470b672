"""The scripted server of the judging packages, whose reply is an empty object until a test says another."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def judge(fake: Any) -> Any:
    fake.sayings = ["{}"]
    return fake
