"""What can be measured, and which of its three values is the score."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar


class RougeType(Enum):
    """A ROUGE measure; the value is the key of its score."""

    ROUGE_1 = "rouge1"
    ROUGE_2 = "rouge2"
    ROUGE_L = "rougeL"
    ROUGE_LSUM = "rougeLsum"


class Mode(Enum):
    """Which value of a measure is the score."""

    PRECISION = "precision"
    RECALL = "recall"
    FMEASURE = "fmeasure"


Choice = TypeVar("Choice", RougeType, Mode)


def parse(kind: type[Choice], value: Choice | str) -> Choice:
    """The member that a value names, in any case, with or without separators.

    >>> parse(RougeType, "rouge-l"), parse(Mode, "Recall")
    (<RougeType.ROUGE_L: 'rougeL'>, <Mode.RECALL: 'recall'>)

    Raises:
        ValueError: No member has that name; the message lists those there are.
    """
    if isinstance(value, kind):
        return value
    for member in kind:
        if isinstance(value, str) and _bare(value) in (_bare(member.name), _bare(member.value)):
            return member
    choices = ", ".join(f"{member.name} ({member.value})" for member in kind)
    raise ValueError(f"RougeScore has no {kind.__name__} {value!r}. Choose one of: {choices}.")


def _bare(name: str) -> str:
    return name.casefold().translate(str.maketrans("", "", "_- "))
