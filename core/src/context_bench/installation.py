"""How packages of the project are installed here: the words of every message about one that is
missing.

A name alone would be looked up on a public index, where it may be anybody's. So a hint names files,
or the place that context-bench itself came from.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import importlib_metadata

INDEX_VARIABLE = "CONTEXT_BENCH_INDEX"
"""Names where the project's packages come from: the address of an index, or a folder of wheels."""

CORE = "context-bench"


def install_hint(*distributions: str, extra: str = "", force: bool = False) -> str:
    """Return what installs some of the project's own packages here, and what they stand on.

    It goes by :data:`INDEX_VARIABLE`, else by what the installation of context-bench records: the
    checkout, folder of wheels or repository that it came from.

    Args:
        distributions: The packages.
        extra: An extra of the last of them.
        force: Whether to install them again.

    Returns:
        A command in back quotes, or words that go on after a colon.
    """
    from context_bench.plugins.first_party import NEEDS

    names: dict[str, None] = {}
    for distribution in distributions:
        names.update(dict.fromkeys([*NEEDS.get(distribution, "").split(), distribution]))
    wanted = list(names)
    arguments = _arguments(wanted)
    if arguments is None:
        what = " and ".join([*wanted[:-1], f"{wanted[-1]}[{extra}]" if extra else wanted[-1]])
        again = " again" if force else ""
        return (
            f"install {what}{again} from where context-bench came from ({INDEX_VARIABLE} names it: "
            "an index, or a folder of wheels)"
        )
    if extra:
        last = arguments[-1]
        arguments[-1] = f'"{last.strip(_QUOTES)}[{extra}]"'
    return " ".join(["`pip install", *(["--force-reinstall"] if force else []), *arguments]) + "`"


def hint_for(missing: Iterable[str]) -> str:
    """Return what installs distributions, of which some may be the project's own."""
    names = list(missing)
    own = [name for name in names if is_own(name)]
    others = [name for name in names if name not in own]
    hints = [install_hint(*own)] if own else []
    if others:
        hints.append(f"`pip install {' '.join(others)}`")
    return " and ".join(hints)


def is_own(distribution: str) -> bool:
    """Return whether a distribution is one of the project's own."""
    from context_bench.plugins.first_party import COMMANDS, COMPONENTS, NEEDS

    known = {CORE, *NEEDS, *(provider.distribution for provider in COMMANDS.values())}
    for components in COMPONENTS.values():
        known.update(component.distribution for component in components.values())
    for needs in NEEDS.values():
        known.update(needs.split())
    return distribution in known


_QUOTES = "'\""


def _arguments(names: Sequence[str]) -> list[str] | None:
    """Return the arguments of ``pip install``; None where nothing says where they come from."""
    place = os.environ.get(INDEX_VARIABLE)
    if place and not os.path.isdir(place):
        # The variable, not its value, which may hold a password.
        return ["--index-url", f'"${INDEX_VARIABLE}"', *names]
    if place:
        return _wheels(Path(place), names)
    origin = _origin()
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        source = f"{vcs['vcs']}+{origin['url']}@{vcs['commit_id']}"
        return [f'"{name} @ {source}#subdirectory=plugins/{name}"' for name in names]
    address = urlsplit(str(origin.get("url", "")))
    if address.scheme not in ("", "file") or not address.path:
        return None
    path = Path(url2pathname(address.path))
    return _wheels(path.parent, names) if path.suffix == ".whl" else _checkout(path.parent, names)


def _origin() -> dict[str, Any]:
    """Return what the installation of context-bench records of its source, else where its code
    lies."""
    try:
        recorded = importlib_metadata.distribution(CORE).read_text("direct_url.json")
        if recorded:
            return dict(json.loads(recorded))
    except (
        importlib_metadata.PackageNotFoundError,
        OSError,
        ValueError,
        TypeError,
        RecursionError,
    ):
        pass
    project = Path(__file__).resolve().parents[2]
    return {"url": str(project)} if (project / "pyproject.toml").is_file() else {}


def _checkout(root: Path, names: Sequence[str]) -> list[str] | None:
    """Return the folders of a checkout, which are shown from it where the user is in it."""
    if not (root / "core" / "pyproject.toml").is_file():
        return None
    parts = ["core", *(f"plugins/{name}" for name in names)]
    if root == Path.cwd():
        return [f"./{part}" for part in parts]
    return [shlex.quote(str(root / part)) for part in parts]


def _wheels(folder: Path, names: Sequence[str]) -> list[str] | None:
    """Return the wheels of a folder, by their files: a name alone could also come from an index."""
    found = []
    for name in names:
        wheels = sorted(folder.glob(f"{name.replace('-', '_')}-*.whl"))
        if not wheels:
            return None
        found.append(shlex.quote(str(wheels[-1])))
    return ["--find-links", shlex.quote(str(folder)), *found]
