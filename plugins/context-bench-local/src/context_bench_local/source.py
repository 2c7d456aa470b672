"""The file that a path names: where it is, how it is laid out, how it is compressed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}
"""Layout by suffix."""

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}
"""Module of the standard library by suffix; each has ``open(path, "rb")``."""


@dataclass(frozen=True)
class Source:
    """A file that can be read.

    Attributes:
        name: The path as the user gave it, for messages.
        path: The path to open.
        format: Layout, one of the values of `FORMATS`.
        compression: One of the values of `COMPRESSIONS`; None when the file is not compressed.
        encoding: Text encoding.
        max_expansion: How many times its size a compressed file may become; None for the usual limit.
    """

    name: str
    path: Path
    format: str
    compression: str | None
    encoding: str
    max_expansion: int | None = None


def find_source(path: str | os.PathLike[str], layout: str | None, encoding: str) -> Source:
    """Return the file that ``path`` names, or say why it cannot be read."""
    name = os.fspath(path)
    if not name:
        raise ValueError("The path of the file is empty.")
    name = name if name.isprintable() else repr(name)
    try:
        found = Path(path).expanduser()
    except RuntimeError as error:  # nobody has that home directory
        raise ValueError(f"{name} cannot be a path: {error}") from None
    if found.is_dir():
        raise IsADirectoryError(f"{name} is a folder. {_offer(_readable(found), found)}")
    if not found.exists():
        raise FileNotFoundError(f"There is no file {name}. {_near(found)}")
    compression = COMPRESSIONS.get(found.suffix.lower())
    return Source(name, found, layout_of(found, layout), compression, check_encoding(encoding))


def files_of(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a folder that can be read, by name; nothing when the path is no folder."""
    try:
        folder = Path(path).expanduser() if os.fspath(path) else Path("-")
    except RuntimeError:  # nobody has that home directory: told by find_source
        return []
    return (
        [folder / name for name in _readable(folder) if not name.startswith(".")]
        if folder.is_dir()
        else []
    )


def layout_of(path: Path, layout: str | None) -> str:
    """Return the layout that the user asked for, else the one that the suffix stands for."""
    known = sorted(set(FORMATS.values()))
    if layout is not None:
        if layout not in known:
            raise ValueError(f"No format is called {layout!r}. There is: {', '.join(known)}.")
        return layout
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    if not suffixes or suffixes[-1] not in FORMATS:
        raise ValueError(
            f"The name of {path.name} does not say how it is laid out. Known suffixes are {', '.join(FORMATS)}, each "
            f"also with {', '.join(COMPRESSIONS)}; or pass `format`: {', '.join(known)}."
        )
    return FORMATS[suffixes[-1]]


def check_encoding(encoding: str) -> str:
    """Return a text encoding that Python knows; UTF-8 becomes the one that drops a byte order mark."""
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        known = "utf-8, utf-16, cp1252, gb18030"
        raise ValueError(
            f"No text encoding is called {encoding!r}. Common ones: {known}."
        ) from None
    return "utf-8-sig" if encoding.lower().replace("_", "-") in {"utf-8", "utf8"} else encoding


def _near(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"There is no folder {folder} either; the working directory is {Path.cwd()}."
    files = {entry.name.lower(): entry.name for entry in folder.iterdir() if entry.is_file()}
    close = [files[match] for match in get_close_matches(path.name.lower(), files, n=3, cutoff=0.6)]
    if close:
        return f"Did you mean {' or '.join(close)}?"
    return _offer(_readable(folder), folder.resolve())


def _readable(folder: Path) -> list[str]:
    def reads(path: Path) -> bool:
        try:
            layout_of(path, None)
        except ValueError:
            return False
        return path.is_file()

    return sorted(path.name for path in folder.iterdir() if reads(path))


def _offer(names: list[str], folder: Path) -> str:
    if not names:
        return f"No file in {folder} can be read as a dataset."
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"In {folder} there is: {', '.join(names[:5])}{more}."
