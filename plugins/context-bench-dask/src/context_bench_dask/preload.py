"""What a worker of a local cluster does first: it prints to the error stream, as the results of the
driver are on the other one."""

from __future__ import annotations

import os
from typing import Any


def dask_setup(worker: Any) -> None:
    """Send what the worker prints to the error stream; dask calls it."""
    os.dup2(2, 1)
