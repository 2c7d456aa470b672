"""The HTML report: what stands in it, that nothing leaves its place, and how large it gets."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from context_bench import EvalResult, EvalRow, evaluate
from context_bench.cli import execute
from context_bench.console import escape_control
from context_bench.errors import ConfigurationError
from context_bench.records import KeyMeaning
from context_bench_compare.verdicts import incomparable
from context_bench_html import HtmlReporter, charts, svg
from context_bench_html.deciding import Difference
from context_bench_html.embedding import embedded, policy_hash
from context_bench_html.side_by_side import side_by_side
from context_bench_html.sizes import size_of

VOID = {"meta", "br", "img", "input", "link", "hr"}


def load(name: str) -> ModuleType:
    spec = spec_from_file_location(f"html_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hostile = load("hostile")


class Page(HTMLParser):
    """What a browser finds in a page: elements with their attributes, and the text of each."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.open: list[int] = []
        self.comments: list[str] = []
        self.mismatched: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.elements[self.open[-1]][0] != tag:
            self.mismatched.append(tag)
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        for number in self.open:
            self.elements[number][2].append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [
            (attributes, "".join(text)) for name, attributes, text in self.elements if name == tag
        ]

    def by_id(self, name: str) -> str:
        [found] = [
            "".join(text) for _, attributes, text in self.elements if attributes.get("id") == name
        ]
        return found


def written(result: EvalResult, texts: str = "20MB") -> str:
    stream = io.StringIO()
    HtmlReporter(texts).write(result, stream)
    return stream.getvalue()


class Same:
    """Whether the response is the answer."""

    name = "same"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"same": float(original["answer"] == processed["response"])}


class Half:
    """Answers every second, or every example."""

    def __init__(self, name: str, every: int = 1) -> None:
        self.name, self._every = name, every

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {
            "response": example["answer"] if int(example["id"]) % self._every == 0 else "no",
            "context": "a c",
        }


class Shorter(Half):
    """Answers likewise, tells what it cost, and keeps less of the context the more rows it misses."""

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        number = int(example["id"])
        kept = " ".join(f"w{word}" for word in range(number % 7 + 10 // self._every))
        usage = {
            "prompt_tokens": 30 // self._every + number % 5,
            "completion_tokens": 3,
            "cost": 0.01 + number * 1e-5,
        }
        return super().process(example) | {"context": kept, "usage": usage}


def examples(count: int) -> list[dict[str, Any]]:
    return [
        {"id": str(n), "context": "a b c", "question": f"what is {n}?", "answer": f"number {n}"}
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> EvalResult:
    path = tmp_path_factory.mktemp("html") / "run.sqlite"
    systems = [Half("all"), Half("half", 2)]
    return evaluate(systems, examples(60), [Same()], progress=False, run_file=path, baseline="all")


@pytest.fixture(scope="module")
def page(result: EvalResult) -> Page:
    return Page(written(result))


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> tuple[EvalResult, str]:
    found = hostile.hostile_result(tmp_path_factory.mktemp("hostile") / "run.sqlite")
    return found, written(found)


def test_the_verdict_stands_first_and_is_that_of_compare(result: EvalResult, page: Page) -> None:
    from context_bench.runs import open_run
    from context_bench_compare.comparing import compare_runs
    from context_bench_compare.verdicts import Rules

    with open_run(result.config["run_file"]) as run:
        [line] = compare_runs([run], ("score",), Rules())
    verdict = " ".join(page.by_id("verdict").split())
    assert f"half against all: {line.found.word}" in verdict
    assert line.found.sentence in verdict
    assert "30 to fail" in verdict
    headings = [text for _, text in page.all("h2")]
    assert headings[:3] == ["Verdict", "Numbers", "Differences from all"]


def test_the_main_table_and_the_charts_are_there_without_a_script(page: Page) -> None:
    table = page.by_id("numbers")
    assert "score" in table
    assert "0.5000" in table
    pictures = page.all("svg")
    assert len(pictures) >= 4
    ids = [attributes.get("id") for _, attributes, _ in page.elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    for attributes, _ in pictures:
        assert attributes["role"] == "img"
        assert all(name in ids for name in str(attributes["aria-labelledby"]).split())


def test_the_trade_off_and_the_ratios_are_those_of_compare(tmp_path: Path) -> None:
    from context_bench.runs import open_run
    from context_bench_compare.comparing import overview
    from context_bench_compare.verdicts import Rules

    path = tmp_path / "run.sqlite"
    found = evaluate(
        [Shorter("all", 1), Shorter("half", 2), Shorter("third", 3)],
        examples(60),
        [Same()],
        progress=False,
        run_file=path,
        baseline="all",
    )
    shown = " ".join(Page(written(found)).by_id("tradeoff").split())
    with open_run(path) as run:
        told = overview([run], ("score",), Rules())
    assert told.front is not None
    assert {ratio.name for ratio in told.ratios} == {"compression", "cost_per_pass"}
    for point in told.front.points:
        on = "yes" if point.is_on_front else "no"
        cells = (
            point.system,
            svg.number(point.score),
            svg.number(point.cost),
            on,
            svg.number(point.share),
        )
        assert "".join(cells) in shown
    for ratio in told.ratios:
        cells = (
            svg.number(ratio.value),
            svg.number(ratio.baseline_value),
            svg.number(ratio.difference, "+"),
        )
        assert "".join(cells) in shown


def test_what_a_reader_must_know_beside_the_numbers_stands_below_them(tmp_path: Path) -> None:
    systems = [Shorter("all", 1), Half("half", 2)]
    kept = {"progress": False, "run_file": tmp_path / "run.sqlite", "baseline": "all"}
    found = evaluate(systems, examples(60), [Same()], **kept)
    page = Page(written(found))
    notes = [text for attributes, text in page.all("p") if attributes.get("class") == "note"]
    assert "score is same; failed rows count as wrong, unscored rows are left out." in notes
    for note in found.notes():
        is_above = note.startswith("Warning: ") or note in found.completeness.sentences
        assert (note in notes) == (not is_above), note
    assert "Cost for each pass in USD" not in page.by_id("tradeoff"), "half has no cost"
    assert "Score against latency (s)" in page.by_id("tradeoff"), (
        "tokens of two sources are not ranked"
    )
    systems = [Shorter("all", 1), Shorter("half", 2)]
    shown = Page(
        written(
            evaluate(systems, examples(60), [Same()], **kept | {"run_file": tmp_path / "2.sqlite"})
        )
    )
    for words in (
        "Score against cost (USD)",
        "Cost for each pass in USD",
        "mean cost (USD) of a row",
    ):
        assert words in shown.by_id("tradeoff")


def test_the_script_shows_the_same_characters_as_escapes_as_the_console() -> None:
    """A joiner is a letter of Persian, Hindi and emoji; what turns the direction is not left as it is."""
    script = (files("context_bench_html") / "static" / "report.js").read_text("utf-8")
    [odd] = re.findall(r"const ODD = /(\[.*?\])/gu;", script)
    pattern = re.compile(re.sub(r"\\u\{(\w+)\}", lambda found: f"\\U{found[1]:>08}", odd))
    letters = [*map(chr, range(0x10000)), *map(chr, range(0xE0000, 0xE0200))]
    assert [
        one for one in letters if bool(pattern.match(one)) != (escape_control(one) != one)
    ] == []
    for text in ("می‌خواهم", "क्‍ष", "👩‍👧"):
        assert not pattern.search(text)


class Often(Half):
    """Answers likewise, and fails at every seventh example, the first one too."""

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if int(example["id"]) % 7 == 0:
            raise ConnectionError("refused")
        return super().process(example)


class Twice:
    """Two scores, neither of which is declared."""

    name = "twice"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        is_same = float(original["answer"] == processed["response"])
        return {"same": is_same, "mild": (1 + is_same) / 2}


@pytest.mark.parametrize("failing", [0, 1], ids=["baseline", "system"])
def test_failed_rows_count_in_every_score_as_they_do_in_compare(
    failing: int, tmp_path: Path
) -> None:
    from context_bench.runs import open_run
    from context_bench_compare.comparing import overview
    from context_bench_compare.verdicts import Rules

    kinds = (Often, Half) if failing == 0 else (Half, Often)
    systems = [kind(name, every) for kind, name, every in zip(kinds, ("one", "two"), (1, 2))]
    path = tmp_path / "run.sqlite"
    found = evaluate(
        systems,
        examples(60),
        [Twice()],
        progress=False,
        run_file=path,
        baseline="one",
        score_field="same",
        max_failed=1.0,
    )
    page = Page(written(found))
    with open_run(path) as run:
        told = overview([run], ("same", "mild"), Rules())
    rows = [" ".join(text.split()) for _, text in page.all("tr")]
    for line in told.lines:
        cells = (
            line.system,
            line.metric,
            line.found.rows,
            *map(svg.number, (line.found.mean, line.found.baseline_mean)),
        )
        assert any(row.startswith("".join(map(str, cells))) for row in rows), cells
        assert line.found.rows == 60
    assert told.front is not None
    assert "over 60 rows, of which 51 have the prompt tokens of every system" in " ".join(
        page.by_id("tradeoff").split()
    )
    for point in told.front.points:
        assert point.score == pytest.approx(found.summary[point.system]["mean_score"])


@pytest.mark.parametrize("system", ["s", "a-system-with-a-name-that-is-far-too-long-for-the-plot"])
@pytest.mark.parametrize("key", ["f1", "a_score_with_a_name_that_is_far_too_long_for_the_plot"])
def test_the_names_of_a_plot_are_as_long_as_there_is_room(system: str, key: str) -> None:
    told = charts._name_of(Difference(system, key, incomparable("")), 34)
    assert len(told) <= 34
    assert told.startswith(system[:8])
    assert f", {key[:8]}" in told
    assert charts._name_of(Difference(system, key, incomparable(""))) == f"{system}, {key}"


def test_every_page_is_well_formed_and_loads_nothing(page: Page) -> None:
    assert (page.open, page.mismatched, page.comments) == ([], [], [])
    tags = {tag for tag, _, _ in page.elements}
    assert not tags & {
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "video",
        "audio",
        "source",
    }
    for _, attributes, _ in page.elements:
        assert not {"src", "srcset", "data", "action", "style"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
        assert str(attributes.get("href", "#")).startswith("#")


def test_the_policy_of_the_page_names_its_own_style_and_script_and_nothing_else(page: Page) -> None:
    [policy] = [
        str(a["content"])
        for a, _ in page.all("meta")
        if a.get("http-equiv") == "Content-Security-Policy"
    ]
    [script] = [
        text
        for attributes, text in page.all("script")
        if attributes.get("type") != "application/json"
    ]
    [(_, style)] = page.all("style")
    assert policy_hash(script) in policy
    assert policy_hash(style) in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in re.sub(r"http-equiv", "", policy)


def test_the_rows_say_which_regressed_and_what_was_answered(page: Page) -> None:
    rows = json.loads(page.by_id("rows-data"))
    assert rows["baseline"] == 0
    assert [system["label"] for system in rows["systems"]] == ["all", "half"]
    assert [bool(state & rows["bits"]["regressed"]) for state in rows["state"]] == [
        n % 2 == 1 for n in range(60)
    ]
    assert rows["systems"][1]["response"][1] == "no"
    assert rows["question"][5] == "what is 5?"
    texts = json.loads(page.by_id(f"texts-{rows['block'][1]}"))["1"]
    assert texts["context"] == "a b c"
    assert [row["context"] for row in texts["rows"]] == ["a c", "a c"]
    assert texts["rows"][0]["scores"] == [
        {"key": "same", "value": 1, "by": texts["rows"][0]["scores"][0]["by"], "reason": None}
    ]


def test_the_texts_of_the_rows_that_matter_come_first_when_there_is_little_room(
    result: EvalResult,
) -> None:
    page = Page(written(result, "8KB"))
    rows = json.loads(page.by_id("rows-data"))
    held = [number for number, block in enumerate(rows["block"]) if block >= 0]
    assert 0 < len(held) < 30
    assert all(rows["state"][number] & rows["bits"]["regressed"] for number in held)
    assert "Full texts of" in page.by_id("rows")
    assert "--html-texts" in page.by_id("rows")
    nothing = Page(written(result, "0"))
    assert set(json.loads(nothing.by_id("rows-data"))["block"]) == {-1}
    assert len(written(result, "0")) < len(written(result, "8KB")) < len(written(result))


def test_no_text_leaves_its_place(attacked: tuple[EvalResult, str]) -> None:
    _, text = attacked
    page = Page(text)
    assert (page.open, page.mismatched, page.comments) == ([], [], [])
    tags = [tag for tag, _, _ in page.elements]
    assert "img" not in tags
    assert "b" not in tags
    assert tags.count("svg") == sum(
        1 for attributes, _ in page.all("svg") if attributes.get("class") == "chart"
    )
    assert not any(
        name.startswith("on") for _, attributes, _ in page.elements for name in attributes
    )
    scripts = page.all("script")
    assert sum(attributes.get("type") != "application/json" for attributes, _ in scripts) == 1
    assert "49" not in page.by_id("verdict").replace("7 * 7", "")
    assert not re.search(
        "[\u202a-\u202e\u2028\u2029\x00\x1b]",
        re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL),
    )


def test_every_attack_is_in_the_rows_as_it_was(attacked: tuple[EvalResult, str]) -> None:
    page = Page(attacked[1])
    rows = json.loads(page.by_id("rows-data"))
    assert len(rows["id"]) == 30
    blocks = [
        json.loads(text)
        for attributes, text in page.all("script")
        if str(attributes.get("id")).startswith("texts-")
    ]
    texts = {int(line): told for block in blocks for line, told in block.items()}
    for number, example in enumerate(hostile.examples()):
        assert texts[number]["question"] == example["question"]
        assert texts[number]["context"] == example["context"]
        assert texts[number]["fields"]["</script>field"] == example["</script>field"]
    told = [
        failure["text"]
        for line in texts.values()
        for row in line["rows"]
        for failure in row["failures"]
    ]
    assert len(told) == 3
    assert all("<img src=x" in one for one in told)
    reasons = [
        score["reason"]
        for line in texts.values()
        for row in line["rows"]
        for score in row["scores"]
    ]
    assert set(reasons) == {hostile.HOSTILE}


@pytest.mark.parametrize("attack", hostile.ATTACKS)
def test_json_in_a_page_reads_back_and_holds_no_mark(attack: str) -> None:
    told = str(embedded({attack.encode("utf-8", "replace").decode(): [attack]}))
    assert not re.search("[<>&\u2028\u2029]", told)
    told.encode("utf-8")
    assert json.loads(told) == {attack.encode("utf-8", "replace").decode(): [attack]}


def test_json_in_a_page_is_strict() -> None:
    assert (
        embedded([float("nan"), float("inf"), 1.0, 0.5, None, True])
        == "[null,null,1,0.5,null,true]"
    )


def test_a_result_without_a_run_file_has_its_rows(result: EvalResult) -> None:
    keys = {"f1": KeyMeaning("x")}
    rows = [
        EvalRow(
            system=system,
            example_id=str(position),
            scores={"f1": 0.5},
            primary="f1",
            keys=keys,
            position=position,
            system_number=number,
            response="r",
        )
        for position in range(3)
        for number, system in enumerate("ab")
    ]
    page = Page(written(EvalResult(rows, (), {}, {"systems": ["a", "b"], "datasets": [""]})))
    assert json.loads(page.by_id("rows-data"))["id"] == ["0", "1", "2"]
    assert "too few to say" in page.by_id("verdict")


def test_one_system_alone_has_no_verdict_and_no_baseline(tmp_path: Path) -> None:
    found = evaluate(
        Half("all"), examples(3), [Same()], progress=False, run_file=tmp_path / "one.sqlite"
    )
    page = Page(written(found))
    assert "nothing to hold it against" in page.by_id("verdict")
    assert json.loads(page.by_id("rows-data"))["baseline"] is None


def test_what_is_derived_from_a_system_is_shown_and_held_against_nothing(tmp_path: Path) -> None:
    systems = [Half("all"), Half("half", 2), Half("half at random", 3)]
    found = evaluate(
        systems,
        examples(30),
        [Same()],
        progress=False,
        run_file=tmp_path / "r.sqlite",
        baseline="all",
    )
    found.config["derived"] = ["half at random"]
    page = Page(written(found))
    assert "half at random" in page.by_id("numbers")
    assert "half against all" in page.by_id("verdict")
    assert "half at random against" not in page.by_id("verdict")
    rows = json.loads(page.by_id("rows-data"))
    regressed = sum(bool(state & rows["bits"]["regressed"]) for state in rows["state"])
    assert regressed == 15  # every second one, and not those that only the control misses
    found.config["derived"] = ["half", "half at random"]
    assert json.loads(Page(written(found)).by_id("rows-data"))["baseline"] is None


def test_the_texts_of_a_run_that_is_not_kept_are_there(tmp_path: Path) -> None:
    page = Page(
        written(evaluate([Half("all"), Half("half", 2)], examples(2), [Same()], progress=False))
    )
    assert json.loads(page.by_id("texts-0"))["1"]["question"] == "what is 1?"


def test_a_filtered_result_shows_its_own_rows(result: EvalResult) -> None:
    page = Page(written(result.filter(lambda row: row.position < 4)))
    assert len(json.loads(page.by_id("rows-data"))["id"]) == 4


def test_the_suffix_and_the_flag_reach_the_reporter(
    result: EvalResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, report = result.config["run_file"], tmp_path / "report.html"
    assert execute(["report", run, "-o", str(report), "--html-texts", "0", "--format", "none"]) == 0
    assert json.loads(Page(report.read_text("utf-8")).by_id("rows-data"))["block"] == [-1] * 60
    assert execute(["report", run, "-o", str(report), "--html-texts", "many"]) == 2
    assert "'many' is no size" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "size"),
    [("20MB", 20_000_000), ("1KiB", 1024), ("0", 0), ("2.5 kb", 2500), (7, 7)],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize("text", ["", "MB", "-1", "1TBx", "1e3", "20 MB please"])
def test_what_is_no_size_is_told(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is no size"):
        size_of(text)


def test_what_agrees_with_the_reference_is_no_score_in_the_pictures() -> None:
    """Heat maps and distributions mixed it with the scores of the rows that have a gold answer."""
    meaning = KeyMeaning("x")
    golden = [
        EvalRow(s, "0", {"f1": 0.5}, primary="f1", keys={"f1": meaning}, response="r")
        for s in ("a", "b")
    ]
    against = [
        EvalRow(
            s,
            "1",
            {"agreement_f1": 0.9},
            primary="agreement_f1",
            keys={"agreement_f1": meaning},
            response="r",
            reference="a",
            position=1,
        )
        for s in ("a", "b")
    ]
    found = side_by_side([*golden, *against], ["a", "b"], "a")
    assert [list(one.values) for one in found.cells] == [[0.5, None], [0.5, None]]
    assert [list(one.scores["agreement_f1"]) for one in found.cells] == [[None, 0.9], [None, 0.9]]
