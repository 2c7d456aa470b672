"""The checksum of a whole run file: ``RUN.sha256`` beside it, which ``sha256sum --check`` reads, too."""

from __future__ import annotations

import hashlib
from pathlib import Path

from context_bench.console import atomic_write
from context_bench.errors import StoreError

_CHUNK = 1 << 20


def checksum_file(path: Path) -> Path:
    """Return where the checksum of a run file is."""
    return path.with_name(f"{path.name}.sha256")


def write_checksum(path: Path) -> Path:
    """Write the SHA-256 of a run file beside it, and return where.

    Raises:
        StoreError: A program that writes into the run file has it open.
        ConfigurationError: The checksum cannot be written.
    """
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreError(
            f"{path} is in use: {log.name} has changes that are not in the run file yet. Close the program that has it open."
        )
    target = checksum_file(path)
    with atomic_write(target) as stream:
        stream.write(f"{_sha256(path)}  {path.name}\n")
    return target


def matches_checksum(path: Path) -> bool | None:
    """Return whether a run file has the SHA-256 that was written beside it; None when none was.

    Raises:
        StoreError: The checksum cannot be read.
    """
    source = checksum_file(path)
    try:
        digest = source.read_text(encoding="utf-8", errors="replace").split(maxsplit=1)[:1]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"The checksum {source} cannot be read: {error}.") from error
    return digest == [_sha256(path)]


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
