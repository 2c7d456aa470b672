"""What is computed for a control from its lines is what the evaluator says of their text: chance has no handicap."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from context_bench_controls import NAMES, chosen, kept_messages, region_of
from context_bench_controls.choosing import shares
from context_bench_controls.units import LONGEST, pieces, tokens_of
from context_bench_survival import Survival, asked_of, given

PLACES = (
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
)
LINES = [
    line
    for number, place in enumerate(PLACES)
    for line in (
        f"the {place} server listens on {48000 + 7 * number} since monday",
        f"its layers of {place} lie in /srv/qx{number}/layers today",
        f"the newest of them is /srv/qx{number}/layers/{place}-{number}.tar now",
        f"on windows {place} has them under C:\\new\\run{number}\\log.txt since then",
    )
]
TEXT = "\n".join(LINES)


def in_json(**more: Any) -> str:
    return json.dumps({"ok": True, "stdout": TEXT, **more}, separators=(",", ":"))


RESULTS = {
    "lines": TEXT,
    "JSON on one line": in_json(),
    "a table of JSON on one line": json.dumps(
        [{"says": line} for line in LINES], separators=(",", ":")
    ),
    "JSON that was cut off": in_json()[:-40],
    "one line of prose": " ".join(LINES),
    "numbered lines": "\n".join(f"{number:6}\u2192{line}" for number, line in enumerate(LINES)),
}


def example(result: str) -> dict[str, Any]:
    call = {"id": "c", "name": "look", "arguments": "{}"}
    messages = [
        {"role": "user", "content": "why does it fail?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": result},
        {"role": "user", "content": "go on"},
    ]
    return {"id": "s", "messages": messages, "region": [1, 3], "future": ["curl :48007"]}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("result", RESULTS.values(), ids=list(RESULTS))
def test_a_control_keeps_what_the_evaluator_finds_in_what_it_leaves(result: str, name: str) -> None:
    original = example(result)
    messages, region = given(original)
    assert messages is not None
    asked = asked_of(original)
    assert asked
    found = region_of(messages, region, asked)
    for ratio in (0.2, 0.5, 0.8):
        for seed in range(4):
            kept = chosen(found, name, int(ratio * found.tokens), seed)
            whole = [
                *messages[: region[0]],
                *kept_messages(messages, region, found, kept),
                *messages[region[1] :],
            ]
            assert (
                shares(found, kept)["all"]
                == Survival().score(original, {"messages": whole})["survival_all"]
            )


@pytest.mark.parametrize("result", RESULTS.values(), ids=list(RESULTS))
def test_random_deletion_of_half_keeps_about_half_whatever_the_form_of_a_result(
    result: str,
) -> None:
    """Compact JSON was one unit of hundreds of tokens, which fits into no half: chance kept nothing."""
    original = example(result)
    messages, region = given(original)
    assert messages is not None
    found = region_of(messages, region, asked_of(original))
    kept = [
        shares(found, chosen(found, "random", found.tokens // 2, seed))["all"] for seed in range(40)
    ]
    assert 0.35 < sum(map(float, filter(None, kept))) / len(kept) < 0.75


@drawn(st.text(alphabet='ab, "{}[]\\n.+/-_\u00e9\u0663', max_size=3000))
def test_pieces_have_all_letters_and_tokens_of_their_text_and_are_short(text: str) -> None:
    found = list(pieces(text))
    assert "".join("".join(found).split()) == "".join(text.split())
    assert sum(map(tokens_of, found)) == tokens_of(text)
    assert all(len(piece) <= LONGEST or not re.search(r"\W", piece[LONGEST:-1]) for piece in found)


@pytest.mark.parametrize("unit", ["x", "a+", '"k":1,', "word ", "-", " "])
def test_a_line_of_a_million_letters_is_parted_in_one_pass(unit: str) -> None:
    """A search that began anew at each piece and went on to the end of the line took minutes."""
    line = unit * (1_000_000 // len(unit)) + "y"
    assert sum(map(tokens_of, pieces(line))) == tokens_of(line)


@pytest.mark.parametrize("kept_turn", [0, 1])
def test_a_call_stays_with_its_own_result_where_ids_come_again(kept_turn: int) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "why does it fail?"}]
    for turn in range(2):
        made = {"id": "call_0", "name": "look", "arguments": json.dumps({"at": f"part {turn}"})}
        messages.append({"role": "assistant", "content": "", "tool_calls": [made]})
        messages.append({"role": "tool", "tool_call_id": "call_0", "content": LINES[turn]})
    region = (1, 5)
    found = region_of(messages, region, [])
    kept = frozenset(
        number
        for number, unit in enumerate(found.units)
        if unit.message in (2 * kept_turn + 1, 2 * kept_turn + 2)
    )
    assert (
        kept_messages(messages, region, found, kept)
        == messages[2 * kept_turn + 1 : 2 * kept_turn + 3]
    )
