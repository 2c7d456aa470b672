"""Anything may be in a row or a response: the only error is the documented one."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_bench_ifeval import INSTRUCTIONS, IFEvalChecker

ARGUMENTS = {
    "keywords": ["cat"],
    "keyword": "cat",
    "frequency": 2,
    "relation": "at least",
    "forbidden_words": ["dog"],
    "letter": "q",
    "let_frequency": 2,
    "let_relation": "less than",
    "language": "de",
    "num_sentences": 3,
    "num_paragraphs": 2,
    "num_words": 5,
    "nth_paragraph": 1,
    "first_word": "the",
    "num_placeholders": 2,
    "postscript_marker": "P.S.",
    "num_bullets": 2,
    "num_highlights": 2,
    "section_spliter": "Section",
    "num_sections": 2,
    "prompt_to_repeat": "Say hi.",
    "end_phrase": "Bye.",
    "capital_frequency": 2,
    "capital_relation": "at least",
}
ALL = {"instruction_id_list": list(INSTRUCTIONS), "kwargs": [ARGUMENTS] * len(INSTRUCTIONS)}

ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.binary(max_size=8),
        st.text(max_size=20),
        st.sampled_from([*INSTRUCTIONS, *ARGUMENTS, "at least", "[]", '[{"num_words": 3}]']),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(
            st.one_of(st.sampled_from(list(ARGUMENTS)), st.text(max_size=5)), inner, max_size=3
        ),
    ),
    max_leaves=8,
)


def outcome(row):
    """The scores, or the message of the documented error; any other error fails the test."""
    try:
        return IFEvalChecker().score(row, {"response": "The cat sat."}), None
    except ValueError as fault:
        return {}, str(fault)


@settings(max_examples=400, deadline=None)
@given(
    response=st.one_of(
        ANYTHING,
        st.text(max_size=200),
        st.text("*-[]<>\"'.,!?:#` \n\tABab1Section P.S.\u202e\u05d0\u0627\ud800\x00", max_size=200),
        st.text(st.characters(), max_size=100),
    )
)
def test_any_response_is_scored_or_unscored(response):
    scores = IFEvalChecker().score(ALL, {"response": response})
    if not isinstance(response, str | int | float) or response != response:
        assert scores == {}
    else:
        assert set(scores) == {"ifeval_strict", "ifeval_loose"}
        assert len(scores.details["strict"]) == len(scores.details["loose"]) == 25
        assert all(
            loose or not strict
            for strict, loose in zip(scores.details["strict"], scores.details["loose"])
        )
        json.dumps(scores.details)


@settings(max_examples=600, deadline=None)
@given(ids=ANYTHING, kwargs=ANYTHING, prompt=ANYTHING)
def test_any_row_is_scored_unscored_or_the_documented_error(ids, kwargs, prompt):
    scores, fault = outcome({"instruction_id_list": ids, "kwargs": kwargs, "prompt": prompt})
    assert set(scores) in (set(), {"ifeval_strict", "ifeval_loose"})
    assert fault is None or "Instruction" in fault or "kwargs" in fault
    assert len(fault or "") < 4000


@settings(max_examples=600, deadline=None)
@given(
    instruction=st.sampled_from(list(INSTRUCTIONS)),
    name=st.sampled_from(list(ARGUMENTS)),
    value=ANYTHING,
)
def test_any_argument_is_taken_or_the_documented_error(instruction, name, value):
    _, fault = outcome(
        {"instruction_id_list": [instruction], "kwargs": [{**ARGUMENTS, name: value}]}
    )
    assert fault is None or (instruction in fault and name in fault)


@pytest.mark.one_python
@pytest.mark.parametrize(
    "response",
    [
        pytest.param("The cat sat on the mat. " * 100_000, id="sentences"),
        pytest.param("word, " * 400_000, id="commas"),
        pytest.param("x" * 2_400_000, id="one word"),
        pytest.param("\n" * 2_400_000 + "x", id="line ends"),
        pytest.param("[" * 2_400_000, id="brackets"),
        pytest.param("<" * 2_400_000, id="angular brackets"),
        pytest.param(" " * 2_400_000 + "x", id="spaces"),
        pytest.param('x "' + "'" * 1_200_000 + '"' * 1_200_000, id="quotation marks"),
        pytest.param("\u05d0\u202e\ud800\x00" * 600_000, id="right to left, surrogates, NUL"),
    ],
)
def test_megabytes_are_scored_in_linear_time(response):
    scores = IFEvalChecker().score(ALL, {"response": response})
    assert set(scores) == {"ifeval_strict", "ifeval_loose"}


def test_json_nested_too_deeply_does_not_parse():
    row = {"instruction_id_list": ["detectable_format:json_format"], "kwargs": [{}]}
    assert IFEvalChecker().score(row, {"response": "[" * 200_000})["ifeval_strict"] == 0.0


def test_no_socket_is_opened(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a socket was opened")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    assert IFEvalChecker().score(ALL, {"response": "The cat sat on the mat. It was warm."}) != {}


def test_a_fresh_process_needs_neither_network_nor_langdetect_nor_nltk():
    program = """
import socket, sys
def refuse(*arguments, **options):
    raise AssertionError("a socket was opened")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
sys.modules["nltk"] = sys.modules["langdetect"] = None
from context_bench_ifeval import IFEvalChecker
row = {"instruction_id_list": ["change_case:english_lowercase", "length_constraints:number_sentences"],
       "kwargs": [{}, {"relation": "at least", "num_sentences": 2}]}
print(IFEvalChecker().score(row, {"response": "the cat sat on the mat. it was warm there."}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "{'ifeval_strict': 1.0, 'ifeval_loose': 1.0}\n"


def test_threads_share_a_checker():
    checker = IFEvalChecker()
    texts = [f"the cat sat on the mat {number} times. it was warm." for number in range(50)] * 4

    def run(text):
        return checker.score(ALL, {"response": text}).details

    alone = [run(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, texts)) == alone
