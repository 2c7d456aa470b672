"""A project file may lie in a folder that somebody else filled: whatever it is, a command ends with one line, and soon."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
DAMAGE = {
    "lists in lists": b"a = " + b"[" * 100_000,
    "tables in tables": b"a = " + b"{a=" * 50_000,
    "a key of many parts": b"a." * 30_000 + b"b = 1\n",
    "many keys of many parts": b"".join(
        b"[" + b"a." * 200 + b"b%d]\n" % number for number in range(3000)
    ),
    "a number of 5,000 digits": b"[run]\nlimit = " + b"9" * 5000,
    "no text": b"\xff\xfe[\x00",
    "no TOML": b"[run\n",
    "more than 1 MiB": b"#" * (3 << 20),
    "a key that a terminal obeys": b'"\\u001b]0;pwned\\u0007\\u202e" = 1\n',
    "a plugin that a terminal obeys": b'[plugins]\ndisable = ["\\u001b[31m\\u202e"]\n',
}


RUN = ("run", "-s", "echo", "-d", "toy")
EDITED = ("lists in lists", "tables in tables", "a number of 5,000 digits", "no text", "no TOML")


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


def test_a_list_is_told_too(site: Any, context_bench: Run, workplace: Path) -> None:
    (workplace / "context-bench.toml").write_bytes(DAMAGE["lists in lists"])
    assert context_bench("plugins", "list").code == 2
    assert context_bench("--help").code == 0


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


@pytest.mark.parametrize("value", ['["exact"]', "[]", "0", '"exact"', '[{ disable = ["exact"] }]'])
@pytest.mark.parametrize(
    "command",
    [("plugins", "list"), ("run", "-s", "echo", "-d", "toy", "--dry-run")],
    ids=["list", "run"],
)
def test_plugins_that_are_no_table_are_refused(
    value: str, command: tuple[str, ...], site: Any, context_bench: Run, workplace: Path
) -> None:
    site.basics()
    (workplace / "context-bench.toml").write_text(f"plugins = {value}\n")
    done = context_bench(*command)
    assert (done.code, "context-bench.toml: plugins must be a table." in done.words) == (2, True), (
        done.words
    )


@pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="there are no pipes with a name on this platform"
)
def test_what_is_no_file_is_not_waited_for(site: Any, context_bench: Run, workplace: Path) -> None:
    os.mkfifo("pipe")
    Path("zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero", "."):
        done = context_bench("plugins", "list", "--project", name)
        assert (
            done.code,
            "is no regular file" in done.words or "is a directory" in done.words,
        ) == (2, True), done.err
        done = context_bench("run", "-s", "echo", "-d", "toy", "--locked", "--lock-file", name)
        assert done.code == 2
        assert context_bench("plugins", "diff", name).code == 2
    site.basics()
    os.mkfifo("context-bench.toml")
    assert context_bench("plugins", "list").code == 0
    assert context_bench("plugins", "disable", "exact").code == 2
