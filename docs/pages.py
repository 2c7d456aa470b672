"""The pages of the documentation as programs: their blocks, and what comes of running them.

A page is run from top to bottom in an empty folder of its own:

- a block below a line that is nothing but a file name (```` `results.jsonl`: ````) is written to that file;
- each ``$`` line of a ``console`` block is run, and what it says is compared with what stands below it;
- a ``python`` block is run, its ``>>>`` examples compared; the blocks of a page share their names;
- ``bash`` and ``text`` blocks are not run here;
- a ``console`` block below a line ``<!-- run by tests/NAME -->`` is run by those tests, which have what it needs.

In expected output a line ``...`` stands for any lines. Times, speeds, dates and the wrapping of lines do not count.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

_FENCE = re.compile(r"^```([a-z]*|\{[a-z-]+\})$")
_RUN_BY = re.compile(r"^<!-- run by (tests/\w+) -->$")
_FILE_NAME = re.compile(r"^`([\w./-]+)`:$")
_IGNORED = re.compile(
    r"^(\S+: )?\d+(/\d+)? rows, (\d+ failed|.* rows/(?:s|min|h)\b).*$"
    r"|^Importing \S+ \(module \S+\) takes more than .*$"  # of a busy machine
)
_MASKS = [
    (re.compile(r"\b\d+(\.\d+)? ?(us|ms|s)\b"), "TIME"),
    (re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{6}-"), "DATE-"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "SHA-256"),
    (re.compile(r"\s+"), " "),
    (re.compile(r"─+"), "─"),
]


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: What stands behind the fence.
        text: What is in it.
        line: Line of the fence, counted from 1.
        file_name: File that it is the content of, or None.
        run_by: Folder of the tests that run it in place of those of the pages, or None.
    """

    language: str
    text: str
    line: int
    file_name: str | None
    run_by: str | None = None


@dataclass(frozen=True)
class Step:
    """A command of a ``console`` block.

    Attributes:
        command: What stands behind the ``$``, continued lines joined.
        expected: The lines below it.
        line: Line of the first of those, counted from 1.
    """

    command: str
    expected: tuple[str, ...]
    line: int


def pages() -> list[Path]:
    """Return every page: the README and its companions, and all of docs/."""
    top = [
        ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "core/README.md")
    ]
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    lines = text.split("\n")
    above = ""
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence is None:
            above = lines[number].strip() or above
            number += 1
            continue
        start = number
        number += 1
        while lines[number] != "```":
            number += 1
        name, others = _FILE_NAME.match(above), _RUN_BY.match(above)
        content = "\n".join([*lines[start + 1 : number], ""])
        yield Block(
            fence[1], content, start + 1, name[1] if name else None, others[1] if others else None
        )
        above = ""
        number += 1


def steps(block: Block) -> list[Step]:
    """Return the commands of a console block."""
    found: list[Step] = []
    lines = block.text.splitlines()
    number = 0
    while number < len(lines):
        command = lines[number].removeprefix("$ ")
        while command.endswith("\\"):
            number += 1
            command = command[:-1].rstrip() + " " + lines[number].strip()
        number += 1
        below = number
        while number < len(lines) and not lines[number].startswith("$ "):
            number += 1
        found.append(Step(command, tuple(lines[below:number]), block.line + 1 + below))
    return found


def normal(lines: Iterator[str] | list[str] | tuple[str, ...]) -> list[str]:
    """Return lines without what differs from run to run, and without blank ones."""
    kept = []
    for line in lines:
        for pattern, mask in _MASKS:
            line = pattern.sub(mask, line)
        if line.strip() and not _IGNORED.match(line.strip()):
            kept.append(line.strip())
    return kept


def agrees(expected: list[str] | tuple[str, ...], actual: list[str]) -> bool:
    """Whether an output is the expected one, wherever lines are wrapped; ``...`` stands for any lines."""
    pattern = "".join(
        "(?:.* )?" if line == "..." else re.escape(line) + " " for line in normal(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line} " for line in normal(actual))) is not None


class Reader:
    """Does what a page says, in a folder.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        self._site = folder / "site"
        self._names: dict[str, Any] = {"__name__": "__page__"}
        self._code = 0
        plain = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CONTEXT_BENCH", "OPENAI"))
        }
        self.environ = {
            **plain,
            "COLUMNS": "80",
            "PYTHONPATH": str(self._site),
            "NO_COLOR": "1",
            "PYTHONUTF8": "1",
        }

    def follow(self, block: Block) -> Iterator[tuple[Step, list[str]]]:
        """Do what a block says, and yield each command of it with the lines that it wrote.

        Raises:
            AssertionError: A Python example gave something else.
        """
        if block.file_name is not None:
            path = self.folder / block.file_name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "console" and block.run_by is None:
            for step in steps(block):
                yield step, self.run(step.command)
        elif block.language == "python":
            self._execute(block)

    def run(self, command: str) -> list[str]:
        """Run a command of a page and return the lines that it wrote, on both streams."""
        program, *arguments = shlex.split(command)
        if command == "echo $?":
            return [str(self._code)]
        if command.startswith("pip install ./"):
            self._install(self.folder / arguments[-1])
            return []
        programs = {
            "context-bench": [sys.executable, "-m", "context_bench"],
            "python": [sys.executable],
            "pytest": [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
            "cat": ["cat"],
        }
        done = subprocess.run(
            [*programs[program], *arguments],
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        self._code = done.returncode
        return done.stdout.splitlines()

    def _install(self, project: Path) -> None:
        """Build a wheel as pip does, and unpack it where Python looks."""
        build = "import hatchling.build; hatchling.build.build_wheel('built')"
        (project / "built").mkdir()
        subprocess.run([sys.executable, "-c", build], cwd=project, check=True, capture_output=True)
        for wheel in (project / "built").glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(self._site)

    def _execute(self, block: Block) -> None:
        with _directory(self.folder):
            if not block.text.startswith(">>> "):
                exec(compile(block.text, f"line {block.line}", "exec"), self._names)
                return
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            examples = doctest.DocTestParser().get_doctest(
                block.text, self._names, f"line {block.line}", None, block.line
            )
            examples.globs = self._names
            told: list[str] = []
            outcome = doctest.DocTestRunner(optionflags=flags).run(
                examples, out=told.append, clear_globs=False
            )
            assert not outcome.failed, "".join(told)


def with_outputs(text: str, folder: Path) -> str:
    """Return a page with the output of each command as it is now, where what stands there does not agree.

    Raises:
        RuntimeError: A command broke.
    """
    reader = Reader(folder)
    lines = text.split("\n")
    changes = [
        (step.line - 1, len(step.expected), _shown(actual))
        for block in blocks(text)
        for step, actual in reader.follow(block)
        if not agrees(step.expected, actual)
    ]
    for first, length, shown in reversed(changes):
        if any(line.startswith("Traceback") for line in shown):
            raise RuntimeError(f"The command above line {first + 1} broke:\n" + "\n".join(shown))
        lines[first : first + length] = shown
    return "\n".join(lines)


def _shown(actual: list[str]) -> list[str]:
    return (
        "\n".join(line.rstrip() for line in actual if not _IGNORED.match(line.strip()))
        .strip("\n")
        .split("\n")
    )


@contextmanager
def _directory(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
