"""Editing the list of disabled plugins in ``context-bench.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from context_bench.console import atomic_write
from context_bench.errors import ConfigurationError
from context_bench_kit.toml_list import with_item, without_item

PROJECT_FILE = "context-bench.toml"
_MARK = "\ufeff"  # that some editors put before a text


def set_disabled(name: str, disabled: bool, path: Path | None = None) -> bool:
    """Switch a plugin off or on in ``[plugins] disable`` of the project file, and leave everything else as it stands.

    Returns:
        Whether anything changed.

    Raises:
        ConfigurationError: The file is no TOML, cannot be written, or holds the list in a form that only a person can
            edit.
    """
    path = path or Path(PROJECT_FILE)
    written = _text(path)
    text = written.removeprefix(_MARK)
    before = _disabled(_parse(path, text))
    if (name in before) == disabled:
        return False
    after = [*before, name] if disabled else [entry for entry in before if entry != name]
    edited = (with_item if disabled else without_item)(text, "plugins", "disable", name)
    if edited is None or not _holds(edited, text, after):
        wanted = ", ".join(f'"{entry}"' for entry in after)
        raise ConfigurationError(
            f"{path} holds the disabled plugins in a form that is not edited here. Write it by hand: under [plugins], "
            f"disable = [{wanted}]."
        )
    with atomic_write(path, "The project file") as stream:
        # As bytes: the user's file keeps its mark of order and all its letters.
        stream.buffer.write((written[: len(written) - len(text)] + edited).encode())
    return True


def disabled_plugins(path: Path | None = None) -> list[str]:
    """Return the names in ``[plugins] disable``."""
    path = path or Path(PROJECT_FILE)
    return _disabled(_parse(path, _text(path).removeprefix(_MARK)))


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise ConfigurationError(f"The project file {path} cannot be read: it is no regular file.")
    try:
        with path.open(encoding="utf-8", newline="") as file:  # line endings stay as they are
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The project file {path} cannot be read: {error}.") from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    import tomli

    try:
        return tomli.loads(text)
    except (
        ValueError,
        RecursionError,
    ) as error:  # a number of thousands of digits, and tables in tables, too
        raise ConfigurationError(f"The project file {path} is no valid TOML: {error}.") from error


def _holds(edited: str, text: str, names: list[str]) -> bool:
    """Whether an edited file differs from what it was in the disabled plugins alone."""
    import tomli

    try:
        after = tomli.loads(edited)
    except (ValueError, RecursionError):
        return False
    if sorted(_disabled(after)) != sorted(names):
        return False
    return _without_disabled(after) == _without_disabled(tomli.loads(text))


def _without_disabled(project: Mapping[str, Any]) -> dict[str, Any]:
    plugins = project.get("plugins", {})
    rest = (
        {key: value for key, value in plugins.items() if key != "disable"}
        if isinstance(plugins, Mapping)
        else plugins
    )
    return {**project, "plugins": rest}


def _disabled(project: Mapping[str, Any]) -> list[str]:
    plugins = project.get("plugins", {})
    names = plugins.get("disable", []) if isinstance(plugins, Mapping) else []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
