"""Tasks in the directories of Harbor, as far as they need no container image."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from context_bench.errors import DatasetError
from context_bench_tasks.checks import CommandCheck

_SECTIONS = {"metadata", "verifier", "agent", "environment", "version", "schema_version"}
_SCRIPT = "test.sh"
_IMAGES = ("Dockerfile", "docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
_ONLY_IN_AN_IMAGE = re.compile(
    r"(?<![\w./-])/(?:app|tests|logs|workspace|oracle|solution)(?![\w-])"
)
_SECONDS = 600


def is_harbor(folder: Path, settings: Mapping[str, Any]) -> bool:
    """Return whether a folder is laid out as Harbor's are: ``tests/test.sh``, and tables of Harbor in ``task.toml``."""
    return (folder / "tests" / _SCRIPT).is_file() and set(settings) <= _SECTIONS


def refuse_image(folder: Path, settings: Mapping[str, Any]) -> None:
    """Refuse a task that needs an image.

    Raises:
        DatasetError: It has a recipe of an image, names one, or its tests use a folder that only an image has.
    """
    for name in _IMAGES:
        for file in (folder / name, folder / "environment" / name):
            if file.exists():
                raise _needs_image(folder, f"it has {file.relative_to(folder).as_posix()}")
    environment = settings.get("environment")
    if isinstance(environment, Mapping) and environment.get("docker_image"):
        raise _needs_image(folder, "environment.docker_image names one")
    for file in sorted((folder / "tests").rglob("*")):
        used = _ONLY_IN_AN_IMAGE.search(_text(file)) if file.is_file() else None
        if used is not None:
            raise _needs_image(folder, f"{file.relative_to(folder).as_posix()} uses {used.group()}")


def harbor_check(tests: Mapping[str, str], settings: Mapping[str, Any]) -> CommandCheck:
    """Return the check that runs the tests of a task in its workspace."""
    seconds = _seconds(settings, "verifier")
    return CommandCheck(("bash", f"{{tests}}/{_SCRIPT}"), tests, seconds)


def harbor_limits(settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the limits of a task: ``seconds``."""
    return {"seconds": _seconds(settings, "agent")}


def _seconds(settings: Mapping[str, Any], section: str) -> int:
    table = settings.get(section)
    seconds = table.get("timeout_sec") if isinstance(table, Mapping) else None
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 1 <= seconds < 1e9:
        return _SECONDS
    return int(seconds)


def _needs_image(folder: Path, why: str) -> DatasetError:
    return DatasetError(
        f"{folder.name}: the task needs a container image: {why}. Only tasks without an image are run."
    )


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise DatasetError(f"{file}: cannot be read: {error}") from error
