"""Scoring: what evaluators say of an answer. Whatever goes wrong with one of them is a failure of this one alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from time import thread_time
from typing import Any

from attrs import evolve

from context_bench.errors import WiringError
from context_bench.records import Failure
from context_bench.runner.parts import Job, Scorer
from context_bench.runner.stopping import failure_of, is_ours
from context_bench.runner.systems import Answer
from context_bench.secrecy import Secrecy
from context_bench.store.encoding import from_json, isolate, to_json
from context_bench.store.keys import score_key
from context_bench.store.rows import StoredEvaluation, StoredRow

Failures = list[tuple[int, Failure]]
"""Failures with the numbers of the evaluators."""

_MOST = 1e290
"""The largest score: 10**18 of them can still be added."""

_TOLERANCE = 1e-9
"""How far a score may be beyond its declared range: what sums of floating-point numbers lose."""


class Scoring:
    """Lets evaluators score, and makes evaluations and failures of what they return. It keeps no state.

    Args:
        secrecy: Takes secrets out of whatever is written.
    """

    def __init__(self, secrecy: Secrecy) -> None:
        self._secrecy = secrecy
        self._is_secretive = bool(secrecy)

    def score(self, job: Job, scorers: Sequence[Scorer], answer: Answer) -> tuple[list[StoredEvaluation], Failures]:
        """Return what scorers say of an answer, and which of them failed.

        Raises:
            WiringError: Two evaluators gave the same key.
        """
        evaluations: list[StoredEvaluation] = []
        failures: Failures = []
        owners: dict[str, str] = {}
        gold_keys: dict[tuple[str, ...] | None, bytes] = {}
        for scorer in scorers:
            gold = gold_keys.get(scorer.reads)
            if gold is None:
                gold = gold_keys[scorer.reads] = job.gold_key(scorer.reads)
            key = score_key(job.key, answer.digest, scorer.key, gold)
            missing = why_unscored(job, scorer, answer.output)
            if missing:
                evaluations.append(StoredEvaluation(scorer.number, key, {}, unscored=missing))
                continue
            try:
                begun = thread_time() if scorer.cpu_bound else None
                found = scorer.evaluator.score(isolate(job.example), isolate(answer.parted))
                if begun is not None:
                    scorer.effort.add(thread_time() - begun)
                evaluation = self._evaluation(job, scorer, key, found)
            except BaseException as error:
                if is_ours(error):
                    raise
                failures.append((scorer.number, self.failure("evaluator", error, scorer.id)))
                continue
            claim(owners, scorer, evaluation)
            evaluations.append(evaluation)
        return evaluations, failures

    def judge(self, job: Job, scorer: Scorer, answer: Answer, found: Any) -> StoredEvaluation | tuple[int, Failure]:
        """Return what a scorer said elsewhere - in a batch, in another process - of an answer, or its failure.

        Args:
            job: The job.
            scorer: The scorer.
            answer: The answer.
            found: What its evaluator returned, or the exception that it raised.
        """
        gold = job.gold_key(scorer.reads)
        if isinstance(found, BaseException):
            return scorer.number, self.failure("evaluator", found, scorer.id)
        try:
            return self._evaluation(job, scorer, score_key(job.key, answer.digest, scorer.key, gold), found)
        except BaseException as error:
            if is_ours(error):
                raise
            return scorer.number, self.failure("evaluator", error, scorer.id)

    def failure(self, stage: str, error: BaseException, evaluator: str | None = None) -> Failure:
        """Return the failure that an error is, without secrets."""
        failure = failure_of(stage, error, evaluator)
        if not self._is_secretive:
            return failure
        hide = self._secrecy.of
        return evolve(failure, message=hide(failure.message), traceback=hide(failure.traceback))

    def _evaluation(self, job: Job, scorer: Scorer, key: bytes, found: Any) -> StoredEvaluation:
        if type(found) is not dict and not isinstance(found, Mapping):
            raise TypeError(f"it returned {type(found).__name__}, not a mapping of score keys to numbers")
        scores = {f"{scorer.prefix}{name}": _number(name, value) for name, value in found.items() if value is not None}
        if scorer.ranges:
            for name, value in scores.items():
                _check(scorer, name, value)
        details, headline = getattr(found, "details", None) or None, job.wiring.headline
        unscored = None
        if not scores:
            unscored = details.get("unscored") if details else None
            unscored = unscored if isinstance(unscored, str) else "it had nothing to say"
        elif headline in scorer.keys and headline not in scores:
            unscored = f"it gave no {headline}, the headline of the row"
        told = None if details is None else to_json(dict(details))
        if self._is_secretive:
            if told is not None and self._secrecy.is_told_in(told):
                told = to_json(self._secrecy.of_answer(from_json(told)))
            unscored = unscored and self._secrecy.of(unscored)
        return StoredEvaluation(scorer.number, key, scores, scorer.yields, unscored, told)


def scores_only(
    job: Job, evaluations: Sequence[StoredEvaluation], failures: Sequence[tuple[int, Failure]]
) -> StoredRow:
    """Return what is written about a response that is stored already."""
    return StoredRow(id=job.id, key=job.key, output=None, evaluations=evaluations, failures=failures, again=True)


def why_unscored(job: Job, scorer: Scorer, output: Mapping[str, Any]) -> str | None:
    """Return what a scorer needs and neither a job's example nor the output has, or why nobody can score it, or None."""
    if job.unscored is not None:
        return job.unscored
    if not scorer.needs:
        return None
    for side, fields, where in (("original", job.example, "example"), ("processed", output, "output")):
        for need in scorer.needs.get(side, ()):
            if all(fields.get(name) is None for name in need.split("|")):
                return f"the {where} has no {need.replace('|', ' or ')}"
    return None


def claim(owners: dict[str, str], scorer: Scorer, evaluation: StoredEvaluation) -> None:
    """Note whose the keys of an evaluation are.

    Raises:
        WiringError: One of them is somebody else's already.
    """
    for name in evaluation.scores:
        if name in scorer.yields:
            continue
        if name in owners:
            raise WiringError(
                f"{owners[name]} and {scorer.id} both gave the score {name!r} to one row. Leave one of them out, or give "
                f"one a prefix (--prefix {scorer.id}=other_)."
            )
        owners[name] = scorer.id


def _check(scorer: Scorer, name: str, value: float) -> None:
    """Hold a score against what its evaluator declares.

    Raises:
        ValueError: It declares no such key, or a range in which the value is not.
    """
    declared = scorer.ranges.get(name)
    if declared is None:
        from fnmatch import fnmatchcase

        found = [bounds for pattern, bounds in scorer.ranges.items() if "*" in pattern and fnmatchcase(name, pattern)]
        if not found:
            keys = ", ".join(sorted(scorer.ranges))
            raise ValueError(f"it gave the score {name!r}, which its manifest does not declare; it declares {keys}")
        declared = found[0]
    least, most = declared
    if (least is not None and value < least - _TOLERANCE) or (most is not None and value > most + _TOLERANCE):
        raise ValueError(f"the score {name!r} is {value!r}, outside its declared range [{least}, {most}]")


def _number(name: object, value: Any) -> float:
    if type(value) is float and type(name) is str and -_MOST <= value <= _MOST:
        return value + 0.0  # a run file holds no minus before a zero
    if not isinstance(name, str):
        raise TypeError(f"the score key {name!r} is no text")
    if isinstance(value, str | bytes):
        raise TypeError(f"the score {name!r} is {value!r}, not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError) as error:
        raise TypeError(f"the score {name!r} is {value!r}, not a number") from error
    if not -_MOST <= number <= _MOST:
        raise ValueError(f"the score {name!r} is {number}, not a finite number of which a mean can be taken")
    return number + 0.0
