"""The generator of bug hunts: a small repository whose entry function is wrong somewhere below, and hidden tests."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from random import Random
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench_tasks.checks import Check, HiddenTest
from context_bench_tasks.expressions import Functions
from context_bench_tasks.steps import Read, Step, Write

NOTES = "NOTES.md"
MIN_FUNCTIONS = 3
MAX_FUNCTIONS = 15
_FOLDER = "shop"
_TESTS = 12
_LIMITS = {"turns": 80, "seconds": 600, "bytes": 1_000_000}
_NAMES = [
    "order",
    "basket",
    "price",
    "discount",
    "tax",
    "shipping",
    "weight",
    "parcel",
    "zone",
    "region",
    "rate",
    "margin",
    "stock",
    "supplier",
    "batch",
    "bonus",
    "credit",
    "refund",
    "fee",
    "invoice",
    "ledger",
    "quota",
    "season",
    "bundle",
    "coupon",
    "gift",
    "loyalty",
    "packing",
    "customs",
    "pallet",
]
_EXPRESSION = r"[\w ()+*,-]+"
_TASK = re.compile(r"This is a bug hunt\.")
_ENTRY = re.compile(r"^Entry: (\w+)$", re.MULTILINE)
_FUNCTION = re.compile(rf"def (\w+)\(a, b\): return ({_EXPRESSION}?)  # formula: ({_EXPRESSION})")
_NOTICE = re.compile(rf"notice: formula of (\w+) is ({_EXPRESSION}?) since release \d+")
_END = re.compile(r"end of the notices")
_CALLED = re.compile(r"(\w+)\(")


def bug_hunt(seed: int, index: int, functions: int = 8) -> dict[str, Any]:
    """Return a bug hunt: the same arguments return the same task.

    The entry function calls others, each in a file of its own with its formula. One of them differs from its formula. The
    formula of another one was replaced in the notes, and the function is right. Other files lead nowhere.

    Args:
        seed: Seed of the dataset.
        index: Number of the task, from 0.
        functions: Functions of the chain, with the entry, 3 to 15.

    Raises:
        ConfigurationError: ``functions`` is out of range.
    """
    if not MIN_FUNCTIONS <= functions <= MAX_FUNCTIONS:
        raise ConfigurationError(
            f"functions is {functions}, but must be {MIN_FUNCTIONS} to {MAX_FUNCTIONS}."
        )
    random = Random(f"bug-hunt/{seed}/{index}/{functions}")
    names = random.sample(_NAMES, 2 * functions)
    formulas = {}
    for at, name in enumerate(names):
        following = names[at + 1] if at + 1 < functions else ""
        formulas[name] = _formula(random, following)
    chain = names[:functions]
    wrong, renewed = random.sample(chain[1:], 2)
    comments = dict(formulas)
    comments[renewed] = _changed(random, formulas[renewed])
    bodies = dict(formulas)
    bodies[wrong] = _changed(random, formulas[wrong])
    files = {_path(name): _file(name, bodies[name], comments[name]) for name in names}
    unused = names[functions]
    notices = {unused: _changed(random, formulas[unused]), renewed: formulas[renewed]}
    files[NOTES] = _notes(random, notices)
    right = {_path(name): _file(name, formulas[name], comments[name]) for name in names}
    tests = [_test(random, chain[0], Functions(right)) for _ in range(_TESTS)]
    fixed = _path(wrong)
    inputs = {path: content for path, content in files.items() if path != fixed}
    return {
        "id": f"bug-hunt-{seed}-{index}-{functions}",
        "question": _instruction(chain[0]),
        "files": files,
        "limits": dict(_LIMITS),
        "task": "bug-hunt",
        "check": Check.of_files({}, inputs, tests).record(),
    }


class BugReader:
    """Reads a bug hunt from texts, as a perfect reader without a memory would.

    Args:
        texts: The visible texts, in any order: instruction, contents of files, notes.
        written: Paths of the files that were written.
    """

    def __init__(self, texts: Sequence[str], written: Collection[str] = ()) -> None:
        whole = "\n".join(texts)
        entry = _ENTRY.search(whole)
        self._entry = entry[1] if entry and _TASK.search(whole) else ""
        self._functions = {
            name: (body, formula) for name, body, formula in _FUNCTION.findall(whole)
        }
        self._notices = dict(_NOTICE.findall(whole))
        self._has_notes = bool(_END.search(whole))

    @property
    def is_readable(self) -> bool:
        """Whether the instruction of a bug hunt is visible."""
        return bool(self._entry)

    def next_step(self) -> Step:
        """Return the first file that is missing, or the corrected file."""
        if not self._has_notes:
            return Read(NOTES)
        open_names = [self._entry]
        seen: set[str] = set()
        while open_names:
            name = open_names.pop()
            if name not in self._functions:
                return Read(_path(name))
            seen.add(name)
            body, comment = self._functions[name]
            formula = self._notices.get(name, comment)
            if body != formula:
                return Write(_path(name), _file(name, formula, comment))
            open_names += [called for called in _CALLED.findall(body) if called not in seen]
        return Read(_path(self._entry))

    @staticmethod
    def facts_in(text: str) -> list[str]:
        """Return the functions and notices of a text, one a line."""
        return [
            match[0] for pattern in (_FUNCTION, _NOTICE, _END) for match in pattern.finditer(text)
        ]


def _path(name: str) -> str:
    return f"{_FOLDER}/{name}.py"


def _formula(random: Random, following: str) -> str:
    first, second = random.randrange(2, 9), random.randrange(2, 90)
    if not following:
        return f"a * {first} + b * {second}"
    return f"a * {first} - {second} + {following}(b, a + {random.randrange(1, 9)})"


def _changed(random: Random, formula: str) -> str:
    """Return a formula with another first factor."""
    factor = int(formula.split()[2])
    other = random.choice([number for number in range(2, 10) if number != factor])
    return formula.replace(f"a * {factor}", f"a * {other}", 1)


def _file(name: str, body: str, formula: str) -> str:
    imports = "".join(
        f"from {_FOLDER}.{called} import {called}\n" for called in _CALLED.findall(body)
    )
    gap = "\n\n" if imports else ""
    return f'"""The {name} of the shop."""\n\n{imports}{gap}def {name}(a, b): return {body}  # formula: {formula}\n'


def _notes(random: Random, notices: dict[str, str]) -> str:
    lines = [
        f"- notice: formula of {name} is {formula} since release {random.randrange(2, 9)}"
        for name, formula in notices.items()
    ]
    random.shuffle(lines)
    return "# Notices\n\nA notice replaces the formula in a file.\n\n" + "\n".join(
        [*lines, "- end of the notices\n"]
    )


def _test(random: Random, entry: str, functions: Functions) -> HiddenTest:
    arguments = [random.randrange(1, 1000), random.randrange(1, 1000)]
    return HiddenTest(entry, arguments, functions.call(entry, arguments))


def _instruction(entry: str) -> str:
    return (
        f"This is a bug hunt. The function {entry} in {_path(entry)} returns wrong numbers: one of the functions that it calls, "
        f"directly or through others, differs from its formula. The formula is behind each function; {NOTES} has notices that "
        "replace formulas, and a function that agrees with its notice is right. Each function is in a file of its name in "
        f"{_FOLDER}. Correct the one function that is wrong, and change no other file. Hidden tests call the entry.\n"
        f"Entry: {entry}"
    )
