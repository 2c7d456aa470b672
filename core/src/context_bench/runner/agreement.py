"""Agreement: rows without a gold answer are scored against what one of the systems answered, and say so.

Such rows have a label of their own, whose evaluators are those of the dataset. The ones that need an answer are given the
reference's response in its place, and their keys get a prefix, so that no such score is ever taken for one of a gold
answer. They score when all rows are answered: the response may come later than those that are held against it. What lacks a
gold answer, and what stands in for it, says a run part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from context_bench.answers import REFERENCE_FIELDS
from context_bench.protocols import AnswerSource
from context_bench.records import AGREEMENT
from context_bench.runner.parts import LabelWiring, Scorer, Slot


@frozen
class Reference:
    """The system whose responses stand in for gold answers.

    Attributes:
        part: Says what lacks a gold answer, and what stands in for it.
        label: Its label.
        slot: Its number.
        samples: How often the run gives it each example. The part may have it asked oftener where there is no gold answer;
            what is beyond this number says how far it agrees with itself, and nothing else.
    """

    part: AnswerSource
    label: str
    slot: int
    samples: int = 1

    def samples_of(self, slot: int, label: str, asked: int) -> int:
        """Return how often a system is given an example of a label, when the run asks for a number of times."""
        return max(asked, self.part.least_samples) if slot == self.slot and label == self.name(label) else asked

    def is_needed(self, wiring: LabelWiring, example: Mapping[str, Any]) -> bool:
        """Whether evaluators of a label need a gold answer, and an example has none for any of them."""
        fields = {name for scorer in wiring.scorers for name in self._gold(scorer)}
        return bool(fields) and self.part.lacks(example, fields)

    def name(self, label: str) -> str:
        """Return the label of the rows of a dataset that have no gold answer."""
        return label if label.endswith(_MARK) else f"{label}{_MARK}"

    def dataset_of(self, label: str) -> str | None:
        """Return the label of the dataset whose rows without a gold answer have this label; None for any other label."""
        return label.removesuffix(_MARK) if label.endswith(_MARK) else None

    def described(self, slots: Iterable[Slot]) -> list[Slot]:
        """Return the slots of a run, with what is recorded of the reference."""
        told = {"reference": {"samples": self.samples}}
        return [
            evolve(slot, description={**slot.description, **told}) if slot.number == self.slot else slot
            for slot in slots
        ]

    def agreeing(self, wiring: LabelWiring, number: int) -> LabelWiring:
        """Return the wiring of the rows of a label that have no gold answer; the new label has that number."""
        needy = [scorer for scorer in wiring.scorers if self._gold(scorer)]
        scorers = tuple(_agreeing(scorer) if scorer in needy else scorer for scorer in wiring.scorers)
        headline = wiring.headline
        if any(headline in scorer.keys for scorer in needy):
            headline = f"{AGREEMENT}{headline}"
        plan = {**wiring.plan, "agreement": {"of": wiring.label, "reference": self.label}}
        return LabelWiring(number, f"{wiring.label}{_MARK}", scorers, headline, plan)

    def _gold(self, scorer: Scorer) -> Sequence[str]:
        """Return the gold fields of an evaluator; one without a manifest needs an answer for all one knows."""
        anything = () if scorer.keys else ("|".join(REFERENCE_FIELDS),)
        return self.part.gold_fields(scorer.needs.get("original", ()) or anything)


_MARK = " (agreement)"


def _agreeing(scorer: Scorer) -> Scorer:
    return evolve(
        scorer,
        prefix=f"{AGREEMENT}{scorer.prefix}",
        yields=frozenset(f"{AGREEMENT}{key}" for key in scorer.yields),
        keys={f"{AGREEMENT}{key}": meaning for key, meaning in scorer.keys.items()},
        ranges={f"{AGREEMENT}{key}": bounds for key, bounds in scorer.ranges.items()},
        agrees=True,
    )
