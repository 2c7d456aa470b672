from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.run.systems import can_converse
from context_bench_conversations import Conversational
from context_bench_conversations.talk import conversation_output

TALK = {"id": "t", "multi_turn": True, "turns": ["one", "two"], "answer": "TWO"}
PLAIN = {"id": "p", "question": "three", "answer": "THREE"}


class Same:
    name = "same"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"same": float(original["answer"] == processed["response"])}


class Talker:
    """A system that counts what it is asked."""

    name = "talker"

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(example["question"])
        return {"response": example["question"].upper()}

    def process_conversation(self, turns: list[str]) -> list[dict[str, Any]]:
        self.asked.append(tuple(turns))
        usage = {"input_tokens": 3, "output_tokens": 2, "cost": 0.5}
        return [{"role": "assistant", "content": turn.upper(), "usage": usage} for turn in turns]

    def fingerprint(self) -> dict[str, Any]:
        return {}


def test_multi_turn_rows_go_through_process_conversation_and_their_usage_is_summed() -> None:
    talker = Talker()
    result = evaluate(talker, [TALK, PLAIN], [Same()], progress=False)
    assert talker.asked == [("one", "two"), "three"]
    talk, plain = result.rows
    assert (talk.response, talk.score, plain.score) == ("TWO", 1.0, 1.0)
    assert talk.output["turn_responses"] == ["ONE", "TWO"]
    assert talk.usage is not None
    assert (talk.usage.input_tokens, talk.usage.output_tokens, talk.usage.cost) == (6, 4, 1.0)


def test_a_finished_conversation_is_not_paid_for_again_on_resume(tmp_path: Path) -> None:
    for _ in range(2):
        talker = Talker()
        evaluate(talker, [TALK, PLAIN], [Same()], progress=False, run_file=tmp_path / "r.sqlite")
    assert talker.asked == []


def test_samples_of_a_conversation_are_rows_of_their_own() -> None:
    talker = Talker()
    result = evaluate(talker, [TALK], [Same()], progress=False, repeat=3)
    assert [row.repetition for row in result.rows] == [0, 1, 2]
    assert len(talker.asked) == 3


def test_an_async_system_keeps_its_loop() -> None:
    class Async(Talker):
        async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
            return {"response": "plain"}

        async def aprocess_conversation(self, turns: list[str]) -> list[str]:
            return list(turns)

    ready = Conversational(Async())
    assert asyncio.run(ready.aprocess(TALK)) == {
        "response": "two",
        "turn_responses": ["one", "two"],
    }
    assert asyncio.run(ready.aprocess(PLAIN)) == {"response": "plain"}


def test_a_system_that_reads_multi_turn_by_itself_stays_as_it_is() -> None:
    talker = Talker()
    assert can_converse(talker)
    talker.reads = ("question", "multi_turn")  # type: ignore[attr-defined]
    assert not can_converse(talker)


@pytest.mark.parametrize(
    "replies", ["text", [], None, 7, [None], [{"role": "assistant"}]], ids=repr
)
def test_what_is_no_list_of_replies_is_a_failure_of_the_row(replies: Any) -> None:
    with pytest.raises(TypeError, match="process_conversation"):
        conversation_output(replies)


def test_a_system_that_is_async_for_single_turns_only_keeps_its_conversations(same: Any) -> None:
    class Half:
        name = "half"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {"response": "one"}

        async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
            return {"response": "one"}

        def process_conversation(self, turns: list[Any]) -> list[dict[str, Any]]:
            return [{"role": "assistant", "content": "two"}]

    examples = [
        {"question": "q", "answer": "two", "multi_turn": True, "turns": ["hi"]},
        {"question": "q", "answer": "one"},
    ]
    result = evaluate(Half(), examples, [same], progress=False, max_workers=4)
    assert [row.response for row in result.rows] == ["two", "one"]


@pytest.mark.parametrize("workers", [1, 4])
def test_a_system_that_is_async_but_for_its_turns_is_asked_turn_by_turn_on_a_thread(
    same: Any, workers: int
) -> None:
    class Mixed:
        name = "mixed"

        async def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {"response": "plain"}

        def process_turn(self, turns: list[Any]) -> str:
            return str(len(turns))

    [row] = evaluate(Mixed(), [TALK], [same], progress=False, max_workers=workers).rows
    assert row.output["turn_responses"] == ["1", "3"]


def test_what_a_system_is_given_is_its_own(same: Any) -> None:
    class Greedy:
        name = "greedy"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            raise AssertionError("it is asked turn by turn")

        def process_turn(self, turns: list[Any]) -> str:
            said = [turn if isinstance(turn, str) else turn.pop("content") for turn in turns]
            turns.clear()
            return "/".join(said)

    given = {
        **TALK,
        "turns": [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}],
    }
    [row] = evaluate(Greedy(), [given], [same], progress=False).rows
    assert row.output["turn_responses"] == ["one", "one/one/two"]


class ByTurn:
    """A system that says what it is told to say to each turn."""

    name = "by-turn"

    def __init__(self, *said: Any) -> None:
        self.said = list(said)

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "plain"}

    def process_turn(self, turns: list[Any]) -> Any:
        return self.said.pop(0)


def test_outside_of_a_run_a_conversation_is_asked_the_same_way() -> None:
    told = {"response": "b", "latency": 2.0, "attempts": 3, "usage": {"input_tokens": 1}}
    output = Conversational(ByTurn("a", told)).process(TALK)
    assert (output["response"], output["turn_responses"], output["attempts"]) == (
        "b",
        ["a", "b"],
        4,
    )
    assert 2.0 <= output["latency"] < 60.0
    assert output["usage"] == {"input_tokens": 1}


@pytest.mark.parametrize(
    "said", [{"context": "c"}, {"response": None}, {"response": 7}, None, 7], ids=repr
)
def test_outside_of_a_run_an_answer_without_a_text_is_an_error(said: Any) -> None:
    with pytest.raises(TypeError, match="the answer to turn 2 has no text"):
        Conversational(ByTurn("a", said)).process(TALK)


def test_a_tool_that_sets_a_system_up_asks_its_conversations_as_a_run_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("context_bench_python", reason="it makes a system of a class")
    from context_bench.catalog import open_catalog
    from context_bench.config import SystemConfig, load_config

    (tmp_path / "talkers.py").write_text(
        "class Whole:\n    name = 'whole'\n    version = '1'\n"
        "    def process(self, example):\n        return {'response': 'plain'}\n"
        "    def process_conversation(self, turns):\n        return [turn.upper() for turn in turns]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    request = load_config(systems=["python:target=talkers:Whole"], project={})
    [system] = SystemConfig.all_of(open_catalog(), request)
    assert system.build().process(TALK)["turn_responses"] == ["ONE", "TWO"]
    assert system.build().process(PLAIN) == {"response": "plain"}
