"""Rows and scores: strict and loose, details, the forms a row may have, and what is wrong with one."""

from __future__ import annotations

import json
import math

import pytest

from context_bench_ifeval import INSTRUCTIONS, IFEvalChecker

NO_COMMA, QUOTATION, TITLE = "punctuation:no_comma", "startend:quotation", "detectable_format:title"
WORDS = "length_constraints:number_words"


def score(ids, response, kwargs=None, loose="variants", **row):
    row = {
        "instruction_id_list": ids,
        "kwargs": [{} for _ in ids] if kwargs is None else kwargs,
        **row,
    }
    return IFEvalChecker(loose=loose).score(row, {"response": response})


@pytest.mark.parametrize(
    ("instruction", "response"),
    [
        pytest.param(NO_COMMA, "Well, sure:\nNo commas here.", id="without the first line"),
        pytest.param(NO_COMMA, "No commas here.\nWell, bye.", id="without the last line"),
        pytest.param(NO_COMMA, "Well, sure:\nNo commas here.\nSo, bye.", id="without both"),
        pytest.param(QUOTATION, '**"Quoted."**', id="without asterisks"),
        pytest.param(QUOTATION, 'Sure:\n*"Quoted."*', id="without the first line and asterisks"),
        pytest.param(QUOTATION, '*"Quoted."*\nBye.', id="without the last line and asterisks"),
        pytest.param(QUOTATION, 'Sure:\n\n*"Quoted."*\n\nBye.', id="without both and asterisks"),
    ],
)
def test_each_of_the_seven_variants_passes_loosely_and_not_strictly(instruction, response):
    assert score([instruction], response) == {"ifeval_strict": 0.0, "ifeval_loose": 1.0}


@pytest.mark.parametrize(
    ("instruction", "response"),
    [
        pytest.param(NO_COMMA, "Well,\nNo\ncommas,\nhere.\nSo, bye.", id="the middle is wrong"),
        pytest.param(
            NO_COMMA, "Well,\nsure,\nNo commas here.", id="two first lines would have to go"
        ),
        pytest.param(QUOTATION, 'Sure: "Quoted."', id="half a line would have to go"),
        pytest.param(NO_COMMA, "Only, one line", id="nothing is left of a single line"),
    ],
)
def test_nothing_else_is_relaxed(instruction, response):
    assert score([instruction], response) == {"ifeval_strict": 0.0, "ifeval_loose": 0.0}


def test_different_instructions_may_pass_by_different_variants():
    response = '"First, line"\nno comma\n"last, line"'
    scores = score([NO_COMMA, QUOTATION], response)
    assert scores == {"ifeval_strict": 0.0, "ifeval_loose": 1.0}
    assert scores.details["strict"] == [False, True]


def test_two_of_three_instructions_are_a_fraction_of_two_thirds():
    scores = score([NO_COMMA, QUOTATION, TITLE], '"No commas here."')
    assert scores == {"ifeval_strict": 0.0, "ifeval_loose": 0.0}
    assert scores.details == {
        "instruction_ids": [NO_COMMA, QUOTATION, TITLE],
        "strict": [True, True, False],
        "loose": [True, True, False],
        "instruction_strict": 2 / 3,
        "instruction_loose": 2 / 3,
        "fraction": 2 / 3,
        "majority": True,
    }


@pytest.mark.parametrize(
    ("ids", "response", "expected"),
    [
        pytest.param([NO_COMMA, QUOTATION, TITLE], '"No commas here."', 1.0, id="two of three"),
        pytest.param([NO_COMMA, QUOTATION], "No commas here.", 0.0, id="one of two is no majority"),
        pytest.param([NO_COMMA, QUOTATION, TITLE], "No commas here.", 0.0, id="one of three"),
        pytest.param([NO_COMMA], "No commas here.", 1.0, id="one of one"),
        pytest.param([NO_COMMA], "Well, sure:\nNo commas here.", 0.0, id="variants do not count"),
        pytest.param([NO_COMMA], "", 0.0, id="blank"),
    ],
)
def test_the_majority_can_be_the_loose_score(ids, response, expected):
    scores = score(ids, response, loose="majority")
    assert scores["ifeval_loose"] == expected
    assert scores.details["majority"] is bool(expected)
    assert set(scores) == {"ifeval_strict", "ifeval_loose"}


def test_the_loose_verdicts_in_the_details_are_by_variants_in_either_mode():
    response = "Well, sure:\nNo commas here."
    assert (
        score([NO_COMMA], response, loose="majority").details == score([NO_COMMA], response).details
    )


def test_another_meaning_of_loose_is_refused():
    with pytest.raises(ValueError, match=r"no loose='variant'\. Did you mean 'variants'\?"):
        IFEvalChecker(loose="variant")


def test_the_fingerprint_tells_the_meanings_apart():
    assert IFEvalChecker().fingerprint() == {"loose": "variants"}
    assert IFEvalChecker(loose="majority").fingerprint() == {"loose": "majority"}


# What a row may look like.

KWARGS = [{"num_words": 3, "relation": "at least"}, {}]
PADDED = [
    {"num_words": 3, "relation": "at least", "keywords": None, "letter": None},
    {"num_words": None, "relation": None, "keywords": None, "letter": None},
]
ARRAY = type("Array", (), {"tolist": lambda self: [WORDS, NO_COMMA]})


@pytest.mark.parametrize(
    ("ids", "kwargs"),
    [
        pytest.param([WORDS, NO_COMMA], KWARGS, id="release layout"),
        pytest.param([WORDS, NO_COMMA], PADDED, id="hub layout with nulls"),
        pytest.param([WORDS, NO_COMMA], json.dumps(PADDED), id="JSON text"),
        pytest.param(
            [WORDS, NO_COMMA], [json.dumps(entry) for entry in KWARGS], id="a JSON text for each"
        ),
        pytest.param(
            [WORDS, NO_COMMA],
            [{"num_words": 3.0, "relation": "at least"}, {"num_words": math.nan}],
            id="floats",
        ),
        pytest.param((WORDS, NO_COMMA), tuple(KWARGS), id="tuples"),
        pytest.param(json.dumps([WORDS, NO_COMMA]), json.dumps(KWARGS), id="both as JSON text"),
        pytest.param([WORDS, NO_COMMA], [KWARGS[0], None], id="null for no arguments"),
        pytest.param(
            [WORDS, NO_COMMA], [KWARGS[0], {"num_words": 9}], id="an argument not asked for"
        ),
        pytest.param(ARRAY(), KWARGS, id="something with tolist"),
    ],
)
def test_a_row_may_come_in_any_of_these_forms(ids, kwargs):
    row = {"instruction_id_list": ids, "kwargs": kwargs}
    assert IFEvalChecker().score(row, {"response": "one two three"})["ifeval_strict"] == 1.0
    assert IFEvalChecker().score(row, {"response": "one two"})["ifeval_strict"] == 0.0


@pytest.mark.parametrize("row", [{}, {"kwargs": None}], ids=["missing", "null"])
def test_instructions_without_arguments_need_no_kwargs(row):
    row = {"instruction_id_list": [NO_COMMA, QUOTATION], **row}
    assert IFEvalChecker().score(row, {"response": '"Hi."'})["ifeval_strict"] == 1.0


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"instruction_id_list": None},
        {"instruction_id_list": []},
        {"instruction_id_list": "[]"},
        {"instruction_id_list": "not JSON"},
        {"instruction_id_list": 5},
        {"instruction_id_list": b"punctuation:no_comma"},
        {"instruction_id_list": {"punctuation:no_comma": {}}},
    ],
    ids=repr,
)
def test_a_row_without_instructions_is_unscored(row):
    scores = IFEvalChecker().score(row, {"response": "Hi."})
    assert scores == {}
    assert scores.details == {"unscored": "the example has no instructions"}


@pytest.mark.parametrize(
    "processed", [{}, {"response": None}, {"response": b"\xff"}, {"response": ["a"]}], ids=repr
)
def test_a_row_without_a_response_is_unscored(processed):
    assert (
        IFEvalChecker().score({"instruction_id_list": [NO_COMMA], "kwargs": [{}]}, processed) == {}
    )


# What is wrong with a row.


@pytest.mark.parametrize(
    ("unknown", "meant"),
    [
        ("keywords:existance", "keywords:existence"),
        ("detectable_format:number_bullet_points", "detectable_format:number_bullet_lists"),
        ("en:punctuation:no_comma", "punctuation:no_comma"),
        ("Punctuation:No_Comma", "punctuation:no_comma"),
    ],
)
def test_an_unknown_id_is_an_error_that_names_it_and_near_ones(unknown, meant):
    with pytest.raises(
        ValueError, match=r"Instruction 2: IFEval has no instruction called"
    ) as caught:
        score([NO_COMMA, unknown], "Hi.")
    assert repr(unknown) in str(caught.value)
    assert repr(meant) in str(caught.value)


@pytest.mark.parametrize(
    "unknown",
    ["xyz", None, 5, ["a"], "x" * 10**6, {}],
    ids=["word", "null", "number", "list", "long", "dict"],
)
def test_an_id_like_no_other_names_them_all(unknown):
    with pytest.raises(ValueError, match="IFEval has no instruction called") as caught:
        score([unknown], "Hi.")
    assert all(repr(known) in str(caught.value) for known in INSTRUCTIONS)
    assert len(str(caught.value)) < 2000


def test_an_unknown_id_is_an_error_for_a_blank_response_as_well():
    with pytest.raises(ValueError, match="no instruction called 'xyz'"):
        score(["xyz"], "")


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        pytest.param(
            [{}],
            r"Instruction 1 \(length_constraints:number_words\) has no 'relation' in its kwargs",
            id="missing",
        ),
        pytest.param(
            [{"relation": "at least"}], "has no 'num_words' in its kwargs", id="one missing"
        ),
        pytest.param(
            [{"relation": "at least", "num_words": None}], "has no 'num_words'", id="null"
        ),
        pytest.param(
            [{"relation": "at most", "num_words": 3}],
            "its kwargs have relation='at most'. Did you mean 'at least'?",
            id="relation",
        ),
        pytest.param(
            [{"relation": 5, "num_words": 3}],
            "relation=5. It can be 'less than' or 'at least'",
            id="relation 5",
        ),
        pytest.param(
            [{"relation": "at least", "num_words": "3"}],
            "a whole number of at least 0, but is '3'",
            id="text",
        ),
        pytest.param(
            [{"relation": "at least", "num_words": -1}],
            "a whole number of at least 0, but is -1",
            id="negative",
        ),
        pytest.param([{"relation": "at least", "num_words": 2.5}], "a whole number", id="fraction"),
        pytest.param(
            [{"relation": "at least", "num_words": math.inf}], "a whole number", id="infinite"
        ),
        pytest.param([{"relation": "at least", "num_words": True}], "a whole number", id="boolean"),
        pytest.param(
            [], "one entry per instruction, but there are 0 entries for 1 ids", id="none for one"
        ),
        pytest.param(
            [{}, {}],
            "one entry per instruction, but there are 2 entries for 1 ids",
            id="two for one",
        ),
        pytest.param("{", "kwargs is text but not JSON: '{'", id="no JSON"),
        pytest.param(
            {"num_words": 3}, "kwargs must be a list with one mapping per instruction", id="no list"
        ),
        pytest.param([5], "its entry in kwargs must be a mapping, but is 5", id="no mapping"),
        pytest.param(["{"], "its entry in kwargs is text but not JSON", id="entry is no JSON"),
        pytest.param(7, "kwargs must be a list", id="number"),
    ],
)
def test_wrong_kwargs_are_an_error_that_says_what_is_wrong(kwargs, message):
    with pytest.raises(ValueError, match=message):
        score([WORDS], "one two three", kwargs)


@pytest.mark.parametrize(
    ("instruction", "kwargs", "message"),
    [
        ("keywords:existence", {"keywords": "cat"}, "a list of one text or more, but is 'cat'"),
        ("keywords:existence", {"keywords": []}, "a list of one text or more"),
        ("keywords:existence", {"keywords": ["a", 5]}, "a list of one text or more"),
        (
            "keywords:existence",
            {"keywords": ["(cat"]},
            r"'keywords' in its kwargs must be a regular expression",
        ),
        ("keywords:forbidden_words", {"forbidden_words": ["[a"]}, "a regular expression"),
        (
            "keywords:frequency",
            {"keyword": " ", "relation": "at least", "frequency": 1},
            "must be a text",
        ),
        (
            "keywords:letter_frequency",
            {"letter": "ab", "let_relation": "at least", "let_frequency": 1},
            "a single letter",
        ),
        ("language:response_language", {"language": "dee"}, "language='dee'. Did you mean 'de'?"),
        (
            "language:response_language",
            {"language": "zh"},
            "language='zh'. It can be 'af', .* 'zh-tw'",
        ),
        ("startend:end_checker", {"end_phrase": 5}, "must be a text, but is 5"),
        ("combination:repeat_prompt", {}, "has no 'prompt_to_repeat'"),
        ("combination:repeat_prompt", {"prompt_to_repeat": ""}, "must be a text"),
        (
            "length_constraints:nth_paragraph_first_word",
            {"num_paragraphs": 2, "nth_paragraph": 0, "first_word": "a"},
            "a whole number from 1 to 2, but is 0",
        ),
        (
            "length_constraints:nth_paragraph_first_word",
            {"num_paragraphs": 2, "nth_paragraph": 3, "first_word": "a"},
            "a whole number from 1 to 2, but is 3",
        ),
    ],
    ids=str,
)
def test_wrong_arguments_are_an_error_that_names_them(instruction, kwargs, message):
    with pytest.raises(ValueError, match=message) as caught:
        score([instruction], "Hi.", [kwargs])
    assert instruction in str(caught.value)


def test_a_row_is_not_changed_by_being_scored():
    row = {
        "prompt": "p",
        "instruction_id_list": [WORDS, NO_COMMA],
        "kwargs": [dict(entry) for entry in PADDED],
    }
    before = json.dumps(row)
    IFEvalChecker().score(row, {"response": "one, two"})
    assert json.dumps(row) == before
