"""A budget holds: between calls, between the turns of a conversation, and from one session of a run to the next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import ConfigurationError, RunStoppedError, UnknownNameError
from context_bench.runs import open_run


class Same:
    """An evaluator: is the response the answer?"""

    name = "same"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"same": float(original["answer"] == processed["response"])}


@pytest.fixture
def same() -> Same:
    return Same()


@pytest.fixture
def make_examples() -> Callable[[int], list[dict[str, Any]]]:
    return lambda count: [
        {"id": f"e{n}", "question": str(n), "answer": str(n % 7)} for n in range(count)
    ]


class Priced:
    name = "priced"

    def __init__(self) -> None:
        self.calls = 0

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        return {"response": "1", "usage": {"cost": 0.1}}


class Unpriced:
    """Says what tokens it took, and not what they cost, from a certain call on."""

    name = "unpriced"

    def __init__(self, first: int) -> None:
        self.calls, self._first = 0, first

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        cost = {"cost": 0.1} if self.calls < self._first else {}
        return {"response": "1", "usage": {"prompt_tokens": 9, "completion_tokens": 1, **cost}}


@pytest.mark.parametrize("workers", [1, 8])
@pytest.mark.parametrize("first", [1, 3])
def test_a_budget_that_cannot_hold_because_nobody_knows_a_cost_ends_the_run(
    workers: int, first: int, same: Any, make_examples: Callable[[int], Any]
) -> None:
    system = Unpriced(first)
    with pytest.raises(RunStoppedError, match=r"--max-cost 5 cannot hold unpriced.*--prices"):
        evaluate(
            system, make_examples(50), [same], progress=False, max_workers=workers, max_cost=5.0
        )
    assert system.calls <= first + workers


def test_what_takes_no_tokens_and_asks_no_endpoint_is_free(
    same: Any, make_examples: Callable[[int], Any]
) -> None:
    result = evaluate(lambda example: "1", make_examples(5), [same], progress=False, max_cost=1.0)
    assert len(result.rows) == 5


def test_prices_that_are_given_let_a_budget_hold(
    same: Any, make_examples: Callable[[int], Any]
) -> None:
    class Named(Unpriced):
        model = "m"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {**super().process(example), "model": "m"}

    system = Named(0)
    prices = {"m": {"input": 100_000, "output": 100_000}}  # each call costs 1
    with pytest.raises(RunStoppedError, match="might exceed"):
        evaluate(
            system,
            make_examples(50),
            [same],
            progress=False,
            max_workers=1,
            max_cost=3.0,
            prices=prices,
        )
    assert system.calls == 3


@pytest.mark.parametrize("workers", [1, 8])
def test_a_run_stops_before_it_costs_more_than_it_may(
    workers: int, same: Any, make_examples: Callable[[int], Any]
) -> None:
    system = Priced()
    with pytest.raises(RunStoppedError, match="--max-cost"):
        evaluate(
            system, make_examples(50), [same], progress=False, max_workers=workers, max_cost=1.0
        )
    assert system.calls == 10


class Talker:
    """A system that is asked turn by turn, a quarter of a dollar for each, and breaks where it is told to."""

    name = "talker"
    model = "m"

    def __init__(self, *breaks: str, cost: float | None = 0.25, tokens: int = 10) -> None:
        self.asked: list[str] = []
        self.breaks, self.cost, self.tokens = set(breaks), cost, tokens

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "plain"}

    def process_turn(self, turns: list[Any]) -> dict[str, Any]:
        self.asked.append(turns[-1])
        if turns[-1] in self.breaks:
            raise ConnectionError("the line broke")
        told = {} if self.cost is None else {"cost": self.cost}
        return {"response": "x", "usage": {"input_tokens": self.tokens, "output_tokens": 0, **told}}

    def fingerprint(self) -> dict[str, Any]:
        return {"model": self.model}


class AsyncTalker(Talker):
    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        return self.process(example)

    async def aprocess_turn(self, turns: list[Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        return Talker.process_turn(self, turns)


TURNS = ["one", "two", "three", "four", "five"]


def talks(count: int) -> list[dict[str, Any]]:
    pytest.importorskip("context_bench_conversations", reason="it asks conversations")
    return [
        {"id": f"t{n}", "multi_turn": True, "turns": TURNS, "answer": "x"} for n in range(count)
    ]


@pytest.mark.parametrize("kind", [Talker, AsyncTalker])
@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("most", [0.5, 1.3])
def test_a_budget_holds_between_the_turns_of_a_conversation(
    kind: type[Talker], workers: int, most: float, same: Same, tmp_path: Path
) -> None:
    talker, path = kind(), tmp_path / "run.sqlite"
    with pytest.raises(RunStoppedError, match=r"--max-cost") as stopped:
        evaluate(
            talker,
            talks(4),
            [same],
            progress=False,
            max_workers=workers,
            max_cost=most,
            run_file=path,
        )
    assert len(talker.asked) == int(most / 0.25)
    assert f"The run has cost {len(talker.asked) * 0.25:.4f} USD" in str(stopped.value)
    again = kind()
    with pytest.raises(RunStoppedError, match=r"--max-cost"):
        evaluate(
            again,
            talks(4),
            [same],
            progress=False,
            max_workers=workers,
            max_cost=most,
            run_file=path,
        )
    assert again.asked == []  # what an earlier session spent is spent
    rest = kind()
    evaluate(
        rest, talks(4), [same], progress=False, max_workers=workers, max_cost=5.0, run_file=path
    )
    assert len(rest.asked) + len(talker.asked) == 4 * len(TURNS)  # no turn is paid for twice
    with open_run(path) as run:
        assert sum(row.cost or 0.0 for row in run.rows()) == pytest.approx(5.0)


def test_turns_of_an_unfinished_conversation_are_billed_by_prices_too(
    same: Same, tmp_path: Path
) -> None:
    path = tmp_path / "run.sqlite"
    prices = {"m": {"input": 25_000, "output": 0}}  # ten tokens cost a quarter
    broken = Talker("three", cost=None)
    evaluate(broken, talks(1), [same], progress=False, prices=prices, run_file=path)
    talker = Talker(cost=None)
    with pytest.raises(RunStoppedError, match=r"The run has cost 0.7500 USD"):
        evaluate(
            talker,
            talks(1),
            [same],
            progress=False,
            prices=prices,
            max_cost=0.9,
            run_file=path,
            max_workers=1,
        )
    assert talker.asked == ["three"]


def test_a_conversation_that_broke_has_spent_what_its_turns_cost(same: Same) -> None:
    broken = Talker("three")
    with pytest.raises(RunStoppedError, match=r"The run has cost 0.7500 USD"):
        evaluate(broken, talks(3), [same], progress=False, max_cost=0.8, max_workers=1)
    assert broken.asked == ["one", "two", "three", "one"]


def test_a_turn_without_a_known_cost_ends_the_run(same: Same) -> None:
    talker = Talker(cost=None)
    with pytest.raises(RunStoppedError, match=r"--max-cost 5 cannot hold talker"):
        evaluate(talker, talks(2), [same], progress=False, max_cost=5.0, max_workers=1)
    assert talker.asked == ["one"]


@pytest.mark.parametrize("most", [-2, 0, float("nan"), float("inf")])
def test_a_limit_that_makes_no_sense_is_refused(most: float, same: Same) -> None:
    with pytest.raises(
        ConfigurationError, match=r"must be (a number above zero|a finite number|float)"
    ):
        evaluate(Talker(), talks(1), [same], progress=False, max_cost=most)


def test_a_flag_that_nobody_declares_is_no_argument(same: Same) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'max_cost'"):
        evaluate(Talker(), talks(1), [same], progress=False, max_csot=1.0)


def test_what_a_row_cost_and_who_said_so_is_stored_with_it(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 1_000_000, "completion_tokens": 0}

    class Asked:
        def __init__(self, name: str, model: str | None = None, **more: float) -> None:
            self.name, self.more = name, more
            if model:
                self.model = model

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {"response": "a", "usage": {**usage, **self.more}}

    systems = [Asked("told", "m", cost=0.5), Asked("computed", "m"), Asked("unknown")]
    rows, path = [{"id": "x", "answer": "a"}], tmp_path / "run.sqlite"
    prices = {"m": {"input": 2.0, "output": 8.0}}
    evaluate(systems, rows, [Same()], prices=prices, run_file=path, progress=False)
    with open_run(path) as run:
        found = [(row.cost, row.cost_source) for row in run.rows()]
    assert found == [(0.5, "reported"), (2.0, "prices"), (None, None)]
    file = tmp_path / "prices.toml"
    file.write_text("[prices.m]\ninput = 4\noutput = 8\n")
    again = evaluate(systems[1], rows, [Same()], prices=file, progress=False)
    assert again.summary["computed"]["cost"] == 4.0
    assert again.config["request"]["extension_options"]["money"]["prices"] == [
        {"m": {"input": 4, "output": 8}}
    ]


def test_a_row_that_failed_between_its_turns_has_what_the_answered_turns_cost(
    same: Same, tmp_path: Path
) -> None:
    path = tmp_path / "run.sqlite"
    result = evaluate(Talker("three"), talks(2), [same], progress=False, run_file=path)
    with open_run(path) as run:
        assert [(row.failed, row.cost) for row in run.rows()] == [(True, 0.5), (True, 0.5)]
    assert result.summary["talker"]["cost"] == 1.0


@pytest.mark.parametrize(
    ("models", "what"),
    [
        ({"other": {"input": 1.0, "output": 1.0}}, "Give its price"),
        ({"m": {"input": 1.0, "output": 1.0}}, "by that price"),
    ],
)
def test_a_reported_cost_in_another_currency_is_not_left_out_without_a_word(
    models: dict[str, Any], what: str, same: Same, make_examples: Any
) -> None:
    class Reporting:
        name, model = "reporting", "m"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            usage = {"prompt_tokens": 9, "completion_tokens": 1, "cost": 0.1}
            return {"response": "1", "usage": usage}

    prices = {"currency": "EUR", **models}
    result = evaluate(Reporting(), make_examples(3), [same], progress=False, prices=prices)
    [warning] = [line for line in result.warnings if "reports costs in USD" in line]
    assert what in warning
