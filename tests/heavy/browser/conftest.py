"""The distribution's Chromium, headless: pages are opened as files or from the viewer, and whatever they ask for is seen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

LONGEST_WAIT = 120_000  # milliseconds: tests wait on conditions, on a machine that does much else
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=LONGEST_WAIT)
    path = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("there is no Chromium; .ci/run installs it")
        pytest.skip("there is no Chromium: `apt-get install chromium`")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


class Watched:
    """A page with what it asked the network for, and what it said on the console.

    Attributes:
        page: The page.
        requests: Addresses, the page's own first.
        faults: Errors of the console and uncaught ones.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.faults: list[str] = []
        page.set_default_timeout(LONGEST_WAIT)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on(
            "console",
            lambda told: (
                self.faults.append(told.text) if told.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("dialog", lambda dialog: (self.faults.append(dialog.message), dialog.dismiss()))


@pytest.fixture
def watched(browser: Browser, request: Any) -> Iterator[Watched]:
    usual = {"viewport": {"width": 1240, "height": 900}}
    context = browser.new_context(**{**usual, **getattr(request, "param", {})})
    yield Watched(context.new_page())
    context.close()
