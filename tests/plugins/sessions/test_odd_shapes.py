"""Messages of two forms in one session, calls of every form, ids that come twice, and records of no form at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench.errors import DatasetError
from context_bench_sessions import count_pairs, read_sessions, sessions
from context_bench_sessions.cutting import cut_session

FILLER = " ".join(f"word{number}" for number in range(60))


def written(path: Path, *documents: Any) -> Path:
    path.write_text(
        "".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8"
    )
    return path


THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
SEARCH = {
    "type": "tool_use",
    "tool_type": "web_search",
    "id": "w",
    "name": "web_search",
    "arguments": "{}",
    "result": "42 hits",
}


@pytest.mark.parametrize("block", [THINKING, SEARCH], ids=["thinking", "a tool of the server"])
def test_blocks_of_one_provider_do_not_hide_calls_of_the_other(
    tmp_path: Path, block: dict[str, Any]
) -> None:
    """LiteLLM puts thinking into messages of OpenAI's form, Inspect what a server's own tool did."""
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "why?"},
        {
            "role": "assistant",
            "content": [block, {"type": "text", "text": "I look."}],
            "tool_calls": [call],
        },
        {"role": "tool", "tool_call_id": "c", "content": "8443"},
        {"role": "assistant", "content": "done"},
    ]
    [(_, session)] = read_sessions(written(tmp_path / "a.jsonl", {"messages": messages}))
    assert session.dialect == "openai"
    assert [one["role"] for one in session.messages] == ["user", "assistant", "tool", "assistant"]
    assert session.messages[1]["content"].splitlines()[-1] == "I look."
    assert ("42 hits" in session.messages[1]["content"]) == (block is SEARCH)
    assert count_pairs(session.messages) == (1, 1, 0, 0)


@pytest.mark.parametrize(
    ("said", "answer", "expected"),
    [
        (
            {
                "tool_calls": [
                    {"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}}
                ]
            },
            {"role": "tool", "tool_call_id": "c"},
            {"id": "c", "name": "sh", "arguments": "ls -l"},
        ),
        (
            {"function_call": {"name": "read", "arguments": "{}"}},
            {"role": "function", "name": "read"},
            {"id": "read", "name": "read", "arguments": "{}"},
        ),
    ],
    ids=["custom tool", "older form"],
)
def test_calls_of_every_form_of_openai_are_read(
    tmp_path: Path, said: dict[str, Any], answer: dict[str, Any], expected: dict[str, str]
) -> None:
    messages = [
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": None, **said},
        {**answer, "content": "8443"},
        {"role": "assistant", "content": "done"},
    ]
    [(_, session)] = read_sessions(written(tmp_path / "a.jsonl", {"messages": messages}))
    assert session.messages[1]["tool_calls"] == [expected]
    assert count_pairs(session.messages) == (1, 1, 0, 0)


def test_sessions_of_one_name_are_told_apart(tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": FILLER},
        {"role": "assistant", "content": "done"},
    ]
    path = written(
        tmp_path / "a.jsonl", *[{"id": name, "messages": said} for name in ("x", "x", "x~2", "x")]
    )
    rows = list(sessions(str(path), cuts=["last"], tail=0.0, min_tokens=1))
    assert [row["session_id"] for row in rows] == [
        "a.jsonl#x",
        "a.jsonl#x~2",
        "a.jsonl#x~2~2",
        "a.jsonl#x~3",
    ]
    assert len({row["id"] for row in rows}) == 4


def test_a_file_of_a_folder_that_holds_no_session_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": FILLER},
        {"role": "assistant", "content": "done"},
    ]
    written(tmp_path / "a.jsonl", {"messages": said})
    written(
        tmp_path / "b.jsonl", {"type": "session_meta", "timestamp": "t", "payload": {"id": "c"}}
    )
    assert len(list(sessions(str(tmp_path), cuts=["last"], tail=0.0, min_tokens=1))) == 1
    assert "b.jsonl holds no session" in " ".join(capsys.readouterr().err.split())


ODD: list[tuple[str, Any]] = [
    ("openai", {"messages": [{"role": "assistant", "content": "", "tool_calls": ["no call"]}]}),
    ("pi-transcript", {"schema": "a-transcript/v1", "prompt": "why?", "messages": [7]}),
    (
        "otel",
        {"trace_id": "t", "attributes": {"gen_ai.input.messages": "[]"}, "events": ["no event"]},
    ),
    ("otel", {"trace_id": "t", "attributes": {"llm.input_messages.x.message.role": "user"}}),
    ("inspect", {"eval": {}, "samples": ["no sample"]}),
    (
        "swe-agent",
        {
            "trajectory": [],
            "history": [
                {"role": "tool", "tool_call_ids": 7},
                {"role": "assistant", "tool_calls": 7},
            ],
        },
    ),
]


@pytest.mark.parametrize(
    ("name", "document"), ODD, ids=[f"{name}-{number}" for number, (name, _) in enumerate(ODD)]
)
def test_a_record_of_no_form_is_told_with_file_line_and_format_and_can_be_left_out(
    tmp_path: Path, name: str, document: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": FILLER},
        {"role": "assistant", "content": "done"},
    ]
    written(tmp_path / "a.jsonl", {"messages": said})
    written(tmp_path / "b.jsonl", document)
    options: dict[str, Any] = {"cuts": ["last"], "tail": 0.0, "min_tokens": 1}
    with pytest.raises(
        DatasetError,
        match=rf"b\.jsonl, (read up to line 1: something is not in the form of|line 1: .* known in the format) {name}",
    ):
        list(sessions(str(tmp_path), **options))
    assert len(list(sessions(str(tmp_path), skip_damaged=True, **options))) == 1
    assert "Left out:" in capsys.readouterr().err


CALLS = st.lists(
    st.sampled_from(["user", "call", "calls", "result", "late", "text"]), min_size=1, max_size=14
)


@given(CALLS, st.floats(0.0, 0.9))
def test_no_tail_begins_between_a_call_and_its_result_whatever_stands_between_them(
    kinds: list[str], tail: float
) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "why?"}]
    waiting: list[str] = []
    for number, kind in enumerate(kinds):
        if kind in ("call", "calls"):
            made = [
                {"id": f"{number}{letter}", "name": "f", "arguments": "{}"}
                for letter in "ab"[: len(kind) - 3]
            ]
            messages.append({"role": "assistant", "content": "", "tool_calls": made})
            waiting += [one["id"] for one in made]
        elif kind in ("result", "late") and waiting:
            identity = waiting.pop(0 if kind == "late" else -1)
            messages.append({"role": "tool", "content": f"r {number}", "tool_call_id": identity})
        else:
            messages.append(
                {"role": "user" if kind == "user" else "assistant", "content": f"{kind} {number}"}
            )
    messages.append({"role": "assistant", "content": "done"})
    for cut in cut_session(messages, [0.3, 0.6, "last"], tail, 0):
        before = {
            one["id"]
            for message in messages[: cut.tail_start]
            for one in message.get("tool_calls", ())
        }
        behind = {
            m["tool_call_id"] for m in messages[cut.tail_start : cut.at] if m["role"] == "tool"
        }
        head = {
            one["id"]
            for message in messages[: cut.head_end]
            for one in message.get("tool_calls", ())
        }
        assert not (before - head) & behind
