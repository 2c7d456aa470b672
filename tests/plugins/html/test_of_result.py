"""What a result shows of itself: the table as text and in notebooks, compare() and plot()."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import ConfigurationError, UnknownNameError

ATTACK = "<img src=x onerror=alert(1)>"


class Says:
    """Answers every so many-th example right."""

    def __init__(self, name: str, every: int) -> None:
        self.name, self._every = name, every

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": example["answer"] if int(example["id"]) % self._every == 0 else "no"}


class Right:
    """Scores 1.0 for the right answer."""

    name = "right"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"right": float(processed["response"] == original["answer"])}


def result(*systems: Any, **options: Any) -> Any:
    examples = [{"id": str(n), "answer": f"a{n}"} for n in range(40)]
    return evaluate(
        list(systems), examples, [Right()], progress=False, score_field="right", **options
    )


@pytest.fixture(scope="module")
def two() -> Any:
    return result(Says("one", 1), Says(ATTACK, 2), baseline="one")


def test_a_result_prints_as_its_table(two: Any) -> None:
    assert "0.5000" in str(two)
    assert "score is right" in str(two)
    assert repr(two) == "<EvalResult: 80 rows, 2 systems>"


def test_notebooks_show_the_table_and_names_as_text(two: Any) -> None:
    shown = two._repr_html_()
    assert shown.startswith(
        "<p><strong>one has the best score, 1.0000 (40 rows).</strong></p><table>"
    )
    assert "<img" not in shown
    assert "&lt;img" in shown


def test_systems_are_compared_without_a_run_file_of_ones_own(two: Any) -> None:
    found = two.compare(margin=0.01)
    assert found.verdicts == {ATTACK: "worse"}
    assert found.to_dict()["comparisons"][0]["regressed"]["count"] == 20
    assert "worse" in str(found)
    assert "<img" not in found._repr_html_()
    assert (
        two.compare(metrics="right", by="dataset").to_dict()["comparisons"][0]["metric"] == "right"
    )


@pytest.mark.parametrize("kind", ["differences", "tradeoff"])
def test_charts_are_drawn_and_saved(two: Any, kind: str, tmp_path: Path) -> None:
    chart = two.plot(kind=kind)
    assert chart.svg.startswith("<svg")
    assert "<img" not in chart.page
    assert "sandbox" in chart._repr_html_()
    chart.save(tmp_path / "chart.html")
    text = (tmp_path / "chart.html").read_text(encoding="utf-8")
    assert "<svg" in text
    assert "http://" not in text.replace("http://www.w3.org", "")


def test_what_cannot_be_compared_or_drawn_is_told(two: Any) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'tradeoff'"):
        two.plot(kind="tradeof")
    with pytest.raises(ConfigurationError, match="whole run"):
        two.filter(system="one").compare()
    with pytest.raises(ConfigurationError, match="nothing to draw"):
        result(Says("alone", 1)).plot()
