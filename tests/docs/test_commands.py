"""Every command that a page shows can be given: what can be run here is run, and of the rest every name is looked up.

A command is a line of a ``bash`` block or of an indented block whose first word is a program; :mod:`docs/pages.py` runs the
``console`` blocks. ``context-bench run`` is run for real where nothing in it needs a network, a key, a model or a file that the
reader brings; else as a dry run, which finds every system, dataset, evaluator and option in the catalogue. Any other command of
ours is parsed by itself, and what it names is looked up. No page needs a mark for that: the catalogue says what needs what.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest

from context_bench.catalog import open_catalog
from context_bench.cli import execute

gates = pytest.importorskip("context_bench_compare.gates", reason="pages show gates")
ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {"network", "subprocess", "model-download", "executes-model-code"}
PROGRAMS = ("context-bench", "pip", "python", "python3", "nox", ".")
NAMED = {
    "systems": ("--system", "-s", "--reader"),
    "datasets": ("--dataset", "-d"),
    "evaluators": ("--evaluators", "--add-evaluator"),
}


def readmes() -> list[Path]:
    tops = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "core/README.md")]
    return [
        *tops,
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "plugins").glob("*/README.md")),
    ]


def lines_of(text: str) -> Iterator[str]:
    """Yield the command lines of the bash and indented blocks of a page, continued ones joined, chained ones apart."""
    blocks = re.findall(r"^```bash\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    indented = re.findall(r"(?:\A|\n\n)((?: {4}\S.*(?:\n|\Z))(?: {4}.*(?:\n|\Z))*)", prose)
    for block in [*blocks, *indented]:
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            for part in line.strip().split(" && "):
                words = part.split("#", 1)[0] if part.startswith("#") else part
                if words and program(words) in PROGRAMS:
                    yield words


def program(line: str) -> str:
    return line.split()[0].removeprefix(".venv/bin/")


PAGES = [(page, line) for page in readmes() for line in lines_of(page.read_text(encoding="utf-8"))]


def test_there_are_commands_to_look_at() -> None:
    ours = [line for _, line in PAGES if program(line) == "context-bench"]
    assert len(ours) >= 40
    assert len({page for page, _ in PAGES}) >= 50


@pytest.mark.parametrize(
    ("written_on", "line"),
    PAGES,
    ids=[f"{page.relative_to(ROOT)}:{number}" for number, (page, _) in enumerate(PAGES)],
)
def test_a_command_can_be_given(
    written_on: Path,
    line: str,
    plugins: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "none")
    _, *words = shlex.split(line, comments=True)
    if program(line) == "context-bench":
        check(words, capsys)
    else:
        check_program(program(line), words)


def check_program(name: str, words: list[str]) -> None:
    """Look up the files and sessions that a command of another program names."""
    for word in words:
        path = word.strip("'\"").partition("[")[0]
        if path.startswith("./plugins/") or path == "./core":
            assert (ROOT / path / "pyproject.toml").is_file(), word
            extras = re.findall(r"\[(.*)\]", word)
            told = (ROOT / path / "pyproject.toml").read_text(encoding="utf-8")
            for extra in extras[0].split(",") if extras else ():
                assert re.search(rf"^{extra} = \[", told, flags=re.MULTILINE), word
        elif path.startswith("tests/"):
            assert (ROOT / path).exists(), word
    if name == "nox" and words:
        sessions = (ROOT / "noxfile.py").read_text(encoding="utf-8")
        for session in [word for flag, word in pairwise(words) if flag == "-s"]:
            assert f"def {session.partition('(')[0]}(" in sessions, session


def check(words: list[str], capsys: Any) -> None:
    """Run a command of ours, or as much of it as can be run here."""
    if words[0].startswith("-"):
        words = ["run", *words]
    catalog = open_catalog(project={})
    check_names(catalog, words)
    if words[0] == "run":
        can_run = "--dataset" in words and not any(map(needs_more, named(catalog, words)))
        few = words if "-n" in words else [*words, "-n", "2"]
        asked = [*few, "--quiet"] if can_run else [*words, "--dry-run"]
        lacks = any(one and one.state == "missing-dependency" for one in named(catalog, words))
        if "--locked" in words or "--dataset" not in words or lacks:
            parse(words)  # of a project that the reader has, or with a library of an extra
            return
        code = execute(asked)
        told = capsys.readouterr()
        assert code == 0, f"{' '.join(asked)}\n{told.out}{told.err}"
        return
    parse(words)


def parse(words: list[str]) -> None:
    """Have a command take its words, as far as they are no files of the reader's."""
    from context_bench.cli.commands import app

    command: click.Command = app
    context = click.Context(app, info_name="context-bench", obj=[])
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, f"there is no command {words[0]}"
        command, words = found, words[1:]
        context = click.Context(command, parent=context, info_name=command.name, obj=context.obj)
    try:
        command.parse_args(context, list(words))
    except click.exceptions.Exit:
        return
    except click.BadParameter as error:
        if "does not exist" not in error.message:
            raise


def named(catalog: Any, words: list[str]) -> list[Any]:
    """Return the components that a command names, the files of the reader as None."""
    found: list[Any] = []
    for flag, word in pairwise(words):
        for kind, flags in NAMED.items():
            for text in (
                word.split(",")
                if flag in flags and kind == "evaluators"
                else [word]
                if flag in flags
                else ()
            ):
                name = re.split(r":|,(?=[A-Za-z_][\w.-]*=)", text)[0].rpartition("=")[2]
                components = catalog.named(kind, name)
                is_file = kind == "datasets" and "." in name
                assert components or is_file, f"no component of kind {kind} is called {name!r}"
                is_file = is_file or (kind == "datasets" and "path=" in text)
                found += [None] if is_file else components
        if flag in ("--proxy", "--baseline", "--judge-url"):
            found.append(None)
    return found


def needs_more(component: Any) -> bool:
    """Whether a component needs something that is not here."""
    if component is None or not component.is_described:
        return True
    declared = set(component.capabilities)
    return bool(declared & OUTSIDE or any(one.startswith("env:") for one in declared))


def check_names(catalog: Any, words: list[str]) -> None:
    """Look up what a command names besides: a component to show, the suffix of a report."""
    if (
        len(words) > 2
        and words[0] in ("datasets", "systems", "evaluators", "metrics")
        and words[1] == "show"
    ):
        assert catalog.named(words[0], words[2]), (
            f"no component of kind {words[0]} is called {words[2]!r}"
        )
    suffixes = {suffix for one in catalog.of_kind("reporters") for suffix in one.reporter.files}
    for flag, word in pairwise(words):
        if flag == "-o" and words[0] in ("run", "report"):
            assert os.path.splitext(word)[1] in {*suffixes, ".txt", ".json", ".jsonl"}, word
        if flag == "--gate":
            for gate in word.split("/"):
                gates.parse_gate(gate)
    named(catalog, words)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("run --system identitty --dataset needle", "identitty"),
        ("run --system identity --dataset hotpotq", "hotpotq"),
        ("run --system identity:ratoi=1 --dataset needle", "ratoi"),
        ("run --system identity --dataset needle --add-evaluator rogue", "rogue"),
        ("run --sytem identity --dataset needle", "--sytem"),
        ("compare a.sqlite --gaet f1:min=1", "--gaet"),
        ("datasets show nothing", "nothing"),
        ("reprot a.sqlite", "reprot"),
    ],
)
def test_a_name_that_nothing_has_is_found(
    line: str,
    told: str,
    plugins: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((AssertionError, click.UsageError)) as caught:
        check(shlex.split(line), capsys)
    assert told in str(getattr(caught.value, "message", caught.value))
