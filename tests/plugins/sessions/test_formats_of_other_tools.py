"""Sessions in the forms of other tools: every call and result is read, what is left out is counted, what is unknown is refused."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import DatasetError
from context_bench_sessions import count_pairs, read_sessions
from context_bench_sessions.loader import sessions

ROUNDS = 5
Record = dict[str, Any]
UNKNOWN: Record = {"type": "hologram", "data": {"voxels": 8}}


def asked(number: int) -> str:
    return f"please look at module {number}"


def path_of(number: int) -> str:
    return f"src/module_{number}.py"


def shown(number: int) -> str:
    return "\n".join(f"{path_of(number)}:{line} value={number * line}" for line in range(20))


def text(content: str) -> Record:
    return {"type": "text", "text": content}


def goose() -> list[Record]:
    found: list[Record] = []
    for n in range(ROUNDS):
        made = {"status": "success", "value": {"name": "shell", "arguments": {"path": path_of(n)}}}
        given = {"status": "success", "value": [text(shown(n))]}
        found += [
            {"role": "user", "content": [text(asked(n))]},
            {
                "role": "assistant",
                "content": [{"type": "toolRequest", "id": f"c{n}", "toolCall": made}],
            },
            {
                "role": "user",
                "content": [{"type": "toolResponse", "id": f"c{n}", "toolResult": given}],
            },
            {"role": "assistant", "content": [text(f"done {n}")]},
        ]
    return found


def amp() -> Record:
    found: list[Record] = []
    for n in range(ROUNDS):
        use = {"type": "tool_use", "id": f"c{n}", "name": "Read", "input": {"path": path_of(n)}}
        run = {"status": "done", "result": {"output": shown(n), "exitCode": 0}}
        found += [
            {"role": "user", "content": [text(asked(n))]},
            {"role": "assistant", "content": [text("I look"), use]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "toolUseID": f"c{n}", "run": run}],
            },
            {"role": "assistant", "content": [text(f"done {n}")]},
        ]
    return {"v": 9, "id": "T-7", "messages": found}


def ai_sdk_model() -> list[Record]:
    found: list[Record] = []
    for n in range(ROUNDS):
        use = {
            "type": "tool-call",
            "toolCallId": f"c{n}",
            "toolName": "read",
            "input": {"path": path_of(n)},
        }
        given = {"type": "tool-result", "toolCallId": f"c{n}", "toolName": "read"}
        found += [
            {"role": "user", "content": asked(n)},
            {"role": "assistant", "content": [text("I look"), use]},
            {"role": "tool", "content": [{**given, "output": {"type": "text", "value": shown(n)}}]},
            {"role": "assistant", "content": [text(f"done {n}")]},
        ]
    return found


def ai_sdk_page() -> Record:
    found: list[Record] = []
    for n in range(ROUNDS):
        use = {"type": "tool-read", "toolCallId": f"c{n}", "state": "output-available"}
        use |= {"input": {"path": path_of(n)}, "output": shown(n)}
        parts = [
            {"type": "step-start"},
            text("I look"),
            use,
            {"type": "step-start"},
            text(f"done {n}"),
        ]
        found += [
            {"id": f"u{n}", "role": "user", "parts": [text(asked(n))]},
            {"id": f"a{n}", "role": "assistant", "parts": parts},
        ]
    return {"id": "chat-1", "messages": found}


def opencode() -> Record:
    found: list[Record] = []
    for n in range(ROUNDS):
        state = {"status": "completed", "input": {"path": path_of(n)}, "output": shown(n)}
        parts = [
            {"type": "step-start"},
            {"type": "tool", "callID": f"c{n}", "tool": "read", "state": state},
        ]
        found += [
            {"info": {"id": f"u{n}", "role": "user"}, "parts": [text(asked(n))]},
            {"info": {"id": f"a{n}", "role": "assistant"}, "parts": [*parts, text(f"done {n}")]},
        ]
    return {"info": {"id": "ses_1"}, "messages": found}


def gemini() -> list[Record]:
    found: list[Record] = []
    for n in range(ROUNDS):
        use = {"functionCall": {"name": "read_file", "args": {"path": path_of(n)}}}
        given = {"functionResponse": {"name": "read_file", "response": {"output": shown(n)}}}
        found += [
            {"role": "user", "parts": [{"text": asked(n)}]},
            {"role": "model", "parts": [{"text": "I look"}, use]},
            {"role": "user", "parts": [given]},
            {"role": "model", "parts": [{"text": f"done {n}"}]},
        ]
    return found


def gemini_cli() -> Record:
    found: list[Record] = []
    for n in range(ROUNDS):
        given = {"functionResponse": {"name": "read_file", "response": {"output": shown(n)}}}
        use = {"id": f"c{n}", "name": "read_file", "args": {"path": path_of(n)}, "result": [given]}
        found += [
            {"id": f"u{n}", "type": "user", "content": asked(n)},
            {
                "id": f"g{n}",
                "type": "gemini",
                "content": f"done {n}",
                "thoughts": [{}],
                "toolCalls": [use],
            },
        ]
    return {"sessionId": "s-1", "messages": [*found, {"type": "info", "content": "Saved."}]}


def bedrock() -> Record:
    found: list[Record] = []
    for n in range(ROUNDS):
        use = {"toolUse": {"toolUseId": f"c{n}", "name": "read", "input": {"path": path_of(n)}}}
        given = {"toolResult": {"toolUseId": f"c{n}", "content": [{"text": shown(n)}]}}
        found += [
            {"role": "user", "content": [{"text": asked(n)}]},
            {"role": "assistant", "content": [{"text": "I look"}, use]},
            {"role": "user", "content": [given]},
            {"role": "assistant", "content": [{"text": f"done {n}"}]},
        ]
    return {"messages": found, "system": [{"text": "You help."}]}


def responses() -> Record:
    found: list[Record] = []
    for n in range(ROUNDS):
        arguments = json.dumps({"path": path_of(n)})
        found += [
            {"role": "user", "content": asked(n)},
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": f"c{n}", "name": "read", "arguments": arguments},
            {"type": "function_call_output", "call_id": f"c{n}", "output": shown(n)},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": f"done {n}"}],
            },
        ]
    return {"model": "m", "input": found}


def sharegpt() -> Record:
    found: list[Record] = []
    for n in range(ROUNDS):
        use = json.dumps({"name": "read", "arguments": {"path": path_of(n)}})
        found += [
            {"from": "human", "value": asked(n)},
            {"from": "function_call", "value": use},
            {"from": "observation", "value": shown(n)},
            {"from": "gpt", "value": f"done {n}"},
        ]
    return {"id": "x", "conversations": found}


def hermes() -> Record:
    found: list[Record] = []
    for n in range(ROUNDS):
        use = json.dumps({"name": "read", "arguments": {"path": path_of(n)}})
        found += [
            {"role": "user", "content": asked(n)},
            {"role": "assistant", "content": f"I look\n<tool_call>\n{use}\n</tool_call>"},
            {"role": "tool", "content": f"<tool_response>\n{shown(n)}\n</tool_response>"},
            {"role": "assistant", "content": f"done {n}"},
        ]
    return {"conversations": found}


def langchain() -> list[Record]:
    found: list[Record] = []
    for n in range(ROUNDS):
        use = {"id": f"c{n}", "name": "read", "args": {"path": path_of(n)}}
        found += [
            {"type": "human", "data": {"content": asked(n)}},
            {"type": "ai", "data": {"content": "I look", "tool_calls": [use]}},
            {"type": "tool", "data": {"content": shown(n), "tool_call_id": f"c{n}"}},
            {"type": "ai", "data": {"content": f"done {n}"}},
        ]
    return found


def langsmith() -> Record:
    kinds = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}
    dumped = [
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", kinds[one["type"]]],
            "kwargs": one["data"],
        }
        for one in langchain()
    ]
    return {
        "id": "r",
        "trace_id": "t",
        "run_type": "llm",
        "inputs": {"messages": [dumped]},
        "outputs": {},
    }


def openhands() -> list[Record]:
    found: list[Record] = []
    for n in range(ROUNDS):
        number = 10 * n
        found += [
            {"id": number, "source": "user", "action": "message", "args": {"content": asked(n)}},
            {"id": number + 1, "source": "agent", "action": "read", "args": {"path": path_of(n)}},
            {
                "id": number + 2,
                "source": "agent",
                "cause": number + 1,
                "observation": "read",
                "content": shown(n),
            },
            {
                "id": number + 3,
                "source": "environment",
                "observation": "agent_state_changed",
                "content": "",
            },
            {
                "id": number + 4,
                "source": "agent",
                "action": "message",
                "args": {"content": f"done {n}"},
            },
        ]
    return found


def chat() -> list[Record]:
    found: list[Record] = []
    for n in range(ROUNDS):
        function = {"name": "read", "arguments": json.dumps({"path": path_of(n)})}
        found += [
            {"role": "user", "content": asked(n)},
            {
                "role": "assistant",
                "content": "I look",
                "tool_calls": [{"id": f"c{n}", "function": function}],
            },
            {"role": "tool", "tool_call_id": f"c{n}", "content": shown(n)},
            {"role": "assistant", "content": f"done {n}"},
        ]
    return found


def langfuse() -> Record:
    *given, answer = chat()
    generation = {"type": "GENERATION", "input": given, "output": answer}
    return {"trace": {"id": "t"}, "observations": [{"type": "SPAN", "name": "tool"}, generation]}


def otlp(attributes: Mapping[str, Any]) -> Record:
    listed = [
        {"key": key, "value": {"stringValue": json.dumps(value)}}
        for key, value in attributes.items()
    ]
    span = {"traceId": "t", "spanId": "1", "name": "chat", "attributes": listed}
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [span]}]}]}


def genai_parts() -> list[Record]:
    found: list[Record] = []
    for n in range(ROUNDS):
        use = {
            "type": "tool_call",
            "id": f"c{n}",
            "name": "read",
            "arguments": {"path": path_of(n)},
        }
        found += [
            {"role": "user", "parts": [{"type": "text", "content": asked(n)}]},
            {"role": "assistant", "parts": [{"type": "text", "content": "I look"}, use]},
            {"role": "tool", "parts": [{"type": "text", "content": shown(n)}]},
            {"role": "assistant", "parts": [{"type": "text", "content": f"done {n}"}]},
        ]
    return found


def console_span() -> Record:
    attributes = {"gen_ai.input.messages": json.dumps(chat())}
    return {
        "name": "chat",
        "context": {"trace_id": "0x1", "span_id": "0x2"},
        "attributes": attributes,
    }


def nested_span() -> Record:
    def nested(message: Record) -> Record:
        calls = [{"tool_call": made} for made in message.get("tool_calls", ())]
        return {"message": {**message, "tool_calls": calls} if calls else message}

    llm = {"input_messages": [nested(one) for one in chat()]}
    return {"trace_id": "t", "span_id": "1", "attributes": {"llm": llm}}


FORMS: Mapping[str, Callable[[], Any]] = {
    "goose": goose,
    "amp": amp,
    "ai-sdk": ai_sdk_model,
    "ai-sdk, of the page": ai_sdk_page,
    "opencode": opencode,
    "gemini": gemini,
    "gemini, a checkpoint": lambda: {"history": gemini(), "authType": "key"},
    "gemini-cli": gemini_cli,
    "bedrock": bedrock,
    "responses": responses,
    "sharegpt": sharegpt,
    "openai, of Hermes": hermes,
    "langchain": langchain,
    "langsmith": langsmith,
    "openhands": openhands,
    "langfuse": langfuse,
    "otel, of OTLP": lambda: otlp({"gen_ai.input.messages": genai_parts()}),
    "otel, of the console": console_span,
    "otel, nested": nested_span,
    "openai, a list of records": lambda: [{"task_id": 3, "reward": 1.0, "traj": chat()}],
}


def written(path: Path, document: Any, *, is_lines: bool = False) -> Path:
    lines = document if is_lines else [document]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FORMS)
def test_every_call_and_result_is_read(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "s.json", FORMS[name]())
    [(found, session)] = read_sessions(path)
    assert found == name.partition(",")[0]
    assert count_pairs(session.messages) == (ROUNDS, ROUNDS, 0, 0)
    results = [one["content"] for one in session.messages if one["role"] == "tool"]
    assert results == [shown(n) for n in range(ROUNDS)]
    calls = [made for one in session.messages for made in one.get("tool_calls", ())]
    assert [json.loads(made["arguments"])["path"] for made in calls] == [
        path_of(n) for n in range(ROUNDS)
    ]
    texts = [one["content"] for one in session.messages]
    assert [one for one in texts if one.startswith("please")] == [asked(n) for n in range(ROUNDS)]
    assert [one for one in texts if one.startswith("done")] == [f"done {n}" for n in range(ROUNDS)]


@pytest.mark.parametrize("name", ["goose", "ai-sdk", "gemini", "langchain", "openhands"])
def test_a_message_a_line_is_one_session(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "s.jsonl", FORMS[name](), is_lines=True)
    [(found, session)] = read_sessions(path)
    assert found == name
    assert count_pairs(session.messages) == (ROUNDS, ROUNDS, 0, 0)


def test_a_header_of_goose_is_no_message(tmp_path: Path) -> None:
    header = {"working_dir": "/w", "description": "d", "message_count": 4}
    path = written(tmp_path / "s.jsonl", [header, *goose()], is_lines=True)
    [(found, session)] = read_sessions(path)
    assert (found, len(session.messages)) == ("goose", 4 * ROUNDS)


def with_unknown(name: str) -> Any:
    """Return a document of a form with a block that no reader knows in its first message."""
    document = FORMS[name]()
    messages = (
        document
        if isinstance(document, list)
        else document.get("messages") or document.get("input")
    )
    first = messages[0]
    key = "parts" if "parts" in first else "content"
    content = first[key] if isinstance(first.get(key), list) else [text(asked(0))]
    first[key] = [*content, UNKNOWN]
    return document


@pytest.mark.parametrize(
    "name", ["goose", "amp", "ai-sdk", "ai-sdk, of the page", "opencode", "bedrock", "responses"]
)
def test_a_block_that_is_not_known_ends_the_load(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "s.json", with_unknown(name))
    with pytest.raises(DatasetError, match=r"s\.json, line 1: .*(hologram|is not known)"):
        list(read_sessions(path))
    written(tmp_path / "t.json", FORMS[name]())
    found = list(sessions(str(tmp_path), min_tokens=20, cuts=["last"], skip_damaged=True))
    assert {row["session_id"].partition("#")[0] for row in found} == {"t.json"}


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_block_that_is_not_known_among_messages_of_a_provider_ends_the_load(
    tmp_path: Path, role: str
) -> None:
    messages = [*chat(), {"role": role, "content": [UNKNOWN]}]
    path = written(tmp_path / "s.json", {"messages": messages})
    with pytest.raises(DatasetError, match=r"line 1: a block with the type 'hologram'"):
        list(read_sessions(path))


def test_what_is_left_out_is_counted_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "s.json", responses())
    [row] = sessions(str(path), min_tokens=20, cuts=["last"])
    assert row["left_out"] == {"blocks of reasoning": ROUNDS}
    assert f"{ROUNDS} blocks of reasoning" in capsys.readouterr().err


def test_a_log_that_inspect_packed_is_read(tmp_path: Path) -> None:
    sample = {"id": 1, "epoch": 1, "messages": chat()}
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("header.json", json.dumps({"version": 2, "eval": {}}))
        log.writestr("samples/1_epoch_1.json", json.dumps(sample))
        log.writestr("samples/2_epoch_1.json", json.dumps({**sample, "id": 2}))
    found = list(read_sessions(tmp_path / "log.eval"))
    assert [(name, session.id) for name, session in found] == [
        ("inspect", "1-1"),
        ("inspect", "2-1"),
    ]
    assert count_pairs(found[1][1].messages) == (ROUNDS, ROUNDS, 0, 0)


ANSWERS: Mapping[str, Any] = {
    "chat": {"choices": [{"message": {"content": "the end"}}]},
    "a text completion": {"choices": [{"text": "the end"}]},
    "the Messages API": {"content": [text("the end")], "role": "assistant"},
    "Responses": {
        "output": [{"type": "message", "role": "assistant", "content": [text("the end")]}]
    },
    "a text": "the end",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_each_form_of_answer_in_a_log_of_litellm_is_read(tmp_path: Path, name: str) -> None:
    given = chat()[:-1]
    failed = {
        "call_type": "completion",
        "status": "failure",
        "messages": given[:5],
        "error_str": "429",
    }
    answered = {"call_type": "completion", "messages": given, "response": ANSWERS[name]}
    path = written(tmp_path / "s.jsonl", [failed, answered], is_lines=True)
    [(found, session)] = read_sessions(path)
    assert found == "litellm"
    assert session.messages[-1] == {"role": "assistant", "content": "the end"}
    assert session.notes == {"requests that failed": 1}


def test_lines_of_claude_code_that_all_hang_from_the_first_are_no_branches(tmp_path: Path) -> None:
    lines: list[Record] = []

    def add(kind: str, content: Any, **more: Any) -> None:
        number = len(lines)
        message = {"role": kind, "content": content, **more}
        parent = "0" if number else None
        lines.append({"type": kind, "uuid": str(number), "parentUuid": parent, "message": message})

    for n in range(ROUNDS):
        use = {"type": "tool_use", "id": f"c{n}", "name": "Read", "input": {"path": path_of(n)}}
        add("user", asked(n))
        add("assistant", [use], id=f"m{n}")
        add("user", [{"type": "tool_result", "tool_use_id": f"c{n}", "content": shown(n)}])
    add("assistant", [text("done")], id="last")
    path = written(tmp_path / "s.jsonl", lines, is_lines=True)
    [(_, session)] = read_sessions(path)
    assert count_pairs(session.messages) == (ROUNDS, ROUNDS, 0, 0)
    assert session.notes == {}


def test_a_message_of_an_unknown_type_among_lines_of_claude_code_ends_the_load(
    tmp_path: Path,
) -> None:
    first = {"type": "user", "uuid": "1", "message": {"role": "user", "content": "hi"}}
    second = {"type": "tool_result", "uuid": "2", "message": {"role": "tool", "content": "8443"}}
    path = written(tmp_path / "s.jsonl", [first, second], is_lines=True)
    with pytest.raises(
        DatasetError, match=r"s\.jsonl, line 2: a message of the type 'tool_result'"
    ):
        list(read_sessions(path))
