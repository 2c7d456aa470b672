"""Pictures of every section of a report, light and dark, for the pages about it.

`python tests/heavy/browser/pictures.py REPORT FOLDER` makes them. The report of ``docs/images`` is that of three compressors on
needles: ``--system full=identity --system head=head:ratio=0.5 --system bm25=bm25:ratio=0.5 --system tail=tail:ratio=0.7
--baseline full --reader needle-oracle --dataset needle:length=500 --dataset short=needle:multi-value,length=1000 -n 60``.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from conftest import FLAGS

SECTIONS = ("verdict", "numbers", "differences", "tradeoff", "heat-maps", "distributions", "rows")


def main(report: Path, folder: Path) -> None:
    """Write a picture of each section and of an opened row, in both themes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for theme in ("light", "dark"):
            size = {"width": 1100, "height": 900}
            page = chromium.new_page(
                viewport=size,
                color_scheme=theme,  # type: ignore[arg-type]
            )
            page.goto(report.resolve().as_uri())
            for section in SECTIONS:
                page.locator(f"#{section}").screenshot(
                    path=folder / f"report-{section}-{theme}.png"
                )
            opened(page).screenshot(path=folder / f"report-row-{theme}.png")
            page.close()
        chromium.close()


def opened(page: Page) -> Page:
    """Open the first row, what was removed from its context unfolded."""
    page.click(".grid-row >> nth=0")
    page.wait_for_selector("dialog[data-row='0'] .side")
    for summary in page.locator("dialog summary", has_text="What was removed").all()[1:2]:
        summary.click()
    expect(page.locator("dialog details[open] > summary:only-child")).to_have_count(0)
    return page


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
