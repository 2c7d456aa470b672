"""What a damaged distribution would bring, as far as its files still say: for whoever asks for a component by its name.

Nothing is listed, wired or loaded by it. A name that nothing has is looked for here, so that the error names the
distribution that has it, with what is wrong there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from context_bench.plugins.catalog import (
    INVALID,
    PACKAGE,
    Component,
    Distribution,
    reinstallation,
    singular,
    stated,
)
from context_bench.plugins.component_metadata import KINDS
from context_bench.plugins.installed import (
    Copy,
    UnreadableFileError,
    entry_points_in,
    installed_distributions,
    read_small_file,
)
from context_bench.plugins.manifest import FILE_NAME

if TYPE_CHECKING:
    from context_bench.plugins.catalog import Catalog

_TABLE = re.compile(r"^[ \t]*\[[ \t]*([a-z_]+)[ \t]*\.[ \t]*[\"']?([^\]\"'.\s]+)", re.MULTILINE)
_CLOSE = 0.75


def told_of_damaged(catalog: Catalog, kind: str, name: str) -> Iterator[str]:
    """Yield a sentence or two for each damaged distribution that brings a name, a close one, or nobody can tell what.

    Args:
        catalog: What was found.
        kind: Kind of the component that is asked for.
        name: Its short name or id, as it was asked for.
    """
    from difflib import get_close_matches

    installed = installed_distributions()
    for whole in _damaged(catalog, installed):
        distribution = whole.distribution.name
        asked = name.removeprefix(f"{distribution}/")
        named = {found for copy in installed.get(distribution, ()) for found in _names_in(copy)}
        of_kind = {found for kind_found, found in named if kind_found == kind}
        close = get_close_matches(asked, of_kind, 1, _CLOSE)
        if asked in of_kind:
            told = f"{distribution} brings {'an' if kind[0] in 'aeiou' else 'a'} {singular(kind)} of this name, but"
        elif close:
            told = f"{distribution} brings {close[0]!r}, but"
        elif not named or name == distribution:
            told = f"Nobody can tell what {distribution} brings, which"
        else:
            continue
        yield f"{told} {stated(whole.state)}: {whole.reason}. {whole.remedy_text}"


def _damaged(catalog: Catalog, installed: dict[str, list[Copy]]) -> Iterator[Component]:
    """Yield what stands for a damaged distribution: those that the catalog has, and those that lost their entry points."""
    yield from catalog.of_kind(PACKAGE)
    known = {component.distribution.name for component in catalog}
    for name, copies in installed.items():
        for copy in copies if name not in known else ():
            if not _text(copy, "entry_points.txt") and _had_entry_points(copy):
                whole = Component(PACKAGE, name, Distribution(name, copy.version, copy.folder), "")
                yield whole.with_state(
                    INVALID, "its entry_points.txt is missing or empty", reinstallation(name)
                )
                break


def _had_entry_points(copy: Copy) -> bool:
    """Whether a distribution with a manifest brought components: one that only shares code or flags never did."""
    record = _text(copy, "RECORD")
    return f"/{FILE_NAME}," in record and ("/entry_points.txt," in record or any(_names_in(copy)))


def _names_in(copy: Copy) -> Iterator[tuple[str, str]]:
    """Yield kind and name of every component that a distribution's files name, as far as they can be read."""
    with suppress(UnreadableFileError):  # what stands before the damage counts
        for kind, name, _ in entry_points_in(_text(copy, "entry_points.txt")):
            yield kind, name
    for place in _manifests_of(copy):
        with suppress(UnreadableFileError):
            tables = _TABLE.findall((read_small_file(place) or b"").decode("utf-8", "replace"))
            yield from ((kind, name) for kind, name in tables if kind in KINDS)


def _manifests_of(copy: Copy) -> Iterator[str]:
    """Yield where the manifests of a distribution lie: where RECORD says, or in the package of its own name."""
    for line in _text(copy, "RECORD").splitlines():
        parts = line.partition(",")[0].split("/")
        if parts[-1] == FILE_NAME and ".." not in parts and parts[0]:
            yield os.path.join(copy.folder, *parts)
    source, package = copy.editable_source(), copy.name.replace("-", "_")
    for folder in (copy.folder, *((os.path.join(source, "src"), source) if source else ())):
        yield os.path.join(folder, package, FILE_NAME)


def _text(copy: Copy, name: str) -> str:
    try:
        return copy.text(name, "replace")
    except UnreadableFileError:
        return ""
