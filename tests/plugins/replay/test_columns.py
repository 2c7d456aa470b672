from __future__ import annotations

import contextlib
import copy
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_replay import Replay

CHAT = {
    "choices": [{"message": {"role": "assistant", "content": "Paris"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 1},
    "model": "m",
}


@pytest.mark.parametrize(
    ("field", "example"),
    [
        pytest.param("response", {"response": "Paris"}, id="the default column"),
        pytest.param("pred", {"pred": "Paris", "answers": ["Paris"]}, id="a column"),
        pytest.param("outputs.0", {"outputs": ["Paris", "London"]}, id="first of an array"),
        pytest.param("outputs.-1", {"outputs": ["London", "Paris"]}, id="last of an array"),
        pytest.param("outputs.1", {"outputs": ("London", "Paris")}, id="a tuple"),
        pytest.param(
            "choices.0.message.content", {"choices": CHAT["choices"]}, id="a chat completion"
        ),
        pytest.param(
            "a.b", {"a.b": "Paris", "a": {"b": "London"}}, id="a column with a dot in its name"
        ),
        pytest.param("row.a.b", {"row": {"a.b": "Paris"}}, id="a key with a dot in its name"),
        pytest.param("by.0", {"by": {"0": "Paris"}}, id="a number that is a key"),
    ],
)
def test_the_response_is_found(field, example):
    assert Replay(field=field).process(example) == {"response": "Paris"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        (" as it is\n", " as it is\n"),
        ("null", "null"),
        (42, "42"),
        (-0.5, "-0.5"),
        (1e100, "1e+100"),
        (True, "true"),
        (False, "false"),
        ("lone \ud800 and NUL \0", "lone \ud800 and NUL \0"),
    ],
)
def test_text_stays_and_numbers_and_booleans_become_their_json(value, text):
    assert Replay().process({"response": value}) == {"response": text}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(
            None,
            "The recorded response 'r' is null. Was it a refusal, a tool call or a failed",
            id="null",
        ),
        pytest.param(
            ["a", "b"],
            "is no text but an array of 2. For one of its texts pass `field=r.0`.",
            id="texts",
        ),
        pytest.param([], "is no text but an empty array.", id="no texts"),
        pytest.param([1, 2], "is no text but an array of 2.", id="numbers"),
        pytest.param([{"x": 1, "text": "a"}], "pass `field=r.0.text`.", id="objects with a text"),
        pytest.param(
            {"role": "assistant", "content": "a"},
            "an object of role, content. For one of",
            id="message",
        ),
        pytest.param(
            {"role": "assistant", "content": "a"},
            "pass `field=r.content`.",
            id="the likely key of a message",
        ),
        pytest.param(CHAT, "pass `field=r.choices.0.message.content`.", id="completion"),
        pytest.param(
            {"value": {"z": "a"}}, "pass `field=r.value.z`.", id="any text is better than none"
        ),
        pytest.param({}, "is no text but an empty object.", id="empty object"),
        pytest.param(math.nan, "is no text but the float 'nan'.", id="NaN"),
        pytest.param(math.inf, "is no text but the float 'inf'.", id="infinity"),
        pytest.param(b"bytes", "is no text but the bytes", id="bytes"),
    ],
)
def test_what_is_no_text_is_an_error_and_never_its_python_form(value, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Replay(field="r").process({"r": value})


@pytest.mark.parametrize(
    ("field", "example", "message"),
    [
        (
            "response",
            {"pred": "x", "answers": []},
            "there is no 'response'. There is: pred, answers.",
        ),
        (
            "respose",
            {"response": "x"},
            "there is no 'respose'. There is: response. Did you mean 'response'?",
        ),
        ("response", {}, "there is no 'response'. There is: nothing."),
        ("a.b", {"a": {"c": 1}}, "there is no 'b' in 'a'. There is: c."),
        ("a.b", {"a": None}, "there is no 'b' in 'a', which is null."),
        ("a.b", {"a": "text"}, "there is no 'b' in 'a', which is the text 'text'."),
        ("a.2", {"a": ["x", "y"]}, "there is no '2' in 'a', which is an array of 2."),
        ("a.-3", {"a": ["x", "y"]}, "there is no '-3' in 'a', which is an array of 2."),
        ("a.²", {"a": ["x", "y", "z"]}, "there is no '²' in 'a'"),
        ("a.0.b", {"a": []}, "there is no '0' in 'a', which is an empty array."),
        ("c.0.m.t", {"c": [{"m": {"x": 1}}]}, "there is no 't' in 'c.0.m'. There is: x."),
        ("0", {"a": 1}, "there is no '0'. There is: a."),
    ],
)
def test_a_missing_response_says_what_there_is(field, example, message):
    with pytest.raises(
        LookupError, match=re.escape(f"No response is recorded: {message}")
    ) as raised:
        Replay(field=field).process(example)
    assert "\n" not in str(raised.value)


def test_many_columns_are_not_all_listed():
    with pytest.raises(LookupError, match=r"c18, c19 and 30 more\.$"):
        Replay().process({f"c{number}": 1 for number in range(50)})


def test_what_the_record_says_of_its_error_is_told():
    failed = {"choices": None, "error": {"message": "rate limit", "code": 429}}
    with pytest.raises(LookupError, match=r"which is null\. The record's error says: .*rate limit"):
        Replay(field="choices.0.message.content").process(failed)
    with pytest.raises(
        ValueError, match=r"is null\. Was .* The record's error says: \"timeout\"\.$"
    ):
        Replay(field="r.text").process({"r": {"text": None, "error": "timeout"}, "error": None})


def test_gold_and_other_columns_are_never_passed_on():
    example = {
        "id": 1,
        "context": "C",
        "question": "Q",
        "answer": "A",
        "answers": ["A"],
        "response": "R",
        "model": "m",
    }
    assert Replay().process(example) == {"response": "R"}


def test_usage_is_passed_on_where_it_is_usual():
    usage = CHAT["usage"]
    assert Replay(field="choices.0.message.content").process(CHAT) == {
        "response": "Paris",
        "usage": usage,
    }
    nested = Replay(field="response.body.choices.0.message.content")
    assert nested.process({"response": {"body": CHAT}, "usage": {"no": 1}}) == {
        "response": "Paris",
        "usage": usage,
    }
    assert Replay().process({"response": "R", "usage": usage}) == {"response": "R", "usage": usage}
    assert Replay().process({"response": "R", "usage": "a column of that name"}) == {
        "response": "R"
    }
    assert Replay().process({"response": "R", "usage": None}) == {"response": "R"}


def test_other_fields_are_passed_on_when_they_are_named():
    example = {
        "r": {"text": "R", "cost": {"input_tokens": 3}, "s": "1.5"},
        "context": "C",
        "answer": "A",
        "calls": [1],
    }
    system = Replay(
        "r.text",
        usage_field="r.cost",
        latency_field="r.s",
        also=["context", "tool_calls=calls", "no"],
    )
    assert system.process(example) == {
        "response": "R",
        "usage": {"input_tokens": 3},
        "latency": 1.5,
        "context": "C",
        "tool_calls": [1],
    }


def test_the_name_of_a_field_may_be_a_number_as_a_command_line_makes_it():
    assert Replay(also=[0]).process({"response": "R", "0": "x"}) == {"response": "R", "0": "x"}


@pytest.mark.parametrize("seconds", [-1, "soon", math.nan, math.inf, True, [1], {}])
def test_a_latency_that_is_none_is_an_error(seconds):
    with pytest.raises(ValueError, match="The recorded latency 's' must be seconds and is "):
        Replay(latency_field="s").process({"response": "R", "s": seconds})
    assert Replay(latency_field="s").process({"response": "R", "s": None}) == {"response": "R"}


def test_a_usage_that_was_named_must_be_one():
    with pytest.raises(
        ValueError, match="The recorded usage 'u' must be an object of counts and is the int '3'"
    ):
        Replay(usage_field="u").process({"response": "R", "u": 3})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"field": ""}, "'' is no field"),
        (
            {"field": "a..b"},
            "'a..b' is no field: give a column, or levels separated by single dots.",
        ),
        ({"usage_field": "a."}, "'a.' is no field"),
        ({"also": ["x="]}, "'' is no field"),
        ({"also": "context"}, "also must be a list of names"),
        ({"also": ["a.b"]}, "`also=a.b` needs a name in the output, such as `b=a.b`."),
        (
            {"also": ["response"]},
            "Two fields of the output have one name: response, usage, response.",
        ),
        ({"also": ["usage=u"]}, "Two fields of the output have one name"),
        ({"also": ["x", "x=y"]}, "Two fields of the output have one name"),
        (
            {"id_field": "custom_id"},
            "`id_field` says how to read a file of recorded responses: pass its `path` too.",
        ),
        ({"key_field": "q"}, "`key_field` says how"),
        ({"sample": 0}, "`sample` says how"),
        ({"format": "jsonl"}, "`format` says how"),
        ({"encoding": "utf-8"}, "`encoding` says how"),
    ],
)
def test_wrong_options_are_found_at_once(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Replay(**options)


def test_names_tell_columns_apart():
    assert [Replay().name, Replay("pred").name, Replay("pred", name="mine").name] == [
        "replay:response",
        "replay:pred",
        "mine",
    ]


def test_the_fingerprint_has_every_parameter_that_can_change_an_output():
    systems = [
        Replay(),
        Replay("pred"),
        Replay(usage_field="u"),
        Replay(latency_field="s"),
        Replay(also=["a"]),
        Replay(also=["a=b"]),
        Replay(also=["a", "b"]),
    ]
    prints = [repr(system.fingerprint()) for system in systems]
    assert len(set(prints)) == len(systems)
    assert Replay(name="other").fingerprint() == Replay().fingerprint()
    assert not hasattr(systems[0], "reads")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["response", "usage", "error", "a"]), VALUES),
    st.sampled_from(["response", "a.0"]),
)
def test_any_example_gives_text_or_a_clear_error_and_is_never_changed(example, field):
    before = copy.deepcopy(example)
    output = {"response": ""}
    with contextlib.suppress(LookupError, ValueError):
        output = Replay(field).process(example)
    assert isinstance(output["response"], str)
    for value in output.values():
        if isinstance(value, dict):
            value["changed"] = True
    assert repr(example) == repr(before)
