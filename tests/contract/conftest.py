from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the modules beside the tests

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"


@pytest.fixture(scope="session")
def outputs() -> Path:
    """The folder of recorded model outputs with published scores."""
    if not SHARED.is_dir():
        pytest.skip("the recorded outputs with published scores lie beside a developer's checkout only")
    return SHARED / "outputs"


@pytest.fixture(scope="session")
def repository() -> Path:
    return ROOT
