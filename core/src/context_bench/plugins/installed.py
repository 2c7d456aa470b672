"""What is installed: every distribution that can be seen, each copy of it, in one pass and without reading METADATA."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

GROUP_PREFIX = "context_bench."
_UNQUOTED = str.maketrans("", "", "\"' ()")


class Copy(NamedTuple):
    """One installed copy of a distribution.

    Attributes:
        metadata: What importlib_metadata found.
        folder: Folder that its metadata lies in.
        version: Its version.
    """

    metadata: Any
    folder: str
    version: str


def installed_distributions() -> dict[str, list[Any]]:
    """Return importlib_metadata's distributions by normalised name, copies in the order in which Python sees them."""
    from importlib_metadata import distributions

    # A place that is not there, as pythonXY.zip mostly is, would make importlib_metadata import its support for archives.
    places = [place for place in sys.path if os.path.exists(place or os.curdir)]
    found: dict[str, list[Any]] = {}
    for metadata in distributions(path=places):
        name = _name(metadata)
        if name:
            found.setdefault(name, []).append(metadata)
    return found


def path_sources() -> list[str]:
    """Return the folders of the path, and the files of the finders that installers added, which list packages too."""
    finders = [sys.modules.get(getattr(finder, "__module__", "")) for finder in sys.meta_path]
    files = [getattr(module, "__file__", None) for module in finders]
    return [*sys.path, *(str(file) for file in files if file)]


def distribution_sources(distributions: list[Any], brings_components: bool) -> Iterator[str]:
    """Yield the files and folders that decide what is known of the copies of a distribution."""
    for metadata in distributions:
        place = str(getattr(metadata, "_path", ""))
        if place:
            yield place
            yield os.path.join(place, "entry_points.txt")
        if place and (brings_components or len(distributions) > 1 or not place.endswith(".dist-info")):
            for name in ("METADATA", "PKG-INFO", "direct_url.json", "RECORD"):
                yield os.path.join(place, name)


def plugin_entry_points(metadata: Any) -> list[Any]:
    """Return the entry points of a distribution in groups that begin with :data:`GROUP_PREFIX`.

    Whatever is wrong with the file, it must not keep anybody from seeing the other plugins.
    """
    try:
        text = metadata.read_text("entry_points.txt")
        if not text or GROUP_PREFIX not in text:
            return []
        return [point for point in metadata.entry_points if point.group.startswith(GROUP_PREFIX)]
    except Exception:  # noqa: BLE001 - a file of somebody else's
        return []


def copies(distributions: list[Any]) -> list[Copy]:
    """Return the copies of one distribution, the one that is used first.

    Copies without metadata, which a failed uninstall leaves behind, go last. The ``.egg-info`` that setuptools writes into
    the sources of an editable install is no second copy.
    """
    if len(distributions) == 1:
        return [_copy(distributions[0])]
    found: dict[str, Copy] = {}
    for metadata in distributions:
        place = str(getattr(metadata, "_path", "")) or _folder(metadata)
        found.setdefault(os.path.realpath(place), _copy(metadata))  # a folder may stand twice in the path
    every = sorted(found.values(), key=lambda copy: not _has_metadata(copy.metadata))
    sources = [source for source in map(_editable_source, every) if source]
    return [copy for copy in every if not (_is_egg_info(copy) and _lies_in(copy.folder, sources))] or every


def missing_requirements(metadata: Any, installed: Mapping[str, object], extra: str | None = None) -> list[str]:
    """Return the requirements of a distribution, or of one of its extras, that are not installed.

    Those with any other marker than the extra's are left to the import.
    """
    marker = "" if extra is None else normalise(f"extra=={extra}")
    return [
        name
        for name, markers in requirements(metadata).items()
        if marker in markers and normalise(name) not in installed
    ]


def requirements(metadata: Any) -> dict[str, set[str]]:
    """Return the names of what a distribution requires, and the markers with which it does so: empty for anywhere."""
    try:
        text = metadata.read_text("METADATA") or metadata.read_text("PKG-INFO") or ""
    except (OSError, UnicodeDecodeError):
        return {}
    found: dict[str, set[str]] = {}
    for line in text.partition("\n\n")[0].splitlines():
        if line.startswith("Requires-Dist:"):
            requirement, _, condition = line[len("Requires-Dist:") :].partition(";")
            requirement = requirement.strip()
            end = next((i for i, letter in enumerate(requirement) if not (letter.isalnum() or letter in "-_.")), None)
            name = requirement[:end]
            found.setdefault(name, set()).add(normalise(condition.translate(_UNQUOTED)))
    return found


def normalise(name: str) -> str:
    """Return the name of a distribution in the one spelling that is compared: lower case, with single dashes."""
    return "-".join(filter(None, name.replace("_", "-").replace(".", "-").lower().split("-")))


def _copy(metadata: Any) -> Copy:
    return Copy(metadata, _folder(metadata), version_of(metadata))


def _name(metadata: Any) -> str:
    path = getattr(metadata, "_path", None)
    if path is not None:
        stem, dot, suffix = path.name.rpartition(".")
        if dot and suffix in ("dist-info", "egg-info"):
            return normalise(stem.partition("-")[0])
    return normalise(_asked(metadata, "Name"))


def version_of(metadata: Any) -> str:
    """Return the version from the folder's name, which is thirty times cheaper than parsing METADATA."""
    path = getattr(metadata, "_path", None)
    stem, _, suffix = (path.name if path is not None else "").rpartition(".")
    parts = stem.split("-")
    if len(parts) == 2 and suffix == "dist-info":
        return str(parts[1])
    return _asked(metadata, "Version") or "?"


def _asked(metadata: Any, key: str) -> str:
    try:
        return str(metadata.metadata[key] or "")
    except Exception:  # noqa: BLE001 - a folder of somebody else's
        return ""


def _folder(metadata: Any) -> str:
    path = getattr(metadata, "_path", None)
    return str(path.parent) if path is not None else str(metadata.locate_file(""))


def _has_metadata(metadata: Any) -> bool:
    try:
        return bool(metadata.read_text("METADATA") or metadata.read_text("PKG-INFO"))
    except (OSError, UnicodeDecodeError):
        return True


def _editable_source(copy: Copy) -> str | None:
    import json
    from urllib.parse import unquote, urlsplit

    try:
        origin = json.loads(copy.metadata.read_text("direct_url.json") or "{}")
        return unquote(urlsplit(origin["url"]).path) if origin["dir_info"]["editable"] else None
    except Exception:  # noqa: BLE001 - no such file, or one of another shape
        return None


def _is_egg_info(copy: Copy) -> bool:
    return str(getattr(copy.metadata, "_path", "")).endswith(".egg-info")


def _lies_in(folder: str, places: list[str]) -> bool:
    real = os.path.join(os.path.realpath(folder), "")
    return any(real.startswith(os.path.join(os.path.realpath(place), "")) for place in places)
