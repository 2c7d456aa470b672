"""No control sequence of a package reaches the terminal: not from its manifest, its metadata or its errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]
SEQUENCES = (
    "\x1b]0;title\x07", "\x1b]52;c;cm0gLXJm\x07", "\x1b[2J", "\x1b[5A", "\x1b[8m", "\x1bc", "\x9b2J", "\x05", "\x08", "\x0b",
    "\x7f", "safe\revil", "\u202egpj.exe", "\u2066x\u2069", "\u200b", "\u2028", "\U000e0041",
)  # fmt: skip
EVERY = " ".join(SEQUENCES)
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\U000e0000-\U000e007f]|\r(?!\n)"
)
TEXT = json.dumps(EVERY)  # TOML reads JSON's escapes of a plane; surrogates are written as they are
TEXT = TEXT.replace("\\udb40\\udc41", "\\U000E0041")
MANIFEST = f"""
    schema = 1
    api = "1.0"
    [evaluators.odd]
    summary = {TEXT}
    class = "Evaluator"
    version = {TEXT}
    primary = "odd"
    [evaluators.odd.scores]
    odd = {{}}
    [evaluators.odd.options]
    level = {{ type = "str", default = {TEXT}, help = {TEXT}, flag = "odd-level" }}
    [datasets.odd-rows]
    summary = {TEXT}
    class = "load"
    license = {TEXT}
    homepage = {TEXT}
    citation = {TEXT}
    tags = [{TEXT}]
    configs = [{TEXT}]
    [commands.odd-command]
    summary = {TEXT}
"""
CODE = f"""
    class Evaluator:
        name = "odd"

        def __init__(self, level=None):
            raise RuntimeError({EVERY!r})

    def load(limit=None, config=None, split=None):
        raise RuntimeError({EVERY!r})
"""
COMMANDS = {
    "list": ("plugins", "list"),
    "list of everything": ("plugins", "list", "-v"),
    "list as JSON": ("plugins", "list", "--json"),
    "show": ("plugins", "show", "acme-odd"),
    "show as JSON": ("plugins", "show", "acme-odd", "--json"),
    "evaluators": ("evaluators", "list"),
    "an evaluator": ("evaluators", "show", "odd"),
    "datasets": ("datasets", "list"),
    "a dataset": ("datasets", "show", "odd-rows"),
    "help": ("--help",),
    "help of run": ("run", "--help-all"),
    "wiring": ("explain", "wiring", "-d", "odd-rows"),
    "a run": ("run", "-s", "echo", "-d", "odd-rows"),
    "an evaluator that breaks": ("run", "-s", "echo", "-d", "toy", "--add-evaluator", "odd"),
    "a dry run": ("run", "-s", "echo", "-d", "odd-rows", "--dry-run"),
}


@pytest.mark.parametrize(
    "manifest", [MANIFEST, MANIFEST.replace(TEXT, '"1"')], ids=["manifest", "code"]
)
@pytest.mark.parametrize("name", COMMANDS)
def test_no_sequence_of_a_package_reaches_the_terminal(
    name: str, manifest: str, site: Any, context_bench: Run
) -> None:
    site.basics()
    points = {
        "evaluators": {"odd": "acme_odd:Evaluator"},
        "datasets": {"odd-rows": "acme_odd:load"},
        "commands": {"odd-command": "acme_odd:load"},
    }
    site.add("acme-odd", code=CODE, manifest=manifest, entry_points=points)
    done = context_bench(*COMMANDS[name])
    assert "Traceback" not in done.words
    written = done.out + done.err
    assert written.strip()
    assert OBEYED.findall(written) == []
