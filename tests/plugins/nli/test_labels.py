"""The labels of a row and the right one among them."""

from __future__ import annotations

import pytest

from context_bench_nli import NLILabelMatch
from context_bench_nli.labels import label_set

FAMILIES = [
    ("SUPPORTS", ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]),
    ("SUPPORT", ["SUPPORT", "REFUTES", "NOT ENOUGH INFO"]),
    ("REFUTES", ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]),
    ("NOT ENOUGH INFO", ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]),
    ("Entailment", ["Entailment", "Contradiction", "Neutral"]),
    ("entailment", ["entailment", "Contradiction", "Neutral"]),
    ("Contradiction", ["Entailment", "Contradiction", "Neutral"]),
    ("neutral", ["Entailment", "Contradiction", "neutral"]),
    ("Not mentioned", ["Entailment", "Contradiction", "Not mentioned"]),
    ("NotMentioned", ["Entailment", "Contradiction", "NotMentioned"]),
    ("True", ["True", "False", "Unknown"]),
    ("Unknown", ["True", "False", "Unknown"]),
    ("yes", ["yes", "No", "Maybe"]),
    ("not_entailment", ["entailment", "not_entailment"]),
    ("NEI", ["Entailment", "Contradiction", "NEI"]),
    ("sports", ["sports"]),
]


@pytest.mark.parametrize(("gold", "labels"), FAMILIES)
def test_the_family_follows_from_the_right_label(gold, labels):
    found = label_set({"answer": gold})
    assert [label.text for label in found.labels] == labels
    assert [labels[place] for place in found.gold] == [gold]


@pytest.mark.parametrize(
    ("labels", "gold", "response"),
    [
        pytest.param(["SUPPORTS", "REFUTES"], "REFUTES", "REFUTES", id="the same spelling"),
        pytest.param(["SUPPORTS", "REFUTES"], "refutes", "REFUTES", id="another case"),
        pytest.param(["Supported", "Refuted"], "REFUTES", "refuted", id="another form of the word"),
        pytest.param(
            ["entailment", "neutral", "contradiction"],
            2,
            "contradiction",
            id="the index of a class",
        ),
        pytest.param(
            {"0": "entailment", "1": "contradiction"},
            "contradiction",
            "contradiction",
            id="labels by number",
        ),
        pytest.param(
            ("NotMentioned", "Entailment"),
            "Not mentioned",
            "not mentioned",
            id="words written together",
        ),
    ],
)
def test_the_right_label_is_found_among_those_of_the_row(labels, gold, response):
    assert NLILabelMatch().score({"labels": labels, "answer": gold}, {"response": response}) == {
        "nli_accuracy": 1.0
    }


@pytest.mark.parametrize(
    "row",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"answer": None}, id="null"),
        pytest.param({"answer": ""}, id="an empty answer"),
        pytest.param({"answer": "???"}, id="no word"),
        pytest.param(
            {"answer": "Neutral", "labels": ["SUPPORTS", "REFUTES"]}, id="none of the labels"
        ),
        pytest.param(
            {"answer": 5, "labels": ["SUPPORTS", "REFUTES"]}, id="an index beyond the labels"
        ),
        pytest.param({"answer": 1}, id="an index without labels"),
        pytest.param(
            {"answer": True, "labels": ["animal", "plant"]}, id="a truth value is no index"
        ),
    ],
)
def test_a_row_without_a_right_label_is_unscored_with_the_reason(row):
    scores = NLILabelMatch().score(row, {"response": "SUPPORTS"})
    assert scores == {}
    assert scores.details["unscored"]


def test_of_several_right_labels_each_counts():
    row = {"answers": ["SUPPORTS", "NOT ENOUGH INFO"]}
    scores = [
        NLILabelMatch().score(row, {"response": text})["nli_accuracy"]
        for text in ("supported", "refuted", "unclear")
    ]
    assert scores == [1.0, 0.0, 1.0]


def test_a_denial_names_the_other_label_only_where_there_are_two():
    response = {"response": "The abstract does not support the claim."}
    two = NLILabelMatch().score({"labels": ["SUPPORTS", "REFUTES"], "answer": "REFUTES"}, response)
    three = NLILabelMatch().score({"answer": "REFUTES"}, response)
    assert two == {"nli_accuracy": 1.0}
    assert three == {"nli_accuracy": 0.0}
    assert three.details["reason"] == "ruled out others, but left REFUTES, NOT ENOUGH INFO"


def test_the_words_of_the_claim_are_no_verdict():
    row = {"answer": "REFUTES", "question": "Smoking supports growth and this is proven."}
    response = {"response": "The claim that smoking supports growth and this is proven is refuted."}
    assert NLILabelMatch().score(row, response) == {"nli_accuracy": 1.0}
