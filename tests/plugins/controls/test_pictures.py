"""The pictures of a run: what was kept at the tokens kept, sweeps as curves, random beside them; drawn in report and viewer."""

from __future__ import annotations

import json
import random
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.runs import open_run
from context_bench_controls import pictures
from context_bench_controls.pictures import pictures_of

WORDS = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "islet", "knoll")


def example(number: int) -> dict[str, Any]:
    """Return a session of ten results of a line each; the agent uses every second value."""
    drawn = random.Random(number)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "why does it fail?"}]
    used = []
    for place, word in enumerate(WORDS):
        port = drawn.randrange(10_000, 99_999)
        call = {"id": f"c{place}", "name": "look", "arguments": "{}"}
        text = f"the {word} server of pier {number} listens on {port} now"
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{place}", "content": text})
        used += [f"curl :{port}"] if place % 2 == 0 else []
    messages.append({"role": "user", "content": "go on"})
    return {
        "id": f"s{number}",
        "messages": messages,
        "region": [1, len(messages) - 1],
        "future": used,
    }


class Newest:
    """Keeps the newest pairs."""

    def __init__(self, ratio: float, kind: str = "newest") -> None:
        self.name, self.ratio, self.kind = f"{kind}:ratio={ratio}", ratio, kind

    def transform(self, messages: list[Any], tools: list[Any]) -> list[Any]:
        kept = round(self.ratio * len(WORDS))
        return [messages[0], *messages[len(messages) - 1 - 2 * kept : -1], messages[-1]]

    def fingerprint(self) -> dict[str, Any]:
        return {"ratio": self.ratio, "kind": self.kind}


def run_of(path: Path, *systems: Any, rows: int = 4, **settings: Any) -> Path:
    examples = [example(number) for number in range(rows)]
    evaluate(list(systems), examples, ["survival"], progress=False, run_file=str(path), **settings)
    return path


def drawn(path: Path) -> list[dict[str, Any]]:
    with open_run(path) as run:
        return pictures_of(run)


def series(picture: dict[str, Any], form: str) -> dict[str, list[tuple[float, float]]]:
    return {
        one["name"]: [(round(point["x"], 4), round(point["y"], 4)) for point in one["points"]]
        for one in picture["series"]
        if one["form"] == form
    }


def test_a_sweep_is_one_curve_with_random_from_nothing_to_everything(tmp_path: Path) -> None:
    path = run_of(tmp_path / "run.sqlite", *map(Newest, (0.2, 0.5, 0.8, 1.0)), Newest(0.5, "alone"))
    needed, every = drawn(path)
    curves = series(every, "curve")
    assert list(curves) == ["newest, by ratio", "alone:ratio=0.5"]
    assert curves["newest, by ratio"] == [(0.2, 0.2), (0.5, 0.5), (0.8, 0.8)]
    assert curves["alone:ratio=0.5"] == [(0.5, 0.5)]
    [chance] = series(every, "reference").values()
    assert (chance[0], chance[-1]) == ((0.0, 0.0), (1.0, 1.0))
    assert [x for x, _ in chance] == sorted(x for x, _ in chance)
    assert len(series(every, "rows")["newest, by ratio"]) == 3 * 4
    assert series(needed, "curve")["newest, by ratio"] == [(0.2, 0.2), (0.5, 0.4), (0.8, 0.8)]
    assert (
        "Not drawn, for they kept more than 98% of the tokens in every row: newest:ratio=1.0."
        in every["note"]
    )
    area = re.search(r"newest, ratio: ([+-][\d.]+)", every["note"])
    assert area is not None
    told = {line[0]: line for line in every["lines"]}
    assert set(told) == {
        "newest:ratio=0.2",
        "newest:ratio=0.5",
        "newest:ratio=0.8",
        "alone:ratio=0.5",
    }
    assert len(told["newest:ratio=0.2"]) == len(every["headings"])


@pytest.mark.skipif(
    find_spec("context_bench_local") is None, reason="context-bench-local is not installed"
)
def test_a_recorded_compaction_is_a_mark(tmp_path: Path) -> None:
    rows = []
    for number in range(2):
        one = example(number)
        summary = {"at": 21, "summary": one["messages"][2]["content"], "first_kept": 21}
        rows.append(json.dumps({**one, "recorded_compaction": summary}) + "\n")
    (tmp_path / "rows.jsonl").write_text("".join(rows), encoding="utf-8")
    path = tmp_path / "run.sqlite"
    command = [
        "run",
        "--dataset",
        str(tmp_path / "rows.jsonl"),
        "--system",
        "recorded",
        "--evaluators",
        "survival",
    ]
    assert execute([*command, "--brief", "--quiet", "--run-file", str(path)]) == 0
    _, every = drawn(path)
    assert list(series(every, "mark")) == ["recorded"]
    assert series(every, "curve") == {}


def test_the_area_in_the_picture_is_that_of_the_scorecard(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run_of(tmp_path / "run.sqlite", *map(Newest, (0.2, 0.5, 0.8)))
    assert execute(["scorecard", str(path)]) == 0
    areas = re.findall(r"area over random: ([+-][\d.]+)", capsys.readouterr().out)
    assert [re.search(r"ratio: ([+-][\d.]+)\.", one["note"])[1] for one in drawn(path)] == areas  # type: ignore[index]


def test_of_many_rows_some_have_a_dot_and_the_note_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "DOTS", 5)
    _, every = drawn(run_of(tmp_path / "run.sqlite", Newest(0.5), rows=12))
    assert len(series(every, "rows")["newest:ratio=0.5"]) == 4
    assert "One row of 3 has a dot." in every["note"]


def test_a_run_that_asked_nothing_of_survival_has_no_picture(tmp_path: Path) -> None:
    path = tmp_path / "plain.sqlite"

    class Length:
        name = "length"

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {"length": 1.0}

    evaluate(Newest(0.5), [example(0)], [Length()], progress=False, run_file=str(path))
    assert drawn(path) == []


class Reader:
    """Stands for an evaluator that asks a reader: it recalls the share of lines that are left."""

    name = "probe-recall"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        share = str(processed.get("context")).count("listens") / len(WORDS)
        return {"recall": share, "recall_ceiling": 0.9, "recall_floor": 0.1}


def test_what_a_reader_recalled_stands_between_ceiling_and_floor(tmp_path: Path) -> None:
    path = tmp_path / "read.sqlite"
    evaluate(
        [Newest(0.2), Newest(0.5)],
        [example(number) for number in range(3)],
        ["survival", Reader()],
        extensions=["controls"],
        progress=False,
        run_file=str(path),
    )
    recalled = drawn(path)[-1]
    assert series(recalled, "level") == {"ceiling": [(0.0, 0.9)], "floor": [(0.0, 0.1)]}
    assert series(recalled, "curve") == {"newest, by ratio": [(0.2, 0.2), (0.5, 0.5)]}
    [asked] = series(recalled, "reference").values()
    assert len(asked) == 2
    assert [(x <= most, y <= most) for (x, y), most in zip(asked, (0.2, 0.5), strict=True)] == [
        (True, True)
    ] * 2, asked


@pytest.mark.skipif(
    find_spec("context_bench_html") is None, reason="context-bench-html is not installed"
)
def test_the_report_holds_the_curve_as_a_drawing_with_its_numbers(tmp_path: Path) -> None:
    path, report = (
        run_of(tmp_path / "run.sqlite", *map(Newest, (0.2, 0.5, 0.8))),
        tmp_path / "report.html",
    )
    assert execute(["report", str(path), "-o", str(report)]) == 0
    page = report.read_text(encoding="utf-8")
    section = page[page.index('<section id="pictures"') :].partition("</section>")[0]
    assert section.count("<svg") == 2
    assert section.count('class="joined"') == 2
    assert "newest, by ratio" in section
    assert "newest:ratio=0.5: 0.5000 at 50.0% of the tokens" in section
    assert '<a href="#pictures">Pictures</a>' in page


@pytest.mark.skipif(
    find_spec("context_bench_view") is None, reason="context-bench-view is not installed"
)
def test_the_viewer_draws_once_as_long_as_the_file_does_not_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from context_bench_http.local_server import LocalRequest
    from context_bench_view import folder
    from context_bench_view.server import Pages

    asked: list[str] = []
    actual = folder.pictures_of

    def counted(run: Any) -> Any:
        asked.append(run.path.name)
        return actual(run)

    monkeypatch.setattr(folder, "pictures_of", counted)
    run_of(tmp_path / "run.sqlite", *map(Newest, (0.2, 0.5)))
    pages = Pages(tmp_path, "secret")
    shown = [pages.answer(LocalRequest("GET", "/run/run.sqlite")) for _ in range(2)]
    assert all(b'class="joined"' in page.body for page in shown)
    assert asked == ["run.sqlite"]
