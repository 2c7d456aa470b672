"""Tasks in folders: ``task.toml``, ``instruction.md``, ``files/``, and ``expected/`` or a check command; or as Harbor has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli

from context_bench.errors import DatasetError
from context_bench_tasks.checks import Check, CommandCheck
from context_bench_tasks.foreign import harbor_check, harbor_limits, is_harbor, refuse_image

_KEYS = {"id", "instruction", "limits", "check"}
_CHECK_SECONDS = 600
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
    settings = _toml(folder / "task.toml")
    if is_harbor(folder, settings):
        return _read_harbor(folder, settings)
    _check_settings(folder / "task.toml", settings)
    files = _texts(folder / "files")
    expected = _texts(folder / "expected")
    command = None
    if "check" in settings:
        command = CommandCheck(settings["check"], _texts(folder / "tests"), _CHECK_SECONDS)
    if not expected and command is None:
        raise DatasetError(
            f"{folder}: expected/ has no file and task.toml no check, so no result could pass."
        )
    return {
        "id": str(settings.get("id", folder.name)),
        "question": _instruction(folder, settings),
        "files": files,
        "limits": {**_LIMITS, **settings.get("limits", {})},
        "task": "folder",
        "check": Check.of_files(expected, files if expected else {}, command=command).record(),
    }


def _read_harbor(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task that is laid out as Harbor's are.

    Raises:
        DatasetError: It needs an image, or a part is missing or cannot be read.
    """
    refuse_image(folder, settings)
    command = harbor_check(_texts(folder / "tests"), settings)
    return {
        "id": folder.name,
        "question": _instruction(folder, {}),
        "files": _texts(folder / "environment"),
        "limits": {**_LIMITS, **harbor_limits(settings)},
        "task": "harbor",
        "check": Check.of_files({}, {}, command=command).record(),
    }


def _toml(file: Path) -> Mapping[str, Any]:
    try:
        return tomli.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetError(f"{file}: not a readable TOML file: {error}") from error


def _check_settings(file: Path, settings: Mapping[str, Any]) -> None:
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
    words = settings.get("check", ["true"])
    is_command = isinstance(words, list) and all(isinstance(word, str) for word in words)
    if not is_command or not words:
        raise DatasetError(
            f"{file}: check must be a list of words: a program and its arguments, such as "
            '["bash", "{tests}/check.sh"].'
        )


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
