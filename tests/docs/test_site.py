"""The sources of the site: every page is in a section, and every link leads to a page of the site."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def site(root: Path) -> Any:
    spec = spec_from_file_location("context_bench_site", root / "docs" / "build_site.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.path.insert(0, str(root / "docs"))  # as for a program that is started there
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(root / "docs"))
    return module


@pytest.fixture(scope="module")
def sources(site: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("site") / "pages"
    site.write_sources(folder)
    return folder


def test_every_link_leads_to_a_page_or_a_picture_of_the_site(sources: Path) -> None:
    broken = []
    for page in sources.rglob("*.md"):
        prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^()\s]+)\)", prose):
            path = target.partition("#")[0]
            if path and not re.match(r"[a-z]+:", path) and not (page.parent / path).exists():
                broken.append((page.relative_to(sources).as_posix(), target))
    assert broken == []


def test_every_page_of_the_navigation_exists_and_every_package_has_one(
    site: Any, sources: Path, root: Path
) -> None:
    for pages in site.SECTIONS.values():
        for name in pages.split():
            assert (sources / f"{name}.md").is_file(), name
    packages = {path.parent.name for path in root.glob("plugins/*/README.md")}
    assert packages <= {page.stem for page in (sources / "packages").glob("*.md")}


def test_a_page_in_no_section_is_an_error(
    site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fewer = {name: pages for name, pages in site.SECTIONS.items() if name != "Operate"}
    monkeypatch.setattr(site, "SECTIONS", fewer)
    with pytest.raises(ValueError, match="is in no section"):
        site.write_sources(tmp_path / "pages")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a page](../concepts/security.md#keys)", "[a page](../concepts/security.md#keys)"),
        ("[two\nlines](../../plugins/context-bench-html/README.md)", "[two\nlines](../packages/context-bench-html.md)"),
        ("[html](../reference/plugins.md#context-bench-html)", "[html](../packages/context-bench-html.md)"),
        ("[a test](../../tests/conftest.py)", "a test"),
        ("[`[[a.b]]`](../reference/manifest.md)", "[`[[a.b]]`](../reference/manifest.md)"),
        ("![picture](../images/row.svg)", "![picture](../images/row.svg)"),
        ("```text\n[a test](../../tests/conftest.py)\n```", "```text\n[a test](../../tests/conftest.py)\n```"),
        ("[there](https://example.org/a.md)", "[there](https://example.org/a.md)"),
    ],
)  # fmt: skip
def test_links_are_written_as_the_site_has_them(site: Any, text: str, expected: str) -> None:
    assert site.rewritten(text, "docs/how-to/doctor.md", site.site_paths()) == expected


def test_programs_find_the_markdown_of_each_page(site: Any, sources: Path, tmp_path: Path) -> None:
    site.write_texts(sources, tmp_path)
    listed = re.findall(r"\]\(([^)]+)\)", (tmp_path / "llms.txt").read_text(encoding="utf-8"))
    assert len(listed) > 90
    assert all((tmp_path / place).is_file() for place in listed)
    api = (tmp_path / "reference" / "api.md").read_text(encoding="utf-8")
    assert "automodule" not in api
    assert "class Evaluator(Protocol):" in api


WORDS = 45_000
"""Words that the pages of the navigation may have."""


def test_the_navigation_is_short_enough_to_be_read(site: Any, root: Path) -> None:
    """A word has a letter or a digit: bars of tables, operators and fences are not words.

    The words of prose, tables and code blocks of the files of `SECTIONS` count. The start page, the pages for those who work
    on context-bench, the pages of packages and the decision records are not in `SECTIONS`. Docstrings that autodoc inserts into
    reference/api are not in the file, and do not count.
    """
    names = [name for pages in site.SECTIONS.values() for name in pages.split()]
    words = {
        name: sum(
            any(letter.isalnum() for letter in word)
            for word in (root / "docs" / f"{name}.md").read_text(encoding="utf-8").split()
        )
        for name in names
    }
    longest = sorted(words.items(), key=lambda item: -item[1])[:5]
    assert sum(words.values()) < WORDS, f"shorten a page; the longest are {longest}"
