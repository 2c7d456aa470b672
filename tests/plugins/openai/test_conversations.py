from __future__ import annotations

import asyncio
from typing import Any

import pytest

from context_bench import evaluate
from context_bench_openai import EndpointError, OpenAIProxy

TURNS = [{"role": "user", "content": "First?"}, {"role": "user", "content": "Second?"}]


@pytest.fixture(params=["from a thread", "from an event loop"])
def converse(request: pytest.FixtureRequest) -> Any:
    if request.param == "from a thread":
        return lambda system, turns: system.process_conversation(turns)
    return lambda system, turns: asyncio.run(system.aprocess_conversation(turns))


@pytest.mark.parametrize("turns", [TURNS, ["First?", "Second?"]], ids=["mappings", "texts"])
def test_every_user_turn_is_asked_with_the_replies_before_it(
    turns: list[Any], server: Any, steps: Any, converse: Any
) -> None:
    server.play(steps.ok("one"), steps.ok("two"))
    replies = converse(OpenAIProxy(server.url, system_prompt="Be brief."), turns)
    assert replies == [
        {"role": "assistant", "content": "one"},
        {"role": "assistant", "content": "two"},
    ]
    assert isinstance(replies, list)
    opening = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "First?"}]
    assert [request.body["messages"] for request in server.requests] == [
        opening,
        [*opening, {"role": "assistant", "content": "one"}, {"role": "user", "content": "Second?"}],
    ]


def test_usage_is_summed_and_every_reply_is_kept(server: Any, steps: Any, converse: Any) -> None:
    server.play(
        steps.ok(
            "one", usage={"prompt_tokens": 5, "completion_tokens": 1}, headers={"x-saved": "1"}
        ),
        steps.ok(
            "two", usage={"prompt_tokens": 9, "completion_tokens": 2}, headers={"x-saved": "2"}
        ),
    )
    replies = converse(OpenAIProxy(server.url), TURNS)
    assert replies.usage == {"input_tokens": 14, "output_tokens": 3}
    assert replies.output["turn_usage"] == [
        {"input_tokens": 5, "output_tokens": 1},
        {"input_tokens": 9, "output_tokens": 2},
    ]
    assert replies.output["response"] == "two"
    assert replies.output["turn_responses"] == ["one", "two"]
    assert replies.output["headers"] == {"x-saved": "2"}
    assert replies.output["attempts"] == 2


def test_a_turn_that_is_answered_already_is_history(server: Any, steps: Any, converse: Any) -> None:
    given = [
        {"role": "user", "content": "First?"},
        {"role": "assistant", "content": "given"},
        {"role": "user", "content": "Second?"},
    ]
    server.play(steps.ok("two"))
    assert converse(OpenAIProxy(server.url), given) == [{"role": "assistant", "content": "two"}]
    assert server.requests[0].body["messages"] == given


CALL = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}


@pytest.mark.parametrize(
    "given",
    [
        [
            {"role": "user", "content": "First?"},
            {"role": "system", "content": "Be brief."},
            {"role": "assistant", "content": "given"},
            {"role": "user", "content": "Second?"},
        ],
        [
            {"role": "user", "content": "Read."},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": "done"},
        ],
        [
            {"role": "user", "content": "Read."},
            {"role": "assistant", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": "done"},
        ],
    ],
    ids=["an answer behind a system turn", "a tool's result at the end", "a call without content"],
)
def test_history_is_sent_as_it_is_and_asked_once(
    given: list[Any], server: Any, steps: Any, converse: Any
) -> None:
    server.play(steps.ok("on"))
    assert converse(OpenAIProxy(server.url), given) == [{"role": "assistant", "content": "on"}]
    assert [request.body["messages"] for request in server.requests] == [given]


def test_a_multi_turn_example_is_asked_turn_by_turn(server: Any, steps: Any, ask: Any) -> None:
    server.play(steps.ok("one"), steps.ok("two"))
    output = ask(OpenAIProxy(server.url), {"multi_turn": True, "turns": TURNS, "context": "First?"})
    assert (output["response"], output["turn_responses"]) == ("two", ["one", "two"])
    assert len(server.requests) == 2


def test_turns_without_the_multi_turn_mark_are_one_request(server: Any, ask: Any) -> None:
    ask(OpenAIProxy(server.url), {"turns": TURNS})
    assert [request.body["messages"] for request in server.requests] == [TURNS]


@pytest.mark.parametrize(
    "turns",
    [
        [],
        [{"role": "assistant", "content": "Hi"}],
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
    ],
    ids=["no turns", "no user turn", "all answered"],
)
def test_a_conversation_with_nothing_to_ask_is_refused(
    turns: list[Any], server: Any, converse: Any
) -> None:
    with pytest.raises(ValueError, match="There is nothing to ask"):
        converse(OpenAIProxy(server.url), turns)
    assert server.requests == []


def test_a_conversation_that_fails_midway_is_a_failure(
    server: Any, steps: Any, converse: Any
) -> None:
    server.play(steps.ok("one"), steps.error(400, "no"))
    with pytest.raises(EndpointError, match="400 Bad Request: no"):
        converse(OpenAIProxy(server.url), TURNS)


@pytest.fixture(params=["from a thread", "from an event loop"])
def ask_turn(request: pytest.FixtureRequest) -> Any:
    if request.param == "from a thread":
        return lambda system, turns: system.process_turn(turns)
    return lambda system, turns: asyncio.run(system.aprocess_turn(turns))


def test_one_turn_is_one_request(server: Any, steps: Any, ask_turn: Any) -> None:
    server.play(steps.ok("two"))
    history = ["First?", {"role": "assistant", "content": "one"}, "Second?"]
    output = ask_turn(OpenAIProxy(server.url, system_prompt="Be brief."), history)
    assert output["response"] == "two"
    assert [message["role"] for message in server.requests[0].body["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert server.requests[0].body["messages"][-1]["content"] == "Second?"


@pytest.mark.parametrize("max_workers", [1, 4])
def test_a_run_that_failed_midway_pays_for_no_turn_twice(
    server: Any, steps: Any, tmp_path: Any, max_workers: int
) -> None:
    class Last:
        name = "last"

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {"last": float(processed["turn_responses"] == ["one", "two"])}

    def run() -> Any:
        system, path = OpenAIProxy(server.url, api_key=""), tmp_path / "r.sqlite"
        example = {"multi_turn": True, "turns": TURNS}
        return evaluate(
            system, [example], [Last()], progress=False, run_file=path, max_workers=max_workers
        )

    server.play(
        steps.ok("one", usage={"prompt_tokens": 5, "completion_tokens": 1}), steps.error(400, "no")
    )
    assert run().rows[0].errors[0].kind == "RequestRefusedError"
    server.play(steps.ok("two", usage={"prompt_tokens": 9, "completion_tokens": 2}))
    [row] = run().rows
    assert (row.score, row.usage.input_tokens, row.usage.output_tokens) == (1.0, 14, 3)
    assert len(server.requests) == 3


def test_the_turns_are_not_changed(server: Any) -> None:
    turns = [dict(turn) for turn in TURNS]
    OpenAIProxy(server.url).process_conversation(turns)
    assert turns == TURNS
