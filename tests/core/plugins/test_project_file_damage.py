"""A project file that cannot be read ends a command with one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
DAMAGE = {
    "a number of 5,000 digits": b"[run]\nlimit = " + b"9" * 5000,
    "no text": b"\xff\xfe[\x00",
    "no TOML": b"[run\n",
    "a plugin that a terminal obeys": b'[plugins]\ndisable = ["\\u001b[31m\\u202e"]\n',
}


RUN = ("run", "-s", "echo", "-d", "toy")
EDITED = ("a number of 5,000 digits", "no text", "no TOML")


@pytest.mark.parametrize(
    ("command", "damage"),
    [
        *((RUN, name) for name in DAMAGE),
        *((("plugins", "disable", "exact"), name) for name in EDITED),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_it_is_one_line(
    site: Any, context_bench: Run, workplace: Path, command: tuple[str, ...], damage: str
) -> None:
    site.basics()
    (workplace / "context-bench.toml").write_bytes(DAMAGE[damage])
    done = context_bench(*command)
    assert (done.code, len(done.err.splitlines())) in ((2, 1), (2, 2)), done.err
    assert done.err.startswith("Error: ")
    assert len(done.err) < 1000
    assert not any(mark in done.err for mark in ("\x1b", "\u202e", "\x07"))


def test_a_mark_that_an_editor_put_before_it_is_no_part_of_it(
    site: Any, context_bench: Run, workplace: Path
) -> None:
    site.basics()
    path = workplace / "context-bench.toml"
    path.write_bytes(b'\xef\xbb\xbf[plugins]\r\ndisable = ["exact"]\r\n')
    shown = context_bench("plugins", "show", "exact", alone=False)
    assert "plugins.disable in context-bench.toml" in shown.words
    assert context_bench("plugins", "enable", "exact").code == 0
    assert b"exact" not in path.read_bytes()


@pytest.mark.parametrize("value", ['["exact"]', "0"])
@pytest.mark.parametrize(
    "command",
    [("plugins", "list", "-v"), ("run", "-s", "echo", "-d", "toy", "--dry-run")],
    ids=["list", "run"],
)
def test_plugins_that_are_no_table_are_refused(
    value: str, command: tuple[str, ...], site: Any, context_bench: Run, workplace: Path
) -> None:
    site.basics()
    (workplace / "context-bench.toml").write_text(f"plugins = {value}\n")
    done = context_bench(*command)
    assert (done.code, "context-bench.toml: plugins" in done.words) == (2, True), done.words
