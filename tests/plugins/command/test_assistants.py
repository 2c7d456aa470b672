"""The presets, against programs that answer in the documented formats."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench_command import (
    LLMCLI,
    ClaudeCLI,
    CodexCLI,
    CommandExitError,
    CommandOutputError,
    GeminiCLI,
)

Fake = Callable[[str, str], Path]
EXAMPLE = {"context": "Rome is in Italy.", "question": "Where is Rome?"}
CLAUDE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "duration_ms": 1998,
    "num_turns": 1,
    "result": "Italy",
    "stop_reason": "end_turn",
    "session_id": "0e639165",
    "total_cost_usd": 0.0079825,
    "usage": {
        "input_tokens": 3,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 15635,
        "output_tokens": 6,
    },
    "modelUsage": {"claude-x": {}},
}
CODEX = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "error", "message": "Reconnecting... 1/5"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "thinking"}},
    {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "Italy"}},
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 24763, "cached_input_tokens": 24448, "output_tokens": 122},
    },
]
TOKENS = {
    "prompt": 24939,
    "candidates": 20,
    "total": 25113,
    "cached": 21263,
    "thoughts": 154,
    "tool": 0,
}
GEMINI = {"response": "Italy", "stats": {"models": {"gemini-x": {"api": {}, "tokens": TOKENS}}}}


def printing(*found: Any) -> str:
    return "".join(f"print({json.dumps(one)!r})\n" for one in found)


def asked_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_claude_is_asked_as_documented_and_its_usage_and_cost_are_read(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-canary")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    Path("CLAUDE.md").write_text("Instructions of a project that is not measured.")
    path = fake("claude", printing(CLAUDE))
    system = ClaudeCLI(
        "sonnet", system_prompt="Be short.", max_turns=2, arguments=["--effort", "low"]
    )
    assert system.process(EXAMPLE) == {
        "response": "Italy",
        "usage": {
            "input_tokens": 15738,
            "output_tokens": 6,
            "cache_read_tokens": 15635,
            "cache_write_tokens": 100,
            "cost": 0.0079825,
        },
        "finish_reason": "end_turn",
        "num_turns": 1,
        "model": "claude-x",
    }
    asked = asked_of(path)
    assert asked["arguments"] == [
        "-p", "--output-format", "json", "--no-session-persistence", "--model", "sonnet", "--system-prompt", "Be short.",
        "--max-turns", "2", "--tools", "", "--effort", "low",
    ]  # fmt: skip
    assert asked["given"] == "Rome is in Italy.\n\nWhere is Rome?"
    assert asked["folder"] == []
    assert asked["env"]["ANTHROPIC_API_KEY"] == "sk-ant-canary"
    assert "OPENAI_API_KEY" not in asked["env"]
    assert "sk-ant-canary" not in str(system.fingerprint())


def test_a_line_separator_within_a_message_of_codex_parts_no_event(fake: Fake) -> None:
    text = "It\u2028al\x85y"
    events = [
        {"type": "item.completed", "item": {"type": "agent_message", "text": one}}
        for one in ("I look.", text)
    ]
    written = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events).encode()
    fake("codex", f"import sys\nsys.stdout.buffer.write({written!r})\n")
    assert CodexCLI("gpt-x").process(EXAMPLE)["response"] == text


def test_codex_is_asked_as_documented_and_its_last_message_is_the_response(fake: Fake) -> None:
    path = fake("codex", printing(*CODEX))
    assert CodexCLI("gpt-x").process(EXAMPLE) == {
        "response": "Italy",
        "usage": {"input_tokens": 24763, "output_tokens": 122, "cache_read_tokens": 24448},
        "model": "gpt-x",
    }
    assert asked_of(path)["arguments"] == [
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--ephemeral",
        "--model",
        "gpt-x",
        "-",
    ]


def test_gemini_is_asked_as_documented_and_its_counts_are_read(fake: Fake) -> None:
    path = fake("gemini", printing(GEMINI))
    assert GeminiCLI("gemini-x").process(EXAMPLE) == {
        "response": "Italy",
        "usage": {
            "input_tokens": 24939,
            "output_tokens": 174,
            "cache_read_tokens": 21263,
            "reasoning_tokens": 154,
        },
        "model": "gemini-x",
    }
    assert asked_of(path)["arguments"] == ["--output-format", "json", "-m", "gemini-x"]


def test_llm_is_asked_as_documented(fake: Fake) -> None:
    path = fake("llm", "print('Italy')")
    assert LLMCLI("gpt-x", system_prompt="Be short.").process(EXAMPLE) == {"response": "Italy"}
    assert asked_of(path)["arguments"] == [
        "prompt",
        "--no-stream",
        "-m",
        "gpt-x",
        "-s",
        "Be short.",
    ]


@pytest.mark.parametrize(
    ("preset", "name", "code", "error", "said"),
    [
        (
            ClaudeCLI, "claude",
            printing({**CLAUDE, "is_error": True, "result": "Invalid API key · Please run /login"}) + "sys.exit(1)",
            CommandExitError, "claude ended with status 1: Invalid API key · Please run /login",
        ),
        (
            ClaudeCLI, "claude", printing({**CLAUDE, "subtype": "error_max_turns", "result": None}),
            CommandOutputError, "error_max_turns",
        ),
        (ClaudeCLI, "claude", printing({"type": "result"}), CommandOutputError, "an object without a 'result'"),
        (ClaudeCLI, "claude", "print('Welcome!')", CommandOutputError, "no JSON: 'Welcome!'"),
        (
            CodexCLI, "codex", printing(CODEX[0], {"type": "turn.failed", "error": {"message": "no credit"}}),
            CommandOutputError, "no credit",
        ),
        (CodexCLI, "codex", printing(*CODEX[:2]), CommandOutputError, "answered with an error: Reconnecting"),
        (CodexCLI, "codex", printing(CODEX[0]), CommandOutputError, "without a message of the agent"),
        (
            GeminiCLI, "gemini", printing({"error": {"type": "AuthError", "message": "sign in"}}) + "sys.exit(41)",
            CommandExitError, "status 41: sign in",
        ),
        (GeminiCLI, "gemini", printing({}), CommandOutputError, "an object without a 'response'"),
        (LLMCLI, "llm", "sys.exit('Error: Unknown model: gpt-x')", CommandExitError, "status 1: Error: Unknown model: gpt-x"),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_what_an_assistant_says_of_its_failure_is_the_rows_failure(
    fake: Fake, preset: Any, name: str, code: str, error: type[Exception], said: str
) -> None:
    fake(name, code)
    with pytest.raises(error, match=said):
        preset("gpt-x").process(EXAMPLE)


def test_a_proxy_in_front_of_claude_is_part_of_its_identity_and_its_password_is_not(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("claude", printing(CLAUDE))
    plain = ClaudeCLI("sonnet").fingerprint()
    given = ClaudeCLI(
        "sonnet", env=["ANTHROPIC_BASE_URL=http://user:secret-word@localhost:8787"]
    ).fingerprint()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://localhost:8787")
    inherited = ClaudeCLI("sonnet").fingerprint()
    assert given == inherited == {**plain, "endpoint": "http://localhost:8787"}
    with pytest.warns(UserWarning, match="has no version"):
        assert not hasattr(ClaudeCLI(), "fingerprint")


def test_the_path_of_a_program_begins_where_the_user_stands(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = fake("claude", printing(CLAUDE))
    monkeypatch.chdir(asked.parent.parent)
    assert ClaudeCLI("sonnet", program="bin/claude").process(EXAMPLE)["response"] == "Italy"
    assert asked_of(asked)["folder"] == [], "it runs in an empty folder all the same"


def test_a_preset_runs_on_the_command_line(fake: Fake, acme_rows: Callable[..., None]) -> None:
    path = fake("claude", printing(CLAUDE))
    acme_rows({"id": "1", **EXAMPLE})
    spec = "claude-cli:model=sonnet,arguments=--effort low,env=ANTHROPIC_BASE_URL=http://localhost:8787 A=1"
    arguments = [
        "run",
        "--system",
        spec,
        "--dataset",
        "acme-rows",
        "--evaluators",
        "acme-yes",
        "-o",
        "r.json",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "context_bench", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '"Italy"' in Path("r.json").read_text()
    environ = asked_of(path)["env"]
    assert (environ["ANTHROPIC_BASE_URL"], environ["A"]) == ("http://localhost:8787", "1")
