"""Tasks in own folders: ``task.toml``, ``instruction.md``, ``files/`` and ``expected/``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli

from context_bench.errors import DatasetError
from context_bench_tasks.checks import Check

_KEYS = {"id", "instruction", "limits"}
_LIMITS = {"turns": 80, "seconds": 600, "bytes": 1_000_000}


def read_folders(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the tasks of a folder, in the order of their names.

    Raises:
        DatasetError: The folder has no task, or a task cannot be read.
    """
    if (path / "task.toml").is_file():
        yield read_folder(path)
        return
    folders = sorted(path.glob("*/task.toml"))
    if not folders:
        raise DatasetError(
            f"{path}: no folder with a task.toml. Name a task, or a folder of tasks."
        )
    for file in folders:
        yield read_folder(file.parent)


def read_folder(folder: Path) -> dict[str, Any]:
    """Return the task of a folder.

    Raises:
        DatasetError: A part is missing or cannot be read.
    """
    settings = _settings(folder / "task.toml")
    files = _texts(folder / "files")
    expected = _texts(folder / "expected")
    if not expected:
        raise DatasetError(f"{folder}: expected/ has no file, so no result could pass.")
    return {
        "id": str(settings.get("id", folder.name)),
        "question": _instruction(folder, settings),
        "files": files,
        "limits": {**_LIMITS, **settings.get("limits", {})},
        "task": "folder",
        "check": Check.of_files(expected, files).record(),
    }


def _settings(file: Path) -> Mapping[str, Any]:
    try:
        settings = tomli.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetError(f"{file}: not a readable TOML file: {error}") from error
    unknown = sorted(settings.keys() - _KEYS)
    if unknown:
        raise DatasetError(
            f"{file}: unknown key {unknown[0]!r}. Known: {', '.join(sorted(_KEYS))}."
        )
    limits = settings.get("limits", {})
    wrong = [
        name
        for name, value in limits.items()
        if name not in _LIMITS or isinstance(value, bool) or not isinstance(value, int) or value < 1
    ]
    if wrong:
        raise DatasetError(
            f"{file}: limits.{wrong[0]} must be one of {', '.join(_LIMITS)}, and a whole number above 0."
        )
    return settings


def _instruction(folder: Path, settings: Mapping[str, Any]) -> str:
    text = settings.get("instruction")
    if text is None and (folder / "instruction.md").is_file():
        text = _text(folder / "instruction.md")
    if not isinstance(text, str) or not text.strip():
        raise DatasetError(
            f"{folder}: no instruction. Write instruction.md, or instruction in task.toml."
        )
    return text


def _texts(folder: Path) -> dict[str, str]:
    """Return the files below a folder by path with forward slashes; links are refused."""
    texts = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise DatasetError(f"{path}: a link. A task contains files only.")
        if path.is_file():
            texts[path.relative_to(folder).as_posix()] = _text(path)
    return texts


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: not a readable UTF-8 file: {error}") from error
