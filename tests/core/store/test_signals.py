"""Wherever a signal ends what the main thread writes, other threads can write at once, whoever still holds its error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from context_bench.store.runfile import RunFile

WRITES: dict[str, Callable[[RunFile], None]] = {
    "one statement": lambda store: store.close_dataset(0, 3, b"hash"),
    "a line": lambda store: store.add_dataset(0, "d", {}),
    "several statements": lambda store: store.add_provenance({"a": 1}),
    "the begin of a session": lambda store: store.begin(),
}


def _interrupted(do: Callable[[], None], place: int) -> KeyboardInterrupt | None:
    """Do something, and return what a signal raised at one of the places where Python looks for signals; None beyond the last.

    Python looks where a function of its own begins, and behind a call of one that is written in C.
    """
    seen = 0

    def look(frame: Any, event: str, argument: Any) -> None:
        nonlocal seen
        if event in ("call", "c_return") and frame.f_code.co_filename != __file__:
            seen += 1
            if seen == place:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(look)
    try:
        do()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.setprofile(None)
    return None


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_an_interrupted_write_keeps_no_other_thread_from_writing(
    write: Callable[[RunFile], None], tmp_path: Path
) -> None:
    store = RunFile.create(tmp_path / "r.sqlite", "id", "now", {}, {})
    place = 0
    while (held := _interrupted(lambda: write(store), place := place + 1)) is not None:
        other = Thread(target=store.add_dataset, args=(1, "other", {}), daemon=True)
        other.start()
        other.join(60.0)  # a busy disk takes seconds for a write
        assert not other.is_alive(), (
            f"signal {place} left the run file locked for as long as somebody holds {held!r}"
        )
    assert place > 5
    store.close()
