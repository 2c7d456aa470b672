"""The page whose commands are run here, because they need a model: its steps, and what it promises of their output."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))  # for docs/pages.py

from pages import ROOT, Step, agrees, blocks
from pages import steps as steps_of

PAGE = ROOT / "docs" / "how-to" / "compare-proxies.md"
_FROM_ANSWERS = re.compile(r"^\s*(score|pass|tokens out|tokens/pass|rank|Warning: \d+ of)\b")


def steps() -> list[Step]:
    """Return the commands of the page that are left to these tests, each with the output below it."""
    written = blocks(PAGE.read_text(encoding="utf-8"))
    return [step for block in written if block.run_by == "tests/e2e" for step in steps_of(block)]


def project_file(addresses: Mapping[str, str]) -> str:
    """Return the project file of the page, with real addresses in place of those that stand there."""
    written = blocks(PAGE.read_text(encoding="utf-8"))
    [text] = [block.text for block in written if block.file_name == "context-bench.toml"]
    return _at(text, addresses)


def arguments(step: Step, addresses: Mapping[str, str]) -> list[str]:
    """Return the arguments of a command, with real addresses in place of those that stand on the page."""
    program, *given = shlex.split(_at(step.command, addresses))
    assert program == "context-bench"
    return given


def agrees_with(step: Step, actual: Sequence[str]) -> bool:
    """Whether lines are those of the page, but for times and for what follows from the words of the model.

    Those are the same each time on one processor; on another the last bits of its arithmetic may differ.
    """
    return agrees(_comparable(step.expected), _comparable(actual))


def _comparable(lines: Sequence[str]) -> list[str]:
    return [
        re.sub(r"\d[\d.]*|never", "N", line) if _FROM_ANSWERS.match(line) else line
        for line in lines
    ]


def _at(text: str, addresses: Mapping[str, str]) -> str:
    for written, real in addresses.items():
        text = text.replace(written, real)
    return text
