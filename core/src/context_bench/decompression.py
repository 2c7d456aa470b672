"""Reading compressed files with a limit: a small file must not become more than memory holds.

This module is for dataset loaders.
"""

from __future__ import annotations

import io
import os
from typing import BinaryIO, Protocol, cast

from context_bench.errors import DatasetError

EXPANSION_VARIABLE = "CONTEXT_BENCH_MAX_EXPANSION"
MAX_EXPANSION = 200
"""How many times its size a compressed file may become; texts become 3 to 20 times their size."""
_ALWAYS = 256 * 1024 * 1024
"""So many bytes a file may become, however small it is."""


class Decompressed(Protocol):
    """What gives out decompressed bytes, such as :class:`gzip.GzipFile`."""

    def read1(self, size: int, /) -> bytes:
        """Return at most so many bytes, of one step of the decompression; none at the end."""

    def close(self) -> None:
        """Close the file."""


def bounded(
    stream: Decompressed, packed_size: int, name: str, max_expansion: int | None = None
) -> BinaryIO:
    """Return a stream of decompressed bytes that refuses to give out too many.

    Args:
        stream: Gives the decompressed bytes; it is closed with the returned one.
        packed_size: Size of the compressed file, in bytes.
        name: What the file is called in the error.
        max_expansion: How many times its size it may become, 0 for any; None takes the environment
            variable ``CONTEXT_BENCH_MAX_EXPANSION``, else 200.

    Raises:
        DatasetError: While reading: there are more bytes. The limit cannot be read.
    """
    times = _expansion() if max_expansion is None else max_expansion
    if times == 0:
        return cast("BinaryIO", stream)
    return cast("BinaryIO", io.BufferedReader(_Bounded(stream, packed_size, name, times)))


def check_unpacked_size(
    unpacked_size: int, packed_size: int, name: str, max_expansion: int | None = None
) -> None:
    """Refuse a file that says how many bytes it becomes, such as Parquet, where these are too many.

    Args:
        unpacked_size: So many bytes it becomes, as it says itself.
        packed_size: Size of the compressed file, in bytes.
        name: What the file is called in the error.
        max_expansion: As for :func:`bounded`.

    Raises:
        DatasetError: They are more than :func:`bounded` gives out. The limit cannot be read.
    """
    times = _expansion() if max_expansion is None else max_expansion
    if times != 0 and unpacked_size > _most(packed_size, times):
        raise _too_large(packed_size, name, times)


def _most(packed_size: int, times: int) -> int:
    return max(_ALWAYS, packed_size * times)


def _too_large(packed_size: int, name: str, times: int) -> DatasetError:
    return DatasetError(
        f"{name} has {packed_size:,} bytes and becomes more than {_most(packed_size, times):,} "
        f"when it is decompressed. If you trust it, set {EXPANSION_VARIABLE} to more than {times}, "
        "or to 0 "
        f"for no limit."
    )


def _expansion() -> int:
    text = os.environ.get(EXPANSION_VARIABLE, "").strip()
    if not text:
        return MAX_EXPANSION
    if not (text.isascii() and text.isdecimal()):
        raise DatasetError(f"{EXPANSION_VARIABLE} must be a whole number, got {text!r}.")
    return int(text)


class _Bounded(io.RawIOBase):
    def __init__(self, stream: Decompressed, packed_size: int, name: str, times: int) -> None:
        self._stream = stream
        self._name = name
        self._times = times
        self._packed_size = packed_size
        self._left = _most(packed_size, times)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._stream.read1(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise _too_large(self._packed_size, self._name, self._times)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()
