"""Packages that are not installed: a project folder or a wheel becomes visible to discovery for a
while.

Nothing is built and nothing is installed. A wheel is unpacked into a temporary folder. Of a project,
``pyproject.toml`` becomes the metadata that an installation would write, and its sources are used
where they are.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tomli

from context_bench.errors import ConfigurationError


@contextmanager
def made_visible(names: Iterable[str]) -> Iterator[list[str]]:
    """Yield the names with each path replaced by the name of the distribution that lies there.

    Raises:
        ConfigurationError: A path contains neither a project nor a wheel.
    """
    before = list(sys.path)
    visible: list[str] = []
    with tempfile.TemporaryDirectory(prefix="context-bench-check-") as folder:
        try:
            for number, name in enumerate(names):
                site = Path(folder, str(number))
                if _is_path(name):
                    site.mkdir()
                    visible.append(_make_visible(Path(name).resolve(), site))
                else:
                    visible.append(name)
            yield visible
        finally:
            sys.path[:] = before


def _is_path(name: str) -> bool:
    """Return whether a name is meant as a path: an id of a component contains a slash, too."""
    return name.endswith(".whl") or name.startswith((".", "/", "~")) or Path(name).is_dir()


def _make_visible(path: Path, site: Path) -> str:
    if path.suffix == ".whl":
        if not path.is_file():
            raise ConfigurationError(f"{path}: the wheel does not exist.")
        try:
            with zipfile.ZipFile(path) as packed:
                packed.extractall(site)
        except zipfile.BadZipFile as error:
            raise ConfigurationError(f"{path} is not a wheel: {error}.") from error
        sys.path.insert(0, str(site))
        return path.name.partition("-")[0].replace("_", "-").lower()
    project_file = path / "pyproject.toml"
    if not project_file.is_file():
        raise ConfigurationError(f"{path} contains no pyproject.toml, and is not a wheel.")
    try:
        project = tomli.loads(project_file.read_text(encoding="utf-8")).get("project", {})
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{project_file} is not valid TOML: {error}.") from error
    if not isinstance(project.get("name"), str):
        raise ConfigurationError(f"{project_file} has no [project] name.")
    groups = project.get("entry-points", {})
    if not any(group.startswith("context_bench.") for group in groups):
        raise ConfigurationError(
            f"{project_file} names no entry point in a group such as context_bench.evaluators. If "
            "another file names them, build a wheel and check that."
        )
    _write_metadata(project, site)
    sources = path / "src"
    sys.path[:0] = [str(site), str(sources if sources.is_dir() else path)]
    name: str = project["name"].replace("_", "-").lower()
    return name


def _write_metadata(project: Mapping[str, Any], site: Path) -> None:
    """Write what an installation of a project would write about it."""
    name = project["name"]
    version = project.get("version", "0")
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in project.get("dependencies", ())]
    (folder / "METADATA").write_text("\n".join([*lines, "", ""]), encoding="utf-8")
    points: list[str] = []
    for group, entries in project.get("entry-points", {}).items():
        points.append(f"[{group}]")
        points += [f"{key} = {target}" for key, target in entries.items()]
    (folder / "entry_points.txt").write_text("\n".join([*points, ""]), encoding="utf-8")
