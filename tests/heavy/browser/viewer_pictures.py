"""Pictures of the viewer and of a report of twelve systems, for the pages about them.

`python tests/heavy/browser/viewer_pictures.py FOLDER` runs small benchmarks, opens them in Chromium and writes the pictures:
the list of runs, a row, a comparison, the list in the dark theme, a row at 420 pixels, and twelve systems.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

from conftest import FLAGS

BASE = ["--reader", "needle-oracle", "--dataset", "needle:multi-query,length=800", "--quiet", "-n"]
RATIOS = ("0.2", "0.3", "0.4", "0.5", "0.6", "0.7")


def main(folder: Path) -> None:
    """Make the runs and the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place:
        runs = Path(place) / "runs"
        runs.mkdir()
        make_runs(runs)
        with serving(runs) as address, sync_playwright() as playwright:
            path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))))
            chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
            take(chromium, address, folder)
            chromium.close()


def make_runs(runs: Path) -> None:
    """Run three nights of the same systems, and twelve systems once."""
    few = ["--system", "full=identity", "--system", "bm25=bm25:ratio=0.5"]
    for number, ratio in enumerate(("0.3", "0.5", "0.8")):
        systems = [*few, "--system", f"head=head:ratio={ratio}", "--baseline", "full"]
        run([*systems, *BASE, "30", "--run-file", str(runs / f"night-{number + 1}.sqlite")])
    many = [
        part
        for ratio in RATIOS
        for part in ("--system", f"head:ratio={ratio}", "--system", f"bm25:ratio={ratio}")
    ]
    run([*many, *BASE, "20", "--run-file", str(runs / "twelve.sqlite")])


def run(arguments: list[str]) -> None:
    """Run a benchmark."""
    command = [sys.executable, "-m", "context_bench", "run", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def serving(runs: Path) -> Iterator[str]:
    """Serve the runs, and stop at the end."""
    command = [sys.executable, "-m", "context_bench", "view", str(runs)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def take(chromium: Any, address: str, folder: Path) -> None:
    """Write the pictures."""
    page = chromium.new_page(viewport={"width": 1240, "height": 900})
    page.goto(address)
    tag(page)
    page.screenshot(path=folder / "viewer-list-light.png", full_page=True)
    query = "&".join(f"run=night-{number}.sqlite" for number in (1, 3))
    page.goto(f"{address}compare?{query}")
    page.screenshot(path=folder / "viewer-comparison-light.png")
    page.goto(f"{address}run/night-1.sqlite")
    open_row(page)
    page.screenshot(path=folder / "viewer-row-light.png")
    page.goto(f"{address}run/twelve.sqlite")
    page.screenshot(path=folder / "viewer-twelve-light.png")
    dark = chromium.new_page(viewport={"width": 1240, "height": 900}, color_scheme="dark")
    dark.goto(address)
    dark.screenshot(path=folder / "viewer-list-dark.png", full_page=True)
    narrow = chromium.new_page(viewport={"width": 420, "height": 900})
    narrow.goto(f"{address}run/night-1.sqlite")
    open_row(narrow)
    narrow.screenshot(path=folder / "viewer-row-narrow.png")


def tag(page: Page) -> None:
    """Tag three runs."""
    for number in (1, 2, 3):
        page.check(f"input[value='night-{number}.sqlite']")
    page.fill("#tags", "nightly")
    page.click("#set-tags")
    expect(page.locator("#tagged")).to_have_text("3 runs tagged")


def open_row(page: Page) -> None:
    """Open the first row, and rate it."""
    page.click(".grid-row >> nth=0")
    page.wait_for_selector("dialog[data-row='0'] .side")
    for title in ("Words that differ", "What was removed"):
        for summary in page.locator("dialog summary", has_text=title).all():
            summary.click()
    expect(page.locator("dialog details[open] > summary:only-child")).to_have_count(0)
    page.select_option("#rating", "bad")
    page.fill("#note", "two of four numbers are missing")
    page.fill("#who", "Ana")
    page.click("#save-note")
    expect(page.locator("#saved")).to_have_text("stored")
    page.locator("#dialog-heading").scroll_into_view_if_needed()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
