"""Rate limiters of packages: the first one limits the calls of an endpoint, and appears in plan, lock and run file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from context_bench.plan.extensions import active_extensions
from context_bench.plan.run_config import RunConfig
from context_bench.plan.specs import SystemSpec
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import BLOCKED, Component, Distribution, State, with_state
from context_bench.plugins.manifest import MANIFESTS

CODE = """
    import os

    from context_bench.hookspecs import hookimpl

    def write(line):
        with open(os.environ["LIMITER_LOG"], "a") as log:
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
        @hookimpl
        def rate_limiter(self, endpoint, requests_per_minute, tokens_per_minute, learned):
            write(f"rates {endpoint} {requests_per_minute} {tokens_per_minute} {dict(learned)}")
            return Limiter()

    class Limiter:
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
        pass

    class Broken(Slow):
        @hookimpl
        def rate_limiter(self, endpoint):
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

    [hooks.slow]
    summary = "Paces when it is named"
    class = "Slow"
    implements = ["rate_limiter"]
    version = "2"

    [hooks.usual]
    summary = "Paces where an endpoint is asked"
    class = "Usual"
    implements = ["rate_limiter"]
    default = "endpoint"

    [hooks.broken]
    summary = "Fails"
    class = "Broken"
    implements = ["rate_limiter"]
"""
POINTS = {
    "systems": {"ask": "acme_paces:Ask"},
    "hooks": {
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
    log = tmp_path / "limiter.log"
    monkeypatch.setenv("LIMITER_LOG", str(log))
    return lambda: log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def provenance() -> dict[str, Any]:
    with closing(sqlite3.connect("r.sqlite")) as connection:
        [(text,)] = connection.execute("SELECT provenance FROM run").fetchall()
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_named_rate_limiter_limits_the_endpoint_and_is_recorded(
    told: Any, context_bench: Any
) -> None:
    done = context_bench(*ASK, "--extension", "slow", "--rpm", "6000")
    assert done.code == 0, done.err
    assert "rates http://asked.test 6000.0 None {}" in told()
    assert told().count("answered 7") == 2
    assert told().count("refused None") == 1
    [(name, extension)] = provenance()["extensions"].items()
    assert (name, extension["implements"]) == ("acme-paces/slow", ["rate_limiter"])
    assert provenance()["extensions"]["acme-paces/slow"]["version"] == "2"
    assert provenance()["limits"] == {"http://asked.test": {"seen": 1}}


def test_the_next_session_receives_what_was_learned(
    told: Any, context_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("ASKED_IN_VAIN", "1")
        assert context_bench(*ASK).code == 12
    assert context_bench("resume", "r.sqlite").code == 0
    assert [line for line in told() if line.startswith("rates")][
        -1
    ] == "rates http://asked.test None None {'seen': 1}"


def test_a_default_rate_limiter_is_active_where_an_endpoint_is_called(
    told: Any, context_bench: Any
) -> None:
    assert context_bench(*ASK).code == 0
    assert list(provenance()["extensions"]) == ["acme-paces/usual"]
    assert "extension acme-paces/usual 1.0: rate_limiter" in context_bench(*ASK, "--dry-run").out


def test_a_run_without_an_endpoint_does_not_import_it(told: Any, context_bench: Any) -> None:
    assert context_bench("run", "--system", "echo", *ASK[3:]).code == 0
    assert "extensions" not in provenance()
    assert told() == []


def test_a_blocked_or_replaced_default_rate_limiter_is_not_active(
    told: Any, context_bench: Any
) -> None:
    assert context_bench(*ASK, "-p", "no:usual").code == 0
    assert "extensions" not in provenance()
    assert not any(line.startswith("rates") for line in told())
    shown = context_bench(*ASK[:-1], "s.sqlite", "--extension", "slow", "--dry-run").out
    assert shown.count("rate_limiter") == 1


def component(distribution: str, kind: str, name: str, **facts: Any) -> Component:
    manifest = MANIFESTS[kind](name=name, **facts)
    return Component(kind, name, Distribution(distribution, "1.0"), f"{name}:It", manifest, True)


def active(*components: Component, request: RunConfig) -> list[str]:
    extensions = active_extensions(Catalog(components), request)
    return [extension.component.id for extension in extensions]


def test_installing_a_rate_limiter_does_not_replace_that_of_the_project() -> None:
    asks = component("acme", "systems", "ask", capabilities=("network",))
    facts = {"implements": ("rate_limiter",), "active_when": "endpoint"}
    acme = component("acme", "hooks", "acme-limits", **facts)
    limits = component("context-bench-limits", "hooks", "limits", **facts)
    request = RunConfig(systems=(SystemSpec("ask"),))
    assert active(asks, acme, limits, request=request) == [limits.id]
    blocked = with_state(limits, State(BLOCKED, "switched off", ""))
    assert active(asks, acme, blocked, request=request) == [acme.id]
    named = evolve(request, extensions=(acme.name,))
    assert active(asks, acme, limits, request=named) == [acme.id]


def test_the_first_of_two_rate_limiters_is_used(told: Any, context_bench: Any) -> None:
    done = context_bench(*ASK, "--extension", "broken", "--extension", "slow")
    assert done.code == 2  # acme-paces/broken comes first
    assert "acme-paces/broken" in done.err
    assert (
        context_bench(*ASK[:-1], "s.sqlite", "--extension", "slow", "--extension", "usual").code
        == 0
    )
    assert sum(line.startswith("rates") for line in told()) == 1


def test_a_locked_run_imports_no_rate_limiter_that_the_lock_does_not_name(
    told: Any, context_bench: Any
) -> None:
    assert context_bench("lock", "--system", "ask", "--dataset", "toy").code == 0
    assert context_bench(*ASK, "--locked", "--dry-run").code == 0
    done = context_bench(*ASK, "--locked", "--extension", "slow")
    assert done.code == 2
    assert "acme-paces/slow" in done.words
    assert told() == []


def test_a_rate_limiter_that_fails_stops_the_run_with_its_name(
    told: Any, context_bench: Any
) -> None:
    done = context_bench(*ASK, "--extension", "broken")
    assert done.code == 2
    assert "'acme-paces/broken' failed in rate_limiter()" in done.words


@pytest.mark.parametrize("workers", ["1", "4"])
@pytest.mark.parametrize(
    ("extension", "fault", "method"),
    [
        ("slow", "WAIT_FAILS", "wait"),
        ("broken", "NO_RATES", "rate_limiter"),
    ],
)
def test_a_method_that_fails_stops_the_run_with_its_name(
    extension: str,
    fault: str,
    method: str,
    workers: str,
    told: Any,
    context_bench: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(fault, "1")
    done = context_bench(*ASK, "--extension", extension, "--max-workers", workers)
    assert done.code == 2
    assert f"Extension 'acme-paces/{extension}' failed in {method}():" in done.words
