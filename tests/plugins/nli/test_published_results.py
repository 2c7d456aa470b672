"""Labels of real data sets, and real outputs of a model with two labels to choose from."""

from __future__ import annotations

from collections import Counter

import pytest

from context_bench_nli import NLILabelMatch

pytestmark = pytest.mark.shared


def test_every_label_of_contract_nli_matches_itself_and_no_other(shared_json):
    documents = shared_json("contract-nli.raw.json.gz")["documents"]
    counted = Counter(
        annotation["choice"]
        for document in documents
        for annotation in document["annotation_sets"][0]["annotations"].values()
    )
    assert counted == {"Entailment": 519, "NotMentioned": 423, "Contradiction": 95}
    for gold in counted:
        for response in counted:
            assert NLILabelMatch().score({"answer": gold}, {"response": response}) == {
                "nli_accuracy": float(gold == response)
            }


def test_a_contract_nli_hypothesis_that_is_repeated_is_no_verdict(shared_json):
    hypotheses = shared_json("contract-nli.raw.json.gz")["labels"].values()
    for hypothesis in hypotheses:
        row = {"answer": "Contradiction", "question": hypothesis["hypothesis"]}
        response = f"The hypothesis says: {hypothesis['hypothesis']} This contradicts section 4."
        assert NLILabelMatch().score(row, {"response": response}) == {"nli_accuracy": 1.0}


def test_every_label_of_scifact_matches_itself_and_no_other(shared_json):
    claims = shared_json("scifact.claims.raw.jsonl.gz")
    labels = {
        evidence["label"]
        for claim in claims
        for listed in claim["evidence"].values()
        for evidence in listed
    }
    assert labels == {"SUPPORT", "REFUTE"}
    for gold in [*sorted(labels), "NEI"]:
        for response in ("SUPPORT", "REFUTE", "NEI"):
            assert NLILabelMatch().score({"answer": gold}, {"response": response}) == {
                "nli_accuracy": float(gold == response)
            }


# Labels, and the accuracy in per cent by exact match after "the answer is", with and without reasoning, of 250 responses each.
BIG_BENCH_HARD = {
    "formal_fallacies": (("valid", "invalid"), 50.4, 52.4),
    "boolean_expressions": (("True", "False"), 92.8, 88.4),
    "sports_understanding": (("yes", "no"), 97.6, 72.8),
}


@pytest.mark.parametrize("task", BIG_BENCH_HARD)
def test_big_bench_hard_with_and_without_reasoning(shared_json, task):
    labels, *accuracies = BIG_BENCH_HARD[task]
    for kind, published in zip(("cot", "direct"), accuracies):
        outputs = shared_json(f"outputs/bbh-codex-{kind}/{task}.json.gz")["outputs"]
        right = 0.0
        for output in outputs:
            response = output["prediction"].partition("\n\nQ:")[0]
            scores = NLILabelMatch().score(
                {"labels": labels, "answer": output["target"]}, {"response": response}
            )
            right += scores["nli_accuracy"]
        # One response that breaks off in "not not False = not not False = ..." happens to name the right label.
        assert 100 * right / len(outputs) == pytest.approx(
            published, abs=0.41 if task == "boolean_expressions" else 0.01
        )
