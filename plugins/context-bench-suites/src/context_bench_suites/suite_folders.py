"""Where suites are found: in the folder ``suites`` of packages, and in a folder that the user names.

A package names its module in the group ``context_bench_suites`` of its entry points. No code of it is run for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench_suites.suite_file import Suite, read_suite

GROUP = "context_bench_suites"
_FOLDER = "suites"


def suite_files(folder: Path | None = None) -> Iterator[Path]:
    """Yield the TOML files of all suites, those of a folder first.

    Args:
        folder: A folder of suites besides those of packages.

    Raises:
        ConfigurationError: There is no such folder.
    """
    folders = []
    if folder is not None:
        if not folder.is_dir():
            raise ConfigurationError(f"There is no folder {folder} of suites.")
        folders.append(folder)
    modules = {entry.value for entry in entry_points(group=GROUP)}
    for module in sorted(modules):
        if not module.isidentifier():  # the spec of a module in a package imports the package
            continue
        spec = find_spec(module)
        places = spec.submodule_search_locations if spec is not None else None
        folders += [Path(place) / _FOLDER for place in places or ()]
    for place in folders:
        yield from sorted(place.glob("*.toml"))


def find_suites(folder: Path | None = None) -> list[Suite]:
    """Return all suites, those of a folder first.

    Args:
        folder: A folder of suites besides those of packages.

    Raises:
        ConfigurationError: There is no such folder, or one of the suites cannot be read.
    """
    return [read_suite(path) for path in suite_files(folder)]


def find_suite(name: str, folder: Path | None = None) -> Suite:
    """Return a suite by its name; a suite of the folder precedes one of a package.

    Args:
        name: Its name.
        folder: A folder of suites besides those of packages.

    Raises:
        ConfigurationError: There is no such folder, or the suite cannot be read.
        UnknownNameError: No suite has the name.
    """
    known = {}
    for path in suite_files(folder):
        if path.stem == name:
            return read_suite(path)
        known[path.stem] = path
    raise UnknownNameError("suite", name, list(known))
