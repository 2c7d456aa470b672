"""Settings that are draws are repetitions with a spread, and many comparisons are corrected together."""

from __future__ import annotations

import json
import random
import statistics
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench_compare.families import holm
from context_bench_compare.intervals import Interval
from context_bench_controls.measuring import Held
from context_bench_controls.summing import lines_of
from context_bench_survival import Survival

NAMES = [
    "amber",
    "birch",
    "cedar",
    "dune",
    "ember",
    "fjord",
    "grove",
    "heath",
    "islet",
    "knoll",
    "lagoon",
    "mesa",
]
WORDS = len(NAMES)


def session(number: int) -> dict[str, Any]:
    drawn = random.Random(number)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for place in range(WORDS):
        call = {"id": f"c{place}", "name": "look", "arguments": "{}"}
        port = drawn.randrange(10_000, 99_999)
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": f"c{place}",
                "content": f"the {NAMES[place]} server of pier {number} listens on {port} now",
            },
        ]
    messages.append({"role": "user", "content": "go on"})
    return {
        "id": f"s{number}",
        "messages": messages,
        "region": [1, len(messages) - 1],
        "future": ["curl :" + messages[2]["content"].split()[-2]],
        "format": "openai",
    }


class Some:
    """Keeps some of the calls, drawn by its seed."""

    def __init__(self, seed: int, ratio: float) -> None:
        self.name = f"some:ratio={ratio},seed={seed}"
        self.seed, self.ratio = seed, ratio

    def transform(self, messages: list[Any], tools: list[Any]) -> list[Any]:
        drawn = random.Random(f"{self.seed} {messages[2]['content']}")
        kept = sorted(drawn.sample(range(WORDS), round(self.ratio * WORDS)))
        pairs = [message for place in kept for message in messages[1 + 2 * place : 3 + 2 * place]]
        return [messages[0], *pairs, messages[-1]]

    def fingerprint(self) -> dict[str, Any]:
        return {"ratio": self.ratio, "seed": self.seed}


@pytest.fixture
def card(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def scorecard(systems: list[Some], *arguments: str) -> Any:
        path = tmp_path / "run.sqlite"
        sessions = [session(number) for number in range(6)]
        evaluate(systems, sessions, [Survival()], progress=False, run_file=path)
        capsys.readouterr()
        assert execute(["scorecard", str(path), *arguments]) == 0
        return capsys.readouterr().out

    return scorecard


def test_systems_that_differ_in_their_seed_alone_are_draws_with_a_spread(card: Any) -> None:
    found = json.loads(card([Some(seed, 0.5) for seed in range(4)], "--format", "json"))
    kept = [system["all"]["kept"] for system in found["systems"]]
    [every] = [one for one in found["draws"] if one["kind"] == "all"]
    assert len(every["systems"]) == 4
    assert every["kept"] == pytest.approx(statistics.fmean(kept))
    assert every["spread"] == pytest.approx(statistics.stdev(kept))
    assert found["curves"] == []


def test_a_sweep_has_one_point_for_all_draws_of_a_setting(card: Any) -> None:
    systems = [Some(seed, ratio) for ratio in (0.25, 0.5) for seed in range(3)]
    found = json.loads(card(systems, "--format", "json"))
    [every] = [curve for curve in found["curves"] if curve["kind"] == "all"]
    assert [point["setting"] for point in every["points"]] == [0.25, 0.5]
    by_label = {system["system"]: system["all"]["kept"] for system in found["systems"]}
    for point in every["points"]:
        assert len(point["systems"]) == 3
        mean = statistics.fmean(by_label[label] for label in point["systems"])
        assert point["kept"] == pytest.approx(mean)


def test_the_table_shows_draws_in_a_line(card: Any) -> None:
    shown = card([Some(seed, 0.5) for seed in range(4)])
    assert "Draws differ in their seed alone" in shown
    assert "Holm" in shown


def held(system: str, kept: list[float], chance: list[float]) -> list[Held]:
    """Rows of a system, of a session each."""
    return [
        Held(
            system=system,
            example_id=str(number),
            cluster=str(number),
            tokens=100,
            ratio=0.5,
            values={"needed": own, "all": own},
            controls={
                name: {"needed": other, "all": other}
                for name in (
                    "random",
                    "newest",
                    "head+tail",
                    "drop-oldest-results",
                    "clear-results",
                )
            },
            spread={"needed": 0.0, "all": 0.0},
        )
        for number, (own, other) in enumerate(zip(kept, chance, strict=True))
    ]


def test_p_values_of_further_systems_are_corrected_by_holm() -> None:
    drawn = random.Random(1)
    rows = []
    for number in range(5):
        chance = [drawn.uniform(0.2, 0.6) for _ in range(40)]
        kept = [value + drawn.gauss(0.02 * number, 0.1) for value in chance]
        rows += held(f"s{number}", kept, chance)
    lines = lines_of(rows)
    needed = [line for line in lines if line.kind == "needed"]
    assert all(isinstance(line.interval, Interval) for line in lines)
    assert needed[0].corrected == needed[0].p_value
    further = needed[1:]
    assert [line.corrected for line in further] == holm([line.p_value for line in further])
    assert all(line.together == 4 for line in further)


def test_few_of_many_equal_systems_are_said_to_differ() -> None:
    """Of runs in which twelve systems keep what chance keeps, few call one of them different."""
    drawn = random.Random(7)
    alarms = 0
    for _ in range(60):
        rows = []
        for number in range(12):
            chance = [drawn.uniform(0.2, 0.6) for _ in range(24)]
            rows += held(f"s{number}", [value + drawn.gauss(0, 0.1) for value in chance], chance)
        needed = [line for line in lines_of(rows) if line.kind == "needed"][1:]
        alarms += any(line.corrected < 0.05 for line in needed)
    assert alarms <= 8  # 3 are expected; without a correction it would be 26
