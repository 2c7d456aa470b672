"""One row: call the system, then score what it returned. Whatever goes wrong is a failure of this row alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from time import perf_counter
from traceback import format_exception
from typing import TYPE_CHECKING, Any

from attrs import define, evolve

from context_bench.answers import parted_output
from context_bench.errors import WiringError
from context_bench.prices import Prices
from context_bench.records import Failure, Usage
from context_bench.runner.chain import seconds_of
from context_bench.runner.parts import LabelWiring, Scorer, Slot
from context_bench.runner.refusals import CallRefusedError, is_refusal
from context_bench.secrecy import Secrecy
from context_bench.store.encoding import from_json, isolate, to_json
from context_bench.store.identity import RowId
from context_bench.store.keys import agreement_key, example_key, output_key, score_key
from context_bench.store.stored_rows import StoredEvaluation, StoredExample, StoredRow
from context_bench.tokens import PROMPT_FIELDS, count_fields

if TYPE_CHECKING:
    from context_bench.runner.transcript import Transcript


@define(eq=False)  # one for every row: a frozen one takes three times as long to make
class Job:
    """A row that is to be done.

    Attributes:
        id: Its identity.
        slot: Its system.
        wiring: Who scores it.
        example: The example; shared by all jobs of its position, so nobody is given it, only copies.
        key: Its response key.
        input_tokens: Tokens of the text that the system is given.
        example_key: Key of the whole example.
        stored: The example as it is to be written, when this job is the first of its position.
        output: A response from an earlier run, to be scored without asking the system.
        latency: What the earlier response took.
        only: Scorers to run on a response that is stored already; None runs them all on a new one.
        transcript: The answered turns, when the example is a conversation and its system is asked turn by turn.
        agrees: Whether the example's answer is another system's response.
        unscored: Why nobody can score it; None when they can.
    """

    id: RowId
    slot: Slot
    wiring: LabelWiring
    example: Mapping[str, Any]
    key: bytes
    input_tokens: int
    example_key: bytes
    stored: StoredExample | None = None
    output: Mapping[str, Any] | None = None
    latency: float = 0.0
    only: tuple[Scorer, ...] | None = None
    transcript: Transcript | None = None

    def ask(self) -> Any:
        """Return what the system says of a private copy of the example."""
        system: Any = self.slot.system
        if self.transcript is None:
            return system.process(isolate(self.example))
        return system.converse(isolate(self.example), self.transcript)

    def aask(self) -> Any:
        """Return what is awaited for it, or is the answer already, when the system is async."""
        system: Any = self.slot.system
        if self.transcript is None:
            return (getattr(system, "aprocess", None) or system.process)(isolate(self.example))
        return system.aconverse(isolate(self.example), self.transcript)

    @property
    def turns(self) -> int:
        """How many turns of its conversation are kept."""
        return 0 if self.transcript is None else self.transcript.length

    agrees: bool = False
    unscored: str | None = None

    def gold_key(self, reads: tuple[str, ...] | None) -> bytes:
        """Return the key of what an evaluator that reads these fields holds the output against."""
        key = self.example_key if reads is None else example_key(self.example, reads)
        return agreement_key(key) if self.agrees else key


class Workbench:
    """Does jobs. It keeps no state, so any number of threads may use it.

    Args:
        tokenizer: Counts tokens.
        text_fields: Fields to count instead of the prompt's; None counts the prompt's.
        secrecy: Takes secrets out of whatever is written.
        prices: What tokens cost.
    """

    def __init__(
        self,
        tokenizer: Any,
        text_fields: Sequence[str] | None = None,
        secrecy: Secrecy | None = None,
        prices: Prices | None = None,
    ) -> None:
        self._secrecy = secrecy or Secrecy()
        self._is_secretive = bool(self._secrecy)
        self._tokenizer = tokenizer
        self._prices = prices or Prices()
        self._text_fields = None if text_fields is None else tuple(text_fields)

    def input_tokens(self, example: Mapping[str, Any]) -> int:
        """Return the tokens of the text that a system is given."""
        return count_fields(self._tokenizer, example, self._text_fields or PROMPT_FIELDS)

    def do(self, job: Job) -> StoredRow:
        """Return the finished row of a job.

        Raises:
            WiringError: Two evaluators gave the same key: the run cannot go on like this.
            CallRefusedError: The system is to be asked again later, which takes the lanes.
        """
        if job.only is not None:
            return self.again(job, job.only)
        started = perf_counter()
        try:
            found = job.output if job.output is not None else job.ask()
        except Exception as error:
            if is_refusal(error):
                raise CallRefusedError from error
            return self.failed(job, error, perf_counter() - started)
        answer = self.take(job, found, perf_counter() - started)
        if isinstance(answer, StoredRow):
            return answer
        return self.row(job, answer, *self.score(job, job.wiring.scorers, answer))

    def take(self, job: Job, found: Any, seconds: float, attempts: int = 1) -> Answer | StoredRow:
        """Return what a system said, or the row of its failure when that is no output.

        Args:
            job: The job.
            found: What the system returned.
            seconds: How long it took.
            attempts: How often the runner asked; the system's own attempts come on top.
        """
        try:
            if job.output is not None:
                output, measured = job.output, Measured(job.latency)
            else:
                output, measured = take_apart(found, seconds, job.slot.system)
            text = to_json(output)
            if self._is_secretive:
                if self._secrecy.is_told_in(text):
                    output = self._secrecy.of_answer(from_json(text))
                    text = to_json(output)
                if measured.rest is not None:
                    measured = evolve(measured, rest=to_json(self._secrecy.of_all(from_json(measured.rest))))
            return Answer(output, text, output_key(output), measured, attempts - 1)
        except Exception as error:  # noqa: BLE001 - a value that cannot be stored is this row's failure
            return self.failed(job, error, seconds, attempts)

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
        cost, cost_source = None, None
        if usage is not None:
            cost, cost_source = self._prices.bill(usage, models_of(job.slot, answer.output))
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
            attempts=measured.attempts + answer.more_attempts,
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

    def score(
        self, job: Job, scorers: Sequence[Scorer], answer: Answer
    ) -> tuple[list[StoredEvaluation], list[tuple[int, Failure]]]:
        """Return what scorers say of an answer, and which of them failed.

        Raises:
            WiringError: Two evaluators gave the same key.
        """
        evaluations: list[StoredEvaluation] = []
        failures: list[tuple[int, Failure]] = []
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
                found = scorer.evaluator.score(isolate(job.example), isolate(answer.parted))
                evaluation = self._evaluation(scorer, key, found)
            except Exception as error:  # noqa: BLE001 - an evaluator may raise anything; it is this row's failure
                failures.append((scorer.number, self._failure("evaluator", error, scorer.id)))
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
            return scorer.number, self._failure("evaluator", found, scorer.id)
        try:
            return self._evaluation(scorer, score_key(job.key, answer.digest, scorer.key, gold), found)
        except Exception as error:  # noqa: BLE001 - whatever it returned is this row's failure
            return scorer.number, self._failure("evaluator", error, scorer.id)

    def failed(self, job: Job, error: BaseException, latency: float, attempts: int = 1) -> StoredRow:
        """Return the row of a job whose system failed."""
        failure = self._failure("system", error)
        if attempts > 1:
            failure = evolve(failure, attempts=failure.attempts + attempts - 1)
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
        failures = [(scorer.number, self._failure("evaluator", error, scorer.id)) for scorer in scorers]
        return scores_only(job, [], failures) if answer is None else self.row(job, answer, (), failures)

    def _evaluation(self, scorer: Scorer, key: bytes, found: Any) -> StoredEvaluation:
        evaluation = _evaluation(scorer, key, found)
        details, unscored = evaluation.details, evaluation.unscored
        if details is not None and self._secrecy.is_told_in(details):
            evaluation.details = to_json(self._secrecy.of_answer(from_json(details)))
        if unscored is not None and self._secrecy:
            evaluation.unscored = self._secrecy.of(unscored)
        return evaluation

    def _failure(self, stage: str, error: BaseException, evaluator: str | None = None) -> Failure:
        failure = _failure(stage, error, evaluator)
        if not self._secrecy:
            return failure
        hide = self._secrecy.of
        return evolve(failure, message=hide(failure.message), traceback=hide(failure.traceback))

    def _context_tokens(self, example: Mapping[str, Any], output: Mapping[str, Any]) -> int | None:
        names = self._text_fields or PROMPT_FIELDS
        if not output.keys().isdisjoint(names):
            return count_fields(self._tokenizer, {**example, **output}, names)
        return None

    def _response_tokens(self, output: Mapping[str, Any], usage: Usage | None) -> int:
        if usage is not None and usage.output_tokens is not None:
            return int(usage.output_tokens)
        response = output.get("response")
        if type(response) is str:
            return self._tokenizer.count(response)  # type: ignore[no-any-return]
        return count_fields(self._tokenizer, output, ("response",))


@define(eq=False)
class Measured:
    """What is recorded about a call and is no part of what the system said.

    Attributes:
        latency: Seconds.
        attempts: How often it was asked.
        system_latency: Seconds of them that the system took without its model, or None.
        rest: JSON of response headers, the time to the first token and their like, or None.
    """

    latency: float
    attempts: int = 1
    rest: str | None = None
    system_latency: float | None = None


@define(eq=False)
class Answer:
    """What a system said.

    Attributes:
        output: What it returned, without what it measured.
        text: The output as JSON.
        digest: The output's content hash.
        measured: What was measured about the call.
        more_attempts: How often the runner asked in vain before.
    """

    output: Mapping[str, Any]
    text: str
    digest: bytes
    measured: Measured
    more_attempts: int = 0
    _parted: Mapping[str, Any] | None = None

    @property
    def parted(self) -> Mapping[str, Any]:
        """The output as evaluators get it: see :func:`context_bench.answers.parted_output`."""
        if self._parted is None:
            self._parted = parted_output(self.output)
        return self._parted

    @classmethod
    def stored(cls, output: Mapping[str, Any]) -> Answer:
        """Return the answer that a run file holds."""
        return cls(output, "", output_key(output), Measured(0.0))


def models_of(slot: Slot, output: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the names of a response's model: the one asked for, and the one that answered."""
    answered = output.get("model")
    return slot.model, answered if isinstance(answered, str) else None


def scores_only(
    job: Job, evaluations: Sequence[StoredEvaluation], failures: Sequence[tuple[int, Failure]]
) -> StoredRow:
    """Return what is written about a response that is stored already."""
    return StoredRow(id=job.id, key=job.key, output=None, evaluations=evaluations, failures=failures, again=True)


_MEASUREMENTS = ("latency", "system_latency", "attempts", "headers", "ttft", "envelope", "timings")

LATENCY_HEADERS = ("x-kompact-latency-ms",)
"""Response headers in which known proxies say how many milliseconds they took themselves."""


def _latency_headers(system: Any) -> tuple[str, ...]:
    named = getattr(system, "latency_headers", None)
    return LATENCY_HEADERS if named is None else tuple(str(name).lower() for name in named)


def _system_latency(output: Mapping[str, Any], latency: float, names: tuple[str, ...]) -> float | None:
    """Return the seconds that a system took without its model: as it says, or as its proxy does in a header.

    The headers of a conversation are those of its last turn, so they tell nothing of the whole. Nobody takes longer
    than the whole call.
    """
    told = seconds_of(output.get("system_latency"), -1.0)
    headers = output.get("headers")
    if told < 0 and isinstance(headers, Mapping) and "turn_responses" not in output:
        for name, value in headers.items():
            if str(name).lower() in names:
                try:
                    told = seconds_of(float(value) / 1000, -1.0)
                except (TypeError, ValueError):
                    continue
    return min(told, latency) if told >= 0 else None


def take_apart(output: Any, seconds: float, system: Any = None) -> tuple[Mapping[str, Any], Measured]:
    """Part what a system said from what it measured about the call.

    That is ``latency``, ``system_latency``, ``attempts``, ``headers``, ``ttft``, ``envelope``, the ``id`` and ``created`` of
    a reply, and ``timings``, the seconds of its parts.

    They differ from call to call, so they must not reach the output's hash. A recorded latency beats the clock.
    """
    if type(output) is not dict and not isinstance(output, Mapping):
        raise TypeError(
            f"the system returned {type(output).__name__}, not a mapping such as {{'response': ...}} or {{'context': ...}}"
        )
    if "response" in output and output["response"] is None:
        raise ValueError("the system returned no response: 'response' is None")
    if output.keys().isdisjoint(_MEASUREMENTS):
        return output, Measured(seconds)
    latency, attempts = seconds_of(output.get("latency"), seconds), output.get("attempts")
    rest = {name: output[name] for name in _MEASUREMENTS[3:] if output.get(name) is not None}
    measured = Measured(
        latency,
        attempts if isinstance(attempts, int) and attempts > 0 else 1,
        to_json(rest) if rest else None,
        _system_latency(output, latency, _latency_headers(system)),
    )
    return {name: value for name, value in output.items() if name not in _MEASUREMENTS}, measured


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


def _evaluation(scorer: Scorer, key: bytes, found: Any) -> StoredEvaluation:
    if type(found) is not dict and not isinstance(found, Mapping):
        raise TypeError(f"it returned {type(found).__name__}, not a mapping of score keys to numbers")
    scores = {f"{scorer.prefix}{name}": _number(name, value) for name, value in found.items() if value is not None}
    details = getattr(found, "details", None) or None
    unscored = None
    if not scores:
        unscored = "it had nothing to say"
        if details and isinstance(details.get("unscored"), str):
            unscored = details["unscored"]
    return StoredEvaluation(
        scorer.number, key, scores, scorer.yields, unscored, None if details is None else to_json(dict(details))
    )


def _number(name: object, value: Any) -> float:
    if type(value) is float and type(name) is str and value - value == 0:
        return value
    if not isinstance(name, str):
        raise TypeError(f"the score key {name!r} is no text")
    if isinstance(value, str | bytes):
        raise TypeError(f"the score {name!r} is {value!r}, not a number")
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"the score {name!r} is {value!r}, not a number") from error
    if not math.isfinite(number):
        raise ValueError(f"the score {name!r} is {number}, not a finite number")
    return number


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


def _failure(stage: str, error: BaseException, evaluator: str | None = None) -> Failure:
    return Failure(
        stage=stage,
        kind=type(error).__name__,
        message=str(error),
        evaluator=evaluator,
        attempts=_attempts(error),
        traceback="".join(format_exception(type(error), error, error.__traceback__)),
    )


def _attempts(error: BaseException) -> int:
    attempts = getattr(error, "attempts", 1)
    return attempts if isinstance(attempts, int) and attempts > 0 else 1
