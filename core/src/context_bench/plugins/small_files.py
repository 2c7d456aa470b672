"""Files that anybody may have put there: regular ones of at most 1 MiB are read, and nothing else is waited for."""

from __future__ import annotations

import os

LARGEST = 2**20
"""Bytes that a file of a distribution's metadata, or a manifest, may have."""


class UnreadableFileError(Exception):
    """A file is none that is read; the text says why, without the file's name."""


def read_small_file(path: str) -> bytes | None:
    """Return what a file holds; None when there is none.

    Raises:
        UnreadableFileError: It is no regular file, is larger than 1 MiB, or may not be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UnreadableFileError(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        found = os.fstat(descriptor)
        if found.st_mode & 0o170000 != 0o100000:
            raise UnreadableFileError("it is no regular file")
        content = b"" if found.st_size > LARGEST else os.read(descriptor, LARGEST + 1)
    except OSError as error:
        raise UnreadableFileError(f"it cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if max(found.st_size, len(content)) > LARGEST:
        raise UnreadableFileError("it is larger than 1 MiB")
    return content
