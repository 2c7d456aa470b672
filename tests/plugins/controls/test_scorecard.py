"""The scorecard, sweeps and break-downs of a run, held against values worked out by hand."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench_survival import Survival

WORDS = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "islet", "knoll")


def example(number: int) -> dict[str, Any]:
    """Return a session of ten results of two lines each; the agent uses the ports of every second."""
    drawn = random.Random(number)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "why does it fail?"}]
    used = []
    for place, word in enumerate(WORDS):
        call = {"id": f"c{place}", "name": "look", "arguments": "{}"}
        port, hours = drawn.sample(range(10_000, 99_999), 2)
        lines = f"the {word} server of pier {number} listens on {port} now\nthe {word} lamp was lit {hours} hours in all"
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{place}", "content": lines},
        ]
        used += [f"curl :{port}"] if place % 2 == 0 else []
    messages.append({"role": "user", "content": "go on"})
    region = [1, len(messages) - 1]
    return {
        "id": f"s{number}",
        "messages": messages,
        "region": region,
        "future": used,
        "format": "openai",
    }


class Newest:
    """Keeps the newest pairs."""

    def __init__(self, ratio: float) -> None:
        self.name, self.ratio = f"newest:ratio={ratio}", ratio

    def transform(self, messages: list[Any], tools: list[Any]) -> list[Any]:
        kept = round(self.ratio * len(WORDS))
        return [messages[0], *messages[len(messages) - 1 - 2 * kept : -1], messages[-1]]

    def fingerprint(self) -> dict[str, Any]:
        return {"ratio": self.ratio, "kind": "newest"}


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.sqlite"
    systems = [Newest(ratio) for ratio in (0.2, 0.5, 1.0)]
    evaluate(
        systems,
        [example(number) for number in range(4)],
        [Survival()],
        progress=False,
        run_file=str(path),
    )
    return path


def told(path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> Any:
    capsys.readouterr()
    assert execute(["scorecard", str(path), "--format", "json", *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_card_shows_what_a_system_kept_and_broke(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cards = {card["system"]: card for card in told(run_file, capsys)["systems"]}
    half, whole = cards["newest:ratio=0.5"], cards["newest:ratio=1.0"]
    assert half["scores"]["survival_all"] == pytest.approx(0.5)
    assert half["scores"]["pair_faults"] == half["scores"]["invented"] == 0.0
    assert half["ratio"] == pytest.approx(0.5, abs=0.02)
    assert (
        half["tokens_kept"]["low"] <= half["tokens_kept"]["median"] <= half["tokens_kept"]["high"]
    )
    assert (whole["rows"], whole["idle_rows"], whole["scores"]) == (4, 4, {})
    assert (half["rows"], half["idle_rows"], half["cost_a_session"]) == (4, 0, None)


class Renaming(Newest):
    """Has the user make the agent's calls."""

    def transform(self, messages: list[Any], tools: list[Any]) -> list[Any]:
        return [
            {**message, "role": "user"} if message["role"] == "assistant" else message
            for message in super().transform(messages, tools)
        ]


@pytest.mark.parametrize(
    ("kind", "is_shown"), [(Newest, False), (Renaming, True)], ids=["none", "some"]
)
def test_changed_roles_have_a_column_where_there_are_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: Any, is_shown: bool
) -> None:
    path = tmp_path / "run.sqlite"
    evaluate([kind(0.5)], [example(1)], [Survival()], progress=False, run_file=str(path))
    [card] = told(path, capsys)["systems"]
    assert (card["scores"]["role_changes"] > 0, card["scores"]["pair_faults"]) == (is_shown, 0.0)
    assert execute(["scorecard", str(path)]) == 0
    assert ("roles changed" in capsys.readouterr().out) is is_shown


class Breaking(Newest):
    """Breaks at a session."""

    def __init__(self, *sessions: int) -> None:
        super().__init__(0.5)
        self._sessions = [f"pier {number} " for number in sessions]

    def transform(self, messages: list[Any], tools: list[Any]) -> list[Any]:
        if any(name in messages[2]["content"] for name in self._sessions):
            raise RuntimeError("too long")
        return super().transform(messages, tools)


class Moody:
    """An evaluator that breaks at half of the sessions."""

    name = "moody"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"mood": 1.0 / (int(original["id"][1:]) % 2)}


@pytest.mark.parametrize("command", ["scorecard", "controls"])
def test_rows_that_failed_are_told_and_those_of_a_broken_evaluator_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path, all_failed = tmp_path / "run.sqlite", tmp_path / "failed.sqlite"
    sessions = [example(number) for number in range(4)]
    for target, broken in ((path, (3,)), (all_failed, (0, 1, 2, 3))):
        evaluate(
            [Breaking(*broken)],
            sessions,
            [Survival(), Moody()],
            progress=False,
            run_file=str(target),
            max_failed=1.0,
        )
    capsys.readouterr()
    assert execute([command, str(path)]) == 0
    shown = capsys.readouterr().out
    assert "1 row of newest:ratio=0.5 failed: without a context it counts nowhere." in shown
    assert execute([command, str(path), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["failed_rows"] == {"newest:ratio=0.5": 1}
    line = found["systems"][0]["needed"] if command == "scorecard" else found["lines"][0]
    assert (line["rows"], line["sessions"]) == (3, 3)
    assert execute([command, str(all_failed)]) == 2
    assert (
        "4 rows of newest:ratio=0.5 failed: without a context they count nowhere."
        in capsys.readouterr().err
    )


def test_settings_that_differ_in_one_number_join_to_a_curve(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    curves = {curve["kind"]: curve for curve in told(run_file, capsys)["curves"]}
    every = curves["all"]
    assert (every["system"], every["option"]) == ("newest", "ratio")
    assert [point["setting"] for point in every["points"]] == [
        0.2,
        0.5,
    ]  # the idle one has no point
    first, last = (point["kept"] - point["random"] for point in every["points"])
    assert every["area"] == pytest.approx((first + last) / 2)
    assert curves["needed"]["points"][0]["kept"] == pytest.approx(0.2)


@pytest.mark.parametrize("by", ["class", "role", "age", "format"])
def test_breaking_down_loses_no_literal(
    run_file: Path, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    shares = told(run_file, capsys, "--by", by)["breakdowns"][by]
    half = [one for one in shares if one["system"] == "newest:ratio=0.5"]
    assert sum(one["literals"] for one in half) == 4 * 20
    assert sum(one["literals"] * one["kept"] for one in half) == pytest.approx(4 * 10)
    if by == "age":
        assert [one["kept"] for one in half] == [0.0] * 5 + [1.0] * 5
    else:
        assert len(half) == 1
        assert half[0]["group"] == {"class": "number", "role": "tool", "format": "openai"}[by]


def test_the_table_says_it_in_words(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["scorecard", str(run_file), "--by", "age", "--needed"]) == 0
    shown = capsys.readouterr().out
    assert "area over random:" in shown
    assert "tokens kept" in shown
    assert "literals: needed" in shown
    empty = run_file.parent / "empty.sqlite"
    evaluate(
        lambda given: "fine",
        [{"id": "1", "question": "q"}],
        [Survival()],
        progress=False,
        run_file=str(empty),
    )
    assert execute(["scorecard", str(empty)]) == 2
    assert "no row with a compressed context" in capsys.readouterr().err
