"""Every shared recording is read, and counts agree with counts that the reader has no part in."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from context_bench_sessions import count_pairs, read_sessions
from context_bench_sessions.files import read_log_folder

DATA = Path(__file__).parents[4] / "shared" / "data" / "sessions"

pytestmark = pytest.mark.skipif(
    not DATA.exists(), reason="the shared recordings lie beside a developer's checkout only"
)


def manifest() -> list[dict[str, Any]]:
    return json.loads((DATA / "MANIFEST.json").read_text()) if DATA.exists() else []


REAL = [
    entry for entry in manifest() if entry["sessions"] and not entry["file"].startswith("litellm")
]


@pytest.mark.parametrize("entry", REAL, ids=[entry["file"] for entry in REAL])
def test_each_file_holds_as_many_sessions_as_its_readme_says(entry: dict[str, Any]) -> None:
    found = list(read_sessions(DATA / entry["file"]))
    assert len(found) == entry["sessions"]
    for _, session in found:
        assert {message["role"] for message in session.messages} <= {
            "system",
            "user",
            "assistant",
            "tool",
        }
        assert any(message["role"] == "assistant" for message in session.messages)


def test_logs_of_one_conversation_are_one_session() -> None:
    paths = sorted((DATA / "litellm-log").glob("*.gz"))
    [(_, session)] = read_log_folder(paths)
    assert len(session.messages) == 13
    assert count_pairs(session.messages) == (6, 5, 1, 0)
    assert session.tools


def lines(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / name, "rt") as file:
        yield from map(json.loads, file)


def walk(value: Any, kind: str) -> Iterator[dict[str, Any]]:
    """Yield every object of a type, however deep it lies."""
    if isinstance(value, dict):
        if value.get("type") == kind:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from walk(one, kind)


CLAUDE = [entry["file"] for entry in REAL if entry["file"].startswith("claude-code")]


@pytest.mark.parametrize("name", CLAUDE)
def test_calls_and_results_of_claude_code_are_all_there(name: str) -> None:
    calls = {one["id"] for line in lines(name) for one in walk(line.get("message"), "tool_use")}
    results = {
        one["tool_use_id"]
        for line in lines(name)
        for one in walk(line.get("message"), "tool_result")
    }
    answers = {line["message"]["id"] for line in lines(name) if line.get("type") == "assistant"}
    [(_, session)] = read_sessions(DATA / name)
    assert count_pairs(session.messages) == (
        len(calls),
        len(results),
        len(calls - results),
        len(results - calls),
    )
    assert sum(message["role"] == "assistant" for message in session.messages) == len(answers)


def test_the_long_pi_session_is_read_with_its_compactions() -> None:
    name = "pi-session/before-compaction.jsonl.gz"
    [(found, session)] = read_sessions(DATA / name)
    entries = list(lines(name))
    said = [
        entry["type"] == "message"
        and entry["message"].get("stopReason") not in ("aborted", "error")
        for entry in entries
    ]
    calls = sum(
        1
        for entry, is_said in zip(entries, said)
        if is_said
        for _ in walk(entry["message"], "toolCall")
    )
    assert found == "pi"
    assert len(session.messages) == sum(said)
    assert count_pairs(session.messages) == (calls, 448, 1, 0)
    places = [number for number, entry in enumerate(entries) if entry["type"] == "compaction"]
    assert [compaction.at for compaction in session.compactions] == [
        sum(said[:place]) for place in places
    ]
    kept = [sum(said[: entries[place]["firstKeptEntryIndex"]]) for place in places]
    assert [compaction.first_kept for compaction in session.compactions] == kept
    assert [compaction.summary for compaction in session.compactions] == [
        entries[place]["summary"] for place in places
    ]


TRANSCRIPTS = [entry["file"] for entry in REAL if entry["file"].startswith("pi-transcript")]


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_transcripts_begin_with_their_prompt(name: str) -> None:
    with gzip.open(DATA / name, "rt") as file:
        document = json.load(file)
    [(_, session)] = read_sessions(DATA / name)
    assert session.messages[0] == {"role": "user", "content": document["prompt"]}
    assert len(session.messages) == document["messageCount"] + 1
    assert count_pairs(session.messages)[0] == sum(
        1 for _ in walk(document["messages"], "toolCall")
    )


def test_every_customer_conversation_is_read_whole() -> None:
    name = "openai-messages/tau-bench.gpt-4o-airline.jsonl.gz"
    for record, (_, session) in zip(lines(name), read_sessions(DATA / name), strict=True):
        assert [message["role"] for message in session.messages] == [
            message["role"] for message in record["traj"]
        ]
        assert list(session.raw) == record["traj"]
        calls = [
            one["function"]["arguments"]
            for message in record["traj"]
            for one in message.get("tool_calls") or ()
        ]
        assert [
            one["arguments"]
            for message in session.messages
            for one in message.get("tool_calls", ())
        ] == calls


def test_spans_of_both_conventions_have_their_results_behind_their_calls() -> None:
    for path in sorted((DATA / "otel-spans").glob("*.gz")):
        [(found, session)] = read_sessions(path)
        calls, results, _, orphans = count_pairs(session.messages)
        assert found == "otel"
        assert (calls, orphans) == (results, 0)
        assert calls > 0


def test_trajectories_leave_demonstrations_out() -> None:
    with gzip.open(DATA / "swe-agent/pydicom-1458.traj.gz", "rt") as file:
        history = json.load(file)["history"]
    [(_, session)] = read_sessions(DATA / "swe-agent/pydicom-1458.traj.gz")
    assert len(session.messages) == sum(not entry.get("is_demo") for entry in history)
    assert session.notes == {"entries of demonstrations and other agents": 1}


def test_published_benchmark_material_is_told_to_be_no_session() -> None:
    for name in (
        "published/pi-product-defaults.fixtures.json.gz",
        "published/pi-product-defaults.trials.jsonl.gz",
    ):
        with pytest.raises(
            Exception,
            match=r"no known format of sessions: it begins with|is not known in the format",
        ):
            list(read_sessions(DATA / name))


def test_each_item_of_a_codex_rollout_is_understood() -> None:
    name = "codex-rollout/schema-coverage.jsonl.gz"
    [(found, session)] = read_sessions(DATA / name)
    kinds = [line["payload"].get("type") for line in lines(name) if line["type"] == "response_item"]
    calls = sum(kind in ("function_call", "custom_tool_call", "tool_search_call") for kind in kinds)
    assert found == "codex"
    assert count_pairs(session.messages)[0] == calls
