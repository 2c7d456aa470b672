"""Who is said to have spoken, results that no provider takes where they stand, and what a marker excuses."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from context_bench_survival import Survival

RESULT = "the build server listens on port 8443 since monday"


def call(number: int) -> dict[str, Any]:
    return {"id": f"c{number}", "name": "read", "arguments": f'{{"path": "part-{number}.txt"}}'}


def example() -> dict[str, Any]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "why does it fail?"},
        {"role": "assistant", "content": "", "tool_calls": [call(1)]},
        {"role": "tool", "tool_call_id": "c1", "content": RESULT},
        {"role": "assistant", "content": "looking on"},
        {"role": "user", "content": "go on"},
    ]
    return {"messages": messages, "region": [2, 5], "future": ["curl :8443"]}


def changed(**changes: dict[str, Any]) -> list[dict[str, Any]]:
    messages = copy.deepcopy(example()["messages"])
    for place, change in changes.items():
        messages[int(place[1:])].update(change)
    return messages


def score(messages: list[dict[str, Any]]) -> dict[str, float]:
    return Survival().score(example(), {"messages": messages})


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (changed(), 0),
        (changed(_2={"role": "user"}), 1),
        (changed(_2={"role": "user"}, _4={"role": "user"}), 2),
        (changed(_2={"role": "user", "tool_calls": [{**call(1), "arguments": "{}"}]}), 1),
        (changed(_5={"role": "assistant"}), 1),
        (changed(_0={"role": "developer"}), 0),
        (changed(_4={"content": "so far: looking on", "role": "user"}), 0),
        (changed(_4={"content": "go on", "role": "user"}), 0),
        (
            [
                *changed()[:4],
                {"role": "user", "content": "[2 messages were compacted]"},
                changed()[5],
            ],
            0,
        ),
        ([*changed()[:4], changed()[5]], 0),
        ([*changed()[:2], *changed()[4:]], 0),
        ([*changed()[:5], {"role": "assistant", "content": "go on"}, changed()[5]], 0),
        (changed(_3={"role": "user"}), 1),
    ],
    ids=[
        "nothing",
        "calls that the user makes",
        "calls and text of the agent as the user's",
        "changed calls that the user makes",
        "the user's text as the agent's",
        "a developer is a system",
        "a text of its own",
        "a text that its speaker says twice",
        "a summary in the agent's place",
        "a message gone",
        "a pair gone",
        "a text that both say",
        "a result as the user's",
    ],
)
def test_a_message_that_another_one_speaks_is_counted_apart(
    messages: list[dict[str, Any]], expected: int
) -> None:
    assert score(messages)["role_changes"] == expected


def test_who_spoke_changes_no_other_score() -> None:
    same, other = score(changed()), score(changed(_2={"role": "user"}, _4={"role": "user"}))
    assert {**other, "role_changes": 0.0} == same


def test_calls_in_blocks_that_the_user_makes_are_counted_too() -> None:
    blocks = [
        {"role": "user", "content": "why does it fail?"},
        {
            "role": "user",
            "content": [
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "part-1.txt"}}
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": RESULT}],
        },
    ]
    assert score(blocks)["role_changes"] == 1


def test_where_there_are_no_messages_nobody_speaks() -> None:
    assert "role_changes" not in Survival().score(
        {"context": RESULT, "answer": "8443"}, {"context": RESULT}
    )


def answered(*turns: list[Any]) -> float:
    """Return the faults of two calls whose answers are these turns of the user, in blocks."""
    made = [
        {"type": "tool_use", "id": f"c{n}", "name": "read", "input": {"path": f"part-{n}.txt"}}
        for n in (1, 2)
    ]
    opened: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": made},
    ]
    given = {1: result(1), 2: result(2)}
    original = {
        "messages": [*opened, {"role": "user", "content": [given[1], given[2]]}],
        "region": [1, 3],
    }
    blocks = [
        {"role": "user", "content": [given.get(one, {"type": "text", "text": one}) for one in turn]}
        for turn in turns
    ]
    return Survival().score(original, {"messages": [*opened, *blocks]})["pair_faults"]


def result(number: int) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"part {number}"}


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([[1, 2]], 0),
        ([[2, 1]], 0),
        ([[1], [2]], 0),
        ([[1, 2, "now go on"]], 0),
        ([[1], [2, "now go on"]], 0),
        ([["first of all", 1, 2]], 2),
        ([[1, "then", 2]], 1),
        ([[1, "then"], [2]], 1),
        ([[1], ["then"], [2]], 1),
        ([["first of all"], [1, 2]], 2),
        ([[1]], 1),
        ([[1, 1, 2]], 1),
    ],
    ids=[
        "in one message",
        "in another order",
        "each in its own message",
        "and a text behind them",
        "and a text behind the last",
        "a text before them",
        "a text between them",
        "a text behind the first of two messages",
        "a message between them",
        "a message before them",
        "one is missing",
        "one stands twice",
    ],
)
def test_results_of_calls_side_by_side_stand_first_behind_them(
    turns: list[list[Any]], expected: int
) -> None:
    """Anthropic joins messages of one role, and wants the results before any text."""
    assert answered(*turns) == expected


def invented(line: str) -> float:
    messages = changed(_3={"content": f"{RESULT}\n{line}"})
    return round(score(messages)["invented"] * sum(map(tokens, messages)) / 1000)


def tokens(message: dict[str, Any]) -> int:
    from context_bench.messages import whole_text
    from context_bench_survival.remains import count_tokens

    return count_tokens(whole_text(message))


@pytest.mark.parametrize(
    "line",
    [
        "[... 917 lines omitted, retrieve with 5f3a9c1b ...]",
        "[100 items compressed to 10. Retrieve more: hash=5f3a9c1b]",
        "<<ccr:5f3a9c1b 118_rows_offloaded>>",
        '{"state": "ok", "_ccr_dropped": "<<ccr:5f3a9c1b 118_rows_offloaded>>"}',
        "... 120 lines omitted ...",
        "… 42 more rows",
        "…1234 tokens truncated…",
        "(truncated, 12,345 characters omitted)",
        "# 37 lines collapsed",
        "[120 rows omitted: 33 errors, 87 warnings, ids 4411..4530]",
        "Removed 917 entries; compressed 4096 -> 512 tokens",
        "Output truncated after 2000 lines",
        "[Full output (30 KB) removed, it lies in /tmp/outputs/b7.txt]",
        "the table was compressed by 45 %",
    ],
)
def test_what_a_mark_of_omission_says_itself_is_not_invented(line: str) -> None:
    assert invented(line) == 0


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("the mirror listens on port 9999 [... 12 lines omitted ...]", 1),
        ("[... 12 lines omitted ...] the mirror listens on port 9999, in /opt/none/here", 2),
        ("the service summarized its state and retried 917 times on host DB-4711", 2),
        ("the hidden size is 768", 1),
        ("the layer was removed, and the port is 9999", 1),
        ("120 lines omitted, the port is 9999", 1),
        ("retrieve the list from /opt/none/here", 1),
        ('{"port": 9999, "note": "12 lines omitted"}', 1),
        ("the cache … holds version 4.17.3 of it", 1),
        ("[12 lines omitted] and [port 9999]", 1),
    ],
)
def test_what_stands_beside_a_mark_of_omission_is_invented(line: str, expected: int) -> None:
    assert invented(line) == expected
