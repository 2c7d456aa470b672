"""The base class of scorers."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_bench_scorers.batches import Batch, Texts, need, need_references
from context_bench_scorers.errors import CategoryError, UserValueError
from context_bench_scorers.results import Category, ScoreResult, results_of
from context_bench_scorers.scoring_method import (
    CLASSES,
    ScorerOutputType,
    ScoringMethod,
    ScoringMethodType,
)

if TYPE_CHECKING:
    from typing_extensions import Self

_LOG = logging.getLogger(__name__)
_OURS = "context_bench_scorers"


class Scorer(ABC):
    """Scores lists of candidates, each against its reference, its input or its context.

    A subclass defines `name` and `run_batch`. `run` checks the lists, cuts them into batches and keeps the order; `arun`
    does the same with several batches at a time. A scorer that waits for a server defines `arun_batch` too; of the others
    the batches of `arun` run in threads.

        class Length(Scorer):
            @staticmethod
            def name() -> str:
                return "length"

            def run_batch(self, candidate_batch, reference_batch=None, input_text_batch=None, context_batch=None):
                return [ScoreResult(len(text)) for text in candidate_batch]

    Attributes:
        max_concurrency: How many batches `arun` has in work at a time.
    """

    max_concurrency: int = 4

    @staticmethod
    @abstractmethod
    def name() -> str:
        """Return the name of the scorer."""

    @staticmethod
    def requires_reference() -> bool:
        """Whether it compares with references."""
        return True

    @staticmethod
    def requires_input() -> bool:
        """Whether it must know what was asked."""
        return False

    @staticmethod
    def requires_context() -> bool:
        """Whether it must know what the candidate should rest on."""
        return False

    @staticmethod
    def is_categorical() -> bool:
        """Whether every result has a category."""
        return False

    @staticmethod
    def categories() -> list[Category] | None:
        """Return the categories of a categorical scorer."""
        return None

    @abstractmethod
    def run_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> Sequence[ScoreResult]:
        """Return a result for each candidate of one batch."""

    async def arun_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> Sequence[ScoreResult]:
        """Return a result for each candidate of one batch without blocking the event loop."""
        arguments = (candidate_batch, reference_batch, input_text_batch, context_batch)
        return await asyncio.to_thread(self.run_batch, *arguments)

    def run(
        self,
        candidate_outputs: Texts,
        reference_outputs: Texts | None = None,
        inputs: Texts | None = None,
        contexts: Texts | None = None,
        batch_size: int = 1,
    ) -> list[ScoreResult]:
        """Return a result for each candidate, in order.

        Args:
            candidate_outputs: The texts to score.
            reference_outputs: A reference for each.
            inputs: What was asked, for each.
            contexts: What each should rest on.
            batch_size: How many are scored together.

        Raises:
            UserTypeError: References are missing.
            UserValueError: Lists differ in length; inputs or contexts are missing.
            ScorerInternalError: The scorer did not give a result for each, or none of its categories (a ValueError too).
        """
        found: list[ScoreResult] = []
        for part in self._parts(
            Batch.of(candidate_outputs, reference_outputs, inputs, contexts), batch_size
        ):
            found += self._checked(self.run_batch(*_lists(part)), len(part))
        return found

    async def arun(
        self,
        candidate_outputs: Texts,
        reference_outputs: Texts | None = None,
        inputs: Texts | None = None,
        contexts: Texts | None = None,
        batch_size: int = 5,
    ) -> list[ScoreResult]:
        """Return a result for each candidate, in order, with up to `max_concurrency` batches in work; see `run`."""
        free = asyncio.Semaphore(max(1, self.max_concurrency))

        async def scored(part: Batch) -> list[ScoreResult]:
            async with free:
                return self._checked(await self.arun_batch(*_lists(part)), len(part))

        parts = list(
            self._parts(
                Batch.of(candidate_outputs, reference_outputs, inputs, contexts), batch_size
            )
        )
        tasks = [asyncio.ensure_future(scored(part)) for part in parts]
        try:
            return [result for results in await asyncio.gather(*tasks) for result in results]
        finally:
            for task in tasks:
                task.cancel()

    def to_dict(self, warn: bool = False) -> dict[str, Any]:
        """Return the configuration as JSON-like values, from which `from_dict` makes an equal scorer.

        Args:
            warn: Whether to log which parameters cannot be written down, and which the scorer needs and does not keep.
        """
        found: dict[str, Any] = {}
        lost: dict[str, str] = {}
        for name, parameter in _parameters(type(self)).items():
            try:
                found[name] = json.loads(json.dumps(getattr(self, name)))
            except AttributeError:
                if parameter.default is inspect.Parameter.empty:
                    lost[name] = "is no attribute of it"
            except (TypeError, ValueError, RecursionError):
                lost[name] = "cannot be written down"
        for name, reason in lost.items() if warn else ():
            _LOG.warning("The %s of the scorer %s %s and is left out.", name, self.name(), reason)
        return found

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> Self:
        """Return a scorer with a configuration; what its constructor does not know is passed over."""
        known = _parameters(cls)
        return cls(**{name: value for name, value in config.items() if name in known})

    def to_metadata(self) -> ScoringMethod:
        """Return the scorer as a record.

        Raises:
            UserValueError: It is categorical without categories, or the other way round.
        """
        is_categorical = self.is_categorical()
        return ScoringMethod(
            name=self.name(),
            type=self.type(),
            config=self.to_dict(),
            output_type=ScorerOutputType.Categorical
            if is_categorical
            else ScorerOutputType.Continuous,
            categories=self.categories(),
        )

    @classmethod
    def type(cls) -> ScoringMethodType:
        """Return whether the scorer is one of the built-in ones."""
        module, _, name = f"{cls.__module__}.{cls.__qualname__}".rpartition(".")
        is_ours = (module.rpartition(".")[2], name) in CLASSES.values() and module.startswith(_OURS)
        return ScoringMethodType.BuiltIn if is_ours else ScoringMethodType.Custom

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Scorer)
            and type(self) is type(other)
            and self.to_dict() == other.to_dict()
        )

    def __hash__(self) -> int:
        return hash((type(self), json.dumps(self.to_dict(), sort_keys=True)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.to_dict().items())
        return f"{type(self).__name__}({shown})"

    def _parts(self, batch: Batch, size: int) -> list[Batch]:
        name = self.name()
        if len(batch):
            if self.requires_reference():
                need_references(name, batch.references, len(batch))
            if self.requires_input():
                need(name, "inputs", batch.inputs, len(batch))
            if self.requires_context():
                need(name, "contexts", batch.contexts, len(batch))
        return list(batch.split(size))

    def _checked(self, found: Any, count: int) -> list[ScoreResult]:
        results = results_of(self.name(), found, count)
        if self.is_categorical():
            known = {category.name for category in self.categories() or ()}
            if not known:
                raise UserValueError(
                    f"The scorer {self.name()!r} is categorical; its categories() must name them."
                )
            for result in results:
                if result.category is None:
                    raise CategoryError(
                        f"The categorical scorer {self.name()!r} gave a result without category."
                    )
                if result.category.name not in known:
                    raise CategoryError(
                        f"The scorer {self.name()!r} gave the category {result.category.name!r}, which it does not list."
                    )
        return results


def _lists(part: Batch) -> tuple[list[str], list[str] | None, list[str] | None, list[str] | None]:
    def listed(texts: tuple[str, ...] | None) -> list[str] | None:
        return None if texts is None else list(texts)

    return (
        list(part.candidates),
        listed(part.references),
        listed(part.inputs),
        listed(part.contexts),
    )


def _parameters(scorer: Any) -> dict[str, inspect.Parameter]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {
        name: parameter
        for name, parameter in inspect.signature(scorer).parameters.items()
        if parameter.kind not in kinds
    }
