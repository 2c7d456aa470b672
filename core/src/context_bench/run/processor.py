"""One row: its answer is taken from what the system returned, scored, and made into what is stored.

Whatever goes wrong is a failure of this row alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic, perf_counter
from typing import Any

from attrs import evolve

from context_bench.answers import text_of
from context_bench.columns import positive_count
from context_bench.outcomes import outcome_of
from context_bench.plugins.call_hooks import CostFunction
from context_bench.prompts import QUESTION
from context_bench.records import Failure, Usage, quantity
from context_bench.redaction import Redactor
from context_bench.run.admission import is_refusal, is_retryable
from context_bench.run.jobs import (
    Answer,
    FailedAttempt,
    Job,
    Measured,
    Scorer,
    Timing,
    reported_cost,
    scorers_of,
)
from context_bench.run.scoring import Scoring, scores_only, unscored_of
from context_bench.run.stopping import add_attempts, is_control_flow
from context_bench.run.systems import models_of, seconds_of
from context_bench.store.encoding import from_json, private, to_json
from context_bench.store.keys import output_key
from context_bench.store.rows import StoredEvaluation, StoredRow
from context_bench.tokens import PROMPT_FIELDS, count_fields

_DIGITS = 6
_MEASUREMENTS = ("latency", "system_latency", "attempts", "headers", "ttft", "envelope", "timings")


class RetryableCallError(Exception):
    """A system's call failed and is to be repeated.

    Attributes:
        attempt: The call.
    """

    def __init__(self, attempt: FailedAttempt) -> None:
        self.attempt = attempt
        super().__init__(str(attempt.error))


class RowProcessor:
    """Does jobs. Any number of threads may use it: its only state shrinks.

    Attributes:
        text_fields: The fields that are counted instead of the prompt's; None counts the prompt's.
        unseen: Those of ``text_fields``, and whatever else is put there, that no example and no
            output has had so far.

    Args:
        tokenizer: Counts tokens.
        text_fields: As above.
        redactor: Removes secrets from everything that is written.
        cost_function: Returns the cost of a response, and the source of the cost.
    """

    def __init__(
        self,
        tokenizer: Any,
        text_fields: Sequence[str] | None = None,
        redactor: Redactor | None = None,
        cost_function: CostFunction = reported_cost,
    ) -> None:
        self._redactor = redactor or Redactor()
        self._is_secretive = bool(self._redactor)
        self._scoring = Scoring(self._redactor)
        self.score = self._scoring.score
        self.judge = self._scoring.judge
        self._tokenizer = tokenizer
        self._cost_function = cost_function
        self.text_fields = None if text_fields is None else tuple(text_fields)
        self._is_of_prompt = text_fields is None
        self._counted = tuple(text_fields or PROMPT_FIELDS)
        self.unseen = set(text_fields or ())

    def input_tokens(self, example: Mapping[str, Any]) -> int:
        """Return the tokens of the text that a system receives."""
        if self.unseen:
            self.unseen.difference_update(example)
        sent = self._sent(example, {}) if "messages" in example else example
        return count_fields(self._tokenizer, sent, self._counted)

    def do(
        self, job: Job, scorers: Sequence[Scorer] | None = None
    ) -> tuple[StoredRow, Answer | None]:
        """Return the row of a job, and its answer where there is one.

        Args:
            job: The job.
            scorers: Those that score it; None for all that the job names.

        Raises:
            WiringError: Two evaluators gave the same key: the run cannot go on like this.
            RetryableCallError: The call of the system is to be repeated, which takes the concurrent
                runner.
        """
        began = monotonic()
        started = perf_counter()
        try:
            output = job.output if job.output is not None else private(job.call_system())
        except BaseException as error:
            if is_control_flow(error):
                raise
            if is_refusal(error) or is_retryable(error):
                attempt = FailedAttempt(error, began, started, perf_counter() - started)
                raise RetryableCallError(attempt) from error
            return self.failed(job, error, perf_counter() - started), None
        answer = self.take(job, output, Timing(perf_counter() - started))
        if isinstance(answer, StoredRow):
            return answer, None
        evaluations, failures = self.score(job, answer, scorers)
        return self.row(job, answer, evaluations, failures), answer

    def take(self, job: Job, output: Any, timing: Timing) -> Answer | StoredRow:
        """Return the answer of a system, or the row of its failure when it is not an output.

        Args:
            job: The job.
            output: The value that the system returned, or the job's own output.
            timing: When it arrived.
        """
        if job.only is not None:
            return Answer(output, "", output_key(output), Measured(0.0))
        try:
            measured = Measured(job.latency)
            if job.output is None:
                output, measured = take_apart(output, timing, job.slot.system)
            answer = self.answer(output, measured)
            fields = answer.output
            if "usage" in fields:
                answer.usage = Usage.read(fields)
            answer.response_tokens = self._response_tokens(fields, answer.usage)
            if not fields.keys().isdisjoint(self._counted):
                answer.context_tokens = self._context_tokens(job.example, fields)
            return answer
        except BaseException as error:  # a value that cannot be stored is this row's failure
            if is_control_flow(error):
                raise
            return self.failed(job, error, timing.before + timing.seconds, timing.attempts)

    def answer(self, output: Mapping[str, Any], measured: Measured) -> Answer:
        """Return the answer of a system as it is stored: without secrets."""
        text = to_json(output)
        if self._is_secretive:
            if self._redactor.contains_secret(text):
                output = self._redactor.of_answer(from_json(text))
                text = to_json(output)
            if measured.rest is not None:
                measured = evolve(
                    measured, rest=to_json(self._redactor.of_all(from_json(measured.rest)))
                )
        return Answer(output, text, output_key(output), measured)

    def row(
        self,
        job: Job,
        answer: Answer,
        evaluations: Sequence[StoredEvaluation] = (),
        failures: Sequence[tuple[int, Failure]] = (),
    ) -> StoredRow:
        """Return the row of an answer and what evaluators said of it; of a response that is stored
        already, this alone."""
        if job.only is not None:
            return scores_only(job, evaluations, failures)
        measured = answer.measured
        usage = answer.usage
        reported_tokens: int | None = None
        cached_tokens: int | None = None
        cost: float | None = None
        cost_source: str | None = None
        if usage is not None:
            reported_tokens = positive_count(usage.input_tokens)
            if usage.cache_read_tokens is not None:
                cached_tokens = int(usage.cache_read_tokens)
            cost, cost_source = self._cost_function(usage, models_of(job.slot, answer.output))
        return StoredRow(
            id=job.id,
            key=job.key,
            output=answer.text,
            output_hash=answer.digest,
            input_tokens=job.input_tokens,
            reported_tokens=reported_tokens,
            cached_tokens=cached_tokens,
            cost=cost,
            cost_source=cost_source,
            response_tokens=answer.response_tokens,
            context_tokens=answer.context_tokens,
            outcome=outcome_of(answer.output),
            usage_problem=_text(answer.output.get("usage_problem")),
            latency=measured.latency,
            system_latency=measured.system_latency,
            attempts=measured.attempts,
            measured=measured.rest,
            evaluations=evaluations,
            failures=failures,
            reused=job.output is not None,
            recorded=job.slot.is_recorded,
            turns=0 if job.transcript is None else job.turns,
        )

    def failed(
        self, job: Job, error: BaseException, latency: float, attempts: int = 1
    ) -> StoredRow:
        """Return the row of a job whose system failed."""
        if attempts > 1:
            add_attempts(error, attempts - 1)
        failure = self._scoring.failure("system", error)
        return StoredRow(
            id=job.id,
            key=job.key,
            output=None,
            input_tokens=job.input_tokens,
            cost=self._cost_of_turns(job),
            latency=latency,
            attempts=failure.attempts,
            evaluations=unscored_of(job),
            failures=[(-1, failure)],
            turns=job.turns,
        )

    def _cost_of_turns(self, job: Job) -> float | None:
        """Return what the answered turns of a conversation cost; None without a known cost."""
        outputs = [] if job.transcript is None else job.transcript.outputs()
        costs = []
        for output in outputs:
            cost, _ = self._cost_function(Usage.read(output), models_of(job.slot, output))
            if cost is not None:
                costs.append(cost)
        return math.fsum(costs) if costs else None

    def late(
        self, job: Job, answer: Answer | None, deadline: float, seconds: float, attempts: int
    ) -> StoredRow:
        """Return the row of a job whose time is up: an answer is stored, missing scores have
        failed."""
        error = TimeoutError(f"it took longer than the deadline of {deadline:g} s.")
        if answer is None and job.only is None:
            return self.failed(job, error, seconds, attempts)
        failures = [
            (scorer.number, self._scoring.failure("evaluator", error, scorer.id))
            for scorer in scorers_of(job)
        ]
        if answer is None:
            return scores_only(job, [], failures)
        return self.row(job, answer, (), failures)

    def _context_tokens(self, example: Mapping[str, Any], output: Mapping[str, Any]) -> int:
        if self.unseen:
            self.unseen.difference_update(output)
        return count_fields(self._tokenizer, self._sent(example, output), self._counted)

    def _sent(self, example: Mapping[str, Any], output: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self._is_of_prompt or "messages" not in example:
            sent = {**example, **output} if output else example
            if self._is_of_prompt and sent.get("context_role") == QUESTION:
                return {name: value for name, value in sent.items() if name != "question"}
            return sent
        from context_bench.messages import as_sent

        return as_sent(example, output)

    def _response_tokens(self, output: Mapping[str, Any], usage: Usage | None) -> int:
        if usage is not None and usage.output_tokens is not None:
            return int(usage.output_tokens)
        response = output.get("response")
        if type(response) is not str:
            response = text_of(response)
        if response is None:
            return 0
        return self._tokenizer.count(response)  # type: ignore[no-any-return]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def take_apart(
    output: Any, timing: Timing, system: Any = None
) -> tuple[Mapping[str, Any], Measured]:
    """Part what a system said from what it measured about the call.

    That is ``latency``, ``system_latency``, ``attempts``, ``headers``, ``ttft``, ``envelope`` and
    ``timings``, the seconds of its parts. They differ from call to call, so they must not reach the
    output's hash. A recorded latency beats the clock; a system that asked several times tells that
    of the last attempt, and the clock has the rest.

    Raises:
        TypeError: It is no mapping.
        ValueError: It says that there is no response.
    """
    if type(output) is not dict and not isinstance(output, Mapping):
        raise TypeError(
            f"the system returned {type(output).__name__}, not a mapping such as "
            "{'response': ...} or {'context': ...}"
        )
    response = output.get("response", "")
    if type(response) is not str and text_of(response) is None:
        kind = "None" if response is None else f"of type {type(response).__name__}, not text"
        raise ValueError(f"the system returned no response: 'response' is {kind}")
    if timing.waiting == 0.0 and output.keys().isdisjoint(_MEASUREMENTS):
        return output, Measured(timing.seconds)
    reported = seconds_of(output.get("latency"), timing.seconds)
    attempts = int(quantity(output.get("attempts")) or 1)
    seconds = reported
    if attempts > 1 and "turn_responses" not in output:
        seconds = max(reported, timing.seconds)
    rest = {name: output[name] for name in _MEASUREMENTS[3:] if output.get(name) is not None}
    waiting = timing.waiting + seconds - reported
    if timing.before + seconds > reported:
        rest["attempt_latency"] = round(reported, _DIGITS)
    if waiting > 0:
        rest["waiting"] = round(waiting, _DIGITS)
    measured = Measured(
        latency=timing.before + seconds,
        attempts=timing.attempts + attempts - 1,
        rest=to_json(rest) if rest else None,
        system_latency=_system_latency(output, seconds, system),
    )
    return {name: value for name, value in output.items() if name not in _MEASUREMENTS}, measured


def _system_latency(output: Mapping[str, Any], latency: float, system: Any) -> float | None:
    """Return the seconds that a system took without its model: as it says, or as its proxy does in
    a header that it names.

    The headers of a conversation are those of its last turn, so they tell nothing of the whole.
    Nobody takes longer than the whole call.
    """
    seconds = seconds_of(output.get("system_latency"), -1.0)
    if seconds < 0 and "turn_responses" not in output:
        seconds = _latency_in_headers(output.get("headers"), system)
    return min(seconds, latency) if seconds >= 0 else None


def _latency_in_headers(headers: object, system: Any) -> float:
    """Return the seconds of the response header that a system names; -1 without one."""
    names = {str(name).lower() for name in getattr(system, "latency_headers", None) or ()}
    seconds = -1.0
    if names and isinstance(headers, Mapping):
        for name, value in headers.items():
            if str(name).lower() in names:
                with suppress(TypeError, ValueError):
                    seconds = seconds_of(float(value) / 1000, -1.0)
    return seconds
