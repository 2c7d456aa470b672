"""What is left is read once: the quick ways answer as the slow ones do, and little is searched for or remembered."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_survival import Survival, content_key, literals, remains
from context_bench_survival.literals import REMEMBERED_LENGTH, _remembered, holds
from context_bench_survival.remains import Remains

TEXTS = st.text(alphabet="ab4/\\.-_ :019Z+,@\n\u00e9\u0663", max_size=40)
ANSWERS = st.text(alphabet="ab4/.-_:019+,\u00e9\u0663", min_size=1, max_size=6)


@given(TEXTS, ANSWERS)
def test_a_literal_is_held_as_a_search_through_the_text_would_say(text: str, answer: str) -> None:
    left = Remains([{"role": "user", "content": text}])
    assert left.held([answer]) == (
        {answer} if answer in left.holders or holds("\n".join(left.texts), answer) else set()
    )


@given(TEXTS)
def test_a_line_without_a_sign_of_a_literal_has_none(line: str) -> None:
    if not re.search(r"\d\d|[/\\]|--[a-z]|[a-f]\d|\d[a-f.:]|\w\.[A-Za-z]", line):
        assert literals(line) == ()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("word 42 word", ["42"]),
        ("word\u00a0/etc/hosts", ["/etc/hosts"]),
        ("cafe.py word", ["cafe.py"]),
    ],
)
def test_words_without_a_sign_are_passed_over_and_what_follows_is_found(
    line: str, found: list[str]
) -> None:
    assert [one.text for one in literals(line)] == found


@pytest.mark.parametrize("unit", ["@/@/a/", "a+", "iVBORw0KGgo/AAAA+", "-1", "A-1"])
def test_an_encoded_file_on_a_line_holds_no_literals_and_is_read_in_one_pass(unit: str) -> None:
    """Where the search for a path began again at each sign, these took minutes."""
    run = "A-" + unit * (100_000 // len(unit)) + "_"
    assert [(one.text, one.start) for one in literals(f"see 4242 {run} 4343")] == [
        ("4242", 4),
        ("4343", len(run) + 10),
    ]


def test_what_is_lost_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        f"the {name} server listens on {number} since monday"
        for number, name in enumerate("abcdefgh", 48_001)
    ]
    searched: list[str] = []

    def search(text: str, answer: str) -> bool:
        searched.append(answer)
        return holds(text, answer)

    monkeypatch.setattr(remains, "holds", search)
    example = {"context": "\n".join(lines), "question": "where?", "answer": "48003"}
    assert Survival().score(example, {"context": lines[0]})["survival_all"] == 1 / 8
    assert searched == []
    assert Survival().score(example, {"context": "port 48003.5 since"})["survival_all"] == 0.0
    assert searched == ["48003"]  # its word is there, as a part of another number


def test_long_lines_are_not_remembered() -> None:
    _remembered.cache_clear()
    assert [one.text for one in literals("x" * REMEMBERED_LENGTH + " 4711")] == ["4711"]
    assert _remembered.cache_info().currsize == 0
    assert [one.text for one in literals("x 4711")] == ["4711"]
    assert _remembered.cache_info().currsize == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([{"content": "1"}], [{"content": 1}]),
        ([1], [True]),
        (["a", "b"], ["ab"]),
        ([{"a": None}], [{}]),
        ([{"b": 1, "a": 2}], [{"b": 1, "a": 3}]),
    ],
)
def test_contents_that_differ_are_told_apart(one: Any, other: Any) -> None:
    assert content_key(one) != content_key(other)


def test_equal_contents_are_one_whatever_objects_hold_them() -> None:
    shared = "the same text, twice"
    assert content_key([shared, shared]) == content_key(
        [shared, "".join(["the same text,", " twice"])]
    )
    assert content_key([object]) == content_key([object])  # what is no JSON is told by its repr
    assert content_key(["\ud800"]) == content_key(["\ud800"])


@given(st.lists(st.tuples(st.sampled_from(["user", "tool"]), TEXTS), max_size=4), st.integers(0, 3))
def test_messages_that_stay_as_they_were_tell_what_they_told(
    told: list[tuple[str, str]], first: int
) -> None:
    messages = [{"role": role, "content": text, "tool_call_id": "c"} for role, text in told]
    new, left = Remains(messages[first:]), Remains(messages[first:], read=Remains(messages).read)
    assert (new.texts, new.tokens, new.holders, new.lines) == (
        left.texts,
        left.tokens,
        left.holders,
        left.lines,
    )


@pytest.mark.parametrize("text", ["42.42", "1,042.42.5", "42.5\n" * 5000])
def test_a_number_that_stands_in_longer_ones_alone_is_not_held(text: str) -> None:
    assert not holds(text, "42")
    assert holds(text + " 42", "42")
