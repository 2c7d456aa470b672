"""What the specification says of three states, markers, pairs and re-reads, on hand-made and on real sessions."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench_survival import PrefixCost, Survival, files_read, pair_faults, references_in

SHARED = Path(__file__).parents[4] / "shared" / "data" / "sessions"
IS_REQUIRED = os.environ.get("CONTEXT_BENCH_SHARED") == "required"  # then what is missing fails

LINES = [
    "the build server listens on port 8443 since monday",
    "the old mirror is kept in /srv/qx/layers today, says the log",
    "retries of the second worker stopped after 917 attempts",
]
MARKER = "[2 lines laid aside. Retrieve more: hash=5f3a9c1b]"


def call(number: int, name: str = "read", **arguments: str) -> dict[str, Any]:
    return {
        "id": f"c{number}",
        "name": name,
        "arguments": json.dumps(arguments or {"path": f"part-{number}.txt"}),
    }


def example(**more: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "why does it fail?"}]
    for number, line in enumerate(LINES):
        messages.append({"role": "assistant", "content": "", "tool_calls": [call(number)]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": line})
    messages.append({"role": "user", "content": "go on"})
    return {
        "messages": messages,
        "region": [1, 7],
        "future": ["curl :8443 in /srv/qx/layers"],
        **more,
    }


def marked(marker: str = MARKER) -> list[dict[str, Any]]:
    """Return the session with its first two results behind one marker."""
    messages = copy.deepcopy(example()["messages"])
    messages[2]["content"], messages[4]["content"] = marker, ""
    return messages


def states(**output: Any) -> dict[str, float]:
    return Survival().score(example(), {"messages": marked(), **output})


def test_what_a_redeemed_marker_brings_back_is_recoverable_and_the_rest_is_lost() -> None:
    found = states(redeemed={"5f3a9c1b": LINES[0]})
    assert (found["survival_needed"], found["recoverable_needed"], found["lost_needed"]) == (
        0.0,
        0.5,
        0.5,
    )
    assert (found["survival_all"], found["recoverable_all"], found["lost_all"]) == pytest.approx(
        (1 / 3,) * 3
    )
    assert (found["unredeemable_markers"], found["pair_faults"]) == (0.0, 0.0)


@pytest.mark.parametrize(
    "output",
    [
        {},
        {"redeemed": {}},
        {"redeemed": {"5f3a9c1b": None}},
        {"redeemed": {"5f3a9c1b": " "}},
        {"redeemed": {"other": LINES[0]}},
    ],
    ids=[
        "nobody asked",
        "nothing came",
        "not found",
        "an empty text",
        "a text that no marker leads to",
    ],
)
def test_a_marker_that_is_only_there_recovers_nothing(output: dict[str, Any]) -> None:
    found = states(**output)
    assert (found["recoverable_all"], found["lost_all"]) == (0.0, pytest.approx(2 / 3))
    assert (found["unredeemable_markers"], found["pair_faults"]) == (1.0, 1.0)


def test_what_survived_is_not_recoverable_too() -> None:
    found = states(redeemed={"5f3a9c1b": "\n".join(LINES)})
    assert (found["survival_all"], found["recoverable_all"], found["lost_all"]) == pytest.approx(
        (1 / 3, 2 / 3, 0.0)
    )


def test_a_marker_of_any_shape_counts_where_the_system_declares_it() -> None:
    messages = marked("(laid aside: vault 17b)")
    found = Survival().score(
        example(), {"messages": messages, "redeemed": {"17b": LINES[0], "18": LINES[1]}}
    )
    assert (found["recoverable_all"], found["unredeemable_markers"]) == (pytest.approx(1 / 3), 0.0)
    found = Survival().score(example(), {"messages": messages, "redeemed": {"17b": None}})
    assert (found["recoverable_all"], found["unredeemable_markers"], found["pair_faults"]) == (
        0.0,
        1.0,
        1.0,
    )


@pytest.mark.parametrize(
    "word", ["mirror", "17", ""], ids=["of the recording", "a part of a word", "empty"]
)
def test_a_word_that_stood_there_before_or_stands_nowhere_is_no_marker(word: str) -> None:
    messages = marked("(laid aside: vault 17b)")
    assert "recoverable_all" not in Survival().score(
        example(), {"messages": messages, "redeemed": {word: LINES[0]}}
    )


def test_where_no_marker_is_left_there_are_no_three_states() -> None:
    for messages in (example()["messages"], marked("[... 2 lines omitted]")):
        found = Survival().score(
            example(), {"messages": messages, "redeemed": {"5f3a9c1b": LINES[0]}}
        )
        assert not {key for key in found if key.startswith(("recoverable", "lost", "unredeemable"))}
        assert found["pair_faults"] == 0


def test_a_marker_that_the_recording_held_is_no_fault_of_the_system() -> None:
    original = example()
    original["messages"][2]["content"] += f"\n{MARKER}"
    found = Survival().score(original, {"messages": copy.deepcopy(original["messages"])})
    assert found["pair_faults"] == 0.0
    assert "unredeemable_markers" not in found


def test_plain_contexts_have_three_states_too() -> None:
    original = {"context": "\n".join(LINES), "question": "which port?", "answer": "8443"}
    found = Survival().score(original, {"context": MARKER, "redeemed": {"5f3a9c1b": LINES[0]}})
    assert (found["recoverable_needed"], found["lost_needed"]) == (1.0, 0.0)
    assert (found["recoverable_all"], found["lost_all"]) == pytest.approx((1 / 3, 2 / 3))
    with pytest.raises(TypeError, match="redeemed must map each marker's reference"):
        Survival().score(original, {"context": MARKER, "redeemed": ["5f3a9c1b"]})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[100 items compressed to 10. Retrieve more: hash=5f3a9c1b2d4e]", ["5f3a9c1b2d4e"]),
        ("<<ccr:5f3a9c1b,base64,4.5KB>>", ["5f3a9c1b"]),
        ('call headroom_retrieve with {"hash": "part-17"}', ["part-17"]),
        ("expand id: a1\nretrieve 0a1b2c3d4e5f", ["a1", "0a1b2c3d4e5f"]),
        ("[... 917 lines omitted]", []),
        ("the agent retrieved the user with id: 4711", []),
        ("commit 5f3a9c1b2d4e of id=7", []),
        ("[ccr:5f3]", ["5f3"]),
        ("[ccr:4711]", ["4711"]),
        ("<lc_expand:0a1b2c3d>", ["0a1b2c3d"]),
        (
            "[Read content stale: x.py was edited. Retrieve original: hash=5f3a9c1b2d4e]",
            ["5f3a9c1b2d4e"],
        ),
        ("# [128 tokens compressed. Retrieve more: hash=5f3a9c1b. Expires in 30m.]", ["5f3a9c1b"]),
        ("look for `[ccr:<id>]` and call retrieve with its id", []),
        ("<xs:element> and [note: 12]", []),
    ],
)
def test_references_are_what_a_line_promises_to_give_back(text: str, expected: list[str]) -> None:
    assert references_in(text) == expected


class LayingAside:
    """Lays the first result aside behind a marker, and gives it back, or something else."""

    name = "laying-aside"

    def __init__(self, given_back: str | None = None) -> None:
        self.given_back = given_back

    def transform(self, messages: list[Any], tools: list[Any]) -> list[Any]:
        return [
            {**one, "content": MARKER} if one["content"] == LINES[0] else one for one in messages
        ]

    def redeem(self, messages: list[Any]) -> dict[str, str | None]:
        assert any(one["content"] == MARKER for one in messages)
        return {"5f3a9c1b": self.given_back}


@pytest.mark.parametrize(("given_back", "expected"), [(LINES[0], (0.5, 0.0)), (None, (0.0, 1.0))])
def test_a_transformer_is_asked_to_redeem_its_markers(
    given_back: str | None, expected: tuple[float, float]
) -> None:
    result = evaluate(
        [LayingAside(given_back)], [{"id": "1", **example()}], [Survival()], progress=False
    )
    [row] = result.rows
    assert (row.scores["recoverable_needed"], row.scores["unredeemable_markers"]) == expected


def faults(change: str) -> int:
    before = example()["messages"]
    after = copy.deepcopy(before)
    if change == "both ids renamed":
        after[1]["tool_calls"][0]["id"] = after[2]["tool_call_id"] = "new"
    elif change == "a message between call and result":
        after.insert(2, {"role": "user", "content": "[earlier messages were compacted]"})
    elif change == "the first user message gone":
        del after[0]
    elif change == "a role that is none":
        after.insert(1, {"role": "summary", "content": "so far"})
    elif change == "a system message in front":
        after.insert(0, {"role": "system", "content": "be brief"})
    elif change == "two calls in one message":
        after[1]["tool_calls"].append(after.pop(3)["tool_calls"][0])
        after[2], after[3] = after[3], after[2]
    return pair_faults(before, after)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("nothing", 0),
        ("both ids renamed", 1),
        ("a message between call and result", 1),
        ("the first user message gone", 1),
        ("a role that is none", 1),
        ("a system message in front", 0),
        ("two calls in one message", 0),
    ],
)
def test_changed_ids_and_a_broken_order_of_roles_are_faults(change: str, expected: int) -> None:
    assert faults(change) == expected


def test_a_fault_that_the_recording_had_excuses_no_other() -> None:
    before = example()["messages"]
    del before[2]  # the first call has no result
    after = [
        one for number, one in enumerate(before) if number not in (1, 3)
    ]  # now the second has none, and the first is gone
    assert pair_faults(before, before) == 0
    assert pair_faults(before, after) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("read", {"path": "./a.py", "offset": 3}, ["a.py"]),
        ("Read", {"file_path": "/srv/a.py"}, ["/srv/a.py"]),
        ("str_replace_editor", {"command": "view", "path": "a.py"}, ["a.py"]),
        ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": ""}, []),
        ("write", {"path": "a.py", "content": ""}, []),
        ("edit", {"path": "a.py", "oldText": "a", "newText": "b"}, []),
        (
            "bash",
            {"command": "cd /srv && cat -n a.py 'b c.md' | grep x; head -5 d.txt"},
            ["a.py", "b c.md", "d.txt"],
        ),
        ("bash", {"command": "ls;\n\t cat a.py"}, ["a.py"]),
        ("bash", {"command": "\n" * 200_000}, []),
        ("bash", {"command": "ls src/a.py"}, []),
        ("shell", {"command": ["bash", "-lc", "cd /srv && cat a.py"], "workdir": "/"}, ["a.py"]),
        ("shell", {"command": ["/bin/bash", "--login", "-c", "sed -n 1,20p a.py"]}, ["a.py"]),
        ("shell", {"command": ["powershell.exe", "-NoProfile", "-Command", "cat a.py"]}, ["a.py"]),
        ("shell", {"command": ["cat", "b c.md"]}, ["b c.md"]),
        ("exec_command", {"cmd": "bash -lc 'head -5 a.py'"}, ["a.py"]),
        ("shell", {"command": ["bash", "cat.sh"]}, []),
        ("shell", {"command": ["bash", "-c"]}, []),
        ("read", ["a.py"], []),
    ],
)
def test_reads_of_files_are_told_from_other_calls(
    name: str, arguments: Any, expected: list[str]
) -> None:
    assert files_read({"name": name, "arguments": json.dumps(arguments)}) == expected


def test_later_reads_of_what_was_taken_away_are_re_reads() -> None:
    later = [
        call(0, path="part-0.txt"),
        call(0, path="part-2.txt"),
        call(0, path="never-seen.txt"),
        call(0, "bash", command="ls"),
    ]
    original = example(later_calls=later)
    score = PrefixCost().score
    assert score(original, {"messages": original["messages"]})["re_reads"] == 0.0
    assert score(original, {"messages": marked()})["re_reads"] == pytest.approx(1 / 3)
    assert score(original, {"context": "nothing"})["re_reads"] == pytest.approx(2 / 3)
    assert score(original, {"context": "\n".join(LINES)})["re_reads"] == 0.0
    assert "re_reads" not in score(example(later_calls=later[3:]), {"context": "nothing"})


@pytest.mark.skipif(
    not SHARED.exists() and not IS_REQUIRED, reason="the recorded sessions are not on this machine"
)
def test_real_sessions_have_no_new_faults_unchanged_and_re_reads_when_emptied() -> None:
    sessions = pytest.importorskip("context_bench_sessions").sessions
    emptied = 0.0
    for row in sessions(str(SHARED / "claude-code"), cuts=[0.5]):
        same = {"messages": row["messages"]}
        start, end = row["region"]
        nothing = {"messages": [*row["messages"][:start], *row["messages"][end:]]}
        assert Survival().score(row, same)["pair_faults"] == 0
        assert PrefixCost().score(row, same).get("re_reads", 0.0) == 0.0
        emptied = max(emptied, PrefixCost().score(row, nothing).get("re_reads", 0.0))
    assert 0.0 < emptied <= 1.0
