"""A top-level package, as it can be seen without importing it: whether it exists, and its
manifest."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from attrs import frozen

from context_bench.plugins.manifest import FILE_NAME, PluginManifest, parse_manifest
from context_bench.plugins.manifest_reader import Fault


@frozen
class Package:
    """A top-level package, as it can be seen without importing it.

    Attributes:
        name: Its name.
        exists: Whether Python can import it.
        manifest_path: File of its manifest; None when it has none.
        manifest_source: Bytes of the manifest.
        manifest: What the manifest declares; None when it has none.
    """

    name: str
    exists: bool
    manifest_path: str | None = None
    manifest_source: bytes = b""
    manifest: PluginManifest | None = None


def locate(name: str) -> Package:
    """Return a package with its manifest.

    Only top-level names are looked for, because looking for a dotted name imports its parent.
    """
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):  # ValueError: an imported module without a spec
        spec = None
    if spec is None:
        return Package(name, exists=name in sys.modules)
    for folder in spec.submodule_search_locations or ():
        path = os.path.join(folder, FILE_NAME)
        try:
            with open(path, "rb") as file:
                source = file.read()
        except FileNotFoundError:
            continue
        except OSError as error:
            fault = Fault((), "unreadable", f"cannot be read: {error.strerror}")
            manifest = PluginManifest(faults=(fault,))
            return Package(name, exists=True, manifest_path=path, manifest=manifest)
        return Package(
            name,
            exists=True,
            manifest_path=path,
            manifest_source=source,
            manifest=parse_manifest(source),
        )
    return Package(name, exists=True)
