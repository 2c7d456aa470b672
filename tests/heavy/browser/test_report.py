"""The HTML report and the viewer in a real browser: no request, no error, attacks as text, many rows, keyboard, accessibility."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from context_bench import EvalResult, EvalRow
from context_bench.records import Failure, KeyMeaning
from context_bench_html import HtmlReporter

ROOT = Path(__file__).parents[3]
SYSTEMS = ("direct", "gateway", "compressor")
UNFOLD = "all => all.forEach(one => { one.open = true; })"
EVERY_THEME = [{"color_scheme": "light"}, {"color_scheme": "dark"}]


def load(path: Path) -> Any:
    spec = spec_from_file_location(f"browser_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hostile = load(ROOT / "tests" / "plugins" / "html" / "hostile.py")


@pytest.fixture(scope="session")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "runs").mkdir()
    result = hostile.hostile_result(folder / "runs" / "run.sqlite")
    with (folder / "report.html").open("w", encoding="utf-8") as stream:
        HtmlReporter().write(result, stream)
    return folder / "report.html"


def many_rows(examples: int) -> list[EvalRow]:
    keys = {"f1": KeyMeaning("acme/words")}
    return [many_row(number, slot, keys) for number in range(examples) for slot in range(3)]


def many_row(number: int, slot: int, keys: dict[str, KeyMeaning]) -> EvalRow:
    common: dict[str, Any] = {
        "dataset": ("calls", "mail")[number % 2],
        "primary": "f1",
        "keys": keys,
    }
    common |= {"position": number, "system_number": slot, "latency": 0.1 + number % 7}
    if slot == 2 and number % 97 == 0:
        return EvalRow(
            SYSTEMS[slot],
            f"id-{number}",
            {},
            errors=(Failure("system", "TimeoutError", "late"),),
            **common,
        )
    score = 1.0 if (number * (slot + 1)) % 10 else 0.0
    return EvalRow(
        SYSTEMS[slot],
        f"id-{number}",
        {"f1": score},
        response=f"answer {number} {'long ' * 30}{slot}",
        **common,
    )


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "report.html"
    config = {"systems": list(SYSTEMS), "datasets": ["calls", "mail"], "baseline": "direct"}
    stream = io.StringIO()
    HtmlReporter().write(EvalResult(many_rows(50_000), (), {}, config), stream)
    path.write_text(stream.getvalue(), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def viewer(attacked: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "context_bench", "view", str(attacked.parent / "runs")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait()
    process.stdout.close()


def open_every_row(page: Any, count: int) -> list[str]:
    """Open the first row and go on to the last, everything in it unfolded; return what stood there."""
    page.click("#all")
    page.focus(".viewport")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    told = []
    for number in range(
        min(
            count,
            page.evaluate("JSON.parse(document.getElementById('rows-data').textContent).id.length"),
        )
    ):
        unfold_row(page, number)
        told.append(page.inner_text("dialog"))
        page.click("#next")
    page.keyboard.press("Escape")
    return told


def unfold_row(page: Any, number: int) -> None:
    """Wait for the row of this place in the list, open everything in it, and wait until what is filled on opening is there."""
    page.wait_for_selector(f"dialog[data-row='{number}'] .side")
    page.eval_on_selector_all("dialog details", UNFOLD)
    expect(page.locator("dialog details > summary:only-child")).to_have_count(0)


def expect_focus(page: Any, element: str) -> None:
    expect(page.locator(f"#{element}")).to_be_focused()


def test_a_report_asks_for_nothing_and_shows_attacks_as_text(watched: Any, attacked: Path) -> None:
    watched.page.goto(attacked.as_uri())
    told = open_every_row(watched.page, 30)
    assert watched.requests == [attacked.as_uri()]
    assert watched.faults == []
    assert watched.page.evaluate("window.pwned") is None
    assert (
        watched.page.evaluate(
            "document.querySelectorAll('img, iframe, object, link, main script, dialog script').length"
        )
        == 0
    )
    assert "<img src=x onerror=window.pwned=1>" in watched.page.inner_text("h1")
    assert all("window.pwned=1" in one for one in told)
    assert any("words removed" in one for one in told)
    assert any("ConnectionError" in one for one in told)


def test_the_viewer_shows_attacks_as_text_and_asks_only_its_own_server(
    watched: Any, viewer: str
) -> None:
    watched.page.goto(viewer)
    watched.page.click("tbody a")
    told = open_every_row(watched.page, 30)
    assert all(address.startswith(viewer) for address in watched.requests)
    assert watched.faults == []
    assert watched.page.evaluate("window.pwned") is None
    assert all("window.pwned=1" in one for one in told)


def test_it_opens_on_what_regressed_or_differs(watched: Any, large: Path) -> None:
    watched.page.goto(large.as_uri())
    rows = json.loads(watched.page.text_content("#rows-data"))
    wanted = sum(
        bool(state & (rows["bits"]["regressed"] | rows["bits"]["different"]))
        for state in rows["state"]
    )
    expect(watched.page.locator("#only-regressed")).to_be_checked()
    expect(watched.page.locator("#only-different")).to_be_checked()
    expect(watched.page.locator("#counted")).to_have_text(f"{wanted:,} of 2,000 lines")


def test_fifty_thousand_lines_of_three_systems_are_a_small_file_with_a_sample_and_a_list_of_few_elements(
    watched: Any, large: Path
) -> None:
    assert large.stat().st_size < 25_000_000
    page = watched.page
    page.goto(large.as_uri())
    expect(page.locator("#sample")).to_contain_text("2,000 of 50,000 lines are listed here")
    rows = json.loads(page.text_content("#rows-data"))
    page.click("#all")
    counted = page.locator("#counted")
    expect(counted).to_have_text("2,000 of 2,000 lines")
    assert page.locator(".grid-row").count() < 60
    page.focus(".viewport")
    page.keyboard.press("End")
    expect(page.locator(".grid-row.active")).to_contain_text(rows["id"][-1])
    number = rows["id"][1_000].removeprefix("id-")
    page.fill("#search", f"answer {number} ")
    expect(counted).to_have_text("1 of 2,000 lines")
    expect(page.locator(".grid-row")).to_contain_text(f"id-{number}")
    page.fill("#search", "")
    expect(counted).to_have_text("2,000 of 2,000 lines")
    page.select_option("#dataset", label="mail")
    mail = rows["dataset"].count(rows["datasets"].index("mail"))
    expect(counted).to_have_text(f"{mail:,} of 2,000 lines")
    page.click("#only-failed")
    expect(counted).to_have_text(f"{len(range(97, 50_000, 194))} of 2,000 lines")
    assert watched.faults == []
    assert watched.requests == [large.as_uri()]


def test_sorting_puts_the_lowest_scores_first_and_rows_without_one_last(
    watched: Any, large: Path
) -> None:
    page = watched.page
    page.goto(large.as_uri())
    page.click("#all")
    header = page.locator(".grid-head button", has_text="gateway")
    score = page.locator(".grid-row").first.locator("span").nth(3)
    header.click()
    expect(page.locator("[aria-sort=ascending]")).to_have_text("gateway")
    expect(score).to_have_text(re.compile("^0"))
    header.click()
    expect(page.locator("[aria-sort=descending]")).to_have_text("gateway")
    expect(score).to_have_text(re.compile("^1"))


def test_everything_is_reached_by_the_keyboard(watched: Any, attacked: Path) -> None:
    page = watched.page
    page.goto(attacked.as_uri())
    page.click("#all")
    page.keyboard.press("Tab")
    page.keyboard.press("/")
    expect_focus(page, "search")
    page.focus(".viewport")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect_focus(page, "row-2")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[data-row='2'] .side")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("dialog[data-row='3'] .side")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).not_to_be_visible()
    expect_focus(page, "row-3")


CLOSINGS = {
    "escape": "dialog.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true }))",
    "button": "document.getElementById('close').click()",
    "cancelled": "dialog.dispatchEvent(new Event('cancel', { cancelable: true }))",
}


@pytest.mark.parametrize("closing", CLOSINGS.values(), ids=CLOSINGS)
def test_the_row_has_the_focus_back_when_the_closing_returns(
    watched: Any, attacked: Path, closing: str
) -> None:
    page = watched.page
    page.goto(attacked.as_uri())
    page.click("#all")
    page.click(".grid-row >> nth=1")
    page.wait_for_selector("dialog[data-row='1'] .side")
    page.click("#next")
    page.wait_for_selector("dialog[data-row='2'] .side")
    end = "return [dialog.open, document.activeElement.id];"
    script = f"() => {{ const dialog = document.querySelector('dialog'); {closing}; {end} }}"
    assert page.evaluate(script) == [False, "row-2"]


@pytest.mark.parametrize("watched", [{"java_script_enabled": False}], indirect=True)
def test_tables_and_charts_are_read_without_scripts(watched: Any, attacked: Path) -> None:
    watched.page.goto(attacked.as_uri())
    assert watched.page.locator("#verdict .word").count() == 2
    assert watched.page.locator("#numbers table tbody tr").count() > 3
    assert watched.page.locator("svg.chart").count() >= 4
    assert watched.page.locator("noscript p").is_visible()


@pytest.mark.parametrize(
    "watched",
    [{**theme, "bypass_csp": True} for theme in EVERY_THEME],
    indirect=True,
    ids=["light", "dark"],
)
@pytest.mark.parametrize("is_open", [False, True], ids=["page", "row"])
def test_the_page_passes_an_automated_accessibility_check(
    watched: Any, attacked: Path, is_open: bool
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    watched.page.goto(attacked.as_uri())
    watched.page.eval_on_selector_all("details", UNFOLD)
    if is_open:
        watched.page.click(".grid-row >> nth=0")
        unfold_row(watched.page, 0)
    found = Axe().run(watched.page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize(
    "watched",
    [{**theme, "bypass_csp": True} for theme in EVERY_THEME],
    indirect=True,
    ids=["light", "dark"],
)
@pytest.mark.parametrize("shown", ["list", "run"])
def test_the_viewers_pages_pass_it_too(watched: Any, viewer: str, shown: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    watched.page.goto(viewer)
    if shown == "run":
        watched.page.click("tbody a")
        watched.page.wait_for_selector(".grid-row")
    found = Axe().run(watched.page)
    assert found.violations_count == 0, found.generate_report()


def test_it_prints_without_the_controls(watched: Any, attacked: Path) -> None:
    watched.page.goto(attacked.as_uri())
    watched.page.emulate_media(media="print")
    assert not watched.page.is_visible("nav")
    assert not watched.page.is_visible("#explorer")
    assert watched.page.is_visible("#verdict")
    assert watched.page.is_visible("#numbers table")
    assert watched.page.pdf()[:5] == b"%PDF-"


def test_on_a_phone_everything_is_on_the_page_or_scrolled_to(watched: Any, tmp_path: Path) -> None:
    """A dataset with a long name does not widen the page, and the scores of the last of many systems can be seen."""
    keys = {"f1": KeyMeaning("acme/words")}
    labels = [f"a system with a name of its own {number}" for number in range(9)]
    rows = [
        EvalRow(
            label,
            f"id-{n}",
            {"f1": 0.5},
            dataset=f"data {n % 2} " * 12,
            primary="f1",
            keys=keys,
            position=n,
            system_number=slot,
        )
        for n in range(4)
        for slot, label in enumerate(labels)
    ]
    with (tmp_path / "report.html").open("w", encoding="utf-8") as stream:
        HtmlReporter().write(
            EvalResult(rows, (), {}, {"systems": labels, "baseline": labels[0]}), stream
        )
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto((tmp_path / "report.html").as_uri())
    page.click("#all")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    heading = page.locator(".grid-head > span").last
    heading.scroll_into_view_if_needed()
    cell = page.locator(".grid-row").first.locator(":scope > span").last
    for box in (heading.bounding_box(), cell.bounding_box()):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    assert heading.bounding_box()["x"] == cell.bounding_box()["x"]
    assert not watched.faults
