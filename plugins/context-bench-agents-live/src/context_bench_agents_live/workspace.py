"""A folder for one row, out of which no path leads."""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from context_bench_agents_live.keeper import KEEPER, end_processes, remove_folder

_BLOCK = 1024 * 1024


class WorkspaceError(ValueError):
    """A path leads out of the workspace, does not exist, or too much was written."""


class Workspace:
    """The folder in which an agent works; it is removed when the block ends, and when the run is killed.

        with Workspace({"a.txt": "1"}, max_bytes=1000) as workspace:
            workspace.write("b.txt", "2")

    Args:
        files: Content of each file at the start, by path.
        max_bytes: Bytes that `write` accepts in all.

    Raises:
        WorkspaceError: A path of ``files`` leads out of the workspace.
    """

    def __init__(self, files: Mapping[str, str], max_bytes: int) -> None:
        name = f"context-bench-agent-{secrets.token_hex(8)}"
        self._outer = Path(tempfile.gettempdir()).resolve() / name
        self.folder = str(self._outer)
        KEEPER.add(self.folder)  # first: a run may be killed as soon as the folder exists
        self.root = self._outer / "work"
        self.home = self._outer / "home"
        self.temporary = self._outer / "tmp"
        self._left = 0
        self._initial: dict[str, str] = {}
        try:
            self._outer.mkdir(mode=0o700)
            self.root.mkdir()
            self.home.mkdir()
            self.temporary.mkdir()
            self.fill(files)
        except BaseException:
            self.close()
            raise
        self._left = max_bytes

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder."""
        remove_folder(self.folder)
        KEEPER.remove(self.folder)

    def fill(self, files: Mapping[str, str]) -> None:
        """Write files that were here from the start; one that begins with ``#!`` can be run.

        Raises:
            WorkspaceError: A path leads out of the workspace, or is a folder.
        """
        left = self._left
        self._left = sum(len(content.encode("utf-8", "replace")) for content in files.values())
        for path, content in files.items():
            self.write(path, content)
            if content.startswith("#!"):
                self._inside(path).chmod(0o755)
        self._initial.update(files)
        self._left = left

    def end_processes(self) -> None:
        """Kill what still works here, also what left the group of its program."""
        end_processes(self.folder)

    def list(self) -> str:
        """Return the paths of all files, one a line."""
        return "\n".join(sorted(self._files()))

    def read(self, path: str) -> str:
        """Return the text of a file.

        Raises:
            WorkspaceError: The path leads out of the workspace, or is not a file.
        """
        file = self._inside(path)
        try:
            return file.read_bytes().decode("utf-8", "replace")
        except OSError as error:
            raise WorkspaceError(f"{path}: not a file.") from error

    def write(self, path: str, content: str) -> None:
        """Write a file, and the folders above it.

        Raises:
            WorkspaceError: The path leads out of the workspace, is a folder, or too much was written.
        """
        file = self._inside(path)
        raw = content.encode("utf-8", "replace")
        if len(raw) > self._left:
            raise WorkspaceError(f"{path}: more bytes than the task allows.")
        try:
            for folder in reversed(file.relative_to(self.root).parents):
                (self.root / folder).mkdir(exist_ok=True)
            file.write_bytes(raw)
        except OSError as error:
            raise WorkspaceError(f"{path}: cannot be written ({error.strerror}).") from error
        self._left -= len(raw)

    def growth(self) -> int:
        """Return the bytes of all files now, less those at the start; not below 0."""
        now = sum(file.stat().st_size for file in self._files().values())
        start = sum(len(content.encode("utf-8")) for content in self._initial.values())
        return max(0, now - start)

    def digests(self) -> dict[str, str]:
        """Return the digest of each file, by path."""
        return {path: _digest_of(file) for path, file in sorted(self._files().items())}

    def changes(self) -> dict[str, str | None]:
        """Return the text of each file that is new or changed, and None for each that was removed."""
        changes: dict[str, str | None] = {
            path: None for path in self._initial if path not in self._files()
        }
        for path, file in self._files().items():
            text = file.read_bytes().decode("utf-8", "replace")
            if self._initial.get(path) != text:
                changes[path] = text
        return dict(sorted(changes.items()))

    def _files(self) -> dict[str, Path]:
        """Return the files by path; a link is not a file of the workspace."""
        files = {}
        folders = [str(self.root)]
        for folder in folders:  # os.walk calls itself for each nested folder
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        file = Path(entry.path)
                        files[file.relative_to(self.root).as_posix()] = file
        return files

    def _inside(self, path: str) -> Path:
        if not path or "\0" in path:
            raise WorkspaceError(f"{path!r}: not a path.")
        try:
            file = (self.root / path).resolve()
        except (OSError, RuntimeError, UnicodeError) as error:
            raise WorkspaceError(f"{path!r}: not a path.") from error
        if self.root not in file.parents:
            raise WorkspaceError(f"{path}: leads out of the workspace.")
        return file


def _digest_of(file: Path) -> str:
    """Return the SHA-256 of a file, which is read in blocks."""
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
