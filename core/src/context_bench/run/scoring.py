"""Scoring: evaluators score an answer. An error of one evaluator is a failure of this one alone.

Most evaluators score before the response is committed; for the others see
:mod:`context_bench.run.deferred_scoring`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import thread_time
from typing import Any

from attrs import evolve

from context_bench.answers import parted_output
from context_bench.errors import WiringError
from context_bench.records import Failure
from context_bench.redaction import Redactor
from context_bench.run.jobs import Answer, Job, Scorer
from context_bench.run.said import Said, said_of
from context_bench.run.stopping import (
    failure_of,
    is_control_flow,
)
from context_bench.store.encoding import from_json, isolate, to_json
from context_bench.store.keys import score_key
from context_bench.store.rows import StoredEvaluation, StoredRow

Failures = list[tuple[int, Failure]]
"""Failures with the numbers of the evaluators."""

_TOLERANCE = 1e-9
"""How far a score may be beyond its declared range: what sums of floating-point numbers lose."""


class Scoring:
    """Lets evaluators score, and makes evaluations and failures of what they return. It keeps no
    state.

    Args:
        redactor: Takes secrets out of whatever is written.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._is_secretive = bool(redactor)

    def score(
        self, job: Job, answer: Answer, scorers: Sequence[Scorer] | None = None
    ) -> tuple[list[StoredEvaluation], Failures]:
        """Return what scorers say of an answer, and which of them failed.

        Args:
            job: The job.
            answer: The answer.
            scorers: Those that are called; None calls all that the job names.

        Raises:
            WiringError: Two evaluators gave the same key.
        """
        if scorers is None:
            scorers = job.wiring.scorers if job.only is None else job.only
        pair = [job.example, parted_output(answer.output)]
        evaluations: list[StoredEvaluation] = []
        failures: Failures = []
        owners: dict[str, str] = {}
        gold_keys: dict[tuple[str, ...] | None, bytes] = {}
        for scorer in scorers:
            gold = gold_keys.get(scorer.reads)
            if gold is None:
                gold = gold_keys[scorer.reads] = job.gold_key(scorer.reads)
            key = score_key(job.key, answer.digest, scorer.key, gold)
            if (scorer.needs or job.unscored is not None) and (
                missing := why_unscored(job, scorer, answer.output)
            ):
                evaluations.append(
                    StoredEvaluation(evaluator=scorer.number, key=key, unscored=missing)
                )
                continue
            try:
                original, processed = isolate(pair)
                started = thread_time()
                try:
                    result = scorer.evaluator.score(original, processed)
                finally:
                    if scorer.cpu_bound:
                        scorer.cost.add(thread_time() - started)
                evaluation = self._evaluation(job, scorer, key, said_of(result))
            except BaseException as error:
                if is_control_flow(error):
                    raise
                failures.append((scorer.number, self.failure("evaluator", error, scorer.id)))
                continue
            if len(scorers) > 1:
                claim(owners, scorer, evaluation)
            evaluations.append(evaluation)
        return evaluations, failures

    def judge(
        self, job: Job, scorer: Scorer, answer: Answer, result: Any
    ) -> StoredEvaluation | tuple[int, Failure]:
        """Return the evaluation of a result from a batch or another process, or its failure.

        Args:
            job: The job.
            scorer: The scorer.
            answer: The answer.
            result: The value that its evaluator returned, what a process made of it, the exception
                that it raised, or its failure.
        """
        if isinstance(result, Failure):
            return scorer.number, self._without_secrets(result)
        if isinstance(result, BaseException):
            return scorer.number, self.failure("evaluator", result, scorer.id)
        try:
            key = score_key(job.key, answer.digest, scorer.key, job.gold_key(scorer.reads))
            said = result if isinstance(result, Said) else said_of(result)
            return self._evaluation(job, scorer, key, said)
        except BaseException as error:
            if is_control_flow(error):
                raise
            return scorer.number, self.failure("evaluator", error, scorer.id)

    def failure(self, stage: str, error: BaseException, evaluator: str | None = None) -> Failure:
        """Return the failure of an error, without secrets."""
        return self._without_secrets(failure_of(stage, error, evaluator))

    def _without_secrets(self, failure: Failure) -> Failure:
        if not self._is_secretive:
            return failure
        hide = self._redactor.of
        return evolve(failure, message=hide(failure.message), traceback=hide(failure.traceback))

    def _evaluation(self, job: Job, scorer: Scorer, key: bytes, said: Said) -> StoredEvaluation:
        scores = {f"{scorer.prefix}{name}": value for name, value in said.scores.items()}
        if scorer.ranges:
            for name, value in scores.items():
                _check(scorer, name, value)
        unscored = _reason_without_score(job, scorer, scores, said)
        details = said.details
        if self._is_secretive:
            if details is not None and self._redactor.contains_secret(details):
                details = to_json(self._redactor.of_answer(from_json(details)))
            unscored = unscored and self._redactor.of(unscored)
        return StoredEvaluation(
            evaluator=scorer.number,
            key=key,
            scores=scores,
            hidden=scorer.yields,
            unscored=unscored,
            details=details,
        )


def _reason_without_score(
    job: Job, scorer: Scorer, scores: Mapping[str, float], said: Said
) -> str | None:
    """Return why an evaluation has no score, or not the primary score; None if it has it."""
    if not scores:
        return said.unscored or "it had nothing to say"
    primary = job.wiring.primary
    if primary in scorer.keys and primary not in scores:
        return f"it gave no {primary}, the primary score of the row"
    return None


def scores_only(
    job: Job, evaluations: Sequence[StoredEvaluation], failures: Sequence[tuple[int, Failure]]
) -> StoredRow:
    """Return the row of new scores of a response that is stored already."""
    return StoredRow(
        id=job.id, key=job.key, output=None, evaluations=evaluations, failures=failures, again=True
    )


def unscored_of(job: Job) -> list[StoredEvaluation]:
    """Return the evaluations of scorers that could not score any answer to a job, which is not a
    fault of the system."""
    evaluations: list[StoredEvaluation] = []
    for scorer in job.wiring.scorers:
        reason = why_unscored(job, scorer, None)
        if reason is not None:
            evaluations.append(
                StoredEvaluation(evaluator=scorer.number, key=scorer.key, unscored=reason)
            )
    return evaluations


def why_unscored(job: Job, scorer: Scorer, output: Mapping[str, Any] | None) -> str | None:
    """Return what a scorer needs and a job's example or the output, where there is one, lacks, or
    why nobody can score it."""
    if job.unscored is not None:
        return job.unscored
    if not scorer.needs:
        return None
    for side, fields, where in (
        ("original", job.example, "example"),
        ("processed", output, "output"),
    ):
        for need in scorer.needs.get(side, ()):
            if fields is not None and all(fields.get(name) is None for name in need.split("|")):
                return f"the {where} has no {need.replace('|', ' or ')}"
    return None


def claim(owners: dict[str, str], scorer: Scorer, evaluation: StoredEvaluation) -> None:
    """Note the evaluator of each key of an evaluation.

    Raises:
        WiringError: Another evaluator has given a key already.
    """
    for name in evaluation.scores:
        if name in scorer.yields:
            continue
        if name in owners:
            raise WiringError(
                f"{owners[name]} and {scorer.id} both gave the score {name!r} to one row. Leave "
                f"one of them out, or give one a prefix (--score-prefix {scorer.id}=other_)."
            )
        owners[name] = scorer.id


def _check(scorer: Scorer, name: str, value: float) -> None:
    """Hold a score against what its evaluator declares.

    Raises:
        ValueError: It declares no such key, or a range in which the value is not.
    """
    declared = scorer.ranges.get(name)
    if declared is None:
        keys = ", ".join(sorted(scorer.ranges))
        raise ValueError(
            f"it gave the score {name!r}, which its manifest does not declare; it declares {keys}"
        )
    minimum, maximum = declared
    if (minimum is not None and value < minimum - _TOLERANCE) or (
        maximum is not None and value > maximum + _TOLERANCE
    ):
        raise ValueError(
            f"the score {name!r} is {value!r}, outside its declared range [{minimum}, {maximum}]"
        )
