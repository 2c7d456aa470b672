"""The decisions, the changelog and the glossary stay short and in their form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PARTS = ["Context", "Decision", "Alternatives", "Consequences"]


def test_decisions_are_few_short_and_of_one_form(root: Path) -> None:
    records = sorted((root / "docs" / "concepts" / "decisions").glob("*.md"))
    assert 0 < len(records) <= 15
    for number, record in enumerate(records, start=1):
        text = record.read_text(encoding="utf-8")
        assert record.name.startswith(f"{number:04}-")
        assert text.startswith(f"# {number:04}. ")
        assert re.findall(r"^\*\*(\w+)\.\*\*", text, flags=re.MULTILINE) == PARTS, record.name
        assert len(text.split()) <= 400, record.name


def test_the_changelog_is_one_page_that_begins_with_the_first_version(root: Path) -> None:
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE)[-1].startswith("1.0.0")
    assert len(text.split()) <= 800


def test_the_glossary_has_each_term_once_in_alphabetical_order(tables: Any) -> None:
    terms = [line[0] for line in tables("reference/glossary.md")["Glossary"]]
    assert len(terms) > 50
    assert terms == sorted(set(terms), key=str.lower)
