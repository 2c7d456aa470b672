"""Judgements of responses: ratings of one response, and preferences between two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

A, B, TIE = "a", "b", "tie"
"""The possible votes on two responses."""


@frozen(eq=False)
class Answer:
    """A response that an evaluator can score.

    Attributes:
        example: The fields of its example, as an evaluator receives them.
        response: Its text.
    """

    example: Mapping[str, Any]
    response: str


@frozen(eq=False)
class Rating:
    """How people rated one response.

    Attributes:
        item: What several responses share, such as a document. Ratings of one item are not independent.
        label: What identifies the response in a report.
        system: The system that wrote it; None if the data does not name systems.
        answer: The response with its example.
        ratings: The ratings by dimension, one for each rater.
    """

    item: str
    label: str
    system: str | None
    answer: Answer
    ratings: Mapping[str, tuple[float, ...]]


@frozen(eq=False)
class Preference:
    """One vote on two responses.

    Attributes:
        item: What several votes share, such as a question. Votes on one item are not independent.
        label: What identifies the two responses in a report. Votes on the same two responses have one label.
        first: The response ``a`` with its example.
        second: The response ``b`` with its example.
        vote: ``a``, ``b`` or ``tie``.
    """

    item: str
    label: str
    first: Answer
    second: Answer
    vote: str


@frozen
class Judgements:
    """What a file contains: ratings or preferences, and never both.

    Attributes:
        layout: Name of the layout that the file was read as.
        ratings: Ratings of single responses.
        preferences: Votes on two responses.
    """

    layout: str
    ratings: tuple[Rating, ...] = ()
    preferences: tuple[Preference, ...] = ()

    @property
    def dimensions(self) -> list[str]:
        """The dimensions of the ratings, in the order of the file."""
        return list(dict.fromkeys(name for rating in self.ratings for name in rating.ratings))
