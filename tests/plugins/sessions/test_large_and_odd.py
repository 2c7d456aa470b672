"""Files of 200 MB, of binary and of half-letters: read one session at a time, or told with file and line; never fewer rows."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import DatasetError
from context_bench_sessions import sessions

LINES, LETTERS = 200, 1_000_000
PLACE = "RESULT"


def line(content: str) -> str:
    """Return a session of one call as a line, its result to be filled in."""
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": content},
        {"role": "assistant", "content": "done"},
    ]
    return json.dumps({"messages": messages}) + "\n"


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A packed file of 200 MB: one word of a million letters in each of 200 results. Packed, it is small."""
    before, after = line(PLACE).split(PLACE)
    whole = (before + "x" * LETTERS + after).encode()
    path = tmp_path / "large.jsonl.gz"
    member = gzip.compress(whole, compresslevel=1)
    path.write_bytes(member * LINES)  # members of one archive, one after the other
    return path


@pytest.mark.one_python
def test_200_mb_are_read_one_session_at_a_time(large: Path) -> None:
    tracemalloc.start()
    try:
        rows = sum(
            len(row["messages"]) == 3
            for row in sessions(str(large), cuts=["last"], tail=0.0, min_tokens=1)
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows == LINES
    assert peak < 40 * LETTERS  # a fifth of the file, however long it is


def test_a_file_that_is_damaged_at_its_end_says_where_after_its_rows(large: Path) -> None:
    with large.open("ab") as file:
        file.write(gzip.compress(b'{"messages": [{"role"\n'))
    found = sessions(str(large), cuts=["last"], tail=0.0, min_tokens=1)
    for _ in range(LINES):
        next(found)
    with pytest.raises(DatasetError, match=rf"large\.jsonl\.gz, line {LINES + 1}: no valid JSON"):
        next(found)


@pytest.mark.parametrize(
    "content",
    [
        "\x00\x01\x02PNG\r\n\x1a\n \u0000 mirror 8443",
        "\ud83d mirror \udcff 8443",
        "\u202e mirror \x1b[31m 8443",
        "𝔘 8443",
    ],
    ids=["binary", "lone surrogates", "control characters", "wide letters"],
)
def test_odd_letters_in_a_result_stay_as_they_are(tmp_path: Path, content: str) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text(line(content), encoding="utf-8")
    [row] = sessions(str(path), cuts=["last"], tail=0.0, min_tokens=1)
    assert row["messages"][2]["content"] == content
    assert row["raw_messages"][2]["content"] == content
    assert row["context"].endswith(content)


def test_bytes_that_are_no_letters_are_told_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(
        line("fine").encode() + line("8443 RESULT").encode().replace(b"RESULT", b"\xff\xfe")
    )
    with pytest.raises(DatasetError, match=r"odd\.jsonl, line 2: no valid JSON"):
        list(sessions(str(path), cuts=["last"], tail=0.0, min_tokens=1))


def test_formats_may_be_mixed_in_a_folder_and_not_in_a_file(tmp_path: Path) -> None:
    blocks = [
        {"role": "user", "content": "why?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "read", "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": "port 8443 is open today"}
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
    ]
    (tmp_path / "a.jsonl").write_text(line("port 8443 is open today"), encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(json.dumps({"messages": blocks}) + "\n", encoding="utf-8")
    rows = list(sessions(str(tmp_path), cuts=["last"], tail=0.0, min_tokens=1))
    assert [row["dialect"] for row in rows] == ["openai", "anthropic"]
    pi = {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "hi"}}
    (tmp_path / "c.jsonl").write_text(
        line("port 8443 is open today") + json.dumps(pi) + "\n", encoding="utf-8"
    )
    with pytest.raises(DatasetError, match=r"c\.jsonl, line 2"):
        list(sessions(str(tmp_path), cuts=["last"], tail=0.0, min_tokens=1))
