"""Server-sent events in every form that the standard allows, and some that servers send besides."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_http import UnusableReplyError
from context_bench_http.events import ServerEvents

ONE, TWO = {"a": "Zürich 😀"}, {"b": [1, 2]}
LINES = json.dumps(TWO, indent=1).replace("\n", "\ndata: ")
PLAIN = f"data: {json.dumps(ONE, ensure_ascii=False)}\n\ndata: {LINES}\n\n"
FORMS: dict[str, str] = {
    "plain": PLAIN,
    "carriage return and line feed": PLAIN.replace("\n", "\r\n"),
    "carriage return": PLAIN.replace("\n", "\r"),
    "a byte order mark": "\ufeff" + PLAIN,
    "no space behind the colon": PLAIN.replace("data: ", "data:"),
    "comments": ": ping\n\n:\n" + PLAIN.replace("data: {", ": x\ndata: {"),
    "names, ids and times": "event: message\nid: 1\nretry: 10\n" + PLAIN,
    "no blank line in the end": PLAIN.rstrip("\n"),
    "no blank lines": f"data: {json.dumps(ONE)}\ndata: {json.dumps(TWO)}\n",
    "fields of others": "data\nnonsense\nfoo: bar\n\n" + PLAIN,
}


def events_of(body: bytes, size: int = 1 << 20) -> list[tuple[str, Any]]:
    events = ServerEvents("here")
    found = [
        event for at in range(0, len(body), size) for event in events.read(body[at : at + size])
    ]
    return [*found, *events.rest()]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize("form", FORMS)
def test_events_are_read_in_every_form_and_however_the_network_cuts_them(
    form: str, size: int
) -> None:
    assert events_of(FORMS[form].encode(), size) == [("message", ONE), ("message", TWO)]


@given(st.binary(max_size=60), st.integers(1, 9))
def test_where_a_body_is_cut_changes_nothing(noise: bytes, size: int) -> None:
    def read(step: int) -> Any:
        try:
            return events_of(b"data: 1\r\n\r\n" + noise, step)
        except UnusableReplyError as error:
            return str(error)

    assert repr(read(size)) == repr(read(1 << 20))


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b'event: error\ndata: {"message": "gone"}\n\n', [("error", {"message": "gone"})]),
        (b"event: error\ndata: upstream closed\n\n", [("error", "upstream closed")]),
        (b'error: {"code": 500}\n\n', [("error", {"code": 500})]),
        (b"data: 1\n\ndata: [DONE]\n\n", [("message", 1), ("message", None)]),
    ],
    ids=["an object", "words", "llama.cpp", "the end"],
)
def test_errors_and_the_end_are_told(body: bytes, events: list[tuple[str, Any]]) -> None:
    assert events_of(body) == events


def test_another_event_that_is_no_json_is_unusable() -> None:
    with pytest.raises(
        UnusableReplyError, match=r"here streamed an event that is not JSON: b'\{oops'"
    ):
        events_of(b"data: {oops\n\n")
