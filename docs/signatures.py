"""The page of signatures, written from the sources of the protocols and of the hooks."""

from __future__ import annotations

import ast
import inspect
import re

from context_bench import protocols
from context_bench.plugins import hooks
from context_bench.plugins.component_metadata import KINDS, PART_KINDS

HEAD = """\
# Protocols

{note}

What a component of each kind looks like, as core calls it. Nothing is inherited and nothing of core needs to be imported: a class
with the right methods is enough, and type annotations are for readers. How a package brings one is on
[the manifest's page](manifest.md); each section names the page that goes through an example.
`Example` and `Output` are mappings with text keys.
"""

KIND_PAGES = {
    "systems": ("System", ("System", "MemorySystem"), "write-a-system-plugin.md"),
    "datasets": ("Dataset loader", ("DatasetLoader",), "write-a-dataset-plugin.md"),
    "evaluators": ("Evaluator", ("Evaluator",), "write-an-evaluator-plugin.md"),
    "metrics": ("Metric", ("Metric",), "write-a-metric-plugin.md"),
    "reporters": ("Reporter", ("Reporter",), "write-a-reporter-plugin.md"),
    "tokenizers": ("Tokenizer", ("Tokenizer",), "write-a-tokenizer-plugin.md"),
    "hooks": ("Hooks", ("HookSpecification",), "write-a-hook-plugin.md"),
    "commands": ("Command", (), "write-a-command-plugin.md"),
    "run_parts": ("Run parts", (), "write-a-run-part-plugin.md"),
    "flags": ("Flag groups", (), ""),
}
"""The heading of each kind of component, its protocols, and the page that shows how to write one."""

PARTS = {
    "preparer": "Preparer",
    "governor": "Governor",
    "derived-job": "DerivedJob",
    "controller": "Controller",
    "pacer": "Pacer",
    "asker": "Asker",
}
HANDED = ("RowId", "Call", "GovernedSystem", "DerivedSlot", "BuiltSystem", "Rates", "Turns")
"""What run parts are given and return."""

TOLD = {
    "datasets": (
        "The entry point names a function with this signature, whatever its name. "
        "What the manifest declares as options comes by keyword."
    ),
    "hooks": 'Each is marked with `pluggy.HookimplMarker("context_bench")`, and names only the arguments that it uses.',
    "commands": (
        "The entry point names a [click](https://click.palletsprojects.com) command; "
        "its return value is the exit code, None means 0. "
        "One that [extends](manifest.md#commands) something is a function:\n\n"
        "| extends | signature | returns |\n|---|---|---|\n"
        "| `run` | `function(result, **options)` | an exit code, or None |\n"
        "| `table` | `function(result)` | a text for below the table, or None |\n"
        "| `result` | `function(result, **settings)` | what the method of the result returns |\n"
        "| `report` | `function(run)` | pictures for reports: mappings, as [the manifest's page](manifest.md#commands) says |"
    ),
    "run_parts": "The manifest says of which `kind` a part is. It is built from its options, as a system is.",
    "flags": "A flag group is a table of the manifest and has no code.",
}


def protocols_page(note: str) -> str:
    """Return the page. ``note`` stands below its title."""
    parts = [HEAD.format(note=note)]
    for kind in KINDS:
        heading, names, page = KIND_PAGES[kind]
        link = f" [How to write one](../how-to/{page})." if page else ""
        group = "" if kind == "flags" else f"Entry points: `context_bench.{kind}`. "
        parts.append(f"## {heading}\n\n{group}Manifest: `[{kind}.NAME]`.{link}\n")
        parts += [f"{TOLD[kind]}\n"] if kind in TOLD else []
        parts += [_class(name, heading != KIND_PAGES[kind][0] or len(names) > 1) for name in names]
        if kind == "run_parts":
            parts += [_class(PARTS[part], True, f'`kind = "{part}"`. ') for part in PART_KINDS]
            parts.append(
                _class("AnswerSource", True, '`kind = "derived-job"`, called `agreement`. ')
            )
            parts.append("### What run parts are given\n")
            parts += [_class(name, False) for name in HANDED]
    return "\n".join(parts).rstrip() + "\n"


def _class(name: str, is_headed: bool, before: str = "") -> str:
    thing = getattr(protocols, name, None) or getattr(hooks, name)
    source = inspect.getsource(thing)
    [node] = ast.parse(source).body
    assert isinstance(node, ast.ClassDef)
    first = node.body[0]
    body = source.splitlines()[(first.end_lineno or 0) :]
    while body and not body[0].strip():
        body.pop(0)
    shown = [f"class {name}:", *(line for line in body if line.strip() != "...")]
    heading = f"### {name}\n\n" if is_headed else ""
    return f"{heading}{before}{_prose(ast.get_docstring(node) or '')}\n\n```py\n{chr(10).join(shown).rstrip()}\n```\n"


def _prose(text: str) -> str:
    """Return a docstring as Markdown: its paragraphs, and the attributes as a list."""
    about, _, attributes = text.partition("Attributes:\n")
    paragraphs = [" ".join(paragraph.split()) for paragraph in about.strip().split("\n\n")]
    if attributes:
        items = re.sub(r"\n {8,}", " ", attributes.rstrip()).splitlines()
        paragraphs.append("\n".join(re.sub(r"^ *(\w+): ", r"- `\1`: ", item) for item in items))
    shown = "\n\n".join(paragraphs)
    return re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", shown).replace("``", "`")
