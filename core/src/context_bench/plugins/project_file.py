"""Finding and reading ``context-bench.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from context_bench.errors import ConfigurationError

PROJECT_FILE = "context-bench.toml"


def load_project(path: Path | None = None) -> Mapping[str, Any]:
    """Return the project file as a table.

    Args:
        path: Where it is; None looks in the current directory and is content with none.

    Raises:
        ConfigurationError: It is not there, or is no TOML.
    """
    if path is None:
        path = Path(PROJECT_FILE)
        if not path.is_file():
            return {}
    try:
        return _parse(path, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The project file {path} cannot be read: {error}.") from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    import tomli

    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise ConfigurationError(f"The project file {path} is no valid TOML: {error}.") from error
