"""What all tests share: patience, and a Ctrl-C that works."""

from __future__ import annotations

import os
import signal
from importlib.util import find_spec

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so a job in the background starts, and all that it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline for one example: a busy machine is no fault of the code. In CI, Hypothesis chooses that by itself.
if find_spec("hypothesis") and "CI" not in os.environ:
    from hypothesis import settings

    settings.register_profile("patient", deadline=None)
    settings.load_profile("patient")
