"""Labels with their explanation in the same sentence, and ways of saying a relation, labelled before they were read."""

from __future__ import annotations

import pytest

from context_bench_nli import NLILabelMatch

LABELS = ("Entailment", "Contradiction", "Neutral")
EXPLAINED = [
    ("Entailment, because nothing in the text contradicts it.", "Entailment"),
    ("Entailment, since the contract does not contradict the hypothesis.", "Entailment"),
    ("Entailment, as the premise says so and no clause contradicts it.", "Entailment"),
    ("Contradiction, because the premise supports the opposite.", "Contradiction"),
    ("Contradiction, given that the text would only support the reverse claim.", "Contradiction"),
    (
        "Contradiction due to clause 4, which alone would support it if it were not cancelled.",
        "Contradiction",
    ),
    ("Neutral, because the text neither supports nor contradicts it.", "Neutral"),
    ("Neutral, the passage supports a weaker claim and contradicts a stronger one.", "Neutral"),
    ("Neutral (the text supports one half and contradicts the other).", "Neutral"),
    ("**Contradiction**, because the text entails that nobody came.", "Contradiction"),
    ("Entailment based on clause 2; clause 3 contradicts nothing here.", "Entailment"),
    (
        "Contradiction, which follows from the date; an earlier draft supports the claim.",
        "Contradiction",
    ),
    ("Entailment, and not contradiction.", "Entailment"),
    ("Entailment or contradiction, because it is unclear.", "Neutral"),
    ("Entailment, because it says so. Wait, contradiction.", "Contradiction"),
    ("Entailment.", "Entailment"),
    ("If entailment, because of that, holds, we are done.", None),
]
SAID = [
    ("The hypothesis can be inferred from the premise.", "Entailment"),
    ("This can be deduced from clause 2.", "Entailment"),
    ("It can be concluded that she was there, so it can be inferred.", "Entailment"),
    ("The hypothesis cannot be inferred from the premise.", "Neutral"),
    ("It can not be inferred.", "Neutral"),
    ("We can't infer that from the text.", "Neutral"),
    ("Nothing can be inferred about her age.", "Neutral"),
    ("The premise says nothing about this.", "Neutral"),
    ("The text says nothing that contradicts it, and nothing that supports it.", "Neutral"),
    ("We cannot know.", "Neutral"),
    ("We can't know whether she was there.", "Neutral"),
    ("From this we do not know whether it is true.", "Neutral"),
    ("There is no way to know.", "Neutral"),
    ("There is no way of telling from the passage.", "Neutral"),
    ("The passage gives no indication of her age.", "Neutral"),
    ("It is not known.", "Neutral"),
    ("The hypothesis goes against the premise.", "Contradiction"),
    ("The two are incompatible with each other.", "Contradiction"),
    ("The hypothesis is at odds with the text.", "Contradiction"),
    ("The premise rules out the hypothesis.", "Contradiction"),
    ("The text is about a dog, and the hypothesis about a cat.", None),
]


@pytest.mark.parametrize(("response", "label"), EXPLAINED + SAID)
def test_the_label_that_a_reply_gives(response: str, label: str | None) -> None:
    scores = NLILabelMatch().score({"answer": "Neutral", "labels": LABELS}, {"response": response})
    assert scores.details["label"] == label, scores.details
