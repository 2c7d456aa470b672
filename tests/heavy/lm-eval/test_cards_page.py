"""The page of cards beside lm-eval's task files is what the installed lm-eval and the manifests say."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

NAME = "cards_page"


@pytest.fixture(scope="module")
def cards_page() -> Any:
    spec = spec_from_file_location(NAME, Path(__file__).with_name(f"{NAME}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[NAME] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(cards_page: Any) -> None:
    assert cards_page.PAGE.read_text(encoding="utf-8") == cards_page.page(), (
        "run `python tests/heavy/lm-eval/cards_page.py`"
    )


def test_a_difference_in_data_or_split_needs_a_reason(cards_page: Any) -> None:
    pair = next(pair for pair in cards_page.PAIRS if pair.card == "triviaqa")
    theirs = cards_page.task_facts(pair.file)
    ours = cards_page.card_facts(dict(cards_page._cards())["triviaqa"], pair.config)
    with pytest.raises(ValueError, match="triviaqa"):
        cards_page._differences(cards_page.Pair("triviaqa", "rc", pair.file), theirs, ours)


def test_a_task_file_is_read_as_data(cards_page: Any, tmp_path: Path) -> None:
    """A function that it names is not looked up."""
    (tmp_path / "base").write_text("doc_to_text: !function no.such_module\ntask: a\n", "utf-8")
    (tmp_path / "own.yaml").write_text("include: base\ntask: b\n", "utf-8")
    task = cards_page._task(tmp_path / "own.yaml")
    assert task == {"doc_to_text": "!no.such_module", "task": "b"}
