"""Finding what ``module:object`` names, and saying in one line why it is not there."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from inspect import getattr_static, isclass, isfunction
from traceback import extract_tb
from types import ModuleType
from typing import Any

from context_bench.console import stdout_aside
from context_bench.errors import ConfigurationError, did_you_mean
from context_bench_python.folder import Folder


def find_target(target: str, path: str = ".") -> Any:
    """Return the object that a target names.

    Args:
        target: ``module:object``; both may have dots.
        path: Folder whose modules can be imported beside the installed ones.

    Raises:
        ConfigurationError: There is no such module or object, or importing it failed.
    """
    module_name, colon, attribute = target.strip().partition(":")
    parts = attribute.split(".")
    if not colon or not all(part.isidentifier() for part in (*module_name.split("."), *parts)):
        raise ConfigurationError(
            f"The target {target!r} has the wrong form: write module:object, such as my_rag:answer."
        )
    if not os.path.isdir(path):
        raise ConfigurationError(
            f"The target {target!r} is looked for in {path!r}, which is no folder (option path)."
        )
    folder = Folder(path)
    folder.install()
    module = _imported(module_name, folder, target)
    _check_origin(module_name, module, folder)
    found: Any = module
    for depth, part in enumerate(parts):
        holder, owner = ".".join(parts[:depth]), found
        try:
            found = getattr(owner, part)
        except AttributeError:
            where = (
                f"{holder} of the module {module_name}" if holder else f"the module {module_name}"
            )
            raise ConfigurationError(
                f"The target {target!r} is not there: {where} has no {part!r}. {did_you_mean(part, _names(found))}".rstrip()
            ) from None
    if (
        isclass(owner)
        and isfunction(found)
        and not isinstance(getattr_static(owner, parts[-1]), staticmethod)
    ):
        raise ConfigurationError(
            f"The target {target!r} is a method of the class {holder}, and asked of nobody: name the class, or an object of it, "
            f"such as my_object.{parts[-1]}."
        )
    return found


def _imported(name: str, folder: Folder, target: str) -> ModuleType:
    try:
        with stdout_aside():  # whatever a module prints at import
            return import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing != name and not name.startswith(f"{missing}."):
            raise ConfigurationError(
                f"The target {target!r} cannot be imported: it needs the module {missing!r}, which is not installed."
            ) from error
        hint = did_you_mean(missing, folder.modules()) if "." not in missing else ""
        raise ConfigurationError(
            f"The target {target!r} is not there: no module {missing!r} is installed or lies in {folder.path}. {hint}".rstrip()
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise ConfigurationError(
            f"The target {target!r} cannot be imported: {type(error).__name__}: {_one_line(error)} ({_place(error)})."
        ) from error


def _check_origin(name: str, module: ModuleType, folder: Folder) -> None:
    """Refuse an installed module in place of the user's own: it is never the one that was meant."""
    first = name.partition(".")[0]
    if first in folder.modules() and not folder.holds(sys.modules.get(first, module)):
        there = getattr(module, "__file__", None) or "Python itself"
        raise ConfigurationError(
            f"There are two modules {first!r}: one in {folder.path}, and the one that is imported, of {there}. "
            "Give yours another name."
        )


def _names(holder: Any) -> list[str]:
    """Return the names that could have been meant: what can be called, if anything can."""
    public = [name for name in dir(holder) if not name.startswith("_")]
    own = [
        name
        for name in public
        if getattr(getattr(holder, name, None), "__module__", None)
        == getattr(holder, "__name__", "")
    ]
    return own or public


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".") or "no message"


def _place(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}"
    frames = [
        frame for frame in extract_tb(error.__traceback__) if "importlib" not in frame.filename
    ]
    return f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else "no place known"
