"""Whatever stands in a row, the evaluator answers with a score or with none, and never raises."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_bench_multiple_choice import MultipleChoiceAccuracy, find_letter

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.binary(max_size=8)
    | st.sampled_from(["A", "(B)", "b.", "Option C", "1", 0, 1, 4]),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)
# Sentences made of the words and signs that the rules look for.
WORDS = """
A B C I a i answer is the : . , ? ! ( ) ** \\boxed { } not so choose option correct wrong and or wait actually no <think> </think>
<answer> [x] ✅ Paris if $ " ' - -> 5 = 答案 是 选 Antwort none of above would might but
"""
pieces = st.sampled_from([*WORDS.split(), "\n"])
sentences = st.lists(pieces, max_size=40).map(" ".join)
cities = ["Lyon", "Berlin", "Paris", "Madrid"]


@pytest.mark.filterwarnings("ignore:multiple-choice")
@settings(deadline=None)
@given(anything, anything, anything, anything, anything)
def test_any_value_in_any_field_is_scored_or_unscored(choices, letter, answer, answers, response):
    original = {"choices": choices, "correct_letter": letter, "answer": answer, "answers": answers}
    for evaluator in (MultipleChoiceAccuracy(), MultipleChoiceAccuracy("mmlu-pro", 0)):
        scores = evaluator.score(original, {"response": response})
        assert scores in ({}, {"mc_accuracy": 0.0}, {"mc_accuracy": 1.0})
        assert scores.details


@settings(deadline=None)
@given(sentences)
def test_any_sentence_yields_an_option_or_a_reason(response):
    found = find_letter(response, cities)
    assert (found.letter in set("ABCD")) != bool(found.reason)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_any_text_yields_an_option_or_a_reason(response):
    found = find_letter(response, cities)
    assert (found.letter in set("ABCD")) != bool(found.reason)


@settings(deadline=None)
@given(sentences)
def test_reasoning_before_the_answer_changes_nothing(reasoning):
    thought = reasoning.replace("<", "").replace(">", "").replace("[", "")
    assert find_letter(f"<think>{thought}</think>The answer is C.", cities).letter == "C"


@settings(deadline=None)
@given(sentences, st.sampled_from("ABCD"))
def test_a_final_statement_in_its_own_paragraph_is_the_conclusion(before, letter):
    answered = f"{before.replace('<think>', '')}\n\nTherefore, the final answer is ({letter})."
    questions = ("question", "q")
    if not any(word in before.lower().split() for word in questions):
        assert find_letter(answered, cities).letter == letter


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("ABCD"), min_size=1, max_size=8),
    st.sampled_from(["\n", "\n\n", " \n\n\n"]),
)
def test_of_bare_answers_alone_the_first_or_the_last_counts_as_demanded(letters, between):
    response = between.join(f"The answer is ({letter})." for letter in letters)
    assert find_letter(response, cities).letter == letters[0]
    assert find_letter(response, cities, several="last").letter == letters[-1]


@settings(deadline=None)
@given(sentences, st.sampled_from("ABCD"))
def test_an_opening_answer_and_any_sentence_yield_an_option_or_a_reason(after, letter):
    found = find_letter(f"The answer is ({letter}).\n\n{after}", cities)
    assert (found.letter in set("ABCD")) != bool(found.reason)


@settings(deadline=None)
@given(st.integers(1, 26), st.data())
def test_a_letter_found_is_one_of_the_options(number, data):
    choices = [f"option number {place}" for place in range(number)]
    response = data.draw(sentences)
    assert find_letter(response, choices).letter in {None, *string.ascii_uppercase[:number]}


@pytest.mark.filterwarnings("ignore:multiple-choice")
def test_values_that_break_careless_code():
    nested = []
    for _ in range(100_000):
        nested = [nested]
    for value in (
        nested,
        10**5_000,
        -(10**5_000),
        float("inf"),
        float("nan"),
        1e300,
        {"text": nested},
    ):
        for field in ("choices", "correct_letter", "answer", "answers"):
            row = {"choices": cities, "correct_letter": "C", field: value}
            assert MultipleChoiceAccuracy().score(row, {"response": "C"}).details
            scores = MultipleChoiceAccuracy().score(
                {"choices": [value, "Paris"], "answer": "Paris"}, {"response": "B"}
            )
            assert scores or "choices" in scores.details["unscored"]


def test_texts_that_break_careless_code():
    row = {"choices": cities, "correct_letter": "C"}
    for response in (
        "\ud800 C",
        "\x00C",
        "\u202eC\u202c",
        "\u200bC\u200b",
        "C\u0301",
        "(" * 50_000,
        "A, " * 50_000,
        "\\" * 9_999,
        "```\n" * 25_000,  # these took half a minute
        "=" * 100_000,
        "-" * 100_000,
    ):
        assert MultipleChoiceAccuracy().score(row, {"response": response}).keys() == {"mc_accuracy"}
