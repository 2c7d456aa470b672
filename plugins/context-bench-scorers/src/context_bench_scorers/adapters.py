"""A scorer as an evaluator, and an evaluator as a scorer.

The candidate is the response, the reference the answer, the input the question (or the context where there is no
question), the context the context.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.answers import answer_of, references
from context_bench.records import Scores
from context_bench_scorers.errors import UserTypeError, UserValueError
from context_bench_scorers.results import Category, ScoreResult
from context_bench_scorers.rows import context_text, question_text
from context_bench_scorers.scorer import Scorer

_UNSCORED = Category("unscored", "the evaluator had nothing to say")
_BEST = ("best", "first")

Pair = tuple[Mapping[str, Any], Mapping[str, Any]]


class ScorerEvaluator:
    """A scorer that scores the rows of a run.

        evaluate(systems, examples, evaluators=[as_evaluator(ExactMatch())])

    Of several references each is tried and the best score counts, or the first alone is used. A row without what the
    scorer needs is unscored, and so is one whose result has no score; why is in the details, and so is the category.

    Args:
        scorer: The scorer.
        key: Name of its score; that of the scorer when it is not given.
        name: Name of the evaluator; that of the key when it is not given.
        references: ``best`` or ``first``.

    Raises:
        UserValueError: ``references`` is neither.
    """

    input_first = "question"
    """What the input of a row is where it has both, ``question`` or ``context``."""

    def __init__(
        self,
        scorer: Scorer,
        *,
        key: str | None = None,
        name: str | None = None,
        references: str = "best",
    ) -> None:
        if references not in _BEST:
            raise UserValueError(f"references must be 'best' or 'first', not {references!r}.")
        self.scorer = scorer
        self.key = key or scorer.name()
        self.name = name or self.key
        self._references = references

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the score of a row under the scorer's name, or nothing and the reason in the details."""
        return self.score_batch([(original, processed)])[0]

    def score_batch(self, pairs: Sequence[Pair]) -> list[Scores]:
        """Return the scores of several rows, all of them given to the scorer at once."""
        cases, reasons = self._cases(pairs)
        results = self._run(cases)
        return self._scores(len(pairs), cases, results, reasons)

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score."""
        told = getattr(self.scorer, "fingerprint", None)
        own = (
            dict(told())
            if callable(told)
            else {"scorer": self.scorer.name(), **self.scorer.to_dict()}
        )
        return {**own, "references": self._references}

    def close(self) -> None:
        """Close what the scorer holds open."""
        close = getattr(self.scorer, "close", None)
        if callable(close):
            close()

    def _cases(self, pairs: Sequence[Pair]) -> tuple[list[_Case], dict[int, str]]:
        cases: list[_Case] = []
        reasons: dict[int, str] = {}
        for row, (original, processed) in enumerate(pairs):
            found = self._cases_of(row, original, processed)
            if isinstance(found, str):
                reasons[row] = found
            else:
                cases += found
        return cases, reasons

    def _cases_of(
        self, row: int, original: Mapping[str, Any], processed: Mapping[str, Any]
    ) -> list[_Case] | str:
        candidate = answer_of(processed)
        if candidate is None:
            return "the response is no text"
        context = context_text(original)
        question = question_text(original)
        first, second = (
            (question, context) if self.input_first == "question" else (context, question)
        )
        asked = first if first.strip() else second
        if self.scorer.requires_input() and not asked.strip():
            return "the example has neither a question nor a context"
        if self.scorer.requires_context() and not context.strip():
            return "the example has no context"
        if not self.scorer.requires_reference():
            return [_Case(row, candidate, None, asked, context)]
        answers = references(original)
        if not answers:
            return "the example has no reference answer"
        used = answers[:1] if self._references == "first" else answers
        return [_Case(row, candidate, answer, asked, context) for answer in used]

    def _run(self, cases: Sequence[_Case]) -> list[ScoreResult]:
        return self.scorer.run(*_columns(self.scorer, cases), batch_size=max(1, len(cases)))

    def _scores(
        self,
        rows: int,
        cases: Sequence[_Case],
        results: Sequence[ScoreResult],
        reasons: Mapping[int, str],
    ) -> list[Scores]:
        best: dict[int, ScoreResult] = {}
        for case, result in zip(cases, results):
            known = best.get(case.row)
            if known is None or _rank(result) > _rank(known):
                best[case.row] = result
        return [
            self._scores_of(best[row]) if row in best else Scores({}, {"unscored": reasons[row]})
            for row in range(rows)
        ]

    def _scores_of(self, result: ScoreResult) -> Scores:
        details = dict(result.details)
        if result.category is not None:
            details["category"] = result.category.name
        if result.score is None:
            details.setdefault(
                "unscored",
                result.category.description or result.category.name if result.category else "",
            )
            return Scores({}, details)
        return Scores({self.key: result.score}, details)


class AsyncScorerEvaluator(ScorerEvaluator):
    """A scorer that waits for a server, as an evaluator: rows are scored side by side on the event loop."""

    @property
    def max_in_flight(self) -> int | None:
        """For how many rows the scorer may be asked at a time; None where it does not say."""
        return getattr(self.scorer, "max_in_flight", None)

    async def ascore(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the score of a row without blocking the event loop; see `score`."""
        cases, reasons = self._cases([(original, processed)])
        columns = _columns(self.scorer, cases)
        results = await self.scorer.arun(*columns, batch_size=max(1, len(cases)))
        return self._scores(1, cases, results, reasons)[0]


class EvaluatorScorer(Scorer):
    """An evaluator as a scorer.

    Args:
        evaluator: Anything with ``name`` and ``score(original, processed)``.
        key: The score to take; None takes the only one.

    Raises:
        UserTypeError: It is no evaluator.
    """

    def __init__(self, evaluator: Any, key: str | None = None) -> None:
        if not callable(getattr(evaluator, "score", None)):
            raise UserTypeError(
                f"{type(evaluator).__name__} is no evaluator: it has no method score."
            )
        self.evaluator = evaluator
        self.key = key
        own_name = str(key or getattr(evaluator, "name", "") or type(evaluator).__name__)
        self.name = lambda: own_name  # type: ignore[method-assign]

    @staticmethod
    def name() -> str:
        """Return the name; that of the evaluator, or of the score that is taken of it."""
        return "evaluator"

    @staticmethod
    def requires_reference() -> bool:
        """Whether it compares with references: an evaluator says so by giving nothing."""
        return False

    def run_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> list[ScoreResult]:
        """Return the evaluator's score of each candidate."""
        pairs = _pairs(candidate_batch, reference_batch, input_text_batch, context_batch)
        return [self._result(self.evaluator.score(*pair)) for pair in pairs]

    async def arun_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> Sequence[ScoreResult]:
        """Return the evaluator's score of each candidate; its own ``ascore`` is used where it has one."""
        if not callable(getattr(self.evaluator, "ascore", None)):
            return await super().arun_batch(
                candidate_batch, reference_batch, input_text_batch, context_batch
            )
        pairs = _pairs(candidate_batch, reference_batch, input_text_batch, context_batch)
        return [self._result(await self.evaluator.ascore(*pair)) for pair in pairs]

    def _result(self, scores: Mapping[str, float]) -> ScoreResult:
        details = dict(getattr(scores, "details", {}))
        if not scores:
            return ScoreResult(
                None, Category(_UNSCORED.name, str(details.get("unscored", _UNSCORED.description)))
            )
        if self.key is None and len(scores) > 1:
            raise UserValueError(
                f"{self.name()} gives {', '.join(sorted(scores))}: say which one is the score, as in key={min(scores)!r}."
            )
        key = self.key if self.key is not None else next(iter(scores))
        if key not in scores:
            raise UserValueError(
                f"{self.name()} gives no {key!r}. It gives {', '.join(sorted(scores))}."
            )
        return ScoreResult(scores[key], details=details)


class ProtocolScorer(Scorer):
    """Anything with ``name`` and ``run_batch`` as a scorer: what it does not say is as in `Scorer`.

    Args:
        wrapped: The object. ``requires_reference``, ``is_categorical``, ``categories`` and ``arun_batch`` are used where it
            has them.

    Raises:
        UserTypeError: It has no name or no ``run_batch``.
    """

    def __init__(self, wrapped: Any) -> None:
        if not callable(getattr(wrapped, "run_batch", None)) or not hasattr(wrapped, "name"):
            raise UserTypeError(
                f"{type(wrapped).__name__} is no scorer: a scorer has `name` and `run_batch`."
            )
        self.wrapped = wrapped
        for hook in (
            "requires_reference",
            "requires_input",
            "requires_context",
            "is_categorical",
            "categories",
        ):
            if callable(getattr(wrapped, hook, None)):
                setattr(self, hook, getattr(wrapped, hook))
        own_name = wrapped.name() if callable(wrapped.name) else str(wrapped.name)
        self.name = lambda: own_name  # type: ignore[method-assign]

    @staticmethod
    def name() -> str:
        """Return the name of the wrapped object."""
        return "scorer"

    def run_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> Sequence[ScoreResult]:
        """Return what the wrapped object returns."""
        found: Sequence[ScoreResult] = self.wrapped.run_batch(
            candidate_batch, reference_batch, input_text_batch, context_batch
        )
        return found

    async def arun_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> Sequence[ScoreResult]:
        """Return what the wrapped object returns; its own ``arun_batch`` is used where it has one."""
        own = getattr(self.wrapped, "arun_batch", None)
        if not inspect.iscoroutinefunction(own):
            return await super().arun_batch(
                candidate_batch, reference_batch, input_text_batch, context_batch
            )
        found: Sequence[ScoreResult] = await own(
            candidate_batch, reference_batch, input_text_batch, context_batch
        )
        return found


def as_scorer(thing: Any, key: str | None = None) -> Scorer:
    """Return a scorer, something that looks like one, or an evaluator, as a scorer.

    Args:
        thing: What it is.
        key: Of an evaluator with several scores the one to take.

    Raises:
        UserTypeError: It is none of them.
    """
    if isinstance(thing, Scorer):
        return thing
    if callable(getattr(thing, "run_batch", None)):
        return ProtocolScorer(thing)
    return EvaluatorScorer(thing, key)


def as_evaluator(
    thing: Any, *, key: str | None = None, references: str = "best"
) -> ScorerEvaluator:
    """Return a scorer, or something that looks like one, as an evaluator.

    Args:
        thing: What it is.
        key: Name of its score; its own name when it is not given.
        references: ``best`` or ``first``, see `ScorerEvaluator`.
    """
    scorer = as_scorer(thing)
    waits = type(scorer).arun_batch is not Scorer.arun_batch and not isinstance(
        scorer, ProtocolScorer
    )
    return (AsyncScorerEvaluator if waits else ScorerEvaluator)(
        scorer, key=key, references=references
    )


class _Case:
    """One candidate with what belongs to it."""

    __slots__ = ("candidate", "context", "question", "reference", "row")

    def __init__(
        self, row: int, candidate: str, reference: str | None, question: str, context: str
    ) -> None:
        self.row = row
        self.candidate = candidate
        self.reference = reference
        self.question = question
        self.context = context


def _columns(
    scorer: Scorer, cases: Sequence[_Case]
) -> tuple[list[str], list[str] | None, list[str] | None, list[str] | None]:
    candidates = [case.candidate for case in cases]
    answers = [case.reference or "" for case in cases] if scorer.requires_reference() else None
    takes_input = scorer.requires_input() or not scorer.requires_reference()
    inputs = [case.question for case in cases] if takes_input else None
    contexts = [case.context for case in cases] if scorer.requires_context() else None
    return candidates, answers, inputs, contexts


def _pairs(
    candidates: Sequence[str],
    answers: Sequence[str] | None,
    inputs: Sequence[str] | None,
    contexts: Sequence[str] | None,
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    columns = {"answer": answers, "question": inputs, "context": contexts}
    present = {name: column for name, column in columns.items() if column is not None}
    return [
        ({name: column[place] for name, column in present.items()}, {"response": candidate})
        for place, candidate in enumerate(candidates)
    ]


def _rank(result: ScoreResult) -> float:
    return float("-inf") if result.score is None else result.score
