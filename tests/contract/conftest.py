from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the modules beside the tests

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def outputs(shared: Callable[[str], Path]) -> Path:
    """The folder of recorded model outputs with published scores."""
    return shared("data/outputs")


@pytest.fixture(scope="session")
def repository() -> Path:
    return ROOT
