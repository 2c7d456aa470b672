"""The recorded compaction as a system: head, summary and what was kept; cuts where the agent compacted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from context_bench_sessions import Recorded, read_sessions, sessions

SHARED = Path(__file__).parents[4] / "shared" / "data" / "sessions" / "pi-session"
IS_REQUIRED = os.environ.get("CONTEXT_BENCH_SHARED") == "required"  # then what is missing fails


def entry(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": text}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A pi session: the header, four messages, a compaction that keeps the last of them, two messages."""
    entries = [
        {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01", "cwd": "/w"},
        entry("user", "do it"),
        entry("assistant", "the port is 8443 of the server"),
        entry("user", "the path is /srv/x"),
        entry("assistant", "kept as it is"),
        {"type": "compaction", "summary": "did things", "firstKeptEntryIndex": 4},
        entry("user", "go on"),
        entry("assistant", "next"),
    ]
    file = tmp_path / "session.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in entries))
    return file


def test_a_cut_at_a_compaction_has_for_region_what_it_took_away(path: Path) -> None:
    [found] = sessions(path=str(path), cuts=["compaction"], min_tokens=1)
    assert (found["position"], found["region"]) == (5, [1, 3])
    output = Recorded().process(found)
    assert [message["content"] for message in output["messages"]] == [
        "do it",
        "did things",
        "kept as it is",
        "go on",
    ]
    assert (output["region"], output["context"], output["raw_messages"]) == (
        [1, 2],
        "did things",
        [],
    )


def test_a_row_without_a_compaction_has_no_messages(path: Path) -> None:
    found = next(iter(sessions(path=str(path), cuts=[0.4], min_tokens=1, tail=0)))
    assert "messages" not in Recorded().process(found)


def item(kind: str, role: str, text: str) -> dict[str, Any]:
    return {"type": kind, "role": role, "content": [{"type": "input_text", "text": text}]}


@pytest.mark.parametrize(
    ("replacement", "expected"),
    [
        (None, ["the port is 8443", "so far"]),
        ([("user", "the port is 8443"), ("user", "so far")], ["the port is 8443", "so far"]),
        (
            [("user", "do it"), ("user", "the port is 8443"), ("user", "so far")],
            ["the port is 8443", "so far"],
        ),
        ([("user", "do it"), ("user", "do it"), ("user", "so far")], ["do it", "so far"]),
        (
            [("developer", "new rules"), ("user", "do it"), ("user", "so far")],
            ["new rules", "so far"],
        ),
    ],
    ids=[
        "no history in the file",
        "a message kept",
        "the head is repeated",
        "said twice",
        "rules told anew",
    ],
)
@pytest.mark.parametrize("redact", [False, True], ids=["as it is", "redacted"])
def test_what_codex_kept_beside_the_summary_is_placed_with_it(
    tmp_path: Path, replacement: list[tuple[str, str]] | None, expected: list[str], redact: bool
) -> None:
    made: dict[str, Any] = {"message": "so far of me@example.org"}
    if replacement is not None:
        kept = [
            item("message", role, text.replace("so far", "so far of me@example.org"))
            for role, text in replacement
        ]
        made["replacement_history"] = [*kept, {"type": "reasoning", "summary": []}]
    said = [
        ("user", "do it"),
        ("assistant", "on it"),
        ("user", "the port is 8443"),
        ("assistant", "done"),
    ]
    lines: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": "c"}}]
    lines += [{"type": "response_item", "payload": item("message", *one)} for one in said]
    lines += [{"type": "compacted", "payload": made}]
    lines += [{"type": "response_item", "payload": item("message", "assistant", "next")}]
    file = tmp_path / "rollout.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    [row] = sessions(path=str(file), cuts=["compaction"], min_tokens=1, redact=redact)
    assert ("me@example.org" in json.dumps(row)) is not redact
    output = Recorded().process(row)
    told = [message["content"].split(" of ")[0] for message in output["messages"]]
    assert told == ["do it", *expected]
    assert output["region"] == [1, 1 + len(expected)]


def rollout(
    path: Path, *said: tuple[str, str], replacement: list[dict[str, Any]] | None = None
) -> list[list[str]]:
    """Return what Codex went on with after each compaction of a rollout; a text of ``compacted`` is one."""
    lines: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": "c"}}]
    for role, text in said:
        if role == "compacted":
            history = {} if replacement is None else {"replacement_history": replacement}
            lines.append({"type": "compacted", "payload": {"message": text, **history}})
        else:
            lines.append({"type": "response_item", "payload": item("message", role, text)})
    file = path / "rollout.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    [(_, session)] = read_sessions(file)
    return [[message["content"] for message in made.replacement] for made in session.compactions]


PREFIX = "Another language model started to solve this problem and produced a summary of its thinking process."


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([("user", "a"), ("assistant", "b"), ("user", "c"), ("compacted", "s")], [["a", "c", "s"]]),
        ([("user", "<environment_context>x"), ("user", "a"), ("compacted", "s")], [["a", "s"]]),
        ([("developer", "rules"), ("user", "a"), ("compacted", "s")], [["a", "s"]]),
        (
            [("user", "a"), ("compacted", "s"), ("user", "c"), ("compacted", "t")],
            [["a", "s"], ["a", "c", "t"]],
        ),
        ([("user", "a"), ("user", f"{PREFIX}\nold"), ("compacted", "s")], [["a", "s"]]),
        (
            [("user", "é" * 50_000), ("user", "a" * 79_996), ("compacted", "s")],
            [["é…24999 tokens truncated…é", "a" * 79_996, "s"]],
        ),
        ([("user", "b"), ("user", "a" * 80_000), ("compacted", "s")], [["a" * 80_000, "s"]]),
    ],
    ids=[
        "all of the user",
        "what Codex writes",
        "rules",
        "twice",
        "a summary that is told",
        "the last tokens",
        "no room",
    ],
)
def test_where_a_rollout_holds_no_history_codex_kept_the_user_s_messages(
    tmp_path: Path, said: list[tuple[str, str]], expected: list[list[str]]
) -> None:
    """Codex builds it anew when it reads the file: the last 20,000 tokens of the user, and the summary behind them."""
    assert rollout(tmp_path, *said, ("assistant", "next")) == expected


def test_a_history_that_a_rollout_holds_is_that_history(tmp_path: Path) -> None:
    held = [item("message", "user", "s")]
    assert rollout(
        tmp_path, ("user", "a"), ("compacted", "s"), ("assistant", "next"), replacement=held
    ) == [["s"]]


def test_a_summary_that_is_encrypted_leaves_no_older_one_in_its_place(tmp_path: Path) -> None:
    """The provider wrote it: what the agent went on with cannot be told, and is not what it had before."""
    lines = [
        {"type": "response_item", "payload": item("message", *one)}
        for one in [("user", "do it"), ("assistant", "a")]
    ]
    lines.append({"type": "compacted", "payload": {"message": "so far"}})
    lines += [
        {"type": "response_item", "payload": item("message", *one)}
        for one in [("assistant", "b"), ("user", "c")]
    ]
    kept = [item("message", "user", "c"), {"type": "compaction", "encrypted_content": "x"}]
    lines.append({"type": "compacted", "payload": {"message": "", "replacement_history": kept}})
    lines += [{"type": "response_item", "payload": item("message", "assistant", "d")}]
    file = tmp_path / "rollout.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    first, second = sessions(path=str(file), cuts=["compaction"], min_tokens=0)
    assert [message["content"] for message in Recorded().process(first)["messages"]] == [
        "do it",
        "so far",
    ]
    assert second["recorded_compaction"] is None
    assert "messages" not in Recorded().process(second)


@pytest.mark.skipif(
    not SHARED.exists() and not IS_REQUIRED, reason="the recorded sessions are not on this machine"
)
@pytest.mark.one_python
def test_the_compactions_of_a_real_session_keep_little() -> None:
    survival = pytest.importorskip("context_bench_survival")
    rows = list(sessions(path=str(SHARED), cuts=["compaction"]))
    scores = [survival.Survival(most=100_000).score(row, Recorded().process(row)) for row in rows]
    assert len(scores) == 2
    for found in scores:
        assert 0.0 < found["survival_all"] < 0.25
        assert found["pair_faults"] == 0
