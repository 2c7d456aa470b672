"""Files of sessions: opened, sniffed and read one document at a time."""

from __future__ import annotations

import gzip
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from context_bench.console import warn
from context_bench.decompression import Decompressed, bounded
from context_bench.errors import ContextBenchError, DatasetError, UnknownNameError
from context_bench_sessions.formats import (
    claude_code,
    codex,
    inspect_log,
    litellm,
    messages_in,
    pi,
    spans,
    swe_agent,
)
from context_bench_sessions.messages import Session, UnknownPartError
from context_bench_sessions.sniffing import FORMATS, is_compatible, seen, sniff

SUFFIXES = (".json", ".jsonl", ".ndjson", ".traj", ".log", ".eval")

WHOLE_DOCUMENT_LIMIT = 512 * 1024 * 1024
"""Bytes of a file that is one JSON document, which can only be read whole; lines are read one by one."""

Documents = Iterator[tuple[int, Any]]

_READERS: dict[str, Callable[[Documents], Iterator[Session]]] = {
    **dict.fromkeys(messages_in.LIST_FORMATS, messages_in.read),
    "claude-code": claude_code.read,
    "codex": codex.read,
    "pi": pi.read,
    "pi-transcript": pi.read_transcript,
    "swe-agent": swe_agent.read,
    "litellm": litellm.read,
    "otel": spans.read,
    "inspect": inspect_log.read,
    "langfuse": spans.read_langfuse,
    "langsmith": spans.read_langsmith,
}

_SNIFFED_LINES = 50


def session_files(path: Path) -> list[Path]:
    """Return the files of a folder that may hold sessions, or the one file, in the order of their names.

    Raises:
        DatasetError: There is nothing at the path, or no such file in the folder.
    """
    if path.is_file():
        return [path]
    if not path.exists():
        raise DatasetError(
            f"There is no file or folder {path}. Give the path of recorded sessions: path=FOLDER."
        )
    packed = sorted(
        one
        for one in path.rglob("*")
        if _is_packed_otherwise(one) and one.is_file() and not _is_hidden(one, path)
    )
    if packed:
        told = "1 file is" if len(packed) == 1 else f"{len(packed)} files are"
        warn(
            f"{told} left out, packed with something else than gzip: {packed[0]}{' and others' if len(packed) > 1 else ''}."
        )
    found = sorted(
        one
        for one in path.rglob("*")
        if one.is_file() and _suffix(one) in SUFFIXES and not _is_hidden(one, path)
    )
    if not found:
        raise DatasetError(
            f"The folder {path} holds no file of sessions: {', '.join(SUFFIXES)}, also with .gz."
        )
    return found


def read_sessions(path: Path, wanted: str | None = None) -> Iterator[tuple[str, Session]]:
    """Yield the format and each session of a file.

    Args:
        path: The file; one that ends in ``.gz`` is unpacked while it is read.
        wanted: Its format; None sniffs it from the content.

    Raises:
        UnknownNameError: There is no such format.
        DatasetError: The file is damaged or of no known format; the message names file and line.
    """
    if wanted is not None and wanted not in FORMATS:
        raise UnknownNameError("format of sessions", wanted, FORMATS)
    documents = _documents(path)
    found = wanted
    first: list[tuple[int, Any]] = []
    if found is None:
        for line, document in documents:
            first.append((line, document))
            found = sniff(document)
            if found is not None or len(first) >= _SNIFFED_LINES:
                break
        if found is None:
            what = f"it begins with {seen(first[0][1])}" if first else "it is empty"
            raise DatasetError(
                f"{path} is in no known format of sessions: {what}. Known are {', '.join(FORMATS)}: format=NAME."
            )
    checked = (
        _one_format(path, chain(first, documents), found)
        if wanted is None
        else chain(first, documents)
    )
    yield from _read(path, found, checked)


def read_log_folder(paths: list[Path]) -> Iterator[tuple[str, Session]]:
    """Yield the sessions of LiteLLM logs that lie in a file for each request.

    Raises:
        DatasetError: A file is damaged.
    """
    documents = chain.from_iterable(_documents(path) for path in paths)
    yield from _read(paths[0].parent if paths else Path(), "litellm", documents)


def _read(path: Path, found: str, documents: Documents) -> Iterator[tuple[str, Session]]:
    """Yield the sessions of documents; what has not the form of its format is told, however the reader met it."""
    lines = [0]

    def counted() -> Documents:
        for line, document in documents:
            lines[:] = [line]
            yield line, document

    reader = _READERS[found](counted())
    while True:
        try:
            session = next(reader, None)
        except UnknownPartError as error:
            raise DatasetError(
                f"{path}, line {lines[0]}: {error} in the format {found}, so nothing of the file is used. Leave such "
                "files out with skip_damaged=true, or remove what is not known."
            ) from error
        except (
            AttributeError,
            IndexError,
            KeyError,
            RecursionError,
            TypeError,
            ValueError,
        ) as error:
            if isinstance(error, ContextBenchError):
                raise
            raise DatasetError(
                f"{path}, read up to line {lines[0]}: something is not in the form of {found}: {type(error).__name__}: {error}."
            ) from error
        if session is None:
            return
        yield session.format or found, session


def format_of(path: Path) -> str | None:
    """Return the format of a file by its first documents; None when it is unknown.

    Raises:
        DatasetError: The file is damaged.
    """
    for count, (_, document) in enumerate(_documents(path)):
        found = sniff(document)
        if found is not None or count >= _SNIFFED_LINES:
            return found
    return None


def _one_format(path: Path, documents: Documents, found: str) -> Documents:
    """Pass documents on, and refuse a file that changes its format on the way."""
    for line, document in documents:
        other = sniff(document)
        if other is not None and not is_compatible(found, other):
            raise DatasetError(
                f"{path}, line {line}: {other} among lines of {found}. Put each format into a file of its own."
            )
        yield line, document


def _documents(path: Path) -> Documents:
    """Yield the line number and each document of a file: its lines, or the file as a whole."""
    try:
        if path.suffix == ".eval" and zipfile.is_zipfile(path):
            yield from _samples(path)
            return
        with _open(path) as file:
            yield from _parsed(path, file)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError) as error:
        raise DatasetError(f"{path} cannot be read: {error}.") from error


def _samples(path: Path) -> Documents:
    """Yield the samples of a log that Inspect packed: a document each, in the form of its JSON logs."""
    with zipfile.ZipFile(path) as log:
        names = [name for name in log.namelist() if name.startswith("samples/")]
        for number, name in enumerate(sorted(names), 1):
            packed = log.getinfo(name).compress_size
            stream = cast("Decompressed", log.open(name))
            with bounded(stream, packed, f"{path}, {name}") as file:
                source = file.read(WHOLE_DOCUMENT_LIMIT + 1)
            if len(source) > WHOLE_DOCUMENT_LIMIT:
                raise DatasetError(f"{path}, {name}: more than {WHOLE_DOCUMENT_LIMIT >> 20} MiB.")
            try:
                yield number, {"eval": {}, "samples": [json.loads(source)]}
            except (ValueError, RecursionError) as error:
                raise _damaged(path, number, error) from error


def _parsed(path: Path, file: IO[bytes]) -> Documents:
    read, documents = 0, 0
    whole: list[bytes] = []
    for line, source in enumerate(file, 1):
        if not whole and not source.strip():
            continue
        if not whole:
            try:
                document = json.loads(source)
            except (ValueError, RecursionError) as error:
                if documents:
                    raise _damaged(path, line, error) from error
            else:
                documents += 1
                yield line, document
                continue
        whole.append(source)
        read += len(source)
        if read > WHOLE_DOCUMENT_LIMIT:
            raise DatasetError(
                f"{path} is one document of more than {WHOLE_DOCUMENT_LIMIT >> 20} MiB. Write it as JSON lines."
            )
    if whole:
        try:
            yield 1, json.loads(b"".join(whole))
        except (ValueError, RecursionError) as error:
            raise _damaged(path, 1, error) from error


def _damaged(path: Path, line: int, error: Exception) -> DatasetError:
    what = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
    return DatasetError(f"{path}, line {line}: no valid JSON: {what}.")


def _open(path: Path) -> IO[bytes]:
    if _is_packed_otherwise(path):
        raise DatasetError(
            f"{path} is packed with {_PACKERS[path.suffix]}, which is not read. Unpack it, or pack it with gzip."
        )
    if path.suffix != ".gz":
        return path.open("rb")
    return bounded(gzip.open(path, "rb"), path.stat().st_size, str(path))


_PACKERS = {".zst": "zstd", ".xz": "xz", ".bz2": "bzip2"}


def _is_packed_otherwise(path: Path) -> bool:
    """Whether a file is one of sessions, packed with something else than gzip: agents pack old ones with zstd."""
    return path.suffix in _PACKERS and Path(path.stem).suffix in SUFFIXES


def _suffix(path: Path) -> str:
    return Path(path.stem).suffix if path.suffix == ".gz" else path.suffix


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)
