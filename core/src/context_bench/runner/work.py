"""One row: call the system, then score what it returned. Whatever goes wrong is a failure of this row alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from attrs import evolve

from context_bench.messages import as_sent
from context_bench.records import Failure, Usage
from context_bench.runner.answer import Answer, Bill, Measured, Timing, models_of, reported_cost, take_apart
from context_bench.runner.parts import Job, Scorer
from context_bench.runner.scoring import Scoring, scores_only
from context_bench.runner.stopping import add_attempts, is_ours
from context_bench.secrecy import Secrecy
from context_bench.store.encoding import from_json, to_json
from context_bench.store.keys import output_key
from context_bench.store.stored_rows import StoredEvaluation, StoredRow
from context_bench.tokens import PROMPT_FIELDS, count_fields


class AskedTooOftenError(Exception):
    """A system said that it is asked too often, or to ask again later; its cause is what the system raised."""


class Workbench:
    """Does jobs. It keeps no state, so any number of threads may use it.

    Args:
        tokenizer: Counts tokens.
        text_fields: Fields to count instead of the prompt's; None counts the prompt's.
        secrecy: Takes secrets out of whatever is written.
        bill: Says what a response cost, and where that comes from.
    """

    def __init__(
        self,
        tokenizer: Any,
        text_fields: Sequence[str] | None = None,
        secrecy: Secrecy | None = None,
        bill: Bill = reported_cost,
    ) -> None:
        self._secrecy = secrecy or Secrecy()
        self._is_secretive = bool(self._secrecy)
        self._scoring = Scoring(self._secrecy)
        self.score = self._scoring.score
        self.judge = self._scoring.judge
        self._tokenizer = tokenizer
        self._bill = bill
        self._text_fields = None if text_fields is None else tuple(text_fields)

    def input_tokens(self, example: Mapping[str, Any]) -> int:
        """Return the tokens of the text that a system is given."""
        return count_fields(self._tokenizer, *self._told(example, {}))

    def do(self, job: Job) -> StoredRow:
        """Return the finished row of a job.

        Raises:
            WiringError: Two evaluators gave the same key: the run cannot go on like this.
            AskedTooOftenError: The system is to be asked again later, which takes the lanes.
        """
        if job.only is not None:
            return self.again(job, job.only)
        started = perf_counter()
        try:
            found = job.output if job.output is not None else job.ask()
        except BaseException as error:
            if is_ours(error):
                raise
            from context_bench.runner.admission import AskAgainError
            from context_bench.runner.rate_headers import is_refusal

            if isinstance(error, AskAgainError) or is_refusal(error):
                raise AskedTooOftenError from error
            return self.failed(job, error, perf_counter() - started)
        answer = self.take(job, found, Timing(perf_counter() - started))
        if isinstance(answer, StoredRow):
            return answer
        return self.row(job, answer, *self.score(job, job.wiring.scorers, answer))

    def take(self, job: Job, found: Any, timing: Timing) -> Answer | StoredRow:
        """Return what a system said, or the row of its failure when that is no output.

        Args:
            job: The job.
            found: What the system returned.
            timing: When it came.
        """
        try:
            if job.output is not None:
                output, measured = job.output, Measured(job.latency)
            else:
                output, measured = take_apart(found, timing, job.slot.system)
            text = to_json(output)
            if self._is_secretive:
                if self._secrecy.is_told_in(text):
                    output = self._secrecy.of_answer(from_json(text))
                    text = to_json(output)
                if measured.rest is not None:
                    measured = evolve(measured, rest=to_json(self._secrecy.of_all(from_json(measured.rest))))
            return Answer(output, text, output_key(output), measured)
        except BaseException as error:  # a value that cannot be stored is this row's failure
            if is_ours(error):
                raise
            return self.failed(job, error, timing.before + timing.seconds, timing.attempts)

    def row(
        self,
        job: Job,
        answer: Answer,
        evaluations: Sequence[StoredEvaluation] = (),
        failures: Sequence[tuple[int, Failure]] = (),
    ) -> StoredRow:
        """Return the row of an answer and what evaluators said of it."""
        measured = answer.measured
        usage = Usage.read(answer.output)
        cost, cost_source = self._bill(usage, models_of(job.slot, answer.output))
        return StoredRow(
            id=job.id,
            key=job.key,
            output=answer.text,
            output_hash=answer.digest,
            input_tokens=job.input_tokens,
            prompt_tokens=None if usage is None or usage.input_tokens is None else int(usage.input_tokens),
            response_tokens=self._response_tokens(answer.output, usage),
            context_tokens=self._context_tokens(job.example, answer.output),
            cached_tokens=None if usage is None or usage.cache_read_tokens is None else int(usage.cache_read_tokens),
            cost=cost,
            cost_source=cost_source,
            latency=measured.latency,
            system_latency=measured.system_latency,
            attempts=measured.attempts,
            measured=measured.rest,
            reused=job.output is not None,
            evaluations=evaluations,
            failures=failures,
            turns=job.turns,
        )

    def again(self, job: Job, scorers: Sequence[Scorer]) -> StoredRow:
        """Return the row of a response that is stored already, with what these scorers say of it."""
        assert job.output is not None
        evaluations, failures = self.score(job, scorers, Answer.stored(job.output))
        return scores_only(job, evaluations, failures)

    def failed(self, job: Job, error: BaseException, latency: float, attempts: int = 1) -> StoredRow:
        """Return the row of a job whose system failed."""
        if attempts > 1:
            add_attempts(error, attempts - 1)
        failure = self._scoring.failure("system", error)
        return StoredRow(
            id=job.id,
            key=job.key,
            output=None,
            input_tokens=job.input_tokens,
            latency=latency,
            attempts=failure.attempts,
            failures=[(-1, failure)],
            turns=job.turns,
        )

    def unfinished(self, job: Job, answer: Answer | None, scorers: Sequence[Scorer], error: BaseException) -> StoredRow:
        """Return the row of an answer that could not be scored; without an answer, of a stored response's scores."""
        failures = [(scorer.number, self._scoring.failure("evaluator", error, scorer.id)) for scorer in scorers]
        return scores_only(job, [], failures) if answer is None else self.row(job, answer, (), failures)

    def _context_tokens(self, example: Mapping[str, Any], output: Mapping[str, Any]) -> int | None:
        if not output.keys().isdisjoint(self._text_fields or PROMPT_FIELDS):
            return count_fields(self._tokenizer, *self._told(example, output))
        return None

    def _told(self, example: Mapping[str, Any], output: Mapping[str, Any]) -> tuple[Mapping[str, Any], Sequence[str]]:
        is_spoken = self._text_fields is None and "messages" in example
        return as_sent(example, output) if is_spoken else {**example, **output}, self._text_fields or PROMPT_FIELDS

    def _response_tokens(self, output: Mapping[str, Any], usage: Usage | None) -> int:
        if usage is not None and usage.output_tokens is not None:
            return int(usage.output_tokens)
        response = output.get("response")
        if type(response) is str:
            return self._tokenizer.count(response)  # type: ignore[no-any-return]
        return count_fields(self._tokenizer, output, ("response",))
