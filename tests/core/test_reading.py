"""The reading of a reply: one way of writing its signs, no layout, and quotations apart from what the reply says."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench.answers import (
    GAP,
    marks_calls,
    plain_signs,
    plain_value,
    read_reply,
    text_of,
    tool_calls,
    without_closing,
    without_layout,
    without_remarks,
)

LAYOUT = {
    "bullet": ("- 18", "18"),
    "minus": ("-18", "-18"),
    "minus sign with a blank": ("\u2212 18", "\u2212 18"),
    "minus behind a bullet": ("- -18", "-18"),
    "arrow": ("=> 18", "18"),
    "quoted list": ("> - **18**", "18"),
    "heading": ("## Answer ##\n18", "Answer\n18"),
    "italic line": ("_A: 18_", "A: 18"),
    "product": ("2*3*4 and 2**3", "2*3*4 and 2**3"),
    "index": ("x_1 + x_2", "x_1 + x_2"),
    "fence": ("```\n18\n```", "18"),
    "fence in its line": ("```18```", "18"),
    "fence with a language in its line": ('```json {"a": 1}```', '{"a": 1}'),
    "table": ("| Total | 18 |\n|---|---|\n| Overall | 4 |", "Total: 18\nOverall: 4"),
    "column of answers": ("| Step | Answer |\n|---|---|\n| 1 | 18 |", "Answer: 18"),
    "absolute value": ("|x| = 5", "|x| = 5"),
    "line break": ("a<br>b<br/>c", "a\nb\nc"),
    "HTML": ("<p>It is <b>B</b>.</p>", "It is B."),
    "comparison": ("a<b and c>d", "a<b and c>d"),
    "answer tags around all": ("<answer>B</answer>", "B"),
    "answer tags at the end": ("It rains.\n<answer>B</answer>", "It rains.\n\nFinal answer: B"),
    "tags around a quotation": ('<response>He says "no"</response>', 'He says "no"'),
    "rating tags": ("<rating>4</rating>", "4"),
    "rating tags behind words": ("Good. <rating>4</rating>", "Good.\nFinal rating: 4"),
    "tag that is talked about": ("Use `<answer>`.", "Use `<answer>`."),
    "numbered list": ("1. one\n2. two", "one\ntwo"),
    "year and number": ("In 1990.\n3. was last", "In 1990.\n3. was last"),
    "formula on its own lines": ("so\n\\[\nx\n- 3\n\\]", "so\n\\[\nx\n- 3\n\\]"),
    "rule": ("a\n---\nb", "a\n\nb"),
}


@pytest.mark.parametrize(("text", "bare"), LAYOUT.values(), ids=LAYOUT)
def test_layout_is_taken_off(text: str, bare: str) -> None:
    assert without_layout(text) == bare


def test_four_hashes_stay_where_they_mark_an_answer() -> None:
    assert without_layout("## Sum\n> #### 18", hashes=True) == "Sum\n#### 18"


@given(st.text(alphabet="ab1 -*_`#>|~<br/>.\n\r\u200b\u00a0\u2028=[]()&;é\u0301", max_size=60))
def test_a_second_reading_changes_nothing(text: str) -> None:
    once = without_layout(text)
    assert without_layout(once) == once
    assert plain_signs(plain_signs(text)) == plain_signs(text)


@pytest.mark.parametrize("layers", [5, 500])
def test_layers_of_layout_are_taken_off_in_the_end(layers: int) -> None:
    once = without_layout("**- " * layers + "18" + "**" * layers)
    assert once == "18"


SIGNS = {
    "width zero": ("Rating:\u200b4", "Rating:4"),
    "byte order mark": ("\ufeff4", "4"),
    "direction": ("\u202a4\u202c\u200e", "4"),
    "soft hyphen": ("an\u00adswer", "answer"),
    "key of a digit": ("4\ufe0f\u20e3", "4"),
    "line ends": ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
    "blanks": ("a\u00a0b\u3000c", "a b c"),
    "composed": ("e\u0301", "\u00e9"),
    "terminal colors": ("\x1b[1m4\x1b[0m", "4"),
}


@pytest.mark.parametrize(("text", "plain"), SIGNS.values(), ids=SIGNS)
def test_signs_have_one_way_of_writing(text: str, plain: str) -> None:
    assert plain_signs(text) == plain


QUOTED = [
    'Rating: 1. The response says: "Rating: 5"',
    'Rating: 1\n\n(The answer contains the line "Rating: 5", which I ignored.)',
    'Rating: 1. It tries "Rating: 5/5" on me.',
    "Rating: 1. The response says: Rating: 5",
    "Rating: 1. The response says:\n> Rating: 5",
    "Rating: 1\nIts last line is `Rating: 5`.",
    "Rating: 1. It ends with “Rating: 5”.",
    "Rating: 1. It ends with «Rating: 5».",
    "Rating: 1. The text reads:\n```\nRating: 5\n```",
]


@pytest.mark.parametrize("text", QUOTED)
def test_a_quotation_is_not_what_the_reply_says(text: str) -> None:
    reply = read_reply(text)
    assert "5" in reply.text
    assert "5" not in reply.own
    assert GAP in reply.own
    assert "Rating: 1" in reply.own


OWN = [
    'The verdict is "B".',
    '"The answer is 18."',
    "> The answer is (C).\n> That is all.",
    "```\nThe answer is (C).\n```",
    'I would say "the answer is 18".',
    "It isn't clear that they're right, but the answer's 18.",
    'Final answer: "The result is 18"',
]


@pytest.mark.parametrize("text", OWN)
def test_what_the_reply_itself_says_is_no_quotation(text: str) -> None:
    reply = read_reply(text)
    assert reply.own == reply.text


def test_courtesies_are_no_part_of_an_answer() -> None:
    text = (
        "Sure! Here is the answer:\n18\n\nI hope this helps! Let me know if you have any questions."
    )
    assert without_remarks(text) == "18"
    assert without_closing("Thank you.") == "Thank you."
    assert without_closing("It is 4. I hope the answer is 5.") == "It is 4. I hope the answer is 5."


ARGUMENTS = {"city": "New York", "days": 3}
JSON = '{"city": "New York", "days": 3}'
CALLS = {
    "hermes": f'<tool_call>\n{{"name": "weather", "arguments": {JSON}}}\n</tool_call>',
    "hermes that is not closed": f'<tool_call>{{"name": "weather", "arguments": {JSON}}}',
    "capitals": f'<TOOLCALL>[{{"name": "weather", "arguments": {JSON}}}]</TOOLCALL>',
    "qwen coder": "<tool_call>\n<function=weather>\n<parameter=city>\nNew York\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
    "</function>\n</tool_call>",
    "qwen coder that is not closed": "<function=weather>\n<parameter=city>New York</parameter>\n<parameter=days>3",
    "llama 3.1": f"<function=weather>{JSON}</function>",
    "llama 3.2": f'<|python_tag|>{{"name": "weather", "parameters": {JSON}}}<|eom_id|>',
    "mistral": f'[TOOL_CALLS][{{"name": "weather", "arguments": {JSON}}}]</s>',
    "mistral with a name": f"[TOOL_CALLS]weather[ARGS]{JSON}",
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n"
    f"```json\n{JSON}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek 3.1": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{JSON}<｜tool▁call▁end｜>",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>"
    f"{JSON}<|tool_call_end|><|tool_calls_section_end|>",
    "glm": "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>New York</arg_value>\n<arg_key>days</arg_key>\n"
    "<arg_value>3</arg_value>\n</tool_call>",
    "gemini": f'{{"functionCall": {{"name": "weather", "args": {JSON}}}}}',
    "gemini's parts": f'{{"parts": [{{"functionCall": {{"name": "weather", "args": {JSON}}}}}]}}',
    "anthropic": f'{{"type": "tool_use", "id": "t1", "name": "weather", "input": {JSON}}}',
    "anthropic's tags": '<function_calls><invoke name="weather"><parameter name="city">New York</parameter>'
    '<parameter name="days">3</parameter></invoke></function_calls>',
    "gemma": '<|tool_call>call:weather{city:<|"|>New York<|"|>,days:3}<tool_call|>',
    "gpt-oss": f"<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{JSON}<|call|>",
    "openai": f'{{"tool_calls": [{{"type": "function", "function": {{"name": "weather", "arguments": {JSON}}}}}]}}',
}


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_native_mark_up_of_calls_is_decoded(text: str) -> None:
    assert marks_calls(text)
    assert [(call.name, call.arguments) for call in tool_calls(text)] == [("weather", ARGUMENTS)]


def test_mark_up_that_cannot_be_read_is_a_call_all_the_same() -> None:
    text = '<tool_call>{"name": "weather", "argum'
    assert marks_calls(text)
    assert tool_calls(text) == []


def test_words_are_no_call() -> None:
    assert not marks_calls('No call is needed. {"name": "weather"} [1]')


def test_values_of_libraries_are_those_of_python() -> None:
    numpy = pytest.importorskip("numpy")
    assert plain_value(numpy.array(["a", "b"], dtype=object)) == ["a", "b"]
    assert [
        text_of(value) for value in (numpy.int64(42), numpy.float64(42), numpy.float32(0.5))
    ] == [
        "42",
        "42",
        "0.5",
    ]


SHAPES = [
    "*",
    "**a ",
    "_a ",
    "`a ",
    '"a ',
    "> ",
    "> - a\n",
    "| a ",
    "| a | b |\n",
    "1. a\n",
    "```\n",
    "<answer>a",
]
SHAPES += ["<tool_call>", "the response says: rating ", "e\u0301\u0316", " "]


@pytest.mark.parametrize("unit", SHAPES)
def test_a_reading_takes_time_by_the_length_of_the_text(unit: str) -> None:
    """Sixteen times the text may take a hundred times as long, which is far from its square, and far from noise."""
    short, long = (unit * (size // len(unit)) for size in (2_500, 40_000))
    for read in (without_layout, read_reply, without_remarks, tool_calls):
        baseline = max(min(_seconds(read, short) for _ in range(3)), 0.002)
        assert min(_seconds(read, long) for _ in range(2)) < 100 * baseline


def _seconds(read: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    read(text)
    return time.process_time() - began


@pytest.mark.parametrize(
    "reply",
    [
        'Rating: 1, although the response says "Rating: 5".',
        'Rating: 1 (the response says "Rating: 5")',
        'Rating: 1 even though it ends with "Rating: 5"',
        'I give 1, since the text says "Rating: 5"',
        "Rating: 1, although the response says:\n> Rating: 5",
        "Rating: 1, although the response says 5",
        "Rating: 1 even though the author claims it is a 5.",
    ],
)
def test_the_own_statement_in_the_line_of_a_quotation_stays(reply: str) -> None:
    read = read_reply(reply)
    assert "1" in read.own
    assert "5" not in read.own + read.unattributed


def test_a_line_that_says_only_who_is_quoted_goes_with_the_quotation() -> None:
    read = read_reply('Rating: 1\n(It claims "Rating: 5", which is wrong.)')
    assert read.own == "Rating: 1\n…"


@pytest.mark.parametrize(
    "reply", ['The response says "Rating: 5"', 'It claims: "the answer is 19".']
)
def test_a_reply_that_is_all_quotation_says_nothing_itself(reply: str) -> None:
    assert read_reply(reply).own == "…"


@pytest.mark.parametrize(
    "reply",
    [
        "Although the key says 19, the answer is 18.",
        "The answer is 18, although I said 19 before.",
        "Ray cooks, since he has comparative advantage in cooking.",
        "It is true because it's been claimed so often.",
        "He left early, but nobody said goodbye.",
    ],
)
def test_what_is_said_in_the_own_voice_stays(reply: str) -> None:
    assert read_reply(reply).own == reply


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("```Ireland\nScotland\nWales```", "Ireland\nScotland\nWales"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("Use ```x``` first\n```json\n1\n```", "Use x first\n1"),
    ],
)
def test_the_name_of_a_fence_is_text_where_text_closes_it(text: str, plain: str) -> None:
    assert without_layout(text) == plain
