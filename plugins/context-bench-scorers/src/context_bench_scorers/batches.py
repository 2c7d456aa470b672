"""Checks of what is handed to a scorer, before anything is scored."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import evolve, frozen

from context_bench_scorers.errors import ScorerUserError, UserTypeError, UserValueError

Texts = Sequence[str]


@frozen
class Batch:
    """Candidates, and what belongs to each of them.

    Attributes:
        candidates: The texts to score.
        references: A reference for each; None where there are none.
        inputs: What was asked, for each; None where that is not known.
        contexts: What each should rest on; None where there is none.
    """

    candidates: tuple[str, ...]
    references: tuple[str, ...] | None = None
    inputs: tuple[str, ...] | None = None
    contexts: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        candidate_outputs: Texts,
        reference_outputs: Texts | None = None,
        inputs: Texts | None = None,
        contexts: Texts | None = None,
    ) -> Batch:
        """Return lists as a batch.

        Raises:
            UserTypeError: Something is no list, or a candidate is no text.
            UserValueError: A list is longer or shorter than that of the candidates.
        """
        candidates = _listed("candidate_outputs", candidate_outputs)
        for place, candidate in enumerate(candidates):
            if not isinstance(candidate, str):
                raise UserTypeError(
                    f"Candidate {place} is no text, but {type(candidate).__name__}."
                )
        listed: dict[str, tuple[Any, ...] | None] = {}
        for name, given in (
            ("reference_outputs", reference_outputs),
            ("inputs", inputs),
            ("contexts", contexts),
        ):
            texts = None if given is None else _listed(name, given)
            if texts is not None:
                _check_length(name, texts, len(candidates))
            listed[name] = texts
        return cls(candidates, listed["reference_outputs"], listed["inputs"], listed["contexts"])

    def __len__(self) -> int:
        return len(self.candidates)

    def split(self, size: int) -> Iterator[Batch]:
        """Yield parts of at most so many candidates, in order.

        Raises:
            UserValueError: The size is no whole number above 0.
        """
        if type(size) is not int or size < 1:
            raise UserValueError(f"batch_size must be a whole number above 0, not {size!r}.")
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            yield evolve(
                self,
                candidates=self.candidates[part],
                references=None if self.references is None else self.references[part],
                inputs=None if self.inputs is None else self.inputs[part],
                contexts=None if self.contexts is None else self.contexts[part],
            )


def need_references(scorer: str, references: Sequence[Any] | None, count: int) -> list[str]:
    """Return the references, one for each of so many candidates.

    Raises:
        UserTypeError: There are none, or one is missing (None or NaN) or no text.
        UserValueError: They are more or fewer.
    """
    wanted = f"The scorer {scorer!r} compares with references"
    if references is None:
        raise UserTypeError(f"{wanted}: give reference_outputs.")
    return _texts(wanted, "reference_outputs", references, count, UserTypeError)


def need(scorer: str, what: str, given: Sequence[Any] | None, count: int) -> list[str]:
    """Return the inputs or the contexts, one for each of so many candidates.

    Raises:
        UserValueError: There are none, or one is missing (None or NaN) or no text, or they are more or fewer.
    """
    wanted = f"The scorer {scorer!r} needs {what}"
    if given is None:
        raise UserValueError(f"{wanted}: give {what}.")
    return _texts(wanted, what, given, count, UserValueError)


def _texts(
    wanted: str, name: str, given: Sequence[Any], count: int, error: type[ScorerUserError]
) -> list[str]:
    _check_length(name, given, count)
    for place, text in enumerate(given):
        if not isinstance(text, str):
            is_missing = text is None or (isinstance(text, float) and math.isnan(text))
            fault = "missing" if is_missing else f"no text, but {type(text).__name__}"
            raise error(f"{wanted}; that of candidate {place} is {fault}.")
    return list(given)


def _check_length(name: str, given: Sequence[Any], count: int) -> None:
    if len(given) != count:
        raise UserValueError(
            f"There are {count} candidate_outputs and {len(given)} {name}; each candidate needs its own."
        )


def _listed(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise UserTypeError(
            f"{name} is a list of texts, not {type(given).__name__}; write [text] for one."
        )
    return tuple(given)
