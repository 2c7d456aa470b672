"""Tasks in folders: ``task.toml``, ``instruction.md``, ``files/``, and ``expected/`` or a check command; or as Harbor and terminal-bench have them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from context_bench.console import warn
from context_bench.errors import DatasetError
from context_bench_tasks.checks import Check, CommandCheck
from context_bench_tasks.continuation import first_request, read_continuation
from context_bench_tasks.foreign import is_foreign, is_terminal_bench, read_foreign
from context_bench_tasks.images import ImageNeededError
from context_bench_tasks.texts import LIMITS, read_settings, read_text, read_texts

_KEYS = {"id", "instruction", "limits", "check", "session", "cut"}
_CHECK_SECONDS = 600
_SHOWN = 20
_TESTS = "{tests}/"


def read_folders(path: Path) -> Iterator[dict[str, Any]]:
    """Return the tasks of a folder, in the order of their names.

    Tasks of Harbor and terminal-bench that cannot be run here are left out, with a warning that counts them and has the reasons.
    It is written before the first task is returned.

    Raises:
        DatasetError: The folder has no task, or a task cannot be read.
    """
    if _is_task(path):
        return iter([read_folder(path)])
    folders = sorted(folder for folder in _folders(path) if _is_task(folder))
    if not folders:
        raise DatasetError(
            f"{path}: no folder with a task.toml or task.yaml. Name a task, or a folder of tasks."
        )
    refused = _refused(folders)
    left = [folder for folder in folders if folder not in refused]
    if refused:
        reasons = list(refused.values())[:_SHOWN]
        more = [f"and {len(refused) - _SHOWN} more"] if len(refused) > _SHOWN else []
        text = f"{len(refused)} of {len(folders)} tasks need a container image. {' '.join([*reasons, *more])}"
        if not left:
            raise DatasetError(f"{path}: {text}")
        warn(f"{text} They are left out.")
    return map(read_folder, left)


def _is_task(folder: Path) -> bool:
    return (folder / "task.toml").is_file() or is_terminal_bench(folder)


def _folders(path: Path) -> list[Path]:
    return [folder for folder in path.iterdir() if folder.is_dir()] if path.is_dir() else []


def _refused(folders: Iterable[Path]) -> dict[Path, str]:
    """Return the tasks of other programs that cannot be run here, each with the reason."""
    refused = {}
    for folder in folders:
        if is_foreign(folder):
            try:
                read_foreign(folder)
            except DatasetError as error:
                why = error.__cause__ if isinstance(error, ImageNeededError) else error
                refused[folder] = f"{folder.name}: {why}."
    return refused


def read_folder(folder: Path) -> dict[str, Any]:
    """Return the task of a folder.

    Raises:
        DatasetError: A part is missing or cannot be read.
    """
    if is_foreign(folder):
        return read_foreign(folder)
    settings = read_settings(folder / "task.toml")
    _check_settings(folder / "task.toml", settings)
    files = read_texts(folder / "files")
    expected = read_texts(folder / "expected")
    command = None
    if "check" in settings:
        command = CommandCheck(settings["check"], read_texts(folder / "tests"), _CHECK_SECONDS)
        _require_command(folder, command)
    if not expected and command is None:
        raise DatasetError(
            f"{folder}: expected/ has no file and task.toml no check, so no result could pass."
        )
    session = None
    if "session" in settings:
        session = read_continuation(folder, settings, files)
    question, more = _question(folder, settings, session)
    return {
        "id": str(settings.get("id", folder.name)),
        "question": question,
        "files": files,
        "limits": {**LIMITS, **settings.get("limits", {})},
        "task": "folder",
        "check": Check.of_files(expected, files if expected else {}, command=command).record(),
        **more,
    }


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
        if name not in LIMITS or isinstance(value, bool) or not isinstance(value, int) or value < 1
    ]
    if wrong:
        raise DatasetError(
            f"{file}: limits.{wrong[0]} must be one of {', '.join(LIMITS)}, and a whole number above 0."
        )
    if "cut" in settings and "session" not in settings:
        raise DatasetError(f"{file}: cut needs session, the file that it cuts.")
    words = settings.get("check", ["true"])
    is_command = isinstance(words, list) and all(isinstance(word, str) for word in words)
    if not is_command or not words:
        raise DatasetError(
            f"{file}: check must be a list of words: a program and its arguments, such as "
            '["bash", "{tests}/check.sh"].'
        )


def _require_command(folder: Path, command: CommandCheck) -> None:
    """Check that the program and the hidden files of a check command exist; the agent may write a program with a relative path."""
    program = command.words[0]
    is_relative = "/" in program and not Path(program).is_absolute()
    if not is_relative and shutil.which(program) is None:
        raise DatasetError(f"{folder}: check calls {program}, which is not installed here.")
    for word in command.words:
        if word.startswith(_TESTS) and not (folder / "tests" / word[len(_TESTS) :]).exists():
            raise DatasetError(f"{folder}: check names {word}, but tests/ has no such file.")


def _question(
    folder: Path, settings: Mapping[str, Any], session: Mapping[str, Any] | None
) -> tuple[str, dict[str, Any]]:
    """Return the instruction, and the field ``session`` where there is one. An instruction is the last message of the session;
    without one, the session goes on as it is."""
    text = settings.get("instruction")
    if text is None and (folder / "instruction.md").is_file():
        text = read_text(folder / "instruction.md")
    if session is None:
        return _instruction(folder, text), {}
    messages = session["messages"]
    if text is None:
        return first_request(messages), {"session": session}
    question = _instruction(folder, text)
    told = [*messages, {"role": "user", "content": question}]
    return question, {"session": {**session, "messages": told}}


def _instruction(folder: Path, text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise DatasetError(
            f"{folder}: no instruction. Write instruction.md, or instruction in task.toml."
        )
    return text
