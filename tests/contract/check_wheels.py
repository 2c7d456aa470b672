"""Check what was built: the wheels and source distributions in a folder.

A wheel has its manifest, type marker, license and description. It says what its project says, its entry points are the
components of its manifest, what it requires of ours is built beside it, and it has no other files. `nox -s build` calls this,
and `twine check --strict` beside it.
"""

from __future__ import annotations

import configparser
import sys
import tarfile
from collections.abc import Collection, Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import tomllib

IN_WHEELS = ("__init__.py", "py.typed", "context_bench_plugin.toml")
IN_SOURCES = ("pyproject.toml", "README.md", "LICENSE", "PKG-INFO")
MANIFESTS_ONLY = "context_bench.manifests"
"""The group of packages whose components are all declared in the manifest."""


def faults(wheel: Path, built: Collection[str] = ()) -> list[str]:
    """Return what is wrong with a wheel.

    Args:
        wheel: The wheel.
        built: Names of the distributions that are built beside it.
    """
    module = wheel.name.partition("-")[0]
    with ZipFile(wheel) as packed:
        names = packed.namelist()
        found = list(_missing(module, names))
        [info] = {name.partition("/")[0] for name in names if ".dist-info/" in name}
        found += [f"has {name}" for name in names if name.partition("/")[0] not in (module, info)]
        found += [f"has {name}" for name in names if name.endswith((".pyc", ".sqlite", ".orig"))]
        metadata = message_from_bytes(packed.read(f"{info}/METADATA"))
        found += _faults_of_metadata(metadata, wheel, built)
        if f"{info}/entry_points.txt" in names and f"{module}/{IN_WHEELS[-1]}" in names:
            manifest = tomllib.loads(packed.read(f"{module}/{IN_WHEELS[-1]}").decode())
            entry_points = configparser.ConfigParser()
            entry_points.optionxform = str  # type: ignore[assignment, method-assign]
            entry_points.read_string(packed.read(f"{info}/entry_points.txt").decode())
            found += _faults_of_entry_points(entry_points, manifest)
    return [f"{wheel.name} {fault}" for fault in found]


def _missing(module: str, names: Collection[str]) -> Iterator[str]:
    for name in IN_WHEELS:
        if f"{module}/{name}" not in names:
            yield f"lacks {module}/{name}"
    if not any(".dist-info/licenses/" in name for name in names):
        yield "lacks its license"


def _faults_of_metadata(metadata: Message, wheel: Path, built: Collection[str]) -> Iterator[str]:
    name, version = wheel.name.split("-")[:2]
    expected = {
        "Name": name.replace("_", "-"),
        "Version": version,
        "Requires-Python": ">=3.10",
    }
    for key, value in expected.items():
        if metadata[key] != value:
            yield f"says {key}: {metadata[key]}, not {value}"
    if "MIT" not in str(metadata["License-Expression"]).split(
        " AND "
    ):  # code of others adds theirs
        yield f"says License-Expression: {metadata['License-Expression']}, without MIT"
    if not metadata["Summary"]:
        yield "lacks a summary"
    if "Typing :: Typed" not in (metadata.get_all("Classifier") or ()):
        yield "lacks the classifier Typing :: Typed"
    if len(str(metadata.get_payload()).strip()) < 100:
        yield "lacks its README"
    for requirement in metadata.get_all("Requires-Dist") or ():
        required = requirement.partition(";")[0].partition("[")[0].strip()
        required = required.split(">")[0].split("<")[0].split("=")[0].strip()
        if required.startswith("context-bench"):
            if ">=1" not in requirement or "<2" not in requirement:
                yield f"requires {requirement}, not >=1,<2"
            if built and required not in built:
                yield f"requires {required}, which is not built"


def _faults_of_entry_points(
    entry_points: configparser.ConfigParser, manifest: dict[str, object]
) -> Iterator[str]:
    for group in entry_points.sections():
        if not group.startswith("context_bench.") or group == MANIFESTS_ONLY:
            continue
        declared = manifest.get(group.partition(".")[2])
        known = declared if isinstance(declared, dict) else {}
        for name in entry_points[group]:
            if name not in known:
                yield f"has the entry point {group} {name}, which its manifest does not declare"


def faults_of_source(source: Path) -> list[str]:
    """Return what is wrong with a source distribution."""
    stem = source.name.removesuffix(".tar.gz")
    with tarfile.open(source) as packed:
        names = packed.getnames()
        told = packed.extractfile(f"{stem}/pyproject.toml")
        project = tomllib.loads(told.read().decode()) if told else {}
    included = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    found = [f"lacks {name}" for name in IN_SOURCES if f"{stem}/{name}" not in names]
    module = stem.rpartition("-")[0]
    if f"{stem}/src/{module}/context_bench_plugin.toml" not in names:
        found.append("lacks its manifest")
    expected = {*IN_SOURCES, ".gitignore", *included}
    tops = {name.split("/")[1] for name in names if "/" in name}
    found += [f"has {name}" for name in sorted(tops - expected)]
    return [f"{source.name} {fault}" for fault in found]


def main(folder: str) -> int:
    wheels = sorted(Path(folder).glob("context_bench*.whl"))
    sources = sorted(Path(folder).glob("context_bench*.tar.gz"))
    built = {wheel.name.partition("-")[0].replace("_", "-") for wheel in wheels}
    found = [fault for wheel in wheels for fault in faults(wheel, built)]
    found += [fault for source in sources for fault in faults_of_source(source)]
    if len(wheels) != len(sources):
        found.append(f"There are {len(wheels)} wheels and {len(sources)} source distributions.")
    print("\n".join(found) or f"{len(wheels)} wheels and their sources hold what they must.")
    return 1 if found or not wheels else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
