"""How many turns and calls an agent program says it made, from its own log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Counts = Mapping[str, int]


def read_mini_swe_agent(output: str, home: Path) -> Counts:
    """Return the counts of a trajectory file."""
    trajectory = json.loads((home / "trajectory.json").read_text(encoding="utf-8"))
    calls = 0
    for message in trajectory["messages"]:
        calls += len(message.get("tool_calls") or ())
    return {"turns": trajectory["info"]["model_stats"]["api_calls"], "calls": calls}


def read_codex(output: str, home: Path) -> Counts:
    """Return the counts of the session file: one count of tokens for each request."""
    kinds: list[str] = []
    for file in sorted(home.glob(".codex/sessions/**/*.jsonl")):
        events = _events(file.read_text(encoding="utf-8"))
        kinds += [str((event.get("payload") or {}).get("type")) for event in events]
    return {"turns": kinds.count("token_count"), "calls": kinds.count("function_call")}


def read_claude_code(output: str, home: Path) -> Counts:
    """Return the counts of messages on standard output."""
    calls = 0
    turns = 0
    for event in _events(output):
        if event.get("type") == "assistant":
            blocks = event["message"]["content"]
            calls += sum(block.get("type") == "tool_use" for block in blocks)
        if event.get("type") == "result":
            turns = event["num_turns"]
    return {"turns": turns, "calls": calls}


def read_pi(output: str, home: Path) -> Counts:
    """Return the counts of events on standard output."""
    kinds = [event.get("type") for event in _events(output)]
    return {"turns": kinds.count("turn_start"), "calls": kinds.count("tool_execution_start")}


def read_opencode(output: str, home: Path) -> Counts:
    """Return the counts of events on standard output."""
    kinds = [event.get("type") for event in _events(output)]
    return {"turns": kinds.count("step_start"), "calls": kinds.count("tool_use")}


def _events(text: str) -> Iterator[dict[str, Any]]:
    """Yield the lines that are JSON objects; programs write other lines, too."""
    for line in text.splitlines():
        if line.startswith("{"):
            yield json.loads(line)
