"""Which turns of a conversation are asked, and which were answered before."""

from __future__ import annotations

from typing import Any

import pytest

from context_bench_conversations import Conversational, open_turns, turns_to_ask

WORDS = {
    "u": "user",
    "a": "assistant",
    "s": "system",
    "d": "developer",
    "t": "tool",
    "f": "function",
}

# The turns by their first letters, and the places that are asked.
CASES: dict[str, tuple[str, list[int]]] = {
    "MT-Bench": ("uu", [0, 1]),
    "one question": ("su", [1]),
    "an answer that is given": ("uau", [2]),
    "questions before an answer": ("uua", [0]),
    "a system turn between questions": ("usu", [0, 2]),
    "a system turn at the end": ("us", [1]),
    "system turns at the end of questions": ("usuds", [0, 4]),
    "a system turn at the end, an answer before": ("uaus", [3]),
    "an answer behind a system turn": ("usau", [3]),
    "an answer behind system turns": ("usdau", [4]),
    "everything answered": ("usa", []),
    "an answer alone": ("a", []),
    "a system turn alone": ("s", []),
    "no turns": ("", []),
    "a tool's result at the end": ("uat", [2]),
    "results of several calls": ("uattt", [4]),
    "results of calls one after another": ("uatat", [4]),
    "a function's result": ("uaf", [2]),
    "a system turn behind a result": ("uats", [3]),
    "a system turn between call and result": ("uast", [3]),
    "a result that is answered": ("uata", []),
    "a result that is answered behind a system turn": ("uatsa", []),
    "a result before a question": ("uatu", [3]),
    "questions, then a call": ("uuat", [0, 3]),
    "a result that nobody asked for": ("ut", [0]),
    "results alone": ("tt", []),
}


@pytest.mark.parametrize(("turns", "asked"), CASES.values(), ids=CASES)
def test_a_turn_is_asked_where_an_answer_is_wanted_and_none_is_given(
    turns: str, asked: list[int]
) -> None:
    assert open_turns([WORDS[letter] for letter in turns]) == asked


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ("text", "`turns` must be a list of turns, not str"),
        ([7], r"turns\[0\] must be text or a mapping"),
        (["one", {"role": "assistant"}], r"turns\[1\] must be text or a mapping"),
        (["one", {"role": None, "content": "two"}], r"turns\[1\] must be text or a mapping"),
        ([], "There is nothing to ask"),
        (["one", {"role": "assistant", "content": "two"}], "There is nothing to ask"),
    ],
    ids=["a text", "a number", "no content", "no role", "no turns", "all answered"],
)
def test_what_cannot_be_asked_is_told(turns: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        turns_to_ask(turns)


class Listener:
    name = "listener"

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("it is asked turn by turn")

    def process_turn(self, turns: list[Any]) -> str:
        self.heard.append(turns)
        return "on"


def test_a_system_turn_at_the_end_is_heard_with_the_last_question() -> None:
    turns = [
        "Read.",
        {"role": "assistant", "content": "What?"},
        "This.",
        {"role": "system", "content": "Be brief."},
    ]
    listener = Listener()
    output = Conversational(listener).process({"multi_turn": True, "turns": turns})
    assert (listener.heard, output["turn_responses"]) == ([turns], ["on"])


def test_a_system_goes_on_from_a_tools_result_with_all_that_was_said() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    turns = [
        "Read.",
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ]
    listener = Listener()
    output = Conversational(listener).process({"multi_turn": True, "turns": turns})
    assert listener.heard == [turns]
    assert output["turn_responses"] == ["on"]
