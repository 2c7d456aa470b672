"""What all tests share: patience, a Ctrl-C that works, and the way to the recorded benchmark data."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so a job in the background starts, and all that it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline for one example: a busy machine is no fault of the code. In CI, Hypothesis chooses that by itself.
if find_spec("hypothesis") and "CI" not in os.environ:
    from hypothesis import settings

    settings.register_profile("patient", deadline=None)
    settings.load_profile("patient")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """The path of a file or folder of the shared records; the test is skipped where they are not beside the checkout.

    With ``CONTEXT_BENCH_SHARED=required``, as CI sets it, it fails instead: what must be there is not passed over.
    """

    def path(name: str) -> Path:
        found = SHARED / name
        if not found.exists():
            missing = f"the shared records are not beside the checkout: no {name}"
            if os.environ.get("CONTEXT_BENCH_SHARED") == "required":
                pytest.fail(f"{missing}, and CONTEXT_BENCH_SHARED=required")
            pytest.skip(missing)
        return found

    return path
