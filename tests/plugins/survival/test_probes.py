"""Literals and probes: what is asked for, and what would be unfair to ask."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_survival import Probe, literals, probes
from context_bench_survival.literals import holds, unescaped


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("the total was 1,234.50 after 42 rows", [("number", "1,234.50"), ("number", "42")]),
        ("one digit 7 is no literal", []),
        ("in all $1,818 for $25 of $HOME", [("number", "1,818"), ("number", "25")]),
        ("</summary> then <tail/>", []),
        ("released v2.14.3 on 2025-03-01", [("version", "v2.14.3"), ("date", "2025-03-01")]),
        (
            "open /etc/nginx/nginx.conf and src/app/main.py:93",
            [("path", "/etc/nginx/nginx.conf"), ("path", "src/app/main.py")],
        ),
        ("see https://example.org/a?b=1, then go", [("url", "https://example.org/a?b=1")]),
        ("commit 7890fb8 of 0x1f4a", [("hash", "7890fb8"), ("hash", "0x1f4a")]),
        (
            "id 123e4567-e89b-12d3-a456-426614174000",
            [("hash", "123e4567-e89b-12d3-a456-426614174000")],
        ),
        ("run with --max-depth now", [("flag", "--max-depth")]),
        (
            "order W1234567 of ticket ABC-481",
            [("identifier", "W1234567"), ("identifier", "ABC-481")],
        ),
        (
            "the model gemini-2.5-pro, then gpt-5.1.",
            [("identifier", "gemini-2.5"), ("identifier", "gpt-5.1")],
        ),
        (
            "HTTP-1.1 of DB-4711. and --python-3.11",
            [("identifier", "HTTP-1.1"), ("identifier", "DB-4711"), ("flag", "--python-3.11")],
        ),
        ("the class py-1.5x of it", []),
        ("Error: code 504 from upstream", [("error", "504")]),
        ("a word, another word", []),
        ("2>/dev/null", []),
    ],
)
def test_literals_have_their_class(line: str, expected: list[tuple[str, str]]) -> None:
    assert [(one.kind, one.text) for one in literals(line)] == expected


@given(st.text(max_size=300))
def test_every_literal_stands_where_it_says(line: str) -> None:
    for one in literals(line):
        assert line[one.start : one.end] == one.text
        assert holds(line, one.text) or one.text not in ("",)


@pytest.mark.parametrize(
    ("text", "answer", "is_there"),
    [
        ("port 8080 is open", "8080", True),
        ("port 18080 is open", "8080", False),
        ("took 42.5 s", "42", False),
        ("1,042 rows", "042", False),
        ("ends with 42.", "42", True),
        ("42.5 and 42", "42", True),
        ("ba.py", "a.py", False),
        ("./a.py", "a.py", True),
        ("", "x", False),
    ],
)
def test_a_literal_is_held_on_its_boundaries_only(text: str, answer: str, is_there: bool) -> None:
    assert holds(text, answer) is is_there


@given(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])))
def test_the_escapes_of_json_are_resolved(text: str) -> None:
    assert unescaped(json.dumps(text)[1:-1]) == text


def session(
    *results: str, head: str = "fix the build", tail: str = "and now?"
) -> tuple[list[dict[str, Any]], tuple[int, int]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": head}]
    for number, text in enumerate(results):
        call = {
            "id": f"c{number}",
            "name": "read",
            "arguments": json.dumps({"path": f"file{chr(97 + number)}"}),
        }
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    end = len(messages)
    return [*messages, {"role": "user", "content": tail}], (1, end)


def asked(*results: str, future: tuple[str, ...] = (), **more: str) -> list[Probe]:
    messages, region = session(*results, **more)
    return probes(messages, region, future)


def test_a_probe_says_where_its_answer_stood() -> None:
    [probe] = asked("the build server listens on port 8443 since monday")
    assert probe.answer == "8443"
    assert (
        probe.question
        == "Result of read(path=filea): the build server listens on port ___ since monday"
    )
    assert (probe.kind, probe.role, probe.message, probe.needed) == ("number", "tool", 2, False)


def test_a_result_is_of_the_call_in_front_of_it_where_ids_come_again() -> None:
    messages, region = session(
        "the build server listens on port 8443 since monday",
        "the mirror answers in 917 seconds today",
    )
    for message in messages:
        for call in message.get("tool_calls", ()):
            call["id"] = "call_0"
        if message["role"] == "tool":
            message["tool_call_id"] = "call_0"
    assert [probe.question.partition(":")[0] for probe in probes(messages, region)] == [
        "Result of read(path=filea)",
        "Result of read(path=fileb)",
    ]


def test_what_the_agent_used_afterwards_is_needed() -> None:
    text = "the build server listens on port 8443 since monday"
    assert asked(text, future=("curl localhost:8443/health",))[0].needed
    assert not asked(text, future=("curl localhost:18443/health",))[0].needed


@pytest.mark.parametrize(
    ("results", "more"),
    [
        (
            ["the build server listens on port 8443 since monday"],
            {"head": "why is port 8443 open?"},
        ),
        (["the build server listens on port 8443 since monday"], {"tail": "so 8443 it is"}),
        (["the limit of open files is 1024 now", "the limit of open files is 4096 now"], {}),
        (["port 8443"], {}),
        (["file report-report.md was written to the report folder"], {}),
        (["const port = 8443;"], {}),
    ],
    ids=[
        "in the head",
        "in the tail",
        "superseded",
        "too few words",
        "given away",
        "a number in code",
    ],
)
def test_unfair_questions_are_not_asked(results: list[str], more: dict[str, str]) -> None:
    if len(results) == 2:  # the same call, so that the masked lines are one
        messages, region = session(*results)
        messages[3]["tool_calls"][0]["arguments"] = messages[1]["tool_calls"][0]["arguments"]
        assert probes(messages, region) == []
    else:
        assert asked(*results, **more) == []


def test_the_rows_of_a_table_are_one_fact() -> None:
    table = "\n".join(
        f"worker {number} finished its part of the job in {1000 + number} seconds"
        for number in range(10, 60)
    )
    assert asked(table) == []


def test_paths_and_hashes_are_asked_of_code_too() -> None:
    assert [probe.answer for probe in asked('import x from "../lib/cache-store.ts";')] == [
        "../lib/cache-store.ts"
    ]


def test_results_in_json_are_asked_by_their_keys() -> None:
    text = json.dumps({"booking": {"price": 4711, "seat": "14C"}, "legs": [{"number": "HAT221"}]})
    found = {probe.answer: probe.question for probe in asked(text)}
    assert found["4711"] == "Result of read(path=filea): booking.price: ___"


def test_the_same_seed_asks_the_same() -> None:
    words = [
        "alpha",
        "bravo",
        "charlie",
        "delta",
        "echo",
        "foxtrot",
        "golf",
        "hotel",
        "india",
        "juliet",
        "kilo",
        "lima",
    ]
    text = "\n".join(
        f"the {word} of the {words[n - 1]} costs {1000 + 37 * n} in all shops"
        for n, word in enumerate(words)
    )
    messages, region = session(text)
    every = probes(messages, region, most=None)
    assert len(every) == 12
    some = probes(messages, region, most=5, seed=1)
    assert some == probes(messages, region, most=5, seed=1)
    assert len(some) == 5
    needed = every[7].answer
    assert needed in {probe.answer for probe in probes(messages, region, [needed], most=1)}


def test_sizes_and_times_of_a_listing_are_not_asked_for() -> None:
    listing = "-rw-rw-r-- 1 worker staff 1029 Jun  6 00:54 plan-of-the-week.json and the port is kept in it"
    prose = "the plan of the week has 1029 lines since 00:54 on that day"
    for text, expected in ((listing, set()), (prose, {"1029", "00:54"})):
        messages = [
            {"role": "user", "content": "why?"},
            {"role": "user", "content": text},
            {"role": "user", "content": "go on"},
        ]
        found = {probe.answer for probe in probes(messages, (1, 2))}
        assert found & {"1029", "00:54"} == expected
