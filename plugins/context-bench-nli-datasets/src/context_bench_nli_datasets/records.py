"""From the records of inference datasets to examples; every function is pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_bench_huggingface import FIRST, Row
from context_bench_huggingface.columns import identity_of, text_in, text_of, texts_in
from context_bench_huggingface.layouts import rows_of

Record = Mapping[str, Any]
Example = dict[str, Any]
_CHOICES = {
    **{choice.casefold(): choice for choice in ("Entailment", "Contradiction", "Not mentioned")},
    "notmentioned": "Not mentioned",  # as the release writes it
}
_VERDICTS = {
    "SUPPORT": "SUPPORTS",
    "CONTRADICT": "REFUTES",
    "REFUTE": "REFUTES",
    "": "NOT ENOUGH INFO",
}


def contract_nli(record: Record, row: Row = FIRST) -> Example | list[Example]:
    """Return a ContractNLI example: SCROLLS puts the hypothesis first in its input, the contract behind a blank line.

    A file of the release is one record: contracts, and the hypotheses that each is held against. It gives an example for each
    pair.
    """
    if "labels" in record:
        return [
            _about_a_contract(
                f"{contract['id']}_{key}",
                text_in(contract, "text"),
                text_in(label, "hypothesis"),
                _choice(contract, key),
            )
            for contract in rows_of(record["documents"])
            for key, label in record["labels"].items()
        ]
    hypothesis, gap, contract = text_in(record, "input").partition("\n\n")
    if not gap:
        raise ValueError("input has no blank line between the hypothesis and the contract")
    return _about_a_contract(
        identity_of(record, row, "id"), contract, hypothesis, record.get("output")
    )


def _about_a_contract(identity: Any, contract: str, hypothesis: str, choice: Any) -> Example:
    asked = {
        "question": f"Hypothesis: {hypothesis.strip()}\n\nDoes the contract entail it, contradict it, or not mention it?",
        "instruction": "Answer with Entailment, Contradiction or Not mentioned.",
    }
    label = (text_of(choice, "the label") or "").strip()
    if label and label.casefold() not in _CHOICES:
        raise ValueError(
            f"{choice!r} is none of the labels Entailment, Contradiction, Not mentioned"
        )
    gold = {"answer": _CHOICES[label.casefold()]} if label else {}
    return {"id": identity, "context": contract.strip(), **asked, **gold}


def _choice(contract: Record, key: str) -> str | None:
    """Return what the annotator of a contract says of a hypothesis; nothing where none does."""
    sets = contract.get("annotation_sets") or []
    if len(sets) > 1:
        raise ValueError(
            f"the contract {contract['id']} has {len(sets)} sets of annotations, and one is expected"
        )
    found = sets[0]["annotations"].get(key) if sets else None
    return None if found is None else found["choice"]


def scifact(record: Record, row: Row = FIRST) -> Iterator[Example]:
    """Yield an example for each abstract that a claim is held against; the test split keeps its labels.

    The hub has a record for each piece of evidence, the release one for each claim; both give the same pairs, each once, whatever
    pieces of evidence an abstract holds and however often it is cited: 339 of the validation split. A cited abstract without
    evidence in it neither supports nor refutes the claim. Of the test split the claim is all there is: abstracts are kept too,
    and so such an example has no context.
    """
    claim, corpus, identity = (
        text_in(record, "claim"),
        row.tables.get("corpus", {}),
        identity_of(record, row, "id"),
    )
    for document, verdict in _evidence(record, row.together or [record]) or [("", None)]:
        abstract = corpus.get(document, {})
        text = " ".join(map(str.strip, texts_in(abstract, "abstract")))
        yield {
            "id": f"{identity}-{document}" if document else str(identity),
            "context": f"{abstract.get('title', '')}\n{text}".strip(),
            "question": f"Claim: {claim}\n\nDoes the abstract support or refute the claim?",
            "instruction": "Answer with SUPPORTS, REFUTES or NOT ENOUGH INFO.",
            "claim": claim,
            "cluster": str(identity),
            **({} if verdict is None else {"answer": verdict}),
        }


def _evidence(claim: Record, records: Sequence[Record]) -> list[tuple[str, str | None]]:
    """Return abstracts and verdicts on them, those with evidence first; no verdict where the benchmark keeps it."""
    cited = dict.fromkeys(texts_in(claim, "cited_doc_ids"))
    if "evidence_label" in claim:
        if claim["evidence_label"] is None:
            kept = text_of(claim.get("evidence_doc_id"), "evidence_doc_id")
            return [(each, None) for each in ([kept] if kept else cited)]
        sets: dict[str, list[Record]] = {}
        for piece in records:
            document, label = (
                text_of(piece.get("evidence_doc_id"), "evidence_doc_id"),
                piece["evidence_label"],
            )
            if document and not label:
                raise ValueError(f"the evidence in {document} has no label")
            if document:
                sets.setdefault(document, []).append({"label": label})
    elif claim.get("evidence") is None:
        return [(each, None) for each in cited]
    else:
        sets = {str(document): found for document, found in claim["evidence"].items() if found}
    found = {document: _verdict(pieces) for document, pieces in sets.items()}
    return [*found.items(), *((each, _VERDICTS[""]) for each in cited if each not in found)]


def _verdict(sets: Any) -> str:
    [label] = {each["label"] for each in sets}  # of one abstract, all have one label
    return _VERDICTS[label]
