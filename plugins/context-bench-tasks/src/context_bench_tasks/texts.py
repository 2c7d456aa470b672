"""Text files of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli

from context_bench.errors import DatasetError

LIMITS: Mapping[str, int] = {"turns": 80, "seconds": 600, "bytes": 1_000_000}
"""Limits of a task that sets none."""


def read_settings(file: Path) -> Mapping[str, Any]:
    """Return the content of a TOML file.

    Raises:
        DatasetError: It cannot be read.
    """
    try:
        return tomli.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetError(f"{file}: not a readable TOML file: {error}") from error


def read_texts(folder: Path) -> dict[str, str]:
    """Return the files below a folder by path with forward slashes.

    Raises:
        DatasetError: One is a link, or is not UTF-8 text.
    """
    texts = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise DatasetError(f"{path}: a link. A task contains files only.")
        if path.is_file():
            texts[path.relative_to(folder).as_posix()] = read_text(path)
    return texts


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        DatasetError: It does not exist, or is not UTF-8 text.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: not a readable UTF-8 file: {error}") from error
