"""A reader of compressed sessions, played by a server that answers from what it is shown and from nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import ConfigurationError
from context_bench_session_reader import (
    NextAction,
    ProbeRecall,
    WrittenProbe,
    agreement,
    parse_action,
    same_answer,
)
from context_bench_session_reader.actions import program_of
from context_bench_session_reader.written import Bank, sound

CALL = {"id": "c", "name": "read", "arguments": "{}"}
FACTS = (
    "the server listens on 8443 since monday",
    "the old mirror is kept in /srv/qx/layers today",
)
EXAMPLE: dict[str, Any] = {
    "id": "s",
    "messages": [
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", "content": "\n".join(FACTS)},
        {"role": "user", "content": "go on"},
    ],
    "region": [1, 3],
    "future": ["curl :8443"],
    "next_action": {"name": "bash", "arguments": '{"command": "curl :8443"}'},
}


def left(*facts: str) -> dict[str, Any]:
    messages = [dict(message) for message in EXAMPLE["messages"]]
    messages[2]["content"] = "\n".join(facts)
    return {"messages": messages, "region": [1, 3]}


def reads(request: dict[str, Any]) -> str:
    """Answer each question with the value that stands in its line in the session that is shown."""
    prompt = request["messages"][-1]["content"]
    session, _, questions = prompt.partition("<questions>")
    answers = []
    for number, line in re.findall(r"^(\d+)\. .*?: (.*)$", questions, re.MULTILINE):
        pattern = re.escape(line).replace("___", r"(\S+)")
        found = re.search(pattern, session)
        answers.append({"number": int(number), "answer": f'"{found[1]}"' if found else ""})
    return json.dumps({"answers": answers})


def test_recall_is_what_the_reader_finds_between_ceiling_and_floor(judge: Any) -> None:
    judge.says(reads)
    reader = ProbeRecall(base_url=judge.url, model="m")
    scores = reader.score(EXAMPLE, left(FACTS[0]))
    assert dict(scores) == {
        "recall": 0.5,
        "recall_needed": 1.0,
        "recall_ceiling": 1.0,
        "recall_floor": 0.0,
        "recall_corrected": 0.5,
    }
    assert [one["right"] for one in scores.details["probes"]] == [True, False]
    assert len(judge.requests) == 3
    assert reader.score(EXAMPLE, left(FACTS[1]))["recall_needed"] == 0.0
    assert len(judge.requests) == 4  # the ceiling and the floor are asked once for all systems
    reader.close()


def test_a_compressed_session_is_read_without_its_head_or_gold(judge: Any) -> None:
    judge.says(reads)
    reader = ProbeRecall(base_url=judge.url, model="m")
    reader.score(EXAMPLE, left())
    reader.close()
    assert not any("curl :8443" in prompt for prompt in judge.prompts)
    ceiling, floor, compressed = (prompt.partition("<questions>")[0] for prompt in judge.prompts)
    assert "8443" in ceiling
    assert "8443" not in floor
    assert "8443" not in compressed
    assert "calls read with" in compressed


def test_a_reader_whose_reply_cannot_be_read_leaves_the_row_unscored(judge: Any) -> None:
    judge.says("I would rather not.")
    reader = ProbeRecall(base_url=judge.url, model="m", repairs=0)
    scores = reader.score(EXAMPLE, left(FACTS[0]))
    reader.close()
    assert dict(scores) == {}
    assert "answers" in scores.details["unscored"]
    assert dict(ProbeRecall(base_url=judge.url).score({"question": "q"}, {"response": "r"})) == {}


@pytest.mark.parametrize(
    ("said", "answer", "right"),
    [
        ("8443", "8443", True),
        (" “8443” ", "8443", True),
        ("`a  b`", "a b", True),
        ("84430", "8443", False),
        ("", "x", False),
    ],
)
def test_an_answer_is_the_literal(said: str, answer: str, right: bool) -> None:
    assert same_answer(said, answer) is right


WRITTEN = [
    {"kind": "recall", "question": "Which port?", "answer": "8443", "quote": "listens on 8443"},
    {"kind": "recall", "question": "Is it 8443?", "answer": "8443", "quote": "listens on 8443"},
    {
        "kind": "artifact",
        "question": "Where is it?",
        "answer": "/srv/other",
        "quote": "kept in /srv/other",
    },
    {
        "kind": "decision",
        "question": "What of monday?",
        "answer": "since monday",
        "quote": "since monday",
    },
    {
        "kind": "poem",
        "question": "Which mirror?",
        "answer": "old mirror",
        "quote": "the old mirror",
    },
]


def test_written_questions_are_verified_and_kept(judge: Any, tmp_path: Path) -> None:
    def says(request: dict[str, Any]) -> str:
        prompt = request["messages"][-1]["content"]
        if "Write 8 questions" in prompt:
            assert request["model"] == "writer"
            assert "go on" not in prompt  # it sees the region and nothing else
            return json.dumps({"probes": WRITTEN})
        session, _, questions = prompt.partition("<questions>")
        if "Which port?" not in questions:
            return reads(request)
        answers = [
            {"number": 1, "answer": "8443" if "8443" in session else ""},
            {"number": 2, "answer": "since monday"},
        ]
        return json.dumps({"answers": answers})

    judge.says(says)
    bank = tmp_path / "bank.jsonl"
    reader = ProbeRecall(base_url=judge.url, model="m", probe_model="writer", bank=bank)
    scores = reader.score(EXAMPLE, left(FACTS[0]))
    reader.close()
    [line] = [json.loads(line) for line in bank.read_text(encoding="utf-8").splitlines()]
    assert [probe["question"] for probe in line["probes"]] == [
        "Which port?"
    ]  # the floor knew of monday, too
    assert scores["recall_written"] == 1.0
    asked = len(judge.requests)
    again = ProbeRecall(base_url=judge.url, model="m", probe_model="writer", bank=bank)
    assert again.score(EXAMPLE, left(FACTS[1]))["recall_written"] == 0.0
    again.close()
    assert not any("Write 8 questions" in prompt for prompt in judge.prompts[asked:])
    assert reader.fingerprint()["bank"] != again.fingerprint()["bank"]


def test_what_a_written_question_must_be() -> None:
    region, outside = "it listens on 8443 today", "why?"
    good = WrittenProbe("recall", "Which port?", "8443", "listens on 8443")
    assert sound(good, region, outside)
    assert not sound(good, region, "port 8443")
    assert not sound(WrittenProbe("recall", "Which port?", "8443", "runs on 8443"), region, outside)
    assert not sound(
        WrittenProbe("recall", "Is 8443 it?", "8443", "listens on 8443"), region, outside
    )
    assert not sound(WrittenProbe("recall", "Which port?", " ", "listens on 8443"), region, outside)


def test_a_damaged_bank_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bank.jsonl"
    path.write_text("{}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"bank\.jsonl cannot be read"):
        Bank(path)


def action(command: str = "", tool: str = "bash", text: str = "", **arguments: Any) -> Any:
    return parse_action(
        {
            "tool": tool,
            "arguments": {**({"command": command} if command else {}), **arguments},
            "text": text,
        }
    )


@pytest.mark.parametrize(
    ("one", "other", "levels"),
    [
        (action("pytest -q"), action("pytest -q"), (1, 1, 1, 1)),
        (action("pytest -q"), action("cd /srv && pytest tests"), (1, 1, 0, 1)),
        (action("pytest -q"), action("git status"), (1, 0, 0, 1)),
        (
            action(tool="read", path="a/b.py"),
            action(tool="Read", file_path="./a/b.py"),
            (0, 0, 0, 1),
        ),
        (
            action(tool="read", path="a.py"),
            action(tool="read", path="./a.py", limit=3),
            (1, 1, 0, 1),
        ),
        (action(tool="read", path="a.py"), action("git status"), (0, 0, 0, 0)),
        (action(tool="", text="done"), action(tool="", text="all done"), (1, 1, 0, 1)),
        (action(tool="", text="done"), action("ls"), (0, 0, 0, 0)),
    ],
)
def test_two_actions_agree_by_level(one: Any, other: Any, levels: tuple[int, ...]) -> None:
    assert tuple(agreement(one, other).values()) == levels
    assert agreement(one, other) == agreement(other, one)


@pytest.mark.parametrize("unit", ["-", "a@", "~", "word", "a/"])
def test_an_action_of_one_huge_name_is_read_in_one_pass(unit: str) -> None:
    """Where files were looked for from each letter again, these took a minute."""
    huge = action(unit * (100_000 // len(unit)))
    assert agreement(huge, action("cat a.py"))["exact"] == 0.0


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("FOO=1 sudo /usr/bin/make all", "make"),
        ("cd x", "cd"),
        ("echo 'open", "echo"),
        ("", ""),
        ("a; b", "a"),
    ],
)
def test_the_program_of_a_command(command: str, program: str) -> None:
    assert program_of(command) == program


@pytest.mark.parametrize(
    ("command", "program"),
    [
        (["bash", "-lc", "cd /srv && pytest -q"], "pytest"),
        (["/bin/sh", "-c", "git status"], "git"),
        (["pwsh", "-NoProfile", "-Command", "git status"], "git"),
        ("bash -lc 'cd /srv && rg --files'", "rg"),
        ("bash -c 'open", "bash"),
        (["bash", "run.sh"], "bash"),
        (["git", "commit", "-m", "it's"], "git"),
    ],
)
def test_the_shell_that_runs_a_command_is_not_its_program(command: Any, program: str) -> None:
    """Codex hands every command to a shell: all of them had one target."""
    assert (
        parse_action({"name": "shell", "arguments": json.dumps({"command": command})}).target
        == program
    )


def test_the_next_action_is_held_against_the_same_reader_on_everything(judge: Any) -> None:
    def acts(request: dict[str, Any]) -> str:
        knows = "8443" in request["messages"][-1]["content"]
        command = f"curl :8443 --retry {request['seed']}" if knows else "grep -r port ."
        return json.dumps(
            {"tool": "bash", "arguments": json.dumps({"command": command}), "text": ""}
        )

    judge.says(acts)
    reader = NextAction(samples=2, base_url=judge.url, model="m")
    kept = reader.score(EXAMPLE, left(FACTS[0]))
    lost = reader.score(EXAMPLE, left())
    reader.close()
    assert dict(kept) == {
        "next_action_tool": 1.0,
        "next_action_target": 1.0,
        "next_action_exact": 1.0,
        "next_action_loose": 1.0,
        "next_action_aa": 1.0,
        "next_action_recorded": 1.0,
    }
    assert (lost["next_action_tool"], lost["next_action_target"], lost["next_action_recorded"]) == (
        1.0,
        0.0,
        0.0,
    )
    assert lost["next_action_aa"] == 1.0
    assert len(judge.requests) == 2 + 4 + 2
    assert all(request["temperature"] == 0 for request in judge.requests)


def test_a_plain_example_has_no_next_action(judge: Any) -> None:
    reader = NextAction(base_url=judge.url)
    assert dict(reader.score({"context": "a"}, {"context": "b"})) == {}
    assert not judge.requests
    with pytest.raises(ValueError, match="samples"):
        NextAction(samples=0)
    with pytest.raises(ValueError, match="written must be a whole number from 0 up"):
        ProbeRecall(written=-1)
