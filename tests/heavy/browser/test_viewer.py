"""The viewer in a real browser: what is ticked, typed and linked stays, notes are stored, a live run is followed, no axe violation."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from playwright.sync_api import expect

from context_bench import evaluate

CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": 1}'}}


class Same:
    """Whether the response ends as the answer does."""

    name = "same"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, Any]:
        is_same = processed["response"].endswith(original["answer"])
        return {"same": float(is_same)}


class Says:
    """Leaves words of the context out, and answers every, or every second example."""

    def __init__(self, name: str, every: int) -> None:
        self.name, self._every = name, every

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        is_right = int(example["id"]) % self._every == 0
        response = f"It is {'surely' if self._every == 1 else 'perhaps'} {example['id'] if is_right else 'else'}"
        return {
            "context": " ".join(example["context"].split()[:: self._every]),
            "response": response,
        }


def examples(count: int) -> list[dict[str, Any]]:
    messages = [
        {"role": "user", "content": "find 1"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "日本語の結果"},
    ]
    return [
        {
            "id": str(n),
            "context": "a b c d e f",
            "question": f"What is {n}?",
            "answer": str(n),
            "messages": messages,
        }
        for n in range(count)
    ]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    systems = [Says("whole", 1), Says("half", 2)]
    evaluate(
        systems,
        examples(8),
        [Same()],
        baseline="whole",
        progress=False,
        run_file=folder / "one.sqlite",
    )
    shutil.copyfile(folder / "one.sqlite", folder / "two.sqlite")
    return folder


@pytest.fixture
def viewer(runs: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "context_bench", "view", str(runs)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait()
    process.stdout.close()


def test_ticks_and_typed_text_stay_while_the_list_is_told_of_a_new_run(
    watched: Any, viewer: str, runs: Path
) -> None:
    page = watched.page
    page.goto(viewer)
    page.check("input[value='one.sqlite']")
    page.fill("input[name=text]", "half typed")
    shutil.copyfile(runs / "one.sqlite", runs / "three.sqlite")
    expect(page.locator("#fresh")).to_have_text("1 new run: show")
    expect(page.locator("input[value='one.sqlite']")).to_be_checked()
    expect(page.locator("input[name=text]")).to_have_value("half typed")
    page.click("#fresh a")
    expect(page.locator("tr[data-run]")).to_have_count(3)
    expect(page.locator("input[value='one.sqlite']")).to_be_checked()
    assert watched.faults == []


def test_every_filter_search_order_and_row_has_an_address(watched: Any, viewer: str) -> None:
    page = watched.page
    page.goto(f"{viewer}run/one.sqlite")
    page.click("#all")
    page.fill("#search", "What is 3")
    expect(page.locator("#counted")).to_have_text("1 of 8 lines")
    page.click(".grid-row >> nth=0")
    page.wait_for_selector("dialog[data-row='0'] .side")
    address = page.url
    assert "row=3" in unquote(address)
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("dialog[data-row='0'] .side")
    expect(page.locator("#dialog-heading")).to_contain_text("3")
    expect(page.locator("#search")).to_have_value("What is 3")
    expect(page.locator("#counted")).to_have_text("1 of 8 lines")
    page.keyboard.press("Escape")
    page.fill("#search", "")
    page.locator(".grid-head button", has_text="half").click()
    page.click("#columns summary")
    page.uncheck("#columns label:has-text('question') input")
    expect(page.locator(".grid-head")).not_to_contain_text("question")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("[aria-sort=ascending]")).to_have_text("half")
    expect(page.locator(".grid-head")).not_to_contain_text("question")
    assert watched.faults == []


def test_a_row_shows_calls_of_tools_what_was_removed_and_the_words_that_differ(
    watched: Any, viewer: str
) -> None:
    page = watched.page
    page.goto(f"{viewer}run/one.sqlite#rows?only=&row=3")
    page.wait_for_selector("dialog[data-row='3'] .side")
    expect(page.locator("dialog .call")).to_have_text('calls search {"q": 1}')
    expect(page.locator("dialog")).to_contain_text("日本語の結果")
    page.locator("dialog summary", has_text="Words that differ from whole").click()
    words = page.get_by_role("group", name="Response of half against whole")
    expect(words.locator("del")).to_have_text([" surely 3"])
    expect(words.locator("ins")).to_have_text([" perhaps else"])
    page.locator("dialog summary", has_text="What was removed").click()
    removed = page.get_by_role("group", name="Context of half against the original")
    expect(removed.locator("del")).to_have_text([" b", " d", " f"])
    assert watched.faults == []


def test_a_rating_is_stored_beside_the_run_and_a_draft_stays(
    watched: Any, viewer: str, runs: Path
) -> None:
    page = watched.page
    page.goto(f"{viewer}run/one.sqlite#rows?only=&row=2")
    page.wait_for_selector("dialog[data-row='2'] .side")
    page.fill("#note", "a draft")
    page.fill("#who", "Ana")
    page.click("#next")
    page.wait_for_selector("dialog[data-row='3'] .side")
    expect(page.locator("#note")).to_have_value("")
    page.click("#previous")
    page.wait_for_selector("dialog[data-row='2'] .side")
    expect(page.locator("#note")).to_have_value("a draft")
    page.focus("#note")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#dialog-heading")).to_have_text("2")
    page.select_option("#rating", "bad")
    page.click("#save-note")
    expect(page.locator("#saved")).to_have_text("stored")
    expect(page.get_by_role("list", name="Notes of this row")).to_contain_text("bad: a draft – Ana")
    [line] = map(json.loads, (runs / "one.sqlite.notes.jsonl").read_text("utf-8").splitlines())
    assert (line["run"], line["id"], line["rating"]) == ("one.sqlite", "2", "bad")
    assert (line["note"], line["who"]) == ("a draft", "Ana")
    page.reload()
    page.wait_for_selector("dialog[data-row='2'] .side")
    expect(page.get_by_role("list", name="Notes of this row")).to_contain_text("bad: a draft – Ana")
    assert watched.faults == []


def test_a_live_run_is_followed_and_nothing_is_lost(watched: Any, viewer: str, runs: Path) -> None:
    page = watched.page
    may_end, has_begun = threading.Event(), threading.Event()

    def system(example: dict[str, Any]) -> str:
        if example["id"] == "5":
            has_begun.set()
            may_end.wait()
        return f"It is {example['id']}"

    worker = threading.Thread(
        target=evaluate,
        args=(system, examples(8), [Same()]),
        kwargs={"progress": False, "run_file": runs / "live.sqlite", "max_workers": 1},
    )
    worker.start()
    try:
        assert has_begun.wait(120)
        page.goto(f"{viewer}run/live.sqlite")
        expect(page.locator("#completeness")).to_contain_text("still running")
        page.fill("#search", "What is 1")
        expect(page.locator("#counted")).to_contain_text("1 of ")
    finally:
        may_end.set()
        worker.join()
    expect(page.locator("#completeness")).to_contain_text("8 rows: complete.")
    expect(page.locator("#search")).to_have_value("What is 1")
    page.click("#completeness a")
    expect(page.locator("#search")).to_have_value("What is 1")
    expect(page.locator("#counted")).to_have_text("1 of 8 lines")


@pytest.mark.parametrize(
    "watched",
    [
        {"bypass_csp": True, "color_scheme": scheme, "viewport": {"width": width, "height": 900}}
        for scheme in ("light", "dark")
        for width in (1240, 420)
    ],
    indirect=True,
    ids=["light", "light-narrow", "dark", "dark-narrow"],
)
@pytest.mark.parametrize("where", ["", "run/one.sqlite#rows?only=&row=3", "?group=tag"])
def test_the_viewer_has_no_accessibility_violations_and_is_no_wider_than_the_screen(
    watched: Any, viewer: str, where: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = watched.page
    page.goto(viewer + where)
    if "row=" in where:
        page.wait_for_selector("dialog[data-row='3'] .side")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    width = page.evaluate("document.documentElement.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
