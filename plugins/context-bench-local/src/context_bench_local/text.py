"""The lines of a file, decompressed and decoded; damage is reported with its place."""

from __future__ import annotations

import codecs
import io
import zlib
from collections.abc import Iterator
from importlib import import_module
from typing import Any, BinaryIO

from context_bench.decompression import bounded
from context_bench_local.source import Source


def read_lines(source: Source, newline: str) -> Iterator[str]:
    """Yield the lines of a file with their endings.

    Args:
        source: The file.
        newline: What ends a line, as for `open`: ``"\\n"`` for that alone, ``""`` for every kind of ending, kept.

    Raises:
        ValueError: The file is cut off, is not compressed as its suffix says, or is not text of its encoding.
    """
    count = 0
    try:
        with io.TextIOWrapper(
            _open_bytes(source), encoding=source.encoding, newline=newline
        ) as lines:
            for count, line in enumerate(lines, start=1):
                yield line if count > 1 else line.removeprefix(_MARK)
    except UnicodeError as error:
        raise ValueError(_undecodable(source, error)) from None
    except _damage(source) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk, not the contents
        kind = f"The {source.compression} data of {source.name}"
        if isinstance(error, EOFError):
            raise ValueError(
                f"{kind} is cut off after line {count}. Copy or download the file again."
            ) from None
        raise ValueError(
            f"{kind} is damaged after line {count}, or is no such data: {error}. Check the suffix, or copy it again."
        ) from None


_MARK = "\ufeff"
"""A byte order mark that the encoding leaves in the text, as utf-16-le and gb18030 do."""


_READ_AT_ONCE = 1 << 18
"""Bytes read at once: each reading gives Python's lock to other threads of a run, and waits to get it back."""


def _open_bytes(source: Source) -> BinaryIO:
    if source.compression is None:
        return source.path.open("rb", buffering=_READ_AT_ONCE)
    if source.path.is_file() and source.path.stat().st_size == 0:
        raise EOFError  # gzip and bz2 take it for an empty text
    stream: Any = import_module(source.compression).open(source.path, "rb")
    size = source.path.stat().st_size if source.path.is_file() else 0
    return bounded(stream, size, source.name, source.max_expansion)


def _damage(source: Source) -> tuple[type[Exception], ...]:
    if source.compression is None:
        return ()
    module = import_module(source.compression)
    return (EOFError, OSError, zlib.error, getattr(module, "LZMAError", OSError))


def _undecodable(source: Source, error: UnicodeError) -> str:
    """Say where the first bad byte is: a second, slow reading, as the decoder knows only its own buffer."""
    if not source.path.is_file():  # a pipe is gone after one reading
        return f"{source.name} is not {_called(source)} text: {error}."
    decoder = codecs.getincrementaldecoder(source.encoding)()
    read, line = 0, 1
    with _open_bytes(source) as stream:
        while chunk := stream.read(1 << 16):
            read += len(chunk)
            try:
                line += decoder.decode(chunk).count("\n")
            except UnicodeDecodeError as bad:
                offset = read - len(bad.object) + bad.start
                line += bad.object[: bad.start].count(b"\n")
                return _bad_byte(source, bad, offset, line)
            except UnicodeError as bad:  # utf-16 without a byte order mark, for one
                return f"{source.name} is not {_called(source)} text: {bad}."
    where = f"line {line}, byte offset {read}"
    return f"{source.name}, {where}: the file ends within a character of {_called(source)}. Is it cut off?"


def _bad_byte(source: Source, bad: UnicodeDecodeError, offset: int, line: int) -> str:
    kind = "uncompressed byte" if source.compression else "byte"
    found = bad.object[bad.start :]
    return (
        f"{source.name}, line {line}: {kind} 0x{found[0]:02x} at offset {offset} is not {_called(source)} text "
        f"({bad.reason}). {_remedy(source, found, offset)}"
    )


def _remedy(source: Source, found: bytes, offset: int) -> str:
    if offset == 0 and found.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "The file begins like UTF-32: pass `encoding=utf-32`."
    if offset == 0 and found.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "The file begins like UTF-16: pass `encoding=utf-16`."
    if offset == 1 and source.compression is None:
        return "Is the file compressed? Then its name must end in .gz."
    return "Pass the file's `encoding` (such as cp1252 or gb18030), or mend the file."


def _called(source: Source) -> str:
    return "utf-8" if source.encoding == "utf-8-sig" else source.encoding
