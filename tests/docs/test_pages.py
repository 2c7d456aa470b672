"""Every page does what it says: its commands are run, its outputs compared, its Python blocks executed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from context_bench.plugins.first_party import NEEDS

SHELL = re.compile(r"[|&?*<>\[\];$(){}~!#]")
PRIVATE = re.compile(
    r"/(root|home|tmp|work|Users)/|https?://[^\s)]*(pypi|pythonhosted)", re.IGNORECASE
)


def test_a_page_does_what_it_says(page: Path, pages: Any, plugins: None, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if "$ pip install ./" in text:
        pytest.importorskip("hatchling", reason="the package on this page is built")
    reader = pages.Reader(tmp_path)
    for block in pages.blocks(text):
        for step, actual in reader.follow(block):
            expected = "\n".join(pages.normal(step.expected))
            assert pages.agrees(step.expected, actual), (
                f"{page.name}, line {step.line}: {step.command}\nexpected:\n{expected}\nit said:\n"
                + "\n".join(pages.normal(actual))
            )


def test_a_page_installs_what_its_packages_stand_on(pages: Any, root: Path) -> None:
    lacking = {}
    for page in [*pages.pages(), *root.glob("plugins/*/README.md")]:
        lines = page.read_text(encoding="utf-8").replace("\\\n", " ").split("\n")
        for line in lines:
            named = (
                re.findall(r"\./plugins/([\w-]+)(?![\w\[-])", line) if "pip install" in line else []
            )
            needed = {name for one in named for name in NEEDS.get(one, "").split()}
            if needed - set(named):
                lacking[str(page.relative_to(root)), line.strip()] = sorted(needed - set(named))
    assert lacking == {}


@pytest.mark.parametrize(
    ("expected", "actual", "verdict"),
    [
        (["score 0.5"], ["score   0.5"], True),
        (["score 0.5"], ["score 0.6"], False),
        (["score 0.5"], ["score 0.5", "Warning: x"], False),
        (["score 0.5", "..."], ["score 0.5", "Warning: x"], True),
        (["...", "last"], ["first", "second", "last"], True),
        (["...", "last"], ["first", "lasting"], False),
        (["a name", "that is wrapped"], ["a name that", "is wrapped"], True),
        (["p50 1.5 ms", "p95 2 s"], ["p50 87 us", "p95 1.25 s"], True),
        (["runs/20260101-120000-0a1b2c-a.sqlite"], ["runs/20271231-235959-d3e4f5-a.sqlite"], True),
        (
            ["runs/20260101-120000-0a1b2c-a.sqlite"],
            ["runs/20260101-120000-0a1b2c-a-2.sqlite"],
            False,
        ),
        (["40 rows"], ["12/40 rows, 0 failed, 9 rows/s", "40 rows"], True),
        (
            [],
            ["identity: 20/20 rows, 0 failed", "head:ratio=0.25: 20/20 rows, 0 failed, p95 5 ms"],
            True,
        ),
    ],
    ids=lambda value: " / ".join(value) if isinstance(value, list) else str(value),
)
def test_outputs_are_compared_but_for_times_and_wrapping(
    pages: Any, expected: list[str], actual: list[str], verdict: bool
) -> None:
    assert pages.agrees(expected, actual) is verdict


def test_a_block_that_is_not_run_here_is_run_by_tests_that_exist(
    page: Path, pages: Any, root: Path
) -> None:
    elsewhere = [block for block in pages.blocks(page.read_text(encoding="utf-8")) if block.run_by]
    for block in elsewhere:
        assert block.language == "console", f"{page.name}, line {block.line}: only commands are run"
        tests = "".join(
            file.read_text(encoding="utf-8") for file in (root / block.run_by).glob("*.py")
        )
        assert page.name in tests, (
            f"{page.name}, line {block.line}: {block.run_by} does not know of this page"
        )


def test_a_marker_leaves_a_block_to_other_tests(pages: Any, tmp_path: Path) -> None:
    text = "<!-- run by tests/e2e -->\n\n```console\n$ python -c 1/0\n```\n\nAnd:\n\n```console\n$ python -c 2/1\n```\n"
    left, followed = pages.blocks(text)
    assert (left.run_by, followed.run_by) == ("tests/e2e", None)
    reader = pages.Reader(tmp_path)
    assert list(reader.follow(left)) == []
    assert [step.command for step, _ in reader.follow(followed)] == ["python -c 2/1"]


def test_every_internal_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def anchors(file: Path) -> set[str]:
    """Return the anchors of a page's headings, as forges make them."""
    headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_no_documented_command_has_a_character_that_a_shell_eats(page: Path, pages: Any) -> None:
    text = page.read_text(encoding="utf-8")
    written = [block.text for block in pages.blocks(text) if block.language in ("bash", "console")]
    commands = [
        part
        for block in written
        for part in re.sub(r"\\\n *", "", block).replace("$ ", "").split("\n")
    ]
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    commands += re.findall(r"`(context-bench [a-z-][^`]*)`", prose)
    for command in commands:
        for part in command.split(" && "):
            if re.match(r"\s*(\.venv/bin/)?context-bench ", part):
                assert not SHELL.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", part)), part


def test_no_page_names_a_place_of_its_author_or_an_index(page: Path) -> None:
    assert PRIVATE.findall(page.read_text(encoding="utf-8")) == []


def test_every_page_is_linked_from_the_index(root: Path) -> None:
    index = root / "docs" / "index.md"
    lists = [index, root / "docs" / "concepts" / "decisions.md"]
    linked = {
        (page.parent / target).resolve()
        for page in lists
        for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8"))
    }
    assert set((root / "docs").rglob("*.md")) - linked - {index} == set()


def test_generated_pages_are_up_to_date(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), (
        "run `python docs/generate.py`"
    )
