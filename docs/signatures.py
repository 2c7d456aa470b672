"""The pages of protocols and of hooks, written from the sources of both."""

from __future__ import annotations

import ast
import inspect
import re

from context_bench import hookspecs, protocols
from context_bench.plugins.manifest import KINDS

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
    "hooks": ("Extensions", (), "write-an-extension.md"),
    "commands": ("Command", (), "write-a-command-plugin.md"),
    "flags": ("Flag groups", (), ""),
}
"""The heading of each kind of component, its protocols, and the page that shows how to write one."""

HANDED = (
    "RowId",
    "Call",
    "SystemSummary",
    "BuiltSystem",
    "DerivedSystemSpec",
    "Executor",
    "RateLimiter",
    "AnswerSource",
    "Turns",
)
"""What hooks receive and return."""

HOOKS_HEAD = """\
# Hooks

{note}

[How to write an extension](../how-to/write-an-extension.md) goes through an example. What hooks receive and return is on
[the page of protocols](protocols.md#what-hooks-receive-and-return).

"""

TOLD = {
    "datasets": (
        "The entry point names a function with this signature, whatever its name. "
        "What the manifest declares as options comes by keyword."
    ),
    "hooks": (
        "An extension is a class, a module or an object with functions that implement hooks: [Hooks](hooks.md) has each of them."
    ),
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
        if kind == "hooks":
            parts.append("### What hooks receive and return\n")
            parts += [_class(name, True) for name in HANDED]
    return "\n".join(parts).rstrip() + "\n"


def hooks_page(note: str) -> str:
    """Return the page of hooks, from the docstrings of ``context_bench.hookspecs``; ``note`` is below its title."""
    about = _markdown(inspect.getdoc(hookspecs) or "").partition("\n\n")[2]
    parts = [HOOKS_HEAD.format(note=note) + about + "\n"]
    for name, hook in hookspecs.HOOKS.items():
        source = inspect.getsource(hook.specification)
        signature = source[source.index("def ") : source.index('"""')].rstrip()
        text = _markdown(inspect.getdoc(hook.specification) or "")
        parts.append(f"## {name}\n\n```py\n{signature}\n```\n\n{text}\n")
    return "\n".join(parts).rstrip() + "\n"


def _markdown(text: str) -> str:
    """Return a docstring in Google style as Markdown: arguments and errors as lists, literal blocks as code."""
    blocks = []
    for block in re.split(r"\n\n", text):
        lines = block.splitlines()
        section = re.fullmatch(r"(Args|Returns|Raises):", lines[0])
        if section is not None:
            blocks.append(_section(section[1], lines[1:]))
        elif block.startswith("    ") and blocks and blocks[-1].endswith("```"):
            code = "\n".join(line[4:] for line in lines)
            space = "\n\n" if code.startswith("class ") else "\n"
            blocks[-1] = f"{blocks[-1][:-3]}{space}{code}\n```"
        elif block.startswith("    "):
            language = "toml" if block.lstrip().startswith("[") else "py"
            code = "\n".join(line[4:] for line in lines)
            blocks.append(f"```{language}\n{code}\n```")
        elif block.startswith("- "):
            blocks.append(re.sub(r"\n +", " ", block))
        else:
            blocks.append(" ".join(line.strip() for line in lines))
    shown = "\n\n".join(blocks).replace("::\n\n", ":\n\n")
    shown = re.sub(r"(?<!`)``(?!`)", "`", shown)
    return re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", shown)


def _section(name: str, lines: list[str]) -> str:
    text = re.sub(r"\n {8,}", " ", "\n".join(lines))
    items = [line.strip() for line in text.splitlines()]
    if name == "Returns":
        return f"Returns: {' '.join(items)}"
    heading = {"Args": "Arguments", "Raises": "Errors"}[name]
    listed = [re.sub(r"^(\w+): ", r"- `\1`: ", item) for item in items]
    return "\n".join([f"{heading}:", "", *listed])


def _class(name: str, is_headed: bool, before: str = "") -> str:
    source = inspect.getsource(getattr(protocols, name))
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
