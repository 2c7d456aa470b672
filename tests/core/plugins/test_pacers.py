"""Pacers that packages bring: one paces a run that asks an endpoint, stands in plan, lock and run file, and can be left out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from context_bench.bench.parameters import SystemSpec
from context_bench.bench.run_config import RunConfig
from context_bench.bench.run_parts import described_parts
from context_bench.plugins.catalog import BLOCKED, Catalog, Component, Distribution
from context_bench.plugins.component_metadata import Facts

CODE = """
    import os

    def write(line):
        with open(os.environ["PACER_LOG"], "a") as log:
            log.write(line + "\\n")

    write("imported")

    class Refused(Exception):
        status_code = 429

    class Ask:
        name = "ask"

        def __init__(self):
            self.asked = 0

        def fingerprint(self):
            return {"endpoint": "http://asked.test"}

        def process(self, example):
            self.asked += 1
            if "ASKED_IN_VAIN" in os.environ:
                raise ValueError("no")
            if self.asked == 2:
                raise Refused("slow down")
            return {"response": example["question"], "usage": {"input_tokens": 3, "output_tokens": 4}}

    class Slow:
        name = "slow"

        def rates(self, endpoint, requests, tokens, learned):
            write(f"rates {endpoint} {requests} {tokens} {dict(learned)}")
            return Rates()

    class Rates:
        def wait(self, now, tokens):
            if "WAIT_FAILS" in os.environ:
                raise KeyError("wait")
            return 0.0

        def sent(self, now, tokens):
            pass

        def answered(self, now, seconds, tokens, expected, headers):
            write(f"answered {tokens}")

        def refused(self, now, seconds, asked, headers):
            write(f"refused {asked}")
            return False

        def learned(self):
            return {"seen": 1}

    class Usual(Slow):
        name = "usual"

    class Broken(Slow):
        name = "broken"

        def rates(self, endpoint, requests, tokens, learned):
            if "NO_RATES" in os.environ:
                return 5
            raise ValueError("no such endpoint")
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [systems.ask]
    summary = "Asks an endpoint"
    class = "Ask"
    kind = "endpoint"
    capabilities = ["network"]

    [run_parts.slow]
    summary = "Paces when it is named"
    class = "Slow"
    kind = "pacer"
    version = "2"

    [run_parts.usual]
    summary = "Paces where an endpoint is asked"
    class = "Usual"
    kind = "pacer"
    default = true

    [run_parts.broken]
    summary = "Fails"
    class = "Broken"
    kind = "pacer"
"""
POINTS = {
    "systems": {"ask": "acme_paces:Ask"},
    "run_parts": {
        "slow": "acme_paces:Slow",
        "usual": "acme_paces:Usual",
        "broken": "acme_paces:Broken",
    },
}
ASK = ("run", "--system", "ask", "--dataset", "toy", "--quiet", "--run-file", "r.sqlite")


@pytest.fixture
def told(site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What the package wrote down: that it was imported, and what its rates were told."""
    site.basics()
    site.add("acme-paces", code=CODE, manifest=MANIFEST, entry_points=POINTS)
    log = tmp_path / "pacer.log"
    monkeypatch.setenv("PACER_LOG", str(log))
    return lambda: log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def provenance() -> dict[str, Any]:
    with closing(sqlite3.connect("r.sqlite")) as connection:
        [(text,)] = connection.execute("SELECT provenance FROM run").fetchall()
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_pacer_that_is_named_is_told_everything_and_stands_in_the_run_file(
    told: Any, context_bench: Any
) -> None:
    done = context_bench(*ASK, "--part", "slow", "--rpm", "6000")
    assert done.code == 0, done.err
    assert "rates http://asked.test 6000.0 None {}" in told()
    assert told().count("answered 7") == 2
    assert told().count("refused None") == 1
    assert {name: part["kind"] for name, part in provenance()["run_parts"].items()} == {
        "acme-paces/slow": "pacer"
    }
    assert provenance()["run_parts"]["acme-paces/slow"]["version"] == "2"
    assert provenance()["limits"] == {"http://asked.test": {"seen": 1}}


def test_what_a_pacer_learned_is_told_to_the_next_session(
    told: Any, context_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("ASKED_IN_VAIN", "1")
        assert context_bench(*ASK).code == 12
    assert context_bench("resume", "r.sqlite").code == 0
    assert [line for line in told() if line.startswith("rates")][
        -1
    ] == "rates http://asked.test None None {'seen': 1}"


def test_one_that_is_on_by_default_paces_where_an_endpoint_is_asked(
    told: Any, context_bench: Any
) -> None:
    assert context_bench(*ASK).code == 0
    assert list(provenance()["run_parts"]) == ["acme-paces/usual"]
    assert "run part acme-paces/usual: pacer" in context_bench(*ASK, "--dry-run").out


def test_a_run_that_asks_no_endpoint_does_not_import_it(told: Any, context_bench: Any) -> None:
    assert context_bench("run", "--system", "echo", *ASK[3:]).code == 0
    assert "run_parts" not in provenance()
    assert told() == []


def test_one_that_is_switched_off_or_not_the_one_that_is_named_paces_nothing(
    told: Any, context_bench: Any
) -> None:
    assert context_bench(*ASK, "-p", "no:usual").code == 0
    assert "run_parts" not in provenance()
    assert not any(line.startswith("rates") for line in told())
    assert (
        context_bench(*ASK[:-1], "s.sqlite", "--part", "slow", "--dry-run").out.count("pacer") == 1
    )


def component(distribution: str, kind: str, name: str, **facts: Any) -> Component:
    return Component(
        kind, name, Distribution(distribution, "1.0"), f"{name}:It", Facts(kind, name, **facts)
    )


def test_an_installed_pacer_changes_nothing_where_ours_is_there() -> None:
    asks = component("acme", "systems", "ask", capabilities=("network",))
    theirs = component("acme", "run_parts", "their-pacer", part_kind="pacer", default=True)
    ours = component("context-bench-limits", "run_parts", "limits", part_kind="pacer", default=True)
    request = RunConfig(systems=(SystemSpec("ask"),))
    assert list(described_parts(Catalog([asks, theirs, ours]), request)) == [ours.id]
    off = ours.with_state(BLOCKED, "switched off", "")
    assert list(described_parts(Catalog([asks, theirs, off]), request)) == [theirs.id]
    named = evolve(request, parts=(theirs.name,))
    assert list(described_parts(Catalog([asks, theirs, ours]), named)) == [theirs.id]


def test_only_one_pacer_can_be_named(told: Any, context_bench: Any) -> None:
    done = context_bench(*ASK, "--part", "slow", "--part", "usual")
    assert done.code == 2
    assert (
        "Only one pacer can pace a run, not acme-paces/slow and acme-paces/usual: leave one out."
        in done.words
    )


def test_a_locked_run_imports_no_pacer_that_the_lock_does_not_name(
    told: Any, context_bench: Any
) -> None:
    assert context_bench("lock", "--system", "ask", "--dataset", "toy").code == 0
    assert context_bench(*ASK, "--locked", "--dry-run").code == 0
    done = context_bench(*ASK, "--locked", "--part", "slow")
    assert done.code == 2
    assert "the run part acme-paces/slow is not in the lock file" in done.words
    assert told() == []


def test_a_pacer_that_fails_stops_the_run_with_its_name(told: Any, context_bench: Any) -> None:
    done = context_bench(*ASK, "--part", "broken")
    assert done.code == 2
    assert "The run part broken failed: ValueError: no such endpoint" in done.words


@pytest.mark.parametrize("workers", ["1", "4"])
@pytest.mark.parametrize(
    ("part", "fault", "told_of"),
    [
        ("slow", "WAIT_FAILS", "KeyError: 'wait'"),
        ("broken", "NO_RATES", "its rates are no rates, they lack a method."),
    ],
)
def test_rates_that_fail_stop_the_run_with_the_name_of_their_pacer(
    part: str,
    fault: str,
    told_of: str,
    workers: str,
    told: Any,
    context_bench: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(fault, "1")
    done = context_bench(*ASK, "--part", part, "--max-workers", workers)
    assert done.code == 2
    assert f"The run part {part} failed: {told_of}" in done.words
