"""The evaluator as a plugin: its details and manifest."""

from __future__ import annotations

import pytest

from context_bench.catalog import open_catalog
from context_bench_nli import NLILabelMatch

suites = pytest.importorskip(
    "context_bench_testing.suites", reason="context-bench-testing is not installed"
)


def test_a_wrong_label_and_no_label_are_both_zero_but_told_apart():
    wrong = NLILabelMatch().score({"answer": "REFUTES"}, {"response": "Answer: supported"})
    none = NLILabelMatch().score({"answer": "REFUTES"}, {"response": "I cannot help."})
    assert wrong == none == {"nli_accuracy": 0.0}
    assert wrong.details == {
        "label": "SUPPORTS",
        "gold": "REFUTES",
        "how": "announced",
        "quote": "Answer: supported",
    }
    assert none.details == {"label": None, "gold": "REFUTES", "reason": "no label found"}


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", "the response is empty"),
        (" \n", "the response is empty"),
        ("<think>SUPPORTS", "the response is all reasoning and no answer"),
        ("Hello!", "no label found"),
        ("SUPPORTS or REFUTES", "no label found"),
        (
            "One study supports the claim. Another refutes the claim.",
            "several labels, no conclusion",
        ),
        ("It is not supported.", "ruled out others, but left REFUTES, NOT ENOUGH INFO"),
    ],
)
def test_the_reason_says_why_no_label_was_found(response, reason):
    scores = NLILabelMatch().score({"answer": "SUPPORTS"}, {"response": response})
    assert scores == {"nli_accuracy": 0.0}
    assert scores.details["reason"] == reason


@pytest.mark.parametrize("response", [None, b"\xff", ["SUPPORTS"], {"label": "SUPPORTS"}])
def test_an_output_without_a_text_is_unscored(response):
    scores = NLILabelMatch().score({"answer": "SUPPORTS"}, {"response": response})
    assert scores == {}
    assert scores.details["unscored"] == "the output has no text under 'response'"


@pytest.mark.parametrize(
    "labels", [None, ["True", "False"], ["no", "yes"], ["SUPPORTS", "REFUTES"]]
)
@pytest.mark.parametrize("answer", [True, False])
def test_a_truth_value_is_the_label_of_its_name(answer, labels):
    row = {"answer": answer, "labels": labels}
    for said in (True, False):
        assert NLILabelMatch().score(row, {"response": f"{said}."}) == {
            "nli_accuracy": float(said is answer)
        }


def test_a_huge_response_is_read_at_both_ends():
    filler = "The contract has many pages. " * 400_000
    row = {"answer": "Contradiction"}
    for response in (
        f"{filler}Answer: Contradiction",
        f"Contradiction.\n{filler}",
        f"<think>{filler}</think>Contradiction",
    ):
        assert NLILabelMatch().score(row, {"response": response}) == {"nli_accuracy": 1.0}


def test_there_is_no_parameter_that_changes_a_score():
    assert NLILabelMatch().fingerprint() == {}


class TestNLILabelMatch(suites.EvaluatorSuite):
    component = "nli"
    expected = (({"answer": "Yes"}, {"response": "Yes"}, {"nli_accuracy": 1.0}),)


def test_it_is_wired_to_its_benchmarks():
    manifest = open_catalog((), {}).find("evaluators", "nli").manifest
    assert [rule.datasets or rule.tags for rule in manifest.wire] == [
        ("contract-nli", "scifact"),
        ("nli",),
    ]
