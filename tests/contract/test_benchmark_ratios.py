"""`nox -s bench -- --check`: which numbers of the pages of benchmarks are ratios, and when one has become worse."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.one_python

FOLDER = Path(__file__).parents[1] / "benchmarks"
TABLE = """
| case | ours | reference | times faster |
|---|---:|---:|---:|
| short | 2.0 us | 20.0 us | 10.0 |

| run | rows | CPU a row |
|---|---:|---:|
| context-bench | 1,000 | 100 us |
| lm-eval | 500 | 200 us |

| share of ideal | 64 of 0.2 s |
|---|---:|
| context-bench | 96.0% |
| a loop | 99.0% |

| installation | import |
|---|---:|
| context-bench | 19 ms (1.5 x) |
"""


@pytest.fixture
def ratios(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("ratios")


@pytest.fixture
def table(ratios: ModuleType) -> ModuleType:
    return importlib.import_module("write_table")


@pytest.fixture
def pictures(ratios: ModuleType) -> ModuleType:
    return importlib.import_module("pictures")


def test_ratios_are_found_and_times_are_none(ratios: ModuleType) -> None:
    found = ratios.ratios_of(TABLE)
    assert {name: tuple(ratio) for name, ratio in found.items()} == {
        "short, times faster": (10.0, True),
        "context-bench, 1,000 rows, CPU a row": (0.5, False),
        "context-bench, 64 of 0.2 s": (96.0, True),
        "context-bench, import": (1.5, False),
    }


def test_each_page_has_ratios(table: ModuleType, ratios: ModuleType) -> None:
    sections = table.recorded_sections()
    counts = {name: len(ratios.ratios_of(text)) for name, text in sections.items()}
    assert counts["Throughput"] >= 8
    assert counts["Rouge"] >= 9
    assert counts["Install"] >= 8


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("10.0 |", "8.0 |", 1),
        ("10.0 |", "9.0 |", 0),
        ("10.0 |", "30.0 |", 0),
        ("100 us", "120 us", 1),
        ("100 us", "50 us", 0),
        ("96.0%", "70.0%", 1),
        ("1.5 x", "1.8 x", 1),
    ],
)
def test_a_ratio_that_is_worse_by_more_than_15_percent_fails(
    old: str,
    new: str,
    code: int,
    table: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(table, "recorded_sections", lambda: {"Rouge": TABLE})
    monkeypatch.setattr(table, "section", lambda path, quick: TABLE.replace(old, new))
    assert table.check(["rouge"]) == code
    assert ("Worse than recorded:" in capsys.readouterr().out) is bool(code)


def test_one_that_is_worse_once_is_measured_again(
    table: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = iter([TABLE.replace("10.0 |", "5.0 |"), TABLE])
    monkeypatch.setattr(table, "recorded_sections", lambda: {"Rouge": TABLE})
    monkeypatch.setattr(table, "section", lambda path, quick: next(measured))
    assert table.check(["rouge"]) == 0
    assert next(measured, None) is None


def test_a_benchmark_that_does_not_run_fails(
    table: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "recorded_sections", lambda: {"Rouge": TABLE})
    monkeypatch.setattr(table, "section", lambda path, quick: "## Rouge\n\nNot run.\n")
    assert table.check(["rouge"]) == 1


def test_the_pictures_show_the_tables_of_the_page(pictures: ModuleType) -> None:
    page = pictures.PAGE.read_text(encoding="utf-8")
    assert all(page.count(picture.link) == 1 for picture in pictures.PICTURES)
    assert pictures.main(["--check"]) == 0, "python tests/benchmarks/pictures.py renews them"


def test_bars_are_as_long_as_the_values_of_a_column(pictures: ModuleType) -> None:
    picture = pictures.Picture("Memory", "CPU a row", "CPU of a row")
    bars = pictures.bars_of(picture, f"# Benchmarks\n\n## Memory\n{TABLE}")
    assert [(bar.label, bar.value, bar.shown) for bar in bars] == [
        ("context-bench", 100.0, "100 us"),
        ("lm-eval", 200.0, "200 us"),
    ]
    widths = re.findall(r'width="([0-9.]+)" height="20"', pictures.drawn(picture, bars))
    assert [float(width) for width in widths] == [145.0, 290.0]
    with pytest.raises(ValueError, match="has no column"):
        pictures.bars_of(picture, "# Benchmarks\n")
