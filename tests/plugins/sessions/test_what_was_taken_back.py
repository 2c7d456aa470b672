"""Turns that were taken back, branches that were left, sub-agents in one file, compactions: only what an agent lived with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from context_bench_sessions import Recorded, read_sessions, sessions

FILLER = " ".join(f"word{number}" for number in range(60))


def written(path: Path, *documents: Any) -> Path:
    path.write_text(
        "".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8"
    )
    return path


def told(path: Path) -> list[list[tuple[str, str]]]:
    """Return role and text of every message of each session of a file."""
    return [
        [(one["role"], one["content"]) for one in session.messages]
        for _, session in read_sessions(path)
    ]


def event(uuid: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """Return a line of Claude Code."""
    body = {"role": role, "content": content, **({"id": more.pop("id")} if "id" in more else {})}
    common = {
        "type": role,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "isSidechain": False,
    }
    return {**common, "message": body, **more}


def boundary(uuid: str, before: str) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": uuid,
        "parentUuid": None,
        "logicalParentUuid": before,
        "sessionId": "s",
        "isSidechain": False,
        "content": "Conversation compacted",
    }


def entry(identity: str, parent: str | None, role: str, text: str) -> dict[str, Any]:
    """Return an entry of a pi session, version 3."""
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    return {
        "type": "message",
        "id": identity,
        "parentId": parent,
        "timestamp": "t",
        "message": message,
    }


PI = {"type": "session", "version": 3, "id": "p", "timestamp": "t", "cwd": "/srv"}


def item(kind: str, **payload: Any) -> dict[str, Any]:
    """Return a line of a Codex rollout."""
    return {"timestamp": "t", "type": kind, "payload": payload}


def said(role: str, text: str) -> dict[str, Any]:
    block = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return item("response_item", type="message", role=role, content=[block])


def back(turns: int) -> dict[str, Any]:
    return item("event_msg", type="thread_rolled_back", num_turns=turns)


def test_a_branch_that_was_left_before_a_compaction_stays_out(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl",
        event("1", None, "user", "first"),
        event("2", "1", "assistant", [{"type": "text", "text": "wrong way"}], id="m1"),
        event("3", "1", "user", "other words"),
        event("4", "3", "assistant", [{"type": "text", "text": "right way"}], id="m2"),
        boundary("5", "4"),
        event("6", "5", "user", "the summary", isCompactSummary=True),
        event("7", "6", "assistant", [{"type": "text", "text": "going on"}], id="m3"),
    )
    assert told(path) == [
        [
            ("user", "first"),
            ("user", "other words"),
            ("assistant", "right way"),
            ("assistant", "going on"),
        ]
    ]


def test_a_compaction_that_was_taken_back_is_none(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl",
        event("1", None, "user", "first"),
        event("2", "1", "assistant", [{"type": "text", "text": "on it"}], id="m1"),
        boundary("3", "2"),
        event("4", "3", "user", "the summary", isCompactSummary=True),
        event("5", "2", "user", "without a summary"),
        event("6", "5", "assistant", [{"type": "text", "text": "done"}], id="m2"),
    )
    [(_, session)] = read_sessions(path)
    assert [one["content"] for one in session.messages] == [
        "first",
        "on it",
        "without a summary",
        "done",
    ]
    assert list(session.compactions) == []


def test_a_compaction_s_summary_stands_in_place_of_messages_and_is_none_itself(
    tmp_path: Path,
) -> None:
    path = written(
        tmp_path / "a.jsonl",
        event("1", None, "user", "first"),
        event("2", "1", "assistant", [{"type": "text", "text": f"{FILLER} port 8443"}], id="m1"),
        boundary("3", "2"),
        event("4", "3", "user", "SUMMARY port 8443", isCompactSummary=True),
        event("5", "4", "assistant", [{"type": "text", "text": "done"}], id="m2"),
    )
    [row] = sessions(str(path), cuts=["compaction"], min_tokens=10)
    assert [one["content"][-9:] for one in row["messages"]] == ["first", "port 8443"]
    assert row["region"] == [1, 2]
    assert row["recorded_compaction"] == {"at": 2, "summary": "SUMMARY port 8443", "first_kept": 2}
    assert [one["content"] for one in Recorded().process(row)["messages"]] == [
        "first",
        "SUMMARY port 8443",
    ]


def test_a_summary_that_begins_a_file_is_its_first_message(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl",
        boundary("1", "in another file"),
        event("2", "1", "user", "what was before", isCompactSummary=True),
        event("3", "2", "assistant", [{"type": "text", "text": "done"}], id="m1"),
    )
    [(_, session)] = read_sessions(path)
    assert [one["content"] for one in session.messages] == ["what was before", "done"]
    assert list(session.compactions) == []


def test_an_error_of_the_provider_is_no_message_of_the_agent(tmp_path: Path) -> None:
    """It ended sessions as the agent's last word, and was the next action to be told."""
    told_by_it = [{"type": "text", "text": "API Error: 529 overloaded"}]
    error = event("3", "2", "assistant", told_by_it, id="m2", isApiErrorMessage=True)
    error["message"]["model"] = "<synthetic>"
    quoted = event("5", "4", "assistant", told_by_it, id="m3")
    path = written(
        tmp_path / "a.jsonl",
        event("1", None, "user", "first"),
        event("2", "1", "assistant", [{"type": "text", "text": "on it"}], id="m1"),
        error,
        event("4", "3", "user", "go on"),
        quoted,
    )
    [(_, session)] = read_sessions(path)
    assert [one["content"] for one in session.messages] == [
        "first",
        "on it",
        "go on",
        "API Error: 529 overloaded",
    ]
    assert session.notes == {"errors of the provider that the model was not shown": 1}


def test_sub_agents_of_one_file_are_a_session_each(tmp_path: Path) -> None:
    side = {"isSidechain": True}
    path = written(
        tmp_path / "a.jsonl",
        event("1", None, "user", "first"),
        event("x1", None, "user", "task of A", **side),
        event("y1", None, "user", "task of B", **side),
        event("x2", "x1", "assistant", [{"type": "text", "text": "A is done"}], id="mx", **side),
        event("y2", "y1", "assistant", [{"type": "text", "text": "B is done"}], id="my", **side),
        event("2", "1", "assistant", [{"type": "text", "text": "both are done"}], id="m1"),
    )
    assert told(path) == [
        [("user", "first"), ("assistant", "both are done")],
        [("user", "task of A"), ("assistant", "A is done")],
        [("user", "task of B"), ("assistant", "B is done")],
    ]
    assert len({session.id for _, session in read_sessions(path)}) == 3


def test_a_pi_session_is_the_branch_that_its_last_entry_ends(tmp_path: Path) -> None:
    compaction = {
        "type": "compaction",
        "id": "e",
        "parentId": "d",
        "timestamp": "t",
        "summary": "so far",
    }
    path = written(
        tmp_path / "a.jsonl",
        PI,
        entry("a", None, "user", "first"),
        entry("b", "a", "assistant", "wrong way"),
        {
            "type": "branch_summary",
            "id": "s",
            "parentId": "a",
            "timestamp": "t",
            "fromId": "b",
            "summary": "was wrong",
        },
        entry("c", "s", "user", "other words"),
        entry("d", "c", "assistant", "right way"),
        {**compaction, "firstKeptEntryId": "c", "tokensBefore": 9},
        {
            "type": "custom_message",
            "id": "f",
            "parentId": "e",
            "timestamp": "t",
            "content": "told",
            "display": True,
        },
        {
            "type": "custom",
            "id": "g",
            "parentId": "f",
            "timestamp": "t",
            "customType": "x",
            "data": {},
        },
        entry("h", "g", "assistant", "done"),
        {
            "type": "label",
            "id": "i",
            "parentId": "h",
            "timestamp": "t",
            "targetId": "c",
            "label": "here",
        },
    )
    [(found, session)] = read_sessions(path)
    assert found == "pi"
    contents = ["first", "was wrong", "other words", "right way", "told", "done"]
    assert [one["content"] for one in session.messages] == contents
    [made] = session.compactions
    assert (made.at, made.first_kept) == (4, 2)
    assert session.notes == {
        "lines on abandoned branches": 1,
        "records of the type custom": 1,
        "records of the type label": 1,
    }


def test_a_command_that_the_user_kept_from_pi_is_not_told(tmp_path: Path) -> None:
    shell = {"role": "bashExecution", "command": "ls", "output": "a.py", "exitCode": 0}
    path = written(
        tmp_path / "a.jsonl",
        PI,
        entry("a", None, "user", "first"),
        {**entry("b", "a", "", ""), "message": {**shell, "excludeFromContext": True}},
        {**entry("c", "b", "", ""), "message": shell},
        entry("d", "c", "assistant", "done"),
    )
    assert [one[1] for one in told(path)[0]] == ["first", "Ran `ls`\n```\na.py\n```", "done"]


@pytest.mark.parametrize("reason", ["aborted", "error"])
def test_an_answer_that_broke_off_is_no_message_of_a_pi_session(
    tmp_path: Path, reason: str
) -> None:
    """pi sends none of it to the model again."""
    broken = entry("b", "a", "assistant", "half of an ans")
    broken["message"]["stopReason"] = reason
    broken["message"]["content"].append(
        {"type": "toolCall", "id": "t", "name": "read", "arguments": {}}
    )
    whole = entry("d", "c", "assistant", "done")
    whole["message"]["stopReason"] = "stop"
    path = written(
        tmp_path / "a.jsonl",
        PI,
        entry("a", None, "user", "first"),
        broken,
        entry("c", "b", "user", "on"),
        whole,
    )
    [(_, session)] = read_sessions(path)
    assert [one["content"] for one in session.messages] == ["first", "on", "done"]
    assert session.notes == {"answers that broke off, which the model is not sent again": 1}


ENVIRONMENT = said("user", "<environment_context>\n<cwd>/srv</cwd>\n</environment_context>")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([back(1)], ["one", "A", "three", "C"]),
        ([back(0)], ["one", "A", "two", "B", "three", "C"]),
        ([back(2)], ["three", "C"]),
        ([back(9)], ["three", "C"]),
        ([ENVIRONMENT, back(1)], ["one", "A", "three", "C"]),
        (
            [back(1), said("user", "new"), said("assistant", "N"), back(1)],
            ["one", "A", "three", "C"],
        ),
        ([back(1), back(1)], ["three", "C"]),
    ],
    ids=[
        "one",
        "none",
        "two",
        "more than there are",
        "told by Codex",
        "one after another",
        "twice",
    ],
)
def test_turns_that_codex_took_back_are_left_out(
    tmp_path: Path, lines: list[Any], expected: list[str]
) -> None:
    turns = [
        said("user", "one"),
        said("assistant", "A"),
        said("user", "two"),
        said("assistant", "B"),
    ]
    last = [said("user", "three"), said("assistant", "C")]
    path = written(tmp_path / "a.jsonl", item("session_meta", id="c"), *turns, *lines, *last)
    assert [text for _, text in told(path)[0]] == expected


def test_a_codex_compaction_of_a_turn_that_was_taken_back_is_none(tmp_path: Path) -> None:
    turn = [
        said("user", "one"),
        said("assistant", "A"),
        said("user", "two"),
        said("assistant", "B"),
    ]
    made = item("compacted", message="so far")
    [(_, kept)] = read_sessions(written(tmp_path / "a.jsonl", *turn, made, said("assistant", "C")))
    [(_, gone)] = read_sessions(
        written(tmp_path / "b.jsonl", *turn, made, back(1), said("assistant", "C"))
    )
    assert [[one.at for one in session.compactions] for session in (kept, gone)] == [[4], []]


def test_a_fork_has_its_own_name_and_not_that_of_where_it_came_from(tmp_path: Path) -> None:
    lines = [
        item("session_meta", id="child", forked_from_id="parent"),
        item("session_meta", id="parent"),
    ]
    [(_, session)] = read_sessions(
        written(tmp_path / "a.jsonl", *lines, said("user", "one"), said("assistant", "A"))
    )
    assert session.id == "child"


def test_an_agent_that_only_calls_has_a_session_too(tmp_path: Path) -> None:
    call = item("response_item", type="function_call", name="shell", arguments="{}", call_id="c")
    answer = item("response_item", type="function_call_output", call_id="c", output="done")
    path = written(
        tmp_path / "a.jsonl", item("session_meta", id="c"), said("user", "one"), call, answer
    )
    assert told(path) == [[("user", "one"), ("assistant", ""), ("tool", "done")]]


def test_items_without_an_envelope_are_a_rollout_with_their_calls(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl",
        {"id": "old", "timestamp": "t", "instructions": None},
        {"record_type": "state"},
        said("user", "one")["payload"],
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "function_call", "id": "f", "name": "shell", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "done"},
        said("assistant", "A")["payload"],
    )
    [(found, session)] = read_sessions(path)
    assert (found, session.id) == ("codex", "old")
    assert [one["content"] for one in session.messages] == ["one", "", "done", "A"]
    assert session.messages[1]["tool_calls"] == [{"id": "c", "name": "shell", "arguments": "{}"}]
