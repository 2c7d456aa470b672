"""Agreement: rows without a gold answer are scored against what one of the systems answered, and say so.

Such rows have a label of their own, whose evaluators are those of the dataset. The ones that need an answer are given the
reference's response in its place, and their keys get a prefix, so that no such score is ever taken for one of a gold
answer. They score when all rows are answered: the response may come later than those that are held against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve, frozen

from context_bench.answers import REFERENCE_FIELDS
from context_bench.records import AGREEMENT
from context_bench.runner.parts import LabelWiring, Scorer, Slot
from context_bench.tokens import PROMPT_FIELDS

GOLD = REFERENCE_FIELDS


@frozen
class Reference:
    """The system whose responses stand in for gold answers.

    Attributes:
        label: Its label.
        slot: Its number.
        samples: How often the run gives it each example. It is asked at least twice where there is no gold answer; what
            is beyond this number says how far it agrees with itself, and nothing else.
    """

    label: str
    slot: int
    samples: int = 1

    def samples_of(self, slot: int, label: str, asked: int) -> int:
        """Return how often a system is given an example of a label, when the run asks for a number of times."""
        return max(asked, 2) if slot == self.slot and label == self.name(label) else asked

    def is_needed(self, wiring: LabelWiring, example: Mapping[str, Any]) -> bool:
        """Whether evaluators of a label need a gold answer, and an example has none for any of them."""
        needs = [need for scorer in wiring.scorers for need in gold_needs(scorer)]
        return bool(needs) and not any(_texts(example.get(name)) for name in {name for need in needs for name in need})

    def before(self, wiring: LabelWiring) -> LabelWiring:
        """Return a wiring without the scorers that wait for the reference's response."""
        return before_reference(wiring)

    def name(self, label: str) -> str:
        """Return the label of the rows of a dataset that have no gold answer."""
        return label if label.endswith(_MARK) else f"{label}{_MARK}"

    def described(self, slots: Iterable[Slot]) -> list[Slot]:
        """Return the slots of a run, with what is recorded of the reference."""
        told = {"reference": {"samples": self.samples}}
        return [
            evolve(slot, description={**slot.description, **told}) if slot.number == self.slot else slot
            for slot in slots
        ]

    def told_twice(self, rows: int | None) -> str | None:
        """Return what its second answers will cost, in words; None when the run asks for them anyway.

        Args:
            rows: Its rows in the run at most; None when nobody knows.
        """
        if self.samples > 1:
            return None
        calls = "one more call for each" if rows is None else f"up to {rows} more calls"
        return (
            f"The reference {self.label} is asked twice where there is no gold answer, to see how far it agrees with "
            f"itself: {calls}."
        )


_MARK = " (agreement)"


def dataset_of(label: str) -> str | None:
    """Return the label of the dataset whose rows without a gold answer have this label; None for any other label."""
    return label.removesuffix(_MARK) if label.endswith(_MARK) else None


def _texts(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, Iterable):
        return any(map(_texts, value))
    return value is not None


def agreeing(wiring: LabelWiring, number: int, reference: str) -> LabelWiring:
    """Return the wiring of the rows of a label that have no gold answer.

    Args:
        wiring: The wiring of the label.
        number: Number of the new label.
        reference: Label of the system whose responses stand in for gold answers.
    """
    scorers = tuple(_agreeing(scorer) if gold_needs(scorer) else scorer for scorer in wiring.scorers)
    renamed = {key for scorer in wiring.scorers if gold_needs(scorer) for key in scorer.keys}
    headline = wiring.headline
    if headline in renamed:
        headline = f"{AGREEMENT}{headline}"
    plan = {**wiring.plan, "agreement": {"of": wiring.label, "reference": reference}}
    return LabelWiring(number, f"{wiring.label}{_MARK}", scorers, headline, plan)


def before_reference(wiring: LabelWiring) -> LabelWiring:
    """Return the wiring without the scorers that wait for the reference's response."""
    if not any(scorer.agrees for scorer in wiring.scorers):
        return wiring
    return evolve(wiring, scorers=tuple(scorer for scorer in wiring.scorers if not scorer.agrees))


def gold_needs(scorer: Scorer) -> list[tuple[str, ...]]:
    """Return the fields, any of which is a gold answer to an evaluator that cannot do without; none when it can.

    They are those that its manifest says it needs, together with ``answer`` or ``answers`` and with no text of the
    prompt. An evaluator without a manifest needs an answer for all one knows.
    """
    needs = [tuple(need.split("|")) for need in scorer.needs.get("original", ())]
    if not needs and not scorer.keys:
        return [GOLD]
    return [need for need in needs if set(need) & set(GOLD) and not set(need) & set(PROMPT_FIELDS)]


def _agreeing(scorer: Scorer) -> Scorer:
    return evolve(
        scorer,
        prefix=f"{AGREEMENT}{scorer.prefix}",
        yields=frozenset(f"{AGREEMENT}{key}" for key in scorer.yields),
        keys={f"{AGREEMENT}{key}": meaning for key, meaning in scorer.keys.items()},
        ranges={f"{AGREEMENT}{key}": bounds for key, bounds in scorer.ranges.items()},
        agrees=True,
    )
