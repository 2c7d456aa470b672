"""What a run is made of: systems in slots, streams of examples, scorers wired to a label, and jobs, one for each row.

Below them stands what systems tell of themselves, chains of them, and their answers without what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from inspect import iscoroutinefunction
from time import perf_counter
from typing import TYPE_CHECKING, Any

from attrs import Factory, define, evolve, frozen

from context_bench.answers import REFERENCE_FIELDS
from context_bench.errors import ConfigurationError, message_of
from context_bench.protocols import Evaluator, System
from context_bench.records import ANY_KEY, KeyMeaning, Usage, quantity
from context_bench.run.stopping import CaughtError, capture
from context_bench.store.encoding import isolate
from context_bench.store.keys import RowId, agreement_key, example_key
from context_bench.store.rows import StoredExample

if TYPE_CHECKING:
    from context_bench.run.conversation import Transcript
    from context_bench.run.examples import Selection


@frozen(eq=False)
class RunSystem:
    """A system in its place.

    Attributes:
        number: Its number in the run.
        label: What it is called in this run.
        system: The system.
        key: Its key.
        shared: Whether the key is valid in other runs, because the system tells its fingerprint.
        reads: Fields of an example that it looks at; None means all.
        description: What is recorded about it.
        owned: Whether the run made the system itself, and so closes it when it ends.
        model: Name of the model that it asks; None when it names none.
        max_tokens: Tokens of its longest answer; None when nobody knows.
        sees: How much of an example it is shown: see :func:`shown`.
        source: Number of the slot whose rows its own rows are derived from; None for a system that is asked.
    """

    number: int
    label: str
    system: System
    key: bytes
    shared: bool
    reads: tuple[str, ...] | None = None
    description: Mapping[str, Any] = Factory(dict)
    owned: bool = False
    model: str | None = None
    max_tokens: int | None = None
    sees: str = "everything"
    source: int | None = None


@frozen(eq=False)
class RunDataset:
    """A dataset in its place.

    Attributes:
        number: Its number in the run.
        label: Label of all of its rows; None when each row's ``dataset`` field says it.
        examples: The examples; pulled one by one, never listed.
        fallback: Label of rows that have no ``dataset`` field, when ``label`` is None.
        description: What is recorded about it.
        selection: Which of the examples are taken; None takes all.
        inputs: The fields of its examples that systems may see; empty for the usual ones.
        more_inputs: Fields that the caller lets systems see besides.
        gold: Fields that are kept from systems, beside the usual ones.
        is_own: Whether the caller passed the examples as objects, and so knows what they hold.
        has_changed: Returns whether its source is another than when it was opened; None where
            nobody knows.
    """

    number: int
    label: str | None
    examples: Iterable[Mapping[str, Any]]
    fallback: str = ""
    description: Mapping[str, Any] = Factory(dict)
    selection: Selection | None = None
    inputs: tuple[str, ...] = ()
    more_inputs: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    is_own: bool = False
    has_changed: Callable[[], bool] | None = None


class Effort:
    """What an evaluator has cost this process, so that others are started only where that pays.

    A child takes up to a second to start, so as much must have been spent; and a row must cost more than sending it there.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.rows = 0

    def add(self, seconds: float) -> None:
        """Count a row, with the seconds of the processor that it took."""
        self.seconds += seconds
        self.rows += 1

    @property
    def is_high(self) -> bool:
        """Whether its rows are better scored in processes of their own."""
        return self.seconds > _WORTH_A_PROCESS and self.seconds > _WORTH_SENDING * self.rows


_WORTH_A_PROCESS, _WORTH_SENDING = 1.0, 0.001


@frozen(eq=False)
class Scorer:
    """An evaluator in its place.

    Attributes:
        number: Its number in the run.
        id: Canonical id, or the dotted name of a class of the user's.
        evaluator: The evaluator.
        key: Its key.
        needs: Fields that it cannot do without, by ``original`` and ``processed``.
        reads: Fields of the example that it looks at; None means all.
        prefix: What its keys begin with in the row.
        yields: Keys (with prefix) that it leaves to another evaluator.
        deterministic: Whether asking it again gives the same; if not, rows that it left unscored are worth another try.
        cpu_bound: Whether it is run in processes of its own, once it has cost enough.
        effort: What it has cost.
        keys: What its declared keys mean; empty when it declares none.
        ranges: Least and greatest value of each declared key (with prefix; None for no bound); empty when nothing is
            declared.
        provenance: What is recorded about it.
        agrees: Whether it holds responses against the reference's, in place of a gold answer.
    """

    number: int
    id: str
    evaluator: Evaluator
    key: bytes
    needs: Mapping[str, tuple[str, ...]] = Factory(dict)
    reads: tuple[str, ...] | None = None
    prefix: str = ""
    yields: frozenset[str] = frozenset()
    deterministic: bool = True
    cpu_bound: bool = False
    keys: Mapping[str, KeyMeaning] = Factory(dict)
    provenance: Mapping[str, Any] = Factory(dict)
    agrees: bool = False
    ranges: Mapping[str, tuple[float | None, float | None]] = Factory(dict)
    effort: Effort = Factory(Effort)

    def prefixed(self, prefix: str) -> Scorer:
        """Return it with a prefix before all of its keys."""
        keys = {prefix + key: meaning for key, meaning in self.keys.items()}
        ranges = {prefix + key: bounds for key, bounds in self.ranges.items()}
        yields = frozenset(prefix + key for key in self.yields)
        return evolve(self, prefix=prefix + self.prefix, yields=yields, keys=keys, ranges=ranges)


@frozen(eq=False)
class LabelWiring:
    """The scorers of the rows of one label.

    Attributes:
        number: Number of the label in the run.
        label: The label.
        scorers: Who scores its rows.
        primary: Key of the primary score; None until it is known.
        plan: The wiring plan as JSON-like values.
    """

    number: int
    label: str
    scorers: tuple[Scorer, ...] = ()
    primary: str | None = None
    plan: Mapping[str, Any] = Factory(dict)

    def without_reference(self) -> LabelWiring:
        """Return it without the scorers that wait for the reference's response."""
        if not any(scorer.agrees for scorer in self.scorers):
            return self
        return evolve(self, scorers=tuple(scorer for scorer in self.scorers if not scorer.agrees))

    def numbered(self, numbers: Collection[int]) -> tuple[Scorer, ...]:
        """Return the scorers with these numbers."""
        return tuple(scorer for scorer in self.scorers if scorer.number in numbers)

    @property
    def keys(self) -> dict[str, KeyMeaning]:
        """What the keys of these rows mean."""
        meanings = {key: meaning for scorer in self.scorers for key, meaning in scorer.keys.items()}
        if any(not scorer.keys for scorer in self.scorers):
            meanings[ANY_KEY] = KeyMeaning(ANY_KEY)
        return meanings


def async_way(component: Any, name: str) -> Callable[..., Any] | None:
    """Return what is awaited for a method: its async form, or itself when it is async; None when it is not."""
    found = getattr(component, f"a{name}", None)
    if callable(found):
        return found  # type: ignore[no-any-return]
    found = getattr(component, name, None)
    return found if iscoroutinefunction(found) else None


def is_async(slot: RunSystem) -> bool:
    """Whether a system is called on the event loop."""
    return async_way(slot.system, "process") is not None


def takes_batches(scorer: Scorer) -> bool:
    """Whether an evaluator scores many rows at once."""
    return callable(getattr(scorer.evaluator, "score_batch", None))


def is_slow(scorer: Scorer, is_timed: bool = True) -> bool:
    """Whether a scorer scores after the commit: it is async, takes batches, or costs enough for processes of its own.

    Args:
        scorer: The scorer.
        is_timed: Whether its time is bounded, which takes a process that can be killed.
    """
    if scorer.cpu_bound:
        return is_timed or scorer.effort.is_high
    return takes_batches(scorer) or async_way(scorer.evaluator, "score") is not None


@frozen
class FailedAttempt:
    """A call that failed and is to be repeated.

    Attributes:
        error: What the system raised.
        began: When the call began, by the monotonic clock.
        sent: The same by the performance counter.
        seconds: What the call took.
    """

    error: BaseException
    began: float
    sent: float
    seconds: float


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
        transcript: The answered turns, when the example is a conversation and its system has a way of its own to talk.
        agrees: Whether the example's answer is another system's response.
        unscored: Why nobody can score it; None when they can.
        shown: What its system is given of the example; None for all of it.
        failed_attempt: The first call of its system, when that failed on the caller's thread and is to be repeated.
    """

    id: RowId
    slot: RunSystem
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
    agrees: bool = False
    unscored: str | None = None
    shown: Mapping[str, Any] | None = None
    failed_attempt: FailedAttempt | None = None

    @property
    def given(self) -> Any:
        """A private copy of what the system is given."""
        return isolate(self.example if self.shown is None else self.shown)

    def ask(self) -> Any:
        """Return what the system says of a private copy of the example."""
        system: Any = self.slot.system
        return (
            system.process(self.given)
            if self.transcript is None
            else system.converse(self.given, self.transcript)
        )

    def aask(self) -> Any:
        """Return what is awaited for it, or is the answer already, when the system is async."""
        system: Any = self.slot.system
        if self.transcript is None:
            return (getattr(system, "aprocess", None) or system.process)(self.given)
        return system.aconverse(self.given, self.transcript)

    @property
    def turns(self) -> int:
        """How many turns of its conversation are kept."""
        return 0 if self.transcript is None else self.transcript.length

    def gold_key(self, reads: tuple[str, ...] | None) -> bytes:
        """Return the key of what an evaluator that reads these fields holds the output against."""
        key = self.example_key if reads is None else example_key(self.example, reads)
        return agreement_key(key) if self.agrees else key


def scorers_of(job: Job) -> Sequence[Scorer]:
    """Return who is to score a job."""
    return job.wiring.scorers if job.only is None else job.only


def slow_scorers(job: Job, is_timed: bool = False) -> list[Scorer]:
    """Return who scores a job after its commit."""
    return [scorer for scorer in scorers_of(job) if is_slow(scorer, is_timed)]


def needs_concurrency(job: Job) -> bool:
    """Whether a job is not to be done on the caller's thread."""
    return (job.output is None and is_async(job.slot)) or bool(slow_scorers(job))


INPUTS = (
    "id",
    "context",
    "question",
    "messages",
    "region",
    "tools",
    "turns",
    "multi_turn",
    "choices",
)
"""The fields of an example that are its input, where its dataset's manifest names none."""

GOLD = (*REFERENCE_FIELDS, "correct_letter")
"""The fields of an example that are its right answer, whatever its dataset says."""

_MARKS = ("has_answer", "is_answer", "is_correct", "is_supporting")
_AS_THEY_ARE = ("id", "context", "question", "messages", "tools")
"""Fields in which an entry called ``answer`` is none: recorded sessions, the schema of a tool."""

EVERYTHING, COLUMNS, INPUT = "everything", "columns", "inputs"
OWN = "own"
"""What an object of the caller is shown: everything of the caller's own examples, and of a dataset
that was named all but the gold."""


def shown(slot: RunSystem, stream: RunDataset, example: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a system is given of an example.

    A system that was named by a spec is given the input fields and those that it declares to read, gold left out; one that
    looks its answers up among the columns is given all but the gold; one that declares to read gold is given everything. An
    object of the caller is given everything of examples that the caller passed, and all but the gold of any other dataset.
    """
    if slot.sees == EVERYTHING or (slot.sees == OWN and stream.is_own):
        return example
    seen = tuple(stream.inputs or INPUTS), tuple(stream.more_inputs), tuple(slot.reads or ())
    gold, inside, names = _fields(tuple(stream.gold), *seen)
    if slot.sees in (COLUMNS, OWN):
        return {name: value for name, value in example.items() if name not in gold}
    return {
        name: value if name in _AS_THEY_ARE else without_gold(value, inside)
        for name, value in example.items()
        if name in names
    }


@lru_cache(maxsize=256)
def _fields(
    gold: tuple[str, ...], *named: tuple[str, ...]
) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the fields of gold, those that are no input inside of a field either, and the named ones without gold."""
    whole = frozenset((*GOLD, *gold))
    return whole, whole.union(_MARKS), frozenset().union(*named) - whole


def gold_among(stream: RunDataset) -> list[str]:
    """Return the fields that the caller would let systems see, and that stay home because they are gold."""
    return [name for name in stream.more_inputs if name in GOLD or name in stream.gold]


def without_gold(value: Any, gold: Collection[str]) -> Any:
    """Return a value without the entries of gold names in the mappings inside of it: the answer of a turn, the mark of a choice.

    >>> without_gold([{"role": "user", "content": "Hi", "answer": "Hello"}], {"answer"})
    [{'role': 'user', 'content': 'Hi'}]
    """
    if isinstance(value, Mapping):
        return {name: without_gold(one, gold) for name, one in value.items() if name not in gold}
    return [without_gold(one, gold) for one in value] if isinstance(value, list | tuple) else value


def gold_sources(fields: Mapping[str, str], gold: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the columns that gold fields are taken from: gold as well, under their own names.

    Args:
        fields: Source of a field by its name, as ``--field`` gives them.
        gold: Gold fields of the dataset.

    Raises:
        ConfigurationError: Another field is taken from what gold is a part of.

    >>> gold_sources({"answer": "outputs.0", "question": "q"})
    ('outputs.0', 'outputs')
    """
    targets = {*GOLD, *gold}
    sources = [source for target, source in fields.items() if target in targets]
    for target, source in fields.items():
        within = (
            [one for one in sources if one.startswith(f"{source}.")]
            if target not in targets
            else []
        )
        if within:
            raise ConfigurationError(
                f"--field {target}={source} would show systems the answer, which is {within[0]!r} inside of {source!r}. Take "
                f"a part of it: {target}={source}.NAME."
            )
    return tuple(
        dict.fromkeys(name for source in sources for name in (source, source.partition(".")[0]))
    )


def usual_workers(slots: Iterable[RunSystem], is_waiting: bool) -> int:
    """Return how many calls are in flight when the user does not say.

    An endpoint gets 64.

    Args:
        slots: The systems.
        is_waiting: Whether one of them waits for a network or a process.
    """
    return (
        64
        if any(endpoint_of(slot.system) is not None for slot in slots)
        else 8
        if is_waiting
        else 1
    )


def endpoint_of(system: Any) -> str | None:
    """Return the endpoint that a system asks, as its fingerprint names it; None when it names none."""
    return _first_text(_fingerprint(step).get("endpoint") for step in steps_of_system(system))


def close_systems(slots: Iterable[RunSystem]) -> list[str]:
    """Close the systems that the run made itself and that have a ``close()``; return a line for each that could not be."""
    told = []
    for slot in slots:
        for step in steps_of_system(slot.system) if slot.owned else ():
            close = getattr(step, "close", None)
            if not callable(close):
                continue
            found = capture(close)
            if isinstance(found, CaughtError):
                kind, message = type(found.error).__name__, message_of(found.error)
                told.append(f"System {slot.label} could not be closed: {kind}: {message}")
    return told


def model_of(system: Any) -> str | None:
    """Return the model that a system asks, as its fingerprint or its attribute ``model`` names it; None without one."""
    steps = reversed(steps_of_system(system))
    return _first_text(
        _fingerprint(step).get("model", getattr(step, "model", None)) for step in steps
    )


def max_tokens_of(system: Any) -> int | None:
    """Return the tokens of a system's longest answer, as the parameters of its fingerprint tell; None when unsaid."""
    for step in reversed(steps_of_system(system)):
        fingerprint = _fingerprint(step)
        parameters = fingerprint.get("parameters")
        for place in (parameters if isinstance(parameters, Mapping) else {}, fingerprint):
            for name in ("max_tokens", "max_completion_tokens"):
                found = place.get(name)
                if isinstance(found, int) and not isinstance(found, bool) and found > 0:
                    return found
    return None


def _first_text(found: Iterable[object]) -> str | None:
    return next((one for one in found if isinstance(one, str)), None)


def _fingerprint(step: Any) -> Mapping[str, Any]:
    found = capture(lambda: step.fingerprint())
    return (
        found if isinstance(found, Mapping) else {}
    )  # one without a usable fingerprint tells nothing of itself


def steps_of_system(system: Any) -> tuple[Any, ...]:
    """Return the steps of a chain, or the one system itself."""
    steps = getattr(system, "steps", None)
    return steps if isinstance(steps, tuple) else (system,)


def talks(system: Any) -> bool:
    """Whether a system has a way of its own to be asked for a conversation.

    One that can only be asked for the whole, and reads ``multi_turn`` by itself, takes it through ``process``.
    """
    by_turn, by_turn_async, whole = (
        callable(getattr(system, name, None))
        for name in ("process_turn", "aprocess_turn", "process_conversation")
    )
    if by_turn or (by_turn_async and async_way(system, "process") is not None):
        return True
    return whole and "multi_turn" not in (getattr(system, "reads", None) or ())


def is_conversation(example: Mapping[str, Any], system: Any) -> bool:
    """Whether an example is a conversation - it says so, and has turns - that a system has a way of its own to be asked for."""
    turns = example.get("turns") if example.get("multi_turn") else None
    return isinstance(turns, list | tuple) and bool(turns) and talks(system)


_OF_A_CALL = ("usage", "latency", "system_latency")
"""What a step says of its own call, and no later step sees."""


class Chain:
    """Systems in a row: each sees the example with what the earlier ones returned laid over it.

    The output holds what every step returned, later steps winning; so a compressor's ``context`` and its reader's
    ``response`` stand side by side, and evaluators see both.

    Args:
        steps: The systems, in order.
        name: Name of the whole.
    """

    def __init__(self, steps: Sequence[System], name: str | None = None) -> None:
        self.steps = tuple(steps)
        self.name = name or "+".join(step.name for step in self.steps)
        self.latency_headers = [
            name for step in self.steps for name in getattr(step, "latency_headers", None) or ()
        ]

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the merged outputs of all steps, with the seconds of all, and of those before the last.

        A step that measures its own time returns ``latency``, which counts instead of the clock.
        """
        output: dict[str, Any] = {}
        seconds: list[float] = []
        for number, step in enumerate(self.steps):
            seen = {
                **example,
                **{key: value for key, value in output.items() if key not in _OF_A_CALL},
            }
            started = perf_counter()
            found = step.process(isolate(seen) if number else seen)
            clock = perf_counter() - started
            if not isinstance(found, Mapping):
                raise TypeError(f"step {step.name} returned {type(found).__name__}, not a mapping")
            seconds.append(seconds_of(found.get("latency"), clock))
            output.update(found)
        if len(seconds) > 1:
            own = (
                seconds_of(output.pop("system_latency", None), 0.0)
                if "system_latency" in found
                else 0.0
            )
            output |= {"latency": sum(seconds), "system_latency": sum(seconds[:-1]) + own}
        return output


def seconds_of(told: object, otherwise: float) -> float:
    """Return seconds that a system tells, when they are some."""
    seconds = quantity(told)
    return otherwise if seconds is None else float(seconds)


@define(eq=False)
class Measured:
    """What is recorded about a call and is no part of what the system said.

    Attributes:
        latency: Seconds from the first attempt's sending to the answer.
        attempts: How often the system was asked.
        rest: JSON of response headers, the time to the first token and their like, or None. Where it is more than nothing,
            ``waiting`` is there: the seconds for which the endpoint kept the row waiting - refused attempts, pauses and rates,
            also before the first sending; and ``attempt_latency``, those of the answered attempt, where it was not the first.
        system_latency: Seconds that the system took without its model, or None.
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
        usage, response_tokens, context_tokens: What it used, as it says, and its tokens, as they are told or counted.
    """

    output: Mapping[str, Any]
    text: str
    digest: bytes
    measured: Measured
    usage: Usage | None = None
    response_tokens: int = 0
    context_tokens: int | None = None


@define(eq=False)
class Timing:
    """When an output came.

    Attributes:
        seconds: Seconds of the attempt that was answered, as the clock tells.
        attempts: How often the runner asked.
        before: Seconds from the first attempt's sending to that of the answered one.
        waiting: Seconds of waiting for the endpoint, those of ``before`` included.
    """

    seconds: float
    attempts: int = 1
    before: float = 0.0
    waiting: float = 0.0


Bill = Callable[["Usage | None", Iterable["str | None"]], "tuple[float | None, str | None]"]
"""Returns what a response cost, and where that comes from; of its usage, and the names of its model."""


def reported_cost(
    usage: Usage | None, models: Iterable[str | None]
) -> tuple[float | None, str | None]:
    """Return the cost that an endpoint reported, as ``"reported"``; None twice where it reported none."""
    cost = None if usage is None else usage.cost
    return (None, None) if cost is None else (float(cost), "reported")


def models_of(slot: RunSystem, output: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the names of a response's model: the one asked for, and the one that answered."""
    answered = output.get("model")
    return slot.model, answered if isinstance(answered, str) else None
