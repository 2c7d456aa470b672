"""Shapes that released versions of Claude Code, Codex, Inspect and Anthropic's interface write, each in a few records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from context_bench_sessions import Recorded, Session, read_sessions, sessions


def read(tmp_path: Path, records: list[Any], wanted: str | None = None) -> Session:
    file = tmp_path / "session.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in records))
    [(_, session)] = read_sessions(file, wanted)
    return session


def told(session: Session) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in session.messages]


def event(
    number: int, kind: str, content: Any = "", after: int | None = -1, **more: Any
) -> dict[str, Any]:
    """Return an event of Claude Code that hangs from the one before it, or from another."""
    parent = number - 1 if after == -1 else after
    body = {
        "role": kind,
        "content": content,
        **({"id": f"m{number}"} if kind == "assistant" else {}),
    }
    return {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": None if not parent else f"u{parent}",
        "sessionId": "s",
        "message": body,
        **more,
    }


def attached(number: int, **attachment: Any) -> dict[str, Any]:
    found = event(number, "attachment")
    return {
        **{key: found[key] for key in ("type", "uuid", "parentUuid", "sessionId")},
        "attachment": attachment,
    }


CALL = [{"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "a.py"}}]
RESULT = [{"type": "tool_result", "tool_use_id": "c1", "content": "port 8443", "is_error": False}]


@pytest.mark.parametrize(
    ("attachment", "expected"),
    [
        (
            {"type": "queued_command", "prompt": "and check the tests", "commandMode": "prompt"},
            ["and check the tests"],
        ),
        (
            {
                "type": "queued_command",
                "prompt": [{"type": "text", "text": "look"}, {"type": "image"}],
            },
            ["look\n[image]"],
        ),
        (
            {
                "type": "queued_command",
                "prompt": "<task-notification/>",
                "commandMode": "task-notification",
            },
            ["<task-notification/>"],
        ),
        ({"type": "todo_reminder", "content": []}, []),
        ({"type": "queued_command"}, []),
    ],
    ids=["text", "blocks", "a task that ended", "another attachment", "no prompt"],
)
def test_what_the_user_said_while_the_agent_worked_is_a_message(
    tmp_path: Path, attachment: dict[str, Any], expected: list[str]
) -> None:
    """Claude Code hangs it behind the results as an attachment; no line of the user follows."""
    session = read(
        tmp_path,
        [
            event(1, "user", "do it"),
            event(2, "assistant", CALL),
            event(3, "user", RESULT),
            attached(4, **attachment),
            event(5, "assistant", "done"),
        ],
    )
    assert [text for _, text in told(session)] == ["do it", "", "port 8443", *expected, "done"]
    assert [message["role"] for message in session.messages] == [
        "user",
        "assistant",
        "tool",
        *["user"] * len(expected),
        "assistant",
    ]
    assert len(session.raw) == 4 + len(expected)
    assert len(session.origins) == len(session.messages)


def test_a_line_that_stands_twice_is_told_once(tmp_path: Path) -> None:
    lines = [
        event(1, "user", "do it"),
        event(2, "assistant", CALL),
        event(3, "user", RESULT),
        event(4, "assistant", "done"),
    ]
    once, twice = (
        read(tmp_path, lines),
        read(tmp_path, [*lines[:2], lines[1], lines[2], lines[2], lines[3]]),
    )
    assert twice.messages == once.messages
    assert twice.raw == once.raw


def compacted(**metadata: Any) -> list[dict[str, Any]]:
    """Return a session whose fourth and fifth lines were kept beside the summary; the next one hangs from the last of them."""
    said = [
        ("user", "do it"),
        ("assistant", "on it"),
        ("user", "the port is 8443"),
        ("assistant", "kept"),
        ("user", "kept too"),
    ]
    lines = [event(number, kind, text) for number, (kind, text) in enumerate(said, 1)]
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "u6",
        "parentUuid": None,
        "logicalParentUuid": "u5",
        "sessionId": "s",
        "compactMetadata": {"trigger": "auto", "preTokens": 9, **metadata},
    }
    summary = event(7, "user", "so far", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    return [*lines, boundary, summary]


SEGMENT = {"headUuid": "u4", "anchorUuid": "u7", "tailUuid": "u5"}


@pytest.mark.parametrize(
    "metadata",
    [
        {"preservedSegment": SEGMENT},
        {
            "preservedSegment": SEGMENT,
            "preservedMessages": {"anchorUuid": "u7", "uuids": ["u4", "u5"]},
        },
        {
            "preservedMessages": {
                "anchorUuid": "u7",
                "uuids": ["u4", "u5"],
                "allUuids": ["u4", "u5"],
            }
        },
    ],
    ids=["as a segment", "as both", "as a list"],
)
@pytest.mark.parametrize(
    "after", [5, 7], ids=["hangs from what was kept", "hangs from the summary"]
)
def test_what_claude_code_kept_beside_a_summary_is_kept(
    tmp_path: Path, metadata: dict[str, Any], after: int
) -> None:
    session = read(tmp_path, [*compacted(**metadata), event(8, "assistant", "next", after=after)])
    assert [text for _, text in told(session)] == [
        "do it",
        "on it",
        "the port is 8443",
        "kept",
        "kept too",
        "next",
    ]
    [made] = session.compactions
    assert (made.at, made.first_kept, made.summary) == (5, 3, "so far")
    [row] = sessions(path=str(tmp_path), cuts=["compaction"], min_tokens=1)
    output = Recorded().process(row)
    assert [message["content"] for message in output["messages"]] == [
        "do it",
        "so far",
        "kept",
        "kept too",
    ]


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"preservedSegment": {"headUuid": "gone", "anchorUuid": "u7", "tailUuid": "u5"}},
        {"preservedSegment": None},
    ],
    ids=["nothing kept", "a line that is not there", "empty"],
)
def test_a_compaction_that_kept_nothing_keeps_nothing(
    tmp_path: Path, metadata: dict[str, Any]
) -> None:
    session = read(tmp_path, [*compacted(**metadata), event(8, "assistant", "next")])
    [made] = session.compactions
    assert (len(session.messages), made.at, made.first_kept) == (6, 5, 5)


def test_a_branch_that_was_left_within_what_was_kept_stays_out(tmp_path: Path) -> None:
    lines = compacted(preservedSegment=SEGMENT)
    lines.insert(3, event(9, "assistant", "left", after=3))
    session = read(tmp_path, [*lines, event(8, "assistant", "next", after=5)])
    assert [text for _, text in told(session)] == [
        "do it",
        "on it",
        "the port is 8443",
        "kept",
        "kept too",
        "next",
    ]


def test_a_compaction_that_was_taken_back_with_what_it_kept_is_none(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        [
            *compacted(preservedSegment=SEGMENT),
            event(8, "user", "anew", after=2),
            event(9, "assistant", "ok"),
        ],
    )
    assert [text for _, text in told(session)] == ["do it", "on it", "anew", "ok"]
    assert not session.compactions


def document(**source: Any) -> dict[str, Any]:
    return {"type": "document", "source": source, "title": "the plan"}


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            {
                "type": "server_tool_use",
                "id": "s1",
                "name": "web_search",
                "input": {"query": "port"},
            },
            'web_search {"query": "port"}',
        ),
        (
            {
                "type": "web_search_tool_result",
                "tool_use_id": "s1",
                "content": [
                    {
                        "type": "web_search_result",
                        "url": "https://a.example/8443",
                        "title": "Ports",
                        "encrypted_content": "x",
                    }
                ],
            },
            "Ports\nhttps://a.example/8443",
        ),
        (
            {
                "type": "web_search_tool_result",
                "content": {
                    "type": "web_search_tool_result_error",
                    "error_code": "max_uses_exceeded",
                },
            },
            "max_uses_exceeded",
        ),
        (
            {
                "type": "web_fetch_tool_result",
                "content": {
                    "type": "web_fetch_result",
                    "url": "https://a.example",
                    "content": document(type="text", media_type="text/plain", data="port 8443"),
                },
            },
            "https://a.example\nthe plan\nport 8443",
        ),
        (
            {
                "type": "code_execution_tool_result",
                "content": {
                    "type": "code_execution_result",
                    "stdout": "8443\n",
                    "stderr": "slow",
                    "return_code": 0,
                    "content": [],
                },
            },
            "8443\n\nslow",
        ),
        (
            {
                "type": "bash_code_execution_tool_result",
                "content": {
                    "type": "bash_code_execution_result",
                    "stdout": "8443",
                    "stderr": "",
                    "return_code": 0,
                    "content": [],
                },
            },
            "8443",
        ),
        ({"type": "mcp_tool_result", "content": [{"type": "text", "text": "8443"}]}, "8443"),
        (
            {
                "type": "search_result",
                "source": "https://a.example",
                "title": "Ports",
                "content": [{"type": "text", "text": "8443"}],
            },
            "Ports\nhttps://a.example\n8443",
        ),
        ({"type": "tool_reference", "tool_name": "mcp__db__query"}, "mcp__db__query"),
        (
            {
                "type": "resource",
                "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "8443"},
            },
            "8443",
        ),
        (document(type="text", media_type="text/plain", data="8443"), "the plan\n8443"),
        (
            document(type="base64", media_type="application/pdf", data="JVBERi0="),
            "the plan\n[image]",
        ),
        ({"type": "image", "source": {"type": "base64", "data": "AAAA"}}, "[image]"),
        ({"type": "redacted_thinking", "data": "AAAA"}, ""),
    ],
    ids=lambda value: str(value.get("type")) if isinstance(value, dict) else "",
)
def test_blocks_of_a_server_s_tools_tell_what_the_model_was_shown(
    tmp_path: Path, block: dict[str, Any], expected: str
) -> None:
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, block]},
    ]
    assert told(read(tmp_path, [{"messages": messages}])) == [
        ("user", "go"),
        ("assistant", expected),
    ]


def sample(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "version": 2,
            "eval": {},
            "samples": [
                {"id": 1, "epoch": 1, "messages": [{"role": "user", "content": "go"}, *messages]}
            ],
        }
    ]


def test_a_tool_that_inspect_s_provider_ran_is_no_call_without_a_result(tmp_path: Path) -> None:
    block = {
        "type": "tool_use",
        "tool_type": "web_search",
        "id": "w1",
        "name": "web_search",
        "arguments": "{}",
        "result": "port 8443",
    }
    session = read(
        tmp_path,
        sample({"role": "assistant", "content": [block, {"type": "text", "text": "it is 8443"}]}),
    )
    assert session.messages[1] == {"role": "assistant", "content": "port 8443\nit is 8443"}


def test_an_error_of_a_tool_is_what_inspect_shows_the_model(tmp_path: Path) -> None:
    made = {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}}
    session = read(
        tmp_path,
        sample(
            {"role": "assistant", "content": "", "tool_calls": [made]},
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": "",
                "error": {"type": "timeout", "message": "timed out after 180 s"},
            },
        ),
    )
    assert told(session)[-1] == ("tool", "Error: timed out after 180 s")


@pytest.mark.parametrize(
    ("ran", "expected"),
    [
        ({"output": "a.py", "exitCode": 0}, "Ran `ls`\n```\na.py\n```"),
        ({"output": "", "exitCode": 0}, "Ran `ls`\n(no output)"),
        ({"output": "", "exitCode": 127}, "Ran `ls`\n(no output)\n\nCommand exited with code 127"),
        (
            {"output": "a", "exitCode": None, "cancelled": True},
            "Ran `ls`\n```\na\n```\n\n(command cancelled)",
        ),
        (
            {"output": "a", "truncated": True, "fullOutputPath": "/tmp/pi-1.log"},
            "Ran `ls`\n```\na\n```\n\n[Output truncated. Full output: /tmp/pi-1.log]",
        ),
    ],
    ids=["output", "none", "it failed", "it was stopped", "cut off"],
)
def test_a_command_that_the_user_ran_is_told_as_pi_tells_it(
    tmp_path: Path, ran: dict[str, Any], expected: str
) -> None:
    head = {"type": "session", "id": "p", "timestamp": "2026-01-01T00:00:00Z"}
    entry = {
        "type": "message",
        "timestamp": "2026-01-01T00:00:01Z",
        "message": {"role": "bashExecution", "command": "ls", **ran},
    }
    assert told(read(tmp_path, [head, entry])) == [("user", expected)]


def item(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {
        "type": "response_item",
        "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": text}]},
    }


@pytest.mark.parametrize(
    "text",
    [
        "<skill>\n<name>x</name>\n</skill>",
        "<user_shell_command>\nls\n</user_shell_command>",
        "<subagent_notification>\n{}\n</subagent_notification>",
        "<ENVIRONMENT_CONTEXT>\n</ENVIRONMENT_CONTEXT>",
        "# agents.md instructions for /srv",
        '<hook_prompt hook_run_id="1">go on</hook_prompt>',
    ],
)
def test_what_codex_writes_as_the_user_begins_no_turn(tmp_path: Path, text: str) -> None:
    said = [
        item("user", "do it"),
        item("assistant", "on it"),
        item("user", "wrong"),
        item("user", text),
        item("assistant", "no"),
    ]
    taken_back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
    session = read(tmp_path, [{"type": "session_meta", "payload": {"id": "c"}}, *said, taken_back])
    assert told(session) == [("user", "do it"), ("assistant", "on it")]


def test_what_another_agent_told_codex_is_a_message(tmp_path: Path) -> None:
    content = [
        {"type": "input_text", "text": "the port is 8443"},
        {"type": "encrypted_content", "encrypted_content": "x"},
    ]
    message = {"type": "agent_message", "author": "worker", "recipient": "lead", "content": content}
    secret = {**message, "content": content[1:]}
    records = [
        item("user", "do it"),
        *({"type": "response_item", "payload": one} for one in (message, secret)),
        item("assistant", "ok"),
    ]
    assert told(read(tmp_path, records, "codex")) == [
        ("user", "do it"),
        ("user", "the port is 8443"),
        ("assistant", "ok"),
    ]


def test_a_packed_file_that_cannot_be_read_is_told_and_not_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read(
        tmp_path,
        [
            item("user", "do it"),
            item("assistant", "on it " * 9),
            item("user", "go"),
            item("assistant", "done"),
        ],
    )
    for number in (1, 2):
        (tmp_path / f"rollout-{number}.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    assert list(sessions(path=str(tmp_path), cuts=["last"], min_tokens=1, tail=0))
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("Warning: 2 files are left out, packed with something else than gzip: ")
    assert line.endswith("rollout-1.jsonl.zst and others.")
    with pytest.raises(Exception, match="packed with zstd"):
        list(sessions(path=str(tmp_path / "rollout-1.jsonl.zst")))
