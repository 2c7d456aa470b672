"""Preflight of systems that are no endpoints: they are known by what they return."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]

MANIFEST = (
    """
    schema = 1
    api = "1.0"
"""
    + "".join(
        f"""
    [systems.{name}]
    summary = "s"
    class = "{name.title()}"
    kind = "{kind}"
"""
        for name, kind in {
            "same": "transformer",
            "half": "transformer",
            "reader": "reader",
            "broken": "system",
            "silent": "system",
            "late": "system",
            "hung": "system",
            "sticky": "system",
            "dice": "system",
            "calm": "system",
        }.items()
    )
    + """
    options.temperature = { type = "float", help = "h" }

    [datasets.rows]
    summary = "s"
    class = "rows"
"""
)
CODE = """
    import random
    import threading

    class Same:
        name = "same"
        def process(self, example):
            return {"context": example["context"]}

    class Half:
        name = "half"
        def process(self, example):
            return {"context": example["context"][: len(example["context"]) // 2]}

    class Reader:
        name = "reader"
        def process(self, example):
            return {"response": example["context"][-3:]}

    class Broken:
        name = "broken"
        def process(self, example):
            raise RuntimeError("no such table")

    class Silent:
        name = "silent"
        def process(self, example):
            return {"answer": "x"}

    class Late:
        name = "late"
        async def process(self, example):
            return {"response": "x"}

    class Hung:
        name = "hung"
        def process(self, example):
            threading.Event().wait(60)

    class Sticky:
        name = "sticky"
        def __init__(self):
            self.longest = 0
        def process(self, example):
            self.longest = max(self.longest, len(example["context"]))
            return {"response": "long" if self.longest > 40 else "short"}

    class Dice:
        name = "dice"
        def process(self, example):
            return {"response": str(random.random())}

    class Calm:
        name = "calm"
        def __init__(self, temperature=1.0):
            self.temperature = temperature
        def process(self, example):
            return {"response": str(random.random() if self.temperature else 0)}

    def rows(limit=None, config=None, split=None):
        for number in range(limit or 6):
            yield {"id": f"e{number}", "context": "x" * (number + 1) * 10, "question": "q", "answer": "a"}
"""
NAMES = ("same", "half", "reader", "broken", "silent", "late", "hung", "sticky", "dice", "calm")


@pytest.fixture
def look(site: Any, context_bench: Run) -> Run:
    site.add(
        "acme-systems",
        code=CODE,
        manifest=MANIFEST,
        entry_points={
            "systems": {name: f"acme_systems:{name.title()}" for name in NAMES},
            "datasets": {"rows": "acme_systems:rows"},
        },
    )

    def call(*arguments: str) -> tuple[int, dict[str, dict[str, Any]], str]:
        done = context_bench("preflight", "--json", "--dataset", "rows", *arguments)
        told = json.loads(done.out) if done.out else {}
        every = [*told.get("systems", ()), *told.get("order_check", ())]
        found = {
            f"{one['label']} {finding['name']}": finding | {"requests": len(one["requests"])}
            for one in every
            for finding in one["findings"]
        }
        return done.code, found, done.err

    return call


def test_a_transformer_that_changes_nothing_is_inert_unless_it_is_the_baseline(look: Run) -> None:
    code, found, err = look("--system", "same", "--system", "half", "--system", "baseline=same")
    assert code == 0
    assert {name: finding["severity"] for name, finding in found.items()} == {
        "same inert": "warning",
        "baseline inert": "note",
    }
    assert found["same inert"]["figures"] == {"contexts": 3, "characters": 100}
    announced, *progress = err.splitlines()
    assert announced == "At most 9 requests to 3 systems: 3 examples."
    assert progress == [
        f"Asking {name}, request 1 on: as in the run." for name in ("baseline", "same", "half")
    ]


def test_a_transformer_before_a_reader_is_looked_at_as_well(look: Run) -> None:
    _, found, _ = look("--system", "same", "--system", "half", "--reader", "reader")
    assert list(found) == ["same inert"]


def test_a_system_that_raises_cannot_work(look: Run) -> None:
    code, found, _ = look("--system", "broken", "--system", "half")
    assert (code, list(found)) == (2, ["broken raises"])
    assert found["broken raises"]["evidence"] == "3 of 3 requests: RuntimeError: no such table"


def test_a_system_without_response_and_context_cannot_work(look: Run) -> None:
    code, found, _ = look("--system", "silent")
    assert (code, list(found)) == (2, ["silent no-output"])
    assert "They have: answer." in found["silent no-output"]["evidence"]


def test_an_async_system_is_waited_for(look: Run) -> None:
    assert look("--system", "late")[:2] == (0, {})


def test_a_hung_system_is_left(look: Run) -> None:
    code, found, _ = look("--system", "hung", "--row-timeout", "0.5")
    assert (code, list(found)) == (2, ["hung timeout"])
    assert found["hung timeout"]["requests"] == 1


def test_what_a_system_keeps_from_earlier_examples_shows_in_another_order(look: Run) -> None:
    code, found, err = look("--system", "sticky", "--system", "half", "--order-check")
    assert (code, list(found)) == (0, ["sticky depends-on-order"])
    finding = found["sticky depends-on-order"]
    assert finding["figures"]["noisy"] == 0
    assert set(finding["figures"]["ids"]) <= {"e0", "e1", "e2", "e3"}
    assert finding["requests"] == 18
    assert "Order check: 36 requests, 6 examples in two orders." in err


def test_answers_by_chance_are_noise_and_temperature_0_takes_them_away(look: Run) -> None:
    _, found, _ = look("--system", "dice", "--system", "calm", "--order-check")
    assert list(found) == ["dice noise"]
    assert found["dice noise"]["severity"] == "note"


def test_the_other_order_is_the_same_for_the_same_seed(look: Run) -> None:
    ids = [
        look("--system", "sticky", "--order-check", "--seed", seed)[1] for seed in ("1", "1", "3")
    ]
    one, again, other = (found["sticky depends-on-order"]["figures"]["ids"] for found in ids)
    assert one == again
    assert one != other


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "No system given."),
        (("--system", "half", "--system", "half"), "Two systems are called 'half'."),
        (("--system", "hlaf"), "Unknown system 'hlaf'. Did you mean 'half'"),
        (("--system", "half", "--dataset", "rwos"), "Did you mean 'rows'?"),
        (("--system", "half", "--ids", "nine"), "no example 'nine'"),
    ],
    ids=[
        "no system",
        "one label twice",
        "an unknown system",
        "an unknown dataset",
        "an unknown id",
    ],
)
def test_what_a_run_would_refuse_is_refused(
    arguments: tuple[str, ...], told: str, look: Run
) -> None:
    code, _, err = look(*arguments)
    assert code == 2
    assert told in err
