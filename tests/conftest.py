"""Property tests have no deadline for one example, here as in CI: a busy machine is no fault of the code."""

from __future__ import annotations

import os
from importlib.util import find_spec

if find_spec("hypothesis") and "CI" not in os.environ:  # in CI, Hypothesis chooses such a profile by itself
    from hypothesis import settings

    settings.register_profile("patient", deadline=None)
    settings.load_profile("patient")
