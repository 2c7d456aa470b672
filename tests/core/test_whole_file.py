"""A file that is written takes the place of the one there when it is whole, and not before."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from context_bench.console import atomic_write
from context_bench.errors import ConfigurationError
from context_bench.store.runfile import RunFile

ENDS = {
    "an error": (ValueError, ValueError("no"), "no"),
    "a full disk": (
        ConfigurationError,
        OSError(errno.ENOSPC, "No space left"),
        "The report .* cannot be written: No",
    ),
    "a Ctrl-C": (KeyboardInterrupt, KeyboardInterrupt("stop"), "stop"),
}


@pytest.mark.parametrize(("kind", "error", "told"), ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("before", ["older", None])
def test_what_ends_in_the_middle_leaves_what_was_there(
    kind: type[BaseException], error: BaseException, told: str, before: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "a report ü.md"
    if before is not None:
        path.write_text(before)

    def write() -> None:
        with atomic_write(path, "The report") as stream:
            stream.write("half")
            stream.flush()
            raise error

    with pytest.raises(kind, match=told):
        write()
    assert [one.read_text() for one in tmp_path.iterdir()] == ([] if before is None else [before])


def _linked(path: Path) -> Path:
    link = path.with_name("link")
    link.symlink_to(path)
    return link


PLACES: dict[str, Callable[[Path], Path]] = {"a file": lambda path: path, "a link to it": _linked}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_a_file_is_replaced_with_its_mode_and_behind_its_link(
    place: Callable[[Path], Path], tmp_path: Path
) -> None:
    path = tmp_path / "r.md"
    path.write_text("older")
    path.chmod(0o640)
    with atomic_write(place(path)) as stream:
        stream.write("new\n")
    assert path.read_bytes() == b"new\n"
    assert not path.is_symlink()
    assert os.name == "nt" or path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipe that lies in a folder")
def test_what_is_no_file_is_written_and_not_replaced(tmp_path: Path) -> None:
    place = tmp_path / "pipe"
    os.mkfifo(place)
    reader = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with atomic_write(place) as stream:
            stream.write("told")
        assert os.read(reader, 100) == b"told"
        assert place.is_fifo()
    finally:
        os.close(reader)


@pytest.mark.parametrize("name", ["absent/r.md", "."], ids=["no folder", "a folder"])
def test_a_place_that_cannot_be_written_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"The lock file .* cannot be written: "):
        atomic_write(tmp_path / name, "The lock file").__enter__()


def test_no_run_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    RunFile.create(path, "id", "now", {}, {}).close()
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match="a run file lies there"):
        atomic_write(path).__enter__()
    assert path.read_bytes() == before
