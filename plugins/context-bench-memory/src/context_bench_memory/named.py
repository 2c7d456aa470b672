"""A memory of the user's own, named on the command line."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from context_bench_memory.adapter import MemoryAdapter


class NamedMemory(MemoryAdapter):
    """The memory that ``module:Class`` makes, as a system. Modules of the current directory are found too.

    Args:
        object: ``module:Class``, or ``module:function`` that returns a memory.
        name: Display name; by default the memory's.
        ingest_once: Whether rows with the same sessions one after another share what the memory holds.

    Raises:
        ImportError: There is no such module, or it cannot be imported.
        TypeError: It makes no memory.
        ValueError: The text has another form, or the module has no such attribute.
    """

    def __init__(
        self,
        object: str,  # noqa: A002 - the name of the option
        name: str | None = None,
        ingest_once: bool = False,
    ) -> None:
        super().__init__(_found(object), name, ingest_once=ingest_once)


def _found(path: str) -> Any:
    module, colon, attribute = path.partition(":")
    if not (colon and module and attribute):
        raise ValueError(
            f"memory: object is {path!r}, and it must be module:Class, such as my_memory:Memory."
        )
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0] and error.name != module:
            raise
        raise ValueError(
            f"memory: there is no module {module!r}, neither installed nor in {here}."
        ) from None
    finally:
        sys.path.remove(here)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"memory: {module} has no {attribute!r}.")
        found = getattr(found, part)
    return found
