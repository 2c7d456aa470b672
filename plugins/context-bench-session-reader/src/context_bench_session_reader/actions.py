"""Actions of an agent, and how far two of them agree."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from context_bench_survival import command_text

LEVELS = ("tool", "target", "exact", "loose")

_PATHS = (
    "path",
    "file_path",
    "filename",
    "file",
    "target_file",
    "notebook_path",
    "uri",
    "directory",
)
_COMMANDS = ("command", "cmd", "script")
_INTENTS = (
    ("read", ("read", "open", "view", "cat", "get", "fetch", "list", "ls")),
    ("search", ("search", "grep", "find", "glob", "query")),
    ("write", ("write", "edit", "create", "replace", "patch", "insert", "update", "delete")),
    ("run", ("bash", "shell", "exec", "run", "command", "terminal", "python")),
)
_IN_FRONT = ("sudo", "env", "time", "nohup", "exec")
# Each is looked for from the beginning of a name, and not again from each letter of it.
_FILE = re.compile(r"(?<![\w.@~/+-])[\w.@~/+-]*/[\w.@+-]+|(?<![\w-])[\w-]+\.[A-Za-z]\w{0,4}\b")


@frozen
class Action:
    """What an agent does: a call, or words.

    Attributes:
        tool: Name of the tool; empty for words.
        arguments: Its arguments.
        text: The words.
    """

    tool: str
    arguments: Mapping[str, Any]
    text: str = ""

    @property
    def target(self) -> str:
        """What it is done to: the path, else the command's program; empty where there is neither."""
        for name in _PATHS:
            if isinstance(self.arguments.get(name), str):
                return str(self.arguments[name]).removeprefix("./").rstrip("/")
        return self.program

    @property
    def program(self) -> str:
        """The program of its command; empty without one."""
        found = next((self.arguments[name] for name in _COMMANDS if self.arguments.get(name)), "")
        return program_of(command_text(found))

    @property
    def intent(self) -> str:
        """The class of what it does: read, search, write, run, or answer."""
        if not self.tool:
            return "answer"
        words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.tool).lower())
        return next(
            (intent for intent, names in _INTENTS if any(word in names for word in words)),
            self.tool,
        )

    @property
    def files(self) -> frozenset[str]:
        """The names of the files that it speaks of, without their folders."""
        found = _FILE.findall(json.dumps(dict(self.arguments), ensure_ascii=False))
        return frozenset(one.rstrip("/").rpartition("/")[2] for one in found)


def program_of(command: str) -> str:
    """Return the program of a shell command, without what only goes before it.

    >>> program_of("cd /srv && FOO=1 sudo pytest -q"), program_of("git status | cat")
    ('pytest', 'git')
    """
    steps = [step for step in re.split(r"&&|\|\||;|\n", command) if step.strip()]
    for number, step in enumerate(steps):
        try:
            words = shlex.split(step.partition("|")[0])
        except ValueError:  # a quote that is not closed, or a here-document
            words = step.split()
        words = [
            word for word in words if "=" not in word.partition("/")[0] and word not in _IN_FRONT
        ]
        if words and (words[0] != "cd" or number == len(steps) - 1):
            return words[0].rpartition("/")[2]
    return ""


def agreement(one: Action, other: Action) -> dict[str, float]:
    """Return whether two actions agree, by level: ``tool``, ``target``, ``exact`` and ``loose``.

    ``loose`` takes two of three: the same intent, a file in common (or none in either), the same program (or none in either). The
    levels ``target`` and ``exact`` ask for the same tool too. Two answers in words agree in everything but, perhaps, their words.
    """
    same_tool = one.tool == other.tool
    if not one.tool and not other.tool:
        same_words = " ".join(one.text.split()) == " ".join(other.text.split())
        return {"tool": 1.0, "target": 1.0, "exact": float(same_words), "loose": 1.0}
    shares = bool(one.files & other.files) or not (one.files or other.files)
    sketch = (one.intent == other.intent) + shares + (one.program == other.program)
    return {
        "tool": float(same_tool),
        "target": float(same_tool and one.target == other.target),
        "exact": float(same_tool and dict(one.arguments) == dict(other.arguments)),
        "loose": float(sketch >= 2),
    }


def parse_action(found: Mapping[str, Any]) -> Action:
    """Return an action as a session or a reader's reply tells it: ``tool`` or ``name``, ``arguments``, ``text``."""
    tool = str(found.get("tool") or found.get("name") or "").strip()
    arguments = found.get("arguments") or {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = {"text": arguments}
    if not isinstance(arguments, Mapping):
        arguments = {"value": arguments}
    return Action(tool, arguments if tool else {}, str(found.get("text") or ""))
