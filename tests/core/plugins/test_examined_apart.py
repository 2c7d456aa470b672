"""Where code is only examined it is imported in a child: the one that hangs, exits or floods is named, and the rest goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from context_bench.plugins import apart
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings

Run = Callable[..., Any]

FINE = """
    class Evaluator:
        name = "{name}"

        def score(self, original, processed):
            return {{}}
"""
BAD = {
    "exits": ("import os; os._exit(7)", "loading it raised SystemExit: it called os._exit(7)"),
    "is killed": (
        "import os, signal; signal.raise_signal(signal.SIGKILL)",
        "importing it ended the process, with exit code ",
    ),
    "floods": ("while True: print('x' * 10000)", "importing it wrote more than 1 MiB"),
    "floods the other": (
        "import sys\nwhile True: sys.stderr.write('x' * 10000)",
        "importing it wrote more than 1 MiB",
    ),
    "raises": ("raise SystemExit(3)", "loading it raised SystemExit: 3"),
    "closes everything": (
        "import os; os.closerange(0, 64); os._exit(0)",
        "importing it ended the process",
    ),
}


@pytest.mark.parametrize(("code", "reason"), BAD.values(), ids=BAD.keys())
def test_the_one_that_does_it_is_named(
    site: Any, context_bench: Run, code: str, reason: str
) -> None:
    site.evaluator("acme-a", "a")
    site.evaluator("acme-bad", "bad", code=code)
    site.evaluator("acme-z", "z")
    told = {
        entry["id"]: entry
        for entry in json.loads(context_bench("plugins", "list", "--load", "--json").out)
    }
    assert (told["acme-a/a"]["state"], told["acme-z/z"]["state"]) == ("ok", "ok")
    assert told["acme-bad/bad"]["state"] == "failed"
    assert reason in told["acme-bad/bad"]["reason"]


def test_one_that_hangs_is_named_too(site: Any) -> None:
    site.evaluator("acme-a", "a")
    site.evaluator("acme-slow", "slow", code="import time\nwhile True: time.sleep(60)")
    site.evaluator("acme-z", "z")
    ours = Catalog(
        component
        for component in discover(PluginSettings())
        if component.distribution.name in site.names
    )
    states = {
        component.name: (component.state, component.reason)
        for component, _ in ours.checked(seconds=5)
    }
    assert states["slow"] == ("failed", "importing it was not done after 5 s")
    assert (states["a"][0], states["z"][0]) == ("ok", "ok")


def test_a_flood_is_not_blamed_on_the_one_before_when_its_answer_is_read_late(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(stream: Any) -> bytes:
        message = receive(stream)
        time.sleep(0.5)
        return message

    receive = apart._receive
    monkeypatch.setattr(apart, "_receive", late)
    site.evaluator("acme-a", "a")
    site.evaluator("acme-bad", "bad", code="while True: print('x' * 10000)")
    ours = Catalog(
        component
        for component in discover(PluginSettings())
        if component.distribution.name in site.names
    )
    assert {component.name: component.state for component, _ in ours.checked()} == {
        "a": "ok",
        "bad": "failed",
    }


def test_the_check_of_authors_names_it_and_goes_on(site: Any, context_bench: Run) -> None:
    pytest.importorskip("context_bench_kit", reason="`plugins check` comes with it")
    site.evaluator("acme-bad", "bad", code="import os; os._exit(7)")
    site.evaluator("acme-z", "z")
    done = context_bench("plugins", "check", "acme-bad", "acme-z", "--import", "--json")
    assert done.code == 2
    told = json.loads(done.out)
    assert told["acme-z/z (evaluator)"] == []
    [fault] = told["acme-bad/bad (evaluator)"]
    assert fault.startswith("failed: loading it raised SystemExit: it called os._exit(7)")


def test_the_doctor_goes_on_after_one_that_exits(site: Any, context_bench: Run) -> None:
    pytest.importorskip("context_bench_preflight", reason="`doctor` comes with it")
    manifest = """
        schema = 1
        api = "1.0"
        doctor = "acme_bad:look"
        [systems.bad]
        summary = "x"
        class = "Bad"
    """
    site.add(
        "acme-bad",
        code="import os; os._exit(9)",
        manifest=manifest,
        entry_points={"systems": {"bad": "acme_bad:Bad"}},
    )
    fine = manifest.replace("acme_bad", "acme_fine").replace("systems.bad", "systems.fine")
    code = "def look():\n    return [('weather', 'note', 'it rains')]\n\nclass Bad: pass\n"
    site.add(
        "acme-fine", code=code, manifest=fine, entry_points={"systems": {"fine": "acme_fine:Bad"}}
    )
    done = context_bench("doctor")
    assert (
        "its check cannot be loaded: loading it raised SystemExit: it called os._exit(9)."
        in done.words
    )
    assert "acme-fine weather: it rains" in done.words
