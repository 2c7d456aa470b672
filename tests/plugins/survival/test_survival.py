"""The evaluator: identity keeps everything, nothing keeps nothing, and what is broken is counted."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from context_bench_survival import Survival

SHARED = Path(__file__).parents[4] / "shared" / "data" / "sessions"
IS_REQUIRED = os.environ.get("CONTEXT_BENCH_SHARED") == "required"  # then what is missing fails

RESULT = "the build server listens on port 8443 since monday\nthe old mirror is kept in /srv/qx/layers today, says the log"


def call(number: int, path: str) -> dict[str, Any]:
    return {"id": f"c{number}", "name": "read", "arguments": json.dumps({"path": path})}


def example(**more: Any) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "why does it fail?"},
        {"role": "assistant", "content": "", "tool_calls": [call(1, "notes")]},
        {"role": "tool", "tool_call_id": "c1", "content": RESULT},
        {"role": "assistant", "content": "looking on"},
        {"role": "user", "content": "go on"},
    ]
    return {"messages": messages, "region": [2, 5], "future": ["curl :8443"], **more}


def score(messages: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, float]:
    original = example()
    return Survival().score(
        original,
        {
            "messages": messages if messages is not None else copy.deepcopy(original["messages"]),
            **more,
        },
    )


def test_identity_keeps_everything_and_invents_nothing() -> None:
    found = score()
    assert {
        key: found[key] for key in ("survival_all", "survival_needed", "bound", "kept_ratio")
    } == dict.fromkeys(("survival_all", "survival_needed", "bound", "kept_ratio"), 1.0)
    assert (found["invented"], found["pair_faults"]) == (0.0, 0.0)


def test_an_empty_region_keeps_nothing() -> None:
    messages = example()["messages"]
    found = score([*messages[:2], *messages[5:]])
    assert (found["survival_all"], found["survival_needed"], found["bound"]) == (0.0, 0.0, 0.0)
    assert found["kept_ratio"] < 0.5


def test_half_of_the_literals_is_half() -> None:
    messages = copy.deepcopy(example()["messages"])
    messages[3]["content"] = RESULT.splitlines()[0]
    found = score(messages)
    assert (
        found["survival_all"],
        found["survival_needed"],
        found["survival_number"],
        found["survival_path"],
    ) == (
        0.5,
        1.0,
        1.0,
        0.0,
    )


def test_a_name_that_goes_on_behind_a_point_is_not_kept_by_its_beginning() -> None:
    original = example()
    original["messages"][3]["content"] = (
        "the default of the second provider is gemini-2.5-pro today"
    )
    left = copy.deepcopy(original["messages"])
    left[3]["content"] = "the default of the second provider is gemini-2.0-flash today"
    assert (
        Survival().score(original, {"messages": original["messages"]})["survival_identifier"] == 1.0
    )
    found = Survival().score(original, {"messages": left})
    assert (found["survival_identifier"], found["invented"] > 0) == (0.0, True)


def test_a_number_without_its_words_is_kept_and_not_bound() -> None:
    messages = copy.deepcopy(example()["messages"])
    messages[3]["content"] = "8443 /srv/qx/layers"
    found = score(messages)
    assert (found["survival_all"], found["bound"]) == (1.0, 0.0)


def test_what_the_original_lacks_is_invented_unless_it_marks_an_omission() -> None:
    messages = copy.deepcopy(example()["messages"])
    messages[3]["content"] += "\nretries: 917 in the last hour of work"
    assert score(messages)["invented"] > 0
    messages[3]["content"] = RESULT + "\n[... 917 lines omitted, retrieve with 5f3a9c1b ...]"
    assert score(messages)["invented"] == 0


def drop(index: int) -> list[dict[str, Any]]:
    messages = copy.deepcopy(example()["messages"])
    del messages[index]
    return messages


def with_call(**changes: str) -> list[dict[str, Any]]:
    messages = copy.deepcopy(example()["messages"])
    messages[2]["tool_calls"][0].update(changes)
    return messages


@pytest.mark.parametrize(
    ("messages", "faults"),
    [
        (drop(3), 1),
        (drop(2), 1),
        (with_call(arguments='{"path": "other"}'), 1),
        (with_call(arguments='{"path":"notes"}'), 0),
        (with_call(arguments='{"path": "no tes"}'), 1),
        (with_call(arguments="notes"), 1),
        (with_call(name="write"), 1),
        (with_call(id="c9"), 3),
        ([*example()["messages"][:4], *example()["messages"][3:]], 1),
        ([*drop(3)[:2], example()["messages"][3], *drop(3)[2:]], 1),
    ],
    ids=[
        "result gone",
        "call gone",
        "arguments changed",
        "only spaces of the JSON changed",
        "a space within a value",
        "arguments that are no JSON any more",
        "name changed",
        "id changed",
        "result twice",
        "result before its call",
    ],
)
def test_calls_and_results_that_do_not_fit_any_more_are_counted(
    messages: list[dict[str, Any]], faults: int
) -> None:
    assert score(messages)["pair_faults"] == faults


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        (lambda said: said, 0),
        (lambda said: [*said[:4], *said[5:]], 1),
        (lambda said: [*said[:3], *said[4:]], 1),
        (lambda said: [*said[:3], said[2], *said[3:]], 1),
        (lambda said: said[:5], 0),
    ],
    ids=["nothing", "a result gone", "a call gone", "a result twice", "a turn gone"],
)
def test_ids_that_every_turn_begins_anew_hide_no_fault(change: Any, faults: int) -> None:
    said: list[dict[str, Any]] = [{"role": "user", "content": "why?"}]
    for turn in range(3):
        said.append(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{**call(0, f"part {turn}"), "id": "call_0"}],
            }
        )
        said.append({"role": "tool", "tool_call_id": "call_0", "content": f"turn {turn}"})
    original = {"messages": said, "region": [1, 7]}
    assert (
        Survival().score(original, {"messages": change(copy.deepcopy(said))})["pair_faults"]
        == faults
    )


def test_a_result_of_json_that_is_cut_off_keeps_what_still_stands_in_it() -> None:
    lines = [
        f"the {name} log lies in C:\\new\\{name} with {number} lines"
        for number, name in enumerate("abcdefgh", 4801)
    ]
    original = example()
    original["messages"][3]["content"] = json.dumps(
        {"stdout": "\n".join(f"{4000 + at} {line}" for at, line in enumerate(lines))}
    )
    whole = Survival().score(original, {"messages": original["messages"]})
    messages = copy.deepcopy(original["messages"])
    messages[3]["content"] = messages[3]["content"][:-2]
    assert whole["survival_all"] == 1.0
    assert Survival().score(original, {"messages": messages})["survival_all"] == 1.0


@pytest.mark.parametrize(
    ("place", "change", "faults"),
    [
        (3, {"tool_call_id": None}, 2),
        (3, {"role": None}, 2),
        (2, {"tool_calls": None}, 1),
        (2, {"tool_calls": True}, 1),
        (2, {"tool_calls": ["read"]}, 1),
        (2, {"tool_calls": [{"name": "read", "arguments": '{"path": "notes"}'}]}, 3),
        (2, {"tool_calls": [{"id": "c1", "name": "read", "arguments": {"path": "notes"}}]}, 0),
        (2, {"tool_calls": [{"id": "c1", "name": "read", "arguments": None}]}, 1),
        (4, {"content": None}, 0),
        (4, {"content": [{"type": "text", "text": "looking on"}]}, 0),
    ],
    ids=[
        "no id of the call",
        "no role",
        "no calls",
        "calls that are none",
        "a call that is none",
        "no id",
        "arguments as an object",
        "no arguments",
        "no content",
        "content in parts",
    ],
)
def test_what_a_system_broke_is_counted_and_no_failure(
    place: int, change: dict[str, Any], faults: int
) -> None:
    messages = copy.deepcopy(example()["messages"])
    messages[place] = {
        name: value for name, value in {**messages[place], **change}.items() if value is not None
    }
    assert score(messages)["pair_faults"] == faults


def test_messages_that_are_none_are_told() -> None:
    with pytest.raises(
        TypeError, match="messages must hold a mapping each, and one is of type str"
    ):
        score([*example()["messages"], "go on"])  # type: ignore[list-item]


def test_places_in_a_list_are_no_literals_and_keep_none() -> None:
    """The path ``[12].name`` is ours: no session says 12."""
    names = ["".join(chr(97 + (7 * number + at) % 26) for at in range(6)) for number in range(40)]
    table = [{"name": name, "state": f"the {name} worker waits"} for name in names]
    original = example()
    messages = original["messages"]
    messages[2:3] = [
        {"role": "assistant", "content": "", "tool_calls": [call(0, "table")]},
        {"role": "tool", "tool_call_id": "c0", "content": json.dumps(table)},
        messages[2],
    ]
    original["region"] = [2, 7]
    messages[5]["content"] += "\nthe third worker stopped after 17 attempts"
    left = copy.deepcopy(messages)
    left[5]["content"] = RESULT
    assert Survival().score(original, {"messages": messages})["survival_number"] == 1.0
    assert (
        Survival().score(original, {"messages": left})["survival_number"] == 0.5
    )  # 8443 and 17, of which one is gone


def test_faults_of_the_recording_are_not_the_systems() -> None:
    original = example()
    del original["messages"][3]
    original["region"] = [2, 4]
    assert Survival().score(original, {"messages": original["messages"]})["pair_faults"] == 0


def test_plain_contexts_get_the_same_scores() -> None:
    original = {"context": RESULT, "question": "which port?", "answer": "8443"}
    kept = Survival().score(original, {"context": RESULT.splitlines()[0], "response": "x"})
    assert (kept["survival_all"], kept["survival_needed"]) == (0.5, 1.0)
    assert "pair_faults" not in kept


@pytest.mark.parametrize(
    ("original", "processed"),
    [
        ({"question": "x"}, {"response": "y"}),
        (example(), {"response": "y"}),
        ({"context": ""}, {"context": ""}),
    ],
)
def test_without_a_context_nothing_is_said(
    original: dict[str, Any], processed: dict[str, Any]
) -> None:
    assert Survival().score(original, processed) == {}


def test_messages_of_both_providers_are_understood() -> None:
    blocks = [
        {"role": "user", "content": [{"type": "text", "text": "why does it fail?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "notes"}}
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": RESULT}],
        },
        {"role": "user", "content": "go on"},
    ]
    found = score(blocks)
    assert (found["survival_all"], found["pair_faults"]) == (1.0, 0.0)


@pytest.mark.skipif(
    not SHARED.exists() and not IS_REQUIRED, reason="the recorded sessions are not on this machine"
)
def test_identity_is_whole_on_real_sessions_and_the_recorded_compactions_are_not() -> None:
    from context_bench_sessions import read_sessions

    path = SHARED / "pi-session" / "before-compaction.jsonl.gz"
    [(_, session)] = read_sessions(path)
    for compaction in session.compactions:
        before = list(session.messages[: compaction.at])
        kept = before[compaction.first_kept :]
        original = {
            "messages": before,
            "region": [1, compaction.first_kept],
            "future": [
                message["content"]
                for message in session.messages[compaction.at :]
                if message["role"] == "assistant"
            ],
        }
        whole = Survival(most=1000).score(original, {"messages": before})
        assert (whole["survival_all"], whole["survival_needed"], whole["bound"]) == (1.0, 1.0, 1.0)
        assert (whole["invented"], whole["pair_faults"]) == (0.0, 0.0)
        summary = {"role": "user", "content": compaction.summary}
        found = Survival(most=1000).score(original, {"messages": [before[0], summary, *kept]})
        assert 0.0 < found["survival_all"] < 0.35
        empty = Survival(most=1000).score(original, {"messages": [before[0], *kept]})
        assert not any(value for key, value in empty.items() if key.startswith("survival"))


@pytest.mark.parametrize(
    "literal",
    ["1234567", "--git-dir", "/srv/data/report", "0xdeadbeefcafe", "https://example.org/a.b,"],
)
def test_a_literal_at_any_place_of_a_long_line_passes_the_self_check(literal: str) -> None:
    """One that stood across the end of what is looked at was asked for as far as it stood before it, and never found."""
    for place in range(575, 602):
        context = f"{('alpha beta gamma delta ' * 40)[:place]} {literal} omega tau"
        scores = Survival().score({"context": context, "answer": "42"}, {"context": context})
        assert scores["kept_ratio"] == 1.0
        assert scores.get("survival_all", 1.0) == 1.0


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
def test_a_number_of_literals_that_leaves_none_is_refused(most: Any) -> None:
    with pytest.raises(ValueError, match="most must be a whole number above 0"):
        Survival(most=most)
