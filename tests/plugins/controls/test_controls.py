"""Controls: matched in tokens, pairs whole, and a compressor that deletes at random is no better than chance."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench_controls import NAMES, Region, Unit, choosing, chosen, held, region_of, share
from context_bench_controls.measuring import achieved_tokens
from context_bench_survival import Survival, asked_of, given

SHARED = Path(__file__).parents[4] / "shared" / "data" / "sessions" / "pi-session"
IS_REQUIRED = os.environ.get("CONTEXT_BENCH_SHARED") == "required"  # then what is missing fails


def example(number: int = 0, size: int = 15) -> dict[str, Any]:
    """Return a session of calls and results; each result tells six ports, and the agent uses those of every third."""
    drawn = random.Random(number)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "why does it fail?"}]
    used = []
    for place in range(size):
        call = {"id": f"c{place}", "name": "look", "arguments": "{}"}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        lines = []
        for _ in range(6):
            port, words = (
                drawn.randrange(10_000, 99_999),
                " ".join("".join(drawn.choices("aeioulmnrst", k=6)) for _ in "four"),
            )
            lines.append(f"the {words} server listens on {port} now")
            used += [f"curl :{port}"] if place % 3 == 0 else []
        messages.append({"role": "tool", "tool_call_id": f"c{place}", "content": "\n".join(lines)})
    messages.append({"role": "user", "content": "go on"})
    last = len(messages) - 1
    return {
        "id": f"s{number}",
        "messages": messages,
        "region": [1, last],
        "future": used,
        "session_id": f"s{number}",
    }


def test_every_control_fits_and_keeps_no_result_without_its_call() -> None:
    original = example()
    messages, region = given(original)
    assert messages is not None
    found = region_of(messages, region, asked_of(original))
    for tokens in (0, 7, found.tokens // 4, found.tokens // 2, found.tokens, found.tokens + 9):
        for name in NAMES:
            kept = chosen(found, name, tokens, seed=3)
            assert sum(found.units[number].tokens for number in kept) <= tokens
            assert all(found.units[number].needs in {None, *kept} for number in kept)
            if tokens >= found.tokens:
                assert share(found, kept) == 1.0
    assert share(found, frozenset()) == 0.0
    newest = chosen(found, "newest", found.tokens // 4)
    assert max(newest) == len(found.units) - 1
    assert 0 not in newest
    assert {0, len(found.units) - 1} <= chosen(found, "head+tail", found.tokens // 2)
    assert all(
        number in chosen(found, "drop-oldest-results", found.tokens // 2)
        for number in range(len(found.units))
        if not found.units[number].is_result
    )


def test_a_line_set_scores_what_its_text_scores() -> None:
    original = example()
    messages, region = given(original)
    assert messages is not None
    found = region_of(messages, region, asked_of(original))
    kept = chosen(found, "newest", found.tokens // 3)
    first = min(found.units[number].message for number in kept)
    first += messages[first]["role"] == "tool"
    whole = frozenset(number for number, unit in enumerate(found.units) if unit.message >= first)
    scores = Survival().score(original, {"messages": [*messages[:1], *messages[first:]]})
    assert share(found, whole) == pytest.approx(scores["survival_all"])
    assert share(found, whole, needed=True) == pytest.approx(scores["survival_needed"])


def test_the_order_of_a_draw_is_that_of_the_standard_library_remembered_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    units = [Unit(number, 1 + number % 3, None, False, "") for number in range(50)]
    found = Region(units, sum(unit.tokens for unit in units), (), ())
    for most in (0, 50):
        monkeypatch.setattr(choosing, "REMEMBERED_UNITS", most)
        for seed in (0, 7, "7:a"):
            order = list(range(50))
            random.Random(seed).shuffle(order)
            expected, left = set(), 31
            for number in order:
                if units[number].tokens <= left:
                    expected.add(number)
                    left -= units[number].tokens
            assert chosen(found, "random", 31, seed) == expected


class Dropper:
    """Keeps each call with its result, at random, or those that tell what the agent needs."""

    def __init__(self, name: str, knows: bool) -> None:
        self.name, self.knows = name, knows

    def transform(self, messages: list[Any], tools: list[Any]) -> list[Any]:
        drawn = random.Random(str(messages[2]["content"]) + self.name)
        kept = [messages[0]]
        for place in range((len(messages) - 2) // 2):
            stays = place % 3 == 0 if self.knows else drawn.random() < 1 / 3
            kept += messages[1 + 2 * place : 3 + 2 * place] if stays else []
        return [*kept, messages[-1]]


class Same:
    name = "same"

    def transform(self, messages: list[Any], tools: list[Any]) -> list[Any]:
        return messages


@pytest.mark.one_python
def test_chance_is_no_advantage_and_knowing_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.sqlite"
    systems = [Dropper("blind", False), Dropper("knowing", True), Same()]
    evaluate(
        systems,
        [example(number) for number in range(24)],
        [Survival()],
        progress=False,
        run_file=str(path),
    )
    capsys.readouterr()
    assert execute(["controls", str(path), "--format", "json", "--rows"]) == 0
    told = json.loads(capsys.readouterr().out)
    lines = {(line["system"], line["literals"]): line for line in told["lines"]}
    blind, knowing, same = (
        lines["blind", "needed"],
        lines["knowing", "needed"],
        lines["same", "needed"],
    )
    assert blind["interval"]["low"] < 0 < blind["interval"]["high"] or abs(blind["advantage"]) < 0.1
    assert knowing["kept"] == 1.0
    assert knowing["advantage"] > 0.5
    assert knowing["interval"]["low"] > 0
    assert (same["rows"], same["idle_rows"], same["advantage"]) == (0, 24, None)
    assert len(told["rows"]) == 72
    assert execute(["controls", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "advantage" in shown
    assert "knowing" in shown


def test_plain_contexts_have_controls_too() -> None:
    lines = [
        f"the {name} server listens on {number} since monday"
        for number, name in enumerate("pqrstuvwxyz", 48_001)
    ]
    original = {"id": "1", "context": "\n".join(lines), "question": "where?", "answer": "48003"}
    found = held(original, {"context": "\n".join(lines[:3])}, "head", "1")
    assert found is not None
    assert found.values["needed"] == 1.0
    assert 0 < (found.controls["random"]["needed"] or 0) < 0.6
    assert found.controls["newest"]["needed"] == 0.0
    assert found.ratio == pytest.approx(3 / 11, abs=0.02)


def test_what_a_system_spares_outside_of_the_region_is_no_credit_to_it() -> None:
    original = example()
    messages, region = given(original)
    assert messages is not None
    whole = achieved_tokens(messages, region, messages)
    found = region_of(messages, region, ())
    assert whole == found.tokens
    shorter = [{**messages[0], "content": "why?"}, *messages[1:-1], {**messages[-1], "content": ""}]
    assert achieved_tokens(messages, region, shorter) == whole
    dropped = [shorter[0], *messages[1:11], shorter[-1]]
    kept = sum(unit.tokens for unit in found.units if unit.message < 11)
    assert achieved_tokens(messages, region, dropped) == kept
    moved = [
        {**messages[0], "content": messages[0]["content"] + " " + str(messages[2]["content"])},
        messages[-1],
    ]
    assert achieved_tokens(messages, region, moved) == sum(
        unit.tokens for unit in found.units if unit.message == 2
    )


def test_a_run_without_a_context_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.sqlite"
    evaluate(
        lambda given: "fine",
        [{"id": "1", "question": "q"}],
        [Survival()],
        progress=False,
        run_file=str(path),
    )
    assert execute(["controls", str(path)]) == 2
    assert "no row that controls can be made for" in capsys.readouterr().err


@pytest.mark.skipif(
    not SHARED.exists() and not IS_REQUIRED, reason="the recorded sessions are not on this machine"
)
@pytest.mark.one_python
def test_the_recorded_compactions_stand_beside_chance() -> None:
    sessions = pytest.importorskip("context_bench_sessions")
    for row in sessions.sessions(path=str(SHARED), cuts=["compaction"]):
        found = held(row, sessions.Recorded().process(row), "recorded", row["id"])
        assert found is not None
        assert found.ratio < 0.05
        assert 0 < (found.values["all"] or 0) < 0.25
        assert 0 < (found.controls["random"]["all"] or 0) < 0.25
