from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.runner.parts import talks
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
    result = evaluate(talker, [TALK], [Same()], progress=False, samples=3)
    assert [row.sample for row in result.rows] == [0, 1, 2]
    assert len(talker.asked) == 3


def test_an_async_system_keeps_its_loop() -> None:
    class Async(Talker):
        async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
            return {"response": "plain"}

        async def aprocess_conversation(self, turns: list[str]) -> list[str]:
            return list(turns)

    ready = Conversational(Async())
    assert asyncio.run(ready.aprocess(TALK)) == {"response": "two", "turn_responses": ["one", "two"]}
    assert asyncio.run(ready.aprocess(PLAIN)) == {"response": "plain"}


def test_a_system_that_reads_multi_turn_by_itself_stays_as_it_is() -> None:
    talker = Talker()
    assert talks(talker)
    talker.reads = ("question", "multi_turn")  # type: ignore[attr-defined]
    assert not talks(talker)


@pytest.mark.parametrize("replies", ["text", [], None, 7, [None], [{"role": "assistant"}]], ids=repr)
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
