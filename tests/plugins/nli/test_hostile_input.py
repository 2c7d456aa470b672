"""Whatever stands in a row, the evaluator answers with a score or with none, and never raises."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from context_bench_nli import NLILabelMatch

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.binary(max_size=8)
    | st.sampled_from(["SUPPORTS", "REFUTES", "not_entailment", "Not mentioned", "yes", 0, 1]),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)
# Sentences made of the words and signs that the rules look for.
WORDS = """
supports refutes supported refuted entails contradiction entailment true false yes no not neither nor or and but so therefore
answer label verdict : . , ? ! ( ) ** { } " - -> is was the claim it that to does doesn't enough evidence mention information
unknown <think> </think> <answer> if whether would wait actually \\boxed neutral
"""
pieces = st.sampled_from([*WORDS.split(), "\n"])
sentences = st.lists(pieces, max_size=40).map(" ".join)
GOLDS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")


@settings(deadline=None)
@given(anything, anything, anything, anything, anything)
def test_any_value_in_any_field_is_scored_or_unscored(labels, answer, answers, question, response):
    original = {"labels": labels, "answer": answer, "answers": answers, "question": question}
    scores = NLILabelMatch().score(original, {"response": response})
    assert scores in ({}, {"nli_accuracy": 0.0}, {"nli_accuracy": 1.0})
    assert scores.details


@settings(deadline=None)
@given(sentences | st.text(st.characters(exclude_categories=()), max_size=300))
def test_a_response_has_one_label_or_a_reason(response):
    scores = [NLILabelMatch().score({"answer": gold}, {"response": response}) for gold in GOLDS]
    assert sum(score["nli_accuracy"] for score in scores) == (
        scores[0].details["label"] is not None
    )
    assert (scores[0].details["label"] is None) == bool(scores[0].details.get("reason"))


@settings(deadline=None)
@given(sentences)
def test_reasoning_before_the_answer_changes_nothing(reasoning):
    thought = reasoning.replace("<", "").replace(">", "")
    response = f"<think>{thought}</think>Answer: REFUTES"
    assert NLILabelMatch().score({"answer": "REFUTES"}, {"response": response}) == {
        "nli_accuracy": 1.0
    }


@settings(deadline=None)
@given(sentences, st.sampled_from(GOLDS))
def test_a_final_statement_in_its_own_paragraph_is_the_conclusion(before, gold):
    response = f"{before.replace('<think>', '')}.\n\nFinal answer: {gold}"
    assert NLILabelMatch().score({"answer": gold}, {"response": response}) == {"nli_accuracy": 1.0}


def test_values_that_break_careless_code():
    nested = []
    for _ in range(100_000):
        nested = [nested]
    for value in (nested, 10**5_000, float("nan"), "a " * 1_000_000, ["x" * 1_000_000, "SUPPORTS"]):
        for field in ("labels", "answer", "answers", "question"):
            scores = NLILabelMatch().score(
                {"answer": "SUPPORTS", field: value}, {"response": "SUPPORTS"}
            )
            assert scores.details


def test_texts_that_break_careless_code():
    for response in (
        "\ud800 SUPPORTS",
        "\x00",
        "\u202eSUPPORTS\u202c",
        "(" * 50_000,
        "not " * 50_000,
        "\\" * 9_999,
        "true, " * 9_999,
        "=" * 200_000,
        "a" + "\u0301\u0316" * 500_000,
    ):
        assert NLILabelMatch().score({"answer": "SUPPORTS"}, {"response": response}).keys() == {
            "nli_accuracy"
        }
