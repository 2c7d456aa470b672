"""Pictures that packages add to a report: read as data, drawn here, and what goes wrong with them is named."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from context_bench.errors import PluginError
from context_bench_html import pictures
from context_bench_html.pictures import Picture, drawn, pictures_of


def point(x: float, y: float, told: str = "a point") -> dict[str, Any]:
    return {"x": x, "y": y, "told": told}


def described(**more: Any) -> dict[str, Any]:
    series = [
        {"form": "reference", "name": "chance", "points": [point(0, 0), point(1, 1)]},
        {"form": "rows", "name": "mine", "points": [point(0.3, 0.2), point(0.4, 0.9)]},
        {"form": "curve", "name": "mine", "points": [point(0.2, 0.4), point(0.5, 0.8)]},
        {"form": "mark", "name": "recorded <b>", "points": [point(0.1, 0.3, "x & y")]},
        {"form": "level", "name": "ceiling", "points": [point(0, 0.95)]},
        {"form": "curve", "name": "without points", "points": []},
    ]
    told = {
        "title": "Kept <i>",
        "note": "a note",
        "across": "tokens",
        "up": "literals",
        "series": series,
    }
    return {**told, "headings": ["system", "kept"], "lines": [["mine", 0.5]], **more}


def test_a_picture_is_drawn_with_its_forms_and_nothing_of_its_texts_is_markup() -> None:
    found = str(drawn("p", Picture.read(described())))
    assert 'points="155.6,204.4 296.0,78.8"' in found.replace(".0 ", ".0 ")
    assert found.count('class="joined"') == 1
    assert found.count("<path") == 1
    assert found.count('r="2.5"') == 2
    assert "recorded &lt;b&gt;" in found
    assert "x &amp; y" in found
    assert "<b>" not in found
    assert "<i>" not in found
    assert "without points" not in found
    description = re.search(r"<desc[^>]*>(.*?)</desc>", found)
    assert description is not None
    assert "mine: 0.4 at 0.2, 0.8 at 0.5" in description[1]
    assert "0.9 at 0.4" not in description[1]  # rows may be many


def test_axes_are_whole_for_shares_and_fit_other_values() -> None:
    one = described(
        series=[{"form": "curve", "name": "m", "points": [point(10, -5), point(200, 40)]}]
    )
    found = str(drawn("p", Picture.read(one)))
    assert ">200<" in found
    assert ">40<" in found
    assert ">0.2<" in str(drawn("p", Picture.read(described())))


def test_a_legend_with_too_many_names_says_how_many_are_missing() -> None:
    many = [
        {"form": "curve", "name": f"system {n}", "points": [point(0.1, 0.1)]} for n in range(20)
    ]
    found = str(drawn("p", Picture.read(described(series=many))))
    assert "and 5 more, in the table" in found


def adding(monkeypatch: pytest.MonkeyPatch, function: Any, reason: str = "") -> None:
    component = SimpleNamespace(
        id="some-package/curves",
        state="ok",
        command=SimpleNamespace(extends="report"),
        examine=lambda: (SimpleNamespace(reason=reason, remedy="reinstall it"), function),
    )
    others = [SimpleNamespace(state="ok", command=SimpleNamespace(extends="table"), id="x/y")]
    monkeypatch.setattr(
        pictures, "open_catalog", lambda: SimpleNamespace(of_kind=lambda kind: [*others, component])
    )


def run(status: str = "finished") -> Any:
    return SimpleNamespace(status=status)


def test_what_packages_add_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    adding(monkeypatch, lambda run: [described()])
    [found] = pictures_of(run())
    assert (found.title, found.lines) == ("Kept <i>", [["mine", "0.5"]])
    assert pictures_of(None) == pictures_of(run("running")) == ()


def broken(run: Any) -> Any:
    raise RuntimeError("no examples")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (broken, "some-package/curves failed: RuntimeError: no examples"),
        (
            lambda run: [described(series=[{"form": "pie", "name": "m", "points": [point(0, 0)]}])],
            "no form is called pie",
        ),
        (
            lambda run: [
                described(
                    series=[{"form": "rows", "name": "m", "points": [point(0, float("nan"))]}]
                )
            ],
            "no number",
        ),
        (lambda run: [{"title": "t"}], "failed: KeyError"),
        (None, "cannot be loaded: it is broken. reinstall it"),
    ],
    ids=["raises", "unknown form", "not a number", "without series", "not loadable"],
)
def test_what_goes_wrong_names_the_package(
    monkeypatch: pytest.MonkeyPatch, function: Any, words: str
) -> None:
    adding(monkeypatch, function, "it is broken")
    with pytest.raises(PluginError, match=words):
        pictures_of(run())
