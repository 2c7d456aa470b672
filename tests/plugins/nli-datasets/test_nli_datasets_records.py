"""From records to examples, and what they are scored by."""

from __future__ import annotations

import pytest

from context_bench_huggingface import Row
from context_bench_nli_datasets import records

CORPUS = Row(
    tables={"corpus": {"7": {"doc_id": 7, "title": "On B", "abstract": ["One. ", "Two."]}}}
)


def test_the_hypothesis_stands_first_in_the_input_of_scrolls():
    example = records.contract_nli(
        {"id": "c", "input": "It is secret.\n\nThe contract.\n\nMore.", "output": "Entailment"}
    )
    assert example["context"] == "The contract.\n\nMore."
    assert example["question"].startswith("Hypothesis: It is secret.\n")
    assert example["answer"] == "Entailment"


def test_flat_labels_of_scifact_count():
    base = {"id": 1, "claim": "A heals B.", "cited_doc_ids": [7, 9]}
    flat = {
        **base,
        "evidence_doc_id": "7",
        "evidence_label": "CONTRADICT",
        "evidence_sentences": [0],
    }
    [example, other] = records.scifact(flat, CORPUS)
    assert (example["id"], example["answer"], example["context"]) == (
        "1-7",
        "REFUTES",
        "On B\nOne. Two.",
    )
    assert (other["id"], other["answer"]) == ("1-9", "NOT ENOUGH INFO")
    none = {**base, "evidence_doc_id": "", "evidence_label": "", "evidence_sentences": []}
    assert [each["answer"] for each in records.scifact(none, CORPUS)] == ["NOT ENOUGH INFO"] * 2
    release = {**base, "evidence": {"7": [{"sentences": [0], "label": "SUPPORT"}]}}
    assert [each["answer"] for each in records.scifact(release, CORPUS)] == [
        "SUPPORTS",
        "NOT ENOUGH INFO",
    ]
    assert [each.get("answer") for each in records.scifact(base, CORPUS)] == [None, None]


def test_an_abstract_without_evidence_in_it_says_nothing_about_the_claim():
    record = {"id": 1, "claim": "A heals B.", "cited_doc_ids": [7], "evidence": {"7": []}}
    assert [(each["id"], each["answer"]) for each in records.scifact(record, CORPUS)] == [
        ("1-7", "NOT ENOUGH INFO")
    ]


def test_a_claim_is_held_against_an_abstract_once_however_many_pieces_of_evidence_it_holds():
    base = {"id": 1, "claim": "A heals B.", "cited_doc_ids": [7, 7, 9]}
    pieces = [
        {**base, "evidence_doc_id": document, "evidence_label": "SUPPORT"}
        for document in ("7", "7", "9")
    ]
    pieces.append({**pieces[-1], "id": 2})
    rows = [
        Row(number, tables=CORPUS.tables, together=both)
        for number, both in ((0, pieces[:3]), (3, pieces[3:]))
    ]
    found = [
        (each["id"], each["answer"])
        for row in rows
        for each in records.scifact(row.together[0], row)
    ]
    assert found == [
        ("1-7", "SUPPORTS"),
        ("1-9", "SUPPORTS"),
        ("2-9", "SUPPORTS"),
        ("2-7", "NOT ENOUGH INFO"),
    ]
    release = {**base, "evidence": {"7": [{"label": "SUPPORT"}, {"label": "SUPPORT"}]}}
    assert [each["id"] for each in records.scifact(release, CORPUS)] == ["1-7", "1-9"]


TEST_SPLIT = {
    "hub": {
        "evidence_doc_id": "",
        "evidence_label": "",
        "evidence_sentences": [],
        "cited_doc_ids": [],
    },
    "release": {},
    "columns without values": {
        "evidence_doc_id": None,
        "evidence_label": None,
        "cited_doc_ids": None,
    },
}


@pytest.mark.parametrize("layout", TEST_SPLIT)
def test_a_claim_of_the_test_split_is_one_question_without_gold(layout):
    """Its labels are kept, and so are the abstracts that it cites: nothing says that these are not enough."""
    [example] = records.scifact({"id": 7, "claim": "A heals B.", **TEST_SPLIT[layout]}, CORPUS)
    assert (example["id"], example["claim"], example["context"]) == ("7", "A heals B.", "")
    assert "answer" not in example


LABELS = {
    "nda-1": {"short_description": "Secret", "hypothesis": "It is secret."},
    "nda-2": {"short_description": "Returned", "hypothesis": "It is returned."},
}


def contract(number, choices, **more):
    annotations = {key: {"choice": choice, "spans": []} for key, choice in choices.items()}
    return {
        "id": number,
        "text": "The contract.",
        "annotation_sets": [{"annotations": annotations}],
        **more,
    }


def test_a_file_of_the_release_of_contract_nli_holds_each_contract_against_each_hypothesis():
    documents = [
        contract(
            3, {"nda-1": "NotMentioned", "nda-2": "Entailment"}, spans=[[0, 13]], file_name="a.pdf"
        ),
        contract(4, {"nda-2": "Contradiction"}),
        contract(5, {}, annotation_sets=[]),
    ]
    found = records.contract_nli({"documents": documents, "labels": LABELS})
    assert [(each["id"], each.get("answer")) for each in found] == [
        ("3_nda-1", "Not mentioned"),
        ("3_nda-2", "Entailment"),
        ("4_nda-1", None),
        ("4_nda-2", "Contradiction"),
        ("5_nda-1", None),
        ("5_nda-2", None),
    ]
    scrolls = {"id": "3_nda-2", "input": "It is returned.\n\nThe contract.", "output": "Entailment"}
    assert found[1] == records.contract_nli(scrolls)


def test_what_is_no_choice_of_contract_nli_is_refused():
    for label in ("entailment!", 1, "neutral"):
        with pytest.raises((ValueError, KeyError), match=str(label)):
            records.contract_nli(
                {"id": 1, "input": "It is secret.\n\nThe contract.", "output": label}
            )
    two = contract(3, {"nda-1": "NotMentioned"})
    two["annotation_sets"] *= 2
    with pytest.raises(ValueError, match="the contract 3 has 2 sets of annotations"):
        records.contract_nli({"documents": [two], "labels": LABELS})
