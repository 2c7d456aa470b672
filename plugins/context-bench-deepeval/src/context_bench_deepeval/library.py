"""deepeval itself, imported so that it sends nothing and reads no file of the working directory."""

from __future__ import annotations

import importlib
import os
from typing import Any

SETTINGS = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_DISABLE_LEGACY_KEYFILE": "1",
}
"""Variables by which deepeval's documentation switches off telemetry, ``.env`` files and the key file of a project."""


def library(module: str) -> Any:
    """Return a module of deepeval.

    The variables are set before each import: deepeval reads them again whenever they have changed.

    Args:
        module: Its name, such as ``deepeval.metrics``.
    """
    os.environ.update(SETTINGS)
    return importlib.import_module(module)
