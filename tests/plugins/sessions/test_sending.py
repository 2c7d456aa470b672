"""Recorded messages reach an endpoint as they were recorded, in both dialects; compressed ones reach it compressed."""

from __future__ import annotations

import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from context_bench_sessions import sessions

openai = pytest.importorskip("context_bench_openai")
anthropic = pytest.importorskip("context_bench_anthropic")

SHARED = Path(__file__).parents[4] / "shared" / "data" / "sessions"
IS_REQUIRED = os.environ.get("CONTEXT_BENCH_SHARED") == "required"  # then what is missing fails

CHAT = {
    "choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
    "model": "m",
}
MESSAGES = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "ok"}],
    "stop_reason": "end_turn",
}


@pytest.fixture
def recorder() -> Iterator[Any]:
    """Serve on 127.0.0.1, and keep the bytes of every body."""
    bodies: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            reply = MESSAGES if self.path.endswith("/messages") else CHAT
            usage = {
                "input_tokens": 1,
                "output_tokens": 1,
                "prompt_tokens": 1,
                "completion_tokens": 1,
                "total_tokens": 2,
            }
            text = json.dumps({**reply, "id": "1", "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield type("Recorder", (), {"url": f"http://127.0.0.1:{server.server_port}", "bodies": bodies})
    server.shutdown()
    thread.join()
    server.server_close()


OPENAI = [
    {"role": "user", "content": "why é 😀?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "read", "arguments": '{"path":  "a"}'},
            }
        ],
    },
    {
        "role": "tool",
        "tool_call_id": "c1",
        "name": "read",
        "content": [{"type": "text", "text": "port 8443\n"}],
    },
    {
        "role": "user",
        "content": [{"type": "text", "text": "go on", "cache_control": {"type": "ephemeral"}}],
    },
    {"role": "assistant", "content": "done"},
]
ANTHROPIC = [
    {"role": "user", "content": "why?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s=="},
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}},
            {"type": "tool_use", "id": "t2", "name": "read", "input": {"path": "b"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": "one",
                "cache_control": {"type": "ephemeral"},
            },
            {
                "type": "tool_result",
                "tool_use_id": "t2",
                "is_error": True,
                "content": [{"type": "text", "text": "two"}],
            },
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
]


def example(tmp_path: Path, messages: list[Any], **more: Any) -> dict[str, Any]:
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"messages": messages, **more}))
    return list(sessions(path=str(path), cuts=["last"], tail=0.0, min_tokens=1))[-1]


def systems(url: str) -> dict[str, Any]:
    return {
        "openai": openai.OpenAIProxy(url, layout="messages", api_key=""),
        "anthropic": anthropic.AnthropicProxy(url, model="m", layout="messages", api_key="k"),
    }


@pytest.mark.parametrize(("dialect", "messages"), [("openai", OPENAI), ("anthropic", ANTHROPIC)])
def test_recorded_messages_are_sent_byte_for_byte(
    recorder: Any, tmp_path: Path, dialect: str, messages: list[Any]
) -> None:
    system = systems(recorder.url)[dialect]
    system.process(example(tmp_path, messages))
    system.close()
    sent = json.loads(recorder.bodies[0])["messages"]
    assert json.dumps(sent) == json.dumps(messages[:-1])  # the order of keys, too


def test_the_recorded_system_prompt_keeps_its_cache_control(recorder: Any, tmp_path: Path) -> None:
    marked = [
        {"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Now."},
    ]
    system = systems(recorder.url)["anthropic"]
    found = example(tmp_path, ANTHROPIC, system=marked)
    system.process(found)
    system.process(example(tmp_path, ANTHROPIC, system="Be short."))
    system.process(
        {
            **found,
            "messages": [{"role": "system", "content": "Be long."}, *found["messages"][1:]],
            "raw_messages": [],
        }
    )
    system.close()
    bodies = [json.loads(body) for body in recorder.bodies]
    assert json.dumps(bodies[0]["system"]) == json.dumps(marked)
    assert bodies[1]["system"] == "Be short."
    assert "cache_control" not in json.dumps(bodies[2]["system"])
    assert "Be long." in json.dumps(bodies[2]["system"])


def test_the_other_dialect_gets_every_call_and_result(recorder: Any, tmp_path: Path) -> None:
    both = systems(recorder.url)
    both["anthropic"].process(example(tmp_path, OPENAI))
    both["openai"].process(example(tmp_path, ANTHROPIC))
    for system in both.values():
        system.close()
    first, second = map(json.loads, recorder.bodies)
    assert first["messages"][1]["content"] == [
        {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}
    ]
    assert [block["type"] for block in first["messages"][2]["content"]] == ["tool_result", "text"]
    assert [tool["name"] for tool in first["tools"]] == ["read"]
    assert [call["id"] for call in second["messages"][1]["tool_calls"]] == ["t1", "t2"]
    assert [(one["role"], one["content"]) for one in second["messages"][2:]] == [
        ("tool", "one"),
        ("tool", "two"),
    ]


def test_tools_of_a_session_are_sent_in_the_dialect_of_the_endpoint(
    recorder: Any, tmp_path: Path
) -> None:
    tools = [
        {
            "type": "function",
            "function": {"name": "read", "description": "d", "parameters": {"type": "object"}},
        }
    ]
    both = systems(recorder.url)
    for system in both.values():
        system.process(example(tmp_path, OPENAI, tools=tools))
        system.close()
    first, second = map(json.loads, recorder.bodies)
    assert first["tools"] == tools
    assert second["tools"] == [
        {"name": "read", "description": "d", "input_schema": {"type": "object"}}
    ]


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_what_was_compressed_away_is_not_sent(recorder: Any, tmp_path: Path, dialect: str) -> None:
    found = example(tmp_path, OPENAI)
    assert "8443" in found["context"]
    system = systems(recorder.url)[dialect]
    system.process({**found, "context": "nothing of note"})
    system.close()
    assert b"8443" not in recorder.bodies[0]
    assert b"nothing of note" in recorder.bodies[0]


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_an_example_without_messages_is_refused(recorder: Any, dialect: str) -> None:
    system = systems(recorder.url)[dialect]
    with pytest.raises(ValueError, match="layout=messages sends recorded messages"):
        system.process({"context": "c", "question": "q"})
    system.close()


@pytest.mark.skipif(
    not SHARED.exists() and not IS_REQUIRED, reason="the recorded sessions are not on this machine"
)
def test_every_recorded_session_with_raw_messages_is_sent_as_it_is(recorder: Any) -> None:
    sent = 0
    both = systems(recorder.url)
    for folder in ("openai-messages", "litellm-log", "swe-agent", "inspect-log"):
        for found in sessions(path=str(SHARED / folder), cuts=["last"], min_tokens=1):
            if found["raw_messages"]:
                both[found["dialect"]].process(found)
                assert json.loads(recorder.bodies[-1])["messages"] == found["raw_messages"]
                sent += 1
    for system in both.values():
        system.close()
    assert sent >= 5
