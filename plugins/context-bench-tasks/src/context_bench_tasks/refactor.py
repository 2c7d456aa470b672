"""The generator of long refactors: a call is renamed in one file after the other, by rules that are read first and needed last."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from random import Random
from typing import Any

from context_bench_tasks.checks import Check
from context_bench_tasks.hunt import LedgerRules, ledger_rules
from context_bench_tasks.hunt_reader import facts_of_rules, rules_in
from context_bench_tasks.steps import Read, Step, Write

CONSTRAINTS = "CONSTRAINTS.md"
PLAN = "PLAN.md"
SUMMARY = "SUMMARY.txt"
_LINES = 40
_LIMITS = {"turns": 160, "seconds": 600, "bytes": 2_000_000}
_CALLS = ("fetch_all", "load_rows", "open_table", "scan_index", "read_page", "next_batch")
_TASK = re.compile(r"This is a long refactor\.")
_RENAME = re.compile(r"Rename: (\w+) to (\w+)$", re.MULTILINE)
_FROZEN = re.compile(r"frozen modules: ([\w, ]+)\.")
_MODULES = re.compile(r"modules in this order: ([\w, ]+)\.")
_HEAD = re.compile(r"module=(\w+) lines=(\d+)")
_LINE = re.compile(r"(?<![A-Za-z0-9])(m\d+):(\d+) call=(\w+) value=(\d+)")


def long_refactor(seed: int, index: int, modules: int = 8) -> dict[str, Any]:
    """Return a long refactor: the same arguments return the same task.

    Args:
        seed: Seed of the dataset.
        index: Number of the task, from 0.
        modules: Modules of the plan, 1 to 50; one in four is frozen.
    """
    random = Random(f"long-refactor/{seed}/{index}/{modules}")
    old, new = random.sample(_CALLS, 2)
    numbers = random.sample(range(10, 100), modules)
    names = [f"m{number}" for number in numbers]
    frozen = sorted(random.sample(names, modules // 4))
    rules = ledger_rules(random)
    files = {
        CONSTRAINTS: _constraints(rules, frozen),
        PLAN: f"# Plan\n\nmodules in this order: {', '.join(names)}.\n",
    }
    outputs = {}
    sums = {}
    for name in names:
        calls = _module_calls(random, old)
        files[_path(name)] = _module(name, calls)
        if name not in frozen:
            sums[name] = str(sum(value for _, value in calls))
            outputs[_path(name)] = _module(name, _renamed(calls, old, new))
    outputs[SUMMARY] = rules.ledger(sums)
    return {
        "id": f"long-refactor-{seed}-{index}-{modules}",
        "question": _instruction(old, new),
        "files": files,
        "limits": dict(_LIMITS),
        "task": "long-refactor",
        "check": Check.of_files(outputs, files).record(),
    }


class RefactorReader:
    """Reads a long refactor from texts, as a perfect reader without a memory would.

    Args:
        texts: The visible texts, in any order: instruction, contents of files, notes.
        written: Paths of the files that were written.
    """

    def __init__(self, texts: Sequence[str], written: Collection[str] = ()) -> None:
        self._whole = "\n".join(texts)
        self._written = written
        self._rename = _RENAME.search(self._whole) if _TASK.search(self._whole) else None
        self._sizes = {name: int(size) for name, size in _HEAD.findall(self._whole)}
        self._lines: dict[str, dict[int, tuple[str, int]]] = {}
        for name, number, call, value in _LINE.findall(self._whole):
            self._lines.setdefault(name, {})[int(number)] = (call, int(value))

    @property
    def is_readable(self) -> bool:
        """Whether the instruction of a long refactor is visible."""
        return self._rename is not None

    def next_step(self) -> Step:
        """Return the first file that is missing, the next module, or the summary.

        Raises:
            ValueError: The instruction is not visible.
        """
        if self._rename is None:
            raise ValueError("The instruction of a long refactor is not visible.")
        old, new = self._rename.groups()
        rules = rules_in(self._whole)
        frozen = _FROZEN.search(self._whole)
        if rules is None or frozen is None:
            return Read(CONSTRAINTS)
        plan = _MODULES.search(self._whole)
        if plan is None:
            return Read(PLAN)
        sums = {}
        for name in plan[1].split(", "):
            if name in frozen[1].split(", "):
                continue
            lines = self._lines.get(name, {})
            if not lines or len(lines) != self._sizes.get(name):
                return Read(_path(name))
            calls = [lines[number] for number in sorted(lines)]
            sums[name] = str(sum(value for _, value in calls))
            if _path(name) not in self._written:
                return Write(_path(name), _module(name, _renamed(calls, old, new)))
        return Write(SUMMARY, rules.ledger(sums))

    @staticmethod
    def facts_in(text: str) -> list[str]:
        """Return rules, plan and lines of modules of a text, one a line."""
        patterns = (_FROZEN, _MODULES, _HEAD, _LINE)
        facts = [match[0] for pattern in patterns for match in pattern.finditer(text)]
        return facts_of_rules(text) + facts


def _path(name: str) -> str:
    return f"modules/{name}.txt"


def _module_calls(random: Random, old: str) -> list[tuple[str, int]]:
    others = [call for call in _CALLS if call != old]
    return [
        (old if random.random() < 0.4 else random.choice(others), random.randrange(1, 1000))
        for _ in range(_LINES)
    ]


def _renamed(calls: Sequence[tuple[str, int]], old: str, new: str) -> list[tuple[str, int]]:
    return [(new if call == old else call, value) for call, value in calls]


def _module(name: str, calls: Sequence[tuple[str, int]]) -> str:
    lines = [
        f"{name}:{number} call={call} value={value}"
        for number, (call, value) in enumerate(calls, 1)
    ]
    return "\n".join([f"module={name} lines={len(calls)}", *lines]) + "\n"


def _constraints(rules: LedgerRules, frozen: Sequence[str]) -> str:
    names = ", ".join(frozen) or "none"
    return f"{rules.text}\nfrozen modules: {names}. They are not changed, and not in the summary.\n"


def _instruction(old: str, new: str) -> str:
    return (
        f"This is a long refactor. Read {CONSTRAINTS} first: it names the modules that stay as they are, and has the rules of the "
        f"summary that you write at the end. {PLAN} lists the modules; each is a file in modules. In each module that is not "
        "frozen, rename the call below and change nothing else.\n"
        f"Rename: {old} to {new}\n"
        f"At the end write {SUMMARY}: the header, one line for each changed module with its name, the separator and the sum of its "
        "values, ordered by the number in the name, and the last line, by the rules. Change no other file."
    )
