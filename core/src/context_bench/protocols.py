"""What the components of a run promise each other.

Users implement these and inherit from none of them: a class with the right methods is enough.
Optional abilities are optional methods, named with each protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TextIO, runtime_checkable

from attrs import Factory, frozen

from context_bench.records import EvalRow

Example = Mapping[str, Any]
"""One row of a dataset: ``id``, ``context``, ``question``, ``answer`` or ``answers``, and whatever
else it has."""

Output = Mapping[str, Any]
"""What a system returned: ``response``, a new ``context``, ``usage``, and whatever else it has."""

CALL_OPTIONS = (
    "model", "layout", "system_prompt", "prompt_template", "endpoint",
    "temperature", "top_p", "top_k", "seed", "stop",
    "max_tokens", "max_completion_tokens", "context_tokens", "thinking_budget", "extra_body",
)  # fmt: skip
"""Options of endpoints that decide what is asked: layout, sampling and limits. Two systems that
differ in one of them are called differently."""


@runtime_checkable
class System(Protocol):
    """Something that touches an LLM's context: a compressor, a proxy, an endpoint, a function.

    Optional: ``aprocess`` (the same, async); ``fingerprint() -> Mapping`` with every parameter that
    can change an output (without it, responses are never reused across runs); ``reads``, the
    example fields that the system receives, besides ``id``; ``models() -> Sequence[str]``, what its
    endpoint offers. A system never waits or repeats a call: the runner does, where an error has an
    HTTP ``status`` of too many requests, or ``retryable = True``; ``retry_after`` are the seconds
    that the server asked to wait. An error may carry ``finding``, too (what ``preflight`` calls
    it). ``process`` may be called from several threads at once. A system that the run built from a
    name is told the end of the run by ``close()``, if it has one, whatever the end was; one that
    was handed in as an object is its owner's to close. A system with an attribute ``cache_salt``
    puts that text, when it is set, as a line in front of everything that it sends to a model, and
    into its fingerprint. In place of ``process`` a context transformer may have
    ``transform(messages, tools)``, which gets the messages of a session and returns those that it
    leaves; it may have ``redeem(messages) -> Mapping`` too, what each of its markers in them brings
    back by the marker's reference, or None. A system with ``process`` puts that out as
    ``redeemed``. ``latency_headers`` names response headers in which a proxy says how many
    milliseconds it took itself. A system with a true ``is_recorded`` passes on responses of earlier
    calls: its rows are marked as recorded, take no time and cost nothing. ``resources`` is a
    mapping of what a call needs of the worker of an executor: ``cpus``, ``gpus``, or other names
    that the cluster knows, with positive numbers; the workers of one machine share what it has.

    For rows with ``multi_turn`` and ``turns``, optional too: ``process_turn(turns)``, which answers
    the last of the turns that it is given - those of the example, the system's own replies among
    them - with a text or an output; each answer is kept before the next turn is asked, so none is
    paid for twice. Or ``process_conversation(turns)``, which gives the replies to all turns at
    once; an interrupted one is asked again from its beginning. Without either, such a row goes
    through ``process`` like any other. ``aprocess_turn`` and ``aprocess_conversation`` are the
    same, async. The hook ``drive_conversation`` provides what asks such rows.
    """

    @property
    def name(self) -> str:
        """Name of the system, used as its label unless another is given."""

    def process(self, example: dict[str, Any]) -> Mapping[str, Any]:
        """Return the output for one example. The example is a private copy."""


@runtime_checkable
class MemorySystem(Protocol):
    """Something that is told sessions one after another, and asked about them later.

    Each method may be ``async``. A row's memory is reset, ingests the row's sessions in order, and
    is asked its question; rows share nothing. ``context_bench_memory.MemoryAdapter`` makes a system
    of it. Optional: ``name``, ``fingerprint() -> Mapping`` as for a system, ``close()``, and a
    parameter ``date`` of ``query`` for the day on which the question is asked.
    """

    def reset(self) -> Any:
        """Forget everything."""

    def ingest(self, session: Mapping[str, Any]) -> Any:
        """Remember a session.

        Args:
            session: ``id`` and ``date`` as text or None, and ``turns``: mappings with ``role`` and
                ``content``.

        Returns:
            Nothing, or a mapping with the ``usage`` of remembering.
        """

    def query(self, question: str) -> Any:
        """Return the answer as text; or a mapping with ``response``, or with ``context`` for a
        reader, and ``usage``."""


@runtime_checkable
class Evaluator(Protocol):
    """Something that scores one output.

    Optional: ``score_batch(pairs) -> list``, not async, given pairs of ``original`` and
    ``processed`` and returning for each, in their order, what ``score`` would, or an exception,
    which is the failure of that row; ``ascore(original, processed)``, the same as ``score``, async;
    ``fingerprint() -> Mapping`` with every parameter that can change a score. Where options decide
    which keys it gives: ``score_keys``, those that its options make it give, and ``primary``, the
    primary score among them. An async one with ``max_in_flight`` is asked for at most so many rows
    at a time, and waiting for a place is no part of a row's deadline. One that cannot tell this
    time raises ``InconclusiveScoreError``. ``require(original)`` raises for an example whose
    outputs it could not score, before a system is called for it: the run stops with that message.
    One that checks itself has ``finished(run) -> int | None``: the exit code of a run whose scores
    mean nothing, as the hook ``exit_code`` returns it.
    """

    @property
    def name(self) -> str:
        """Name of the evaluator."""

    def score(
        self, original: Mapping[str, Any], processed: Mapping[str, Any]
    ) -> Mapping[str, float]:
        """Return scores by key; an empty mapping when there is nothing to say about this row."""


@runtime_checkable
class Metric(Protocol):
    """Something that aggregates the rows of one system, or compares all systems.

    Instead of ``compute``, or in addition: ``compute_columns(columns)``, from the columns of the
    rows; and ``compare(columns_by_system)``, which is called after all other metrics, and returns
    values by system. Optional: ``score_field``, the score that it reads; ``values``, what its keys
    mean, for a metric without a manifest; ``notes(summary, config)``, sentences that reports print
    with the values.
    """

    @property
    def name(self) -> str:
        """Name of the metric."""

    def compute(self, rows: Sequence[EvalRow]) -> Mapping[str, float]:
        """Return values by key. ``rows`` can be iterated more than once and may be too long to
        list."""


@runtime_checkable
class DatasetLoader(Protocol):
    """A callable that streams examples."""

    def __call__(
        self,
        limit: int | None = None,
        config: str | None = None,
        split: str | None = None,
        **options: Any,
    ) -> Iterable[dict[str, Any]]:
        """Yield at most ``limit`` examples."""


@runtime_checkable
class Reporter(Protocol):
    """Something that writes a result."""

    @property
    def name(self) -> str:
        """Name of the format."""

    def write(self, result: Any, stream: TextIO) -> None:
        """Write an :class:`~context_bench.EvalResult`."""


@runtime_checkable
class Tokenizer(Protocol):
    """Something that counts tokens."""

    @property
    def name(self) -> str:
        """Name of the counting rule, recorded with the run."""

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``."""


class RowId(NamedTuple):
    """Which row of a system is meant.

    Attributes:
        dataset: Label of the dataset.
        position: Place of the example in it, from 0.
        sample: Repetition, from 0.
    """

    dataset: str
    position: int
    sample: int


@frozen
class Call:
    """A call that a run is about to make.

    Attributes:
        system_number: Number of the system among those of the run, from 0.
        system: Label of the system.
        endpoint: Address that its limits belong to; None for a system without an endpoint.
        identity: The row that the call is for.
        tokens: Estimated tokens of the prompt.
        attempt: 0 for the first attempt, and one more for each repetition.
    """

    system_number: int
    system: str
    endpoint: str | None
    identity: RowId
    tokens: int
    attempt: int


@frozen
class SystemSummary:
    """A system of a run, as hooks receive it.

    Attributes:
        number: Its number among the systems of the run, from 0.
        label: Its label.
        endpoint: Address that its limits belong to; None for a system without an endpoint.
        model: Name of the model that it calls; None where it names no model.
        max_tokens: Tokens of its longest answer; None where they are not known.
        is_baseline: Whether the other systems are compared with it.
    """

    number: int
    label: str
    endpoint: str | None
    model: str | None
    max_tokens: int | None
    is_baseline: bool


@frozen
class DerivedSystemSpec:
    """A system to add to a run, whose rows are computed from the rows of another system.

    Attributes:
        label: Its label in the run.
        source_label: Label of the system whose rows it needs.
        key: What can change its outputs; part of their keys.
        process: Returns its output, given the example as systems see it and the output of the
            source.
        is_read: Whether the reader of the run answers from that output.
    """

    label: str
    source_label: str
    key: Mapping[str, Any]
    process: Callable[[Example, Output], Output]
    is_read: bool = False


@frozen(eq=False)
class BuiltSystem:
    """A system of a run that is built, and was not called yet.

    Attributes:
        system: The system; a chain has ``steps``.
        key: What identifies it; the keys of its responses depend on it.
        may_ask_models: Whether it may call a model: it uses the network or a program, or that is
            not known.
    """

    system: Any
    key: bytes
    may_ask_models: bool


@runtime_checkable
class AnswerSource(Protocol):
    """What replaces a missing gold answer: the response of the system that ``--reference-from``
    names.

    The hook ``answer_source`` provides it. Rows without a gold answer are scored when all systems
    have answered.
    """

    @property
    def least_samples(self) -> int:
        """How often the reference is called at least for such an example."""

    def gold_fields(self, needs: Sequence[str]) -> Sequence[str]:
        """Return which fields are gold answers to an evaluator with these needs, as its manifest
        declares them."""

    def lacks(self, example: Example, fields: Iterable[str]) -> bool:
        """Return whether an example has nothing in any of these fields."""

    def filled(self, example: Example, output: Output) -> Example | None:
        """Return the example with the response of the reference as its gold answer; None where that
        is not an answer."""

    def notice(self, label: str, samples: int, rows: int | None) -> str | None:
        """Return what the user should know before a new run, given the reference's label,
        repetitions and rows at most."""


class Turns(Protocol):
    """The turns of one row, numbered from 0 in the order in which they are asked. What was answered
    once is not asked again."""

    def recall(self, number: int, history: Sequence[Any]) -> Output | None:
        """Return what a turn was answered with this history, the turn itself included; None when it
        is to be asked now.

        It returns when the turn may be asked: the hook ``admit_call`` admits each turn.

        Raises:
            Exception: It must not be asked any more; leave that to the run.
        """

    def keep(self, number: int, history: Sequence[Any], output: Any, seconds: float) -> Output:
        """Return the answer to a turn, once it is in the run file: without secrets, and with what
        was measured.

        Args:
            number: Number of the turn.
            history: What it was asked with.
            output: The output, with a text as ``response``.
            seconds: What the clock says the call took.

        Raises:
            Exception: It is no output, or not to be kept any more; leave that to the run.
        """


class Executor(Protocol):
    """Where batches of rows are done. The hook ``executor`` provides it.

    A worker calls functions of core by name with bytes, and returns bytes; it needs the packages of
    the run, and no run file.
    """

    @property
    def slots(self) -> int:
        """How many batches are done at once."""

    @property
    def lost(self) -> tuple[type[BaseException], ...]:
        """Errors of a call whose worker ended in the middle of it: the call is repeated."""

    def submit(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        resources: Mapping[str, float] | None = None,
    ) -> Future[Any]:
        """Have a worker that has the resources call a function, and return the future of what it
        returns."""

    def each(self, function: Callable[..., Any], *arguments: Any) -> Mapping[str, Any]:
        """Return what a function returns on each worker, by a name of the worker."""

    def close(self) -> None:
        """End the workers that this object started, and leave the others."""


@frozen
class TableLayout:
    """What a table of a run file stores.

    Attributes:
        name: Its name.
        columns: ``INTEGER``, ``REAL``, ``TEXT`` or ``BLOB`` by the name of the column, without
            computed columns.
        key: Columns that tell its lines apart.
        computed: SQL expressions by the name of the column that they compute, for those who ask
            with SQL.
    """

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    computed: Mapping[str, str] = Factory(dict)


@frozen
class Change:
    """What changed in a table.

    Attributes:
        table: The table.
        lines: Lines that are new or changed, whole.
        removed: Keys of lines that are gone.
    """

    table: TableLayout
    lines: Sequence[tuple[Any, ...]] = ()
    removed: Sequence[tuple[Any, ...]] = ()


@frozen(eq=False)
class Since:
    """What a run has that a copy lacks.

    Attributes:
        identity: The identity of the run in its store.
        commit: Number of its last commit.
        is_whole: Whether ``changes`` is the whole run, and the copy starts anew.
        writer: Who writes into the run now; empty for nobody.
        changes: The changes, removed lines before new ones.
    """

    identity: str
    commit: int
    is_whole: bool
    writer: str = ""
    changes: Iterable[Change] = Factory(tuple)


class StoreSession(Protocol):
    """The right to write into a run of a store. No other session has it meanwhile."""

    @property
    def address(self) -> str:
        """The address of the run, without credentials."""

    @property
    def identity(self) -> str:
        """The identity of the run in its store: another run of that name has another one."""

    def commit(self, number: int, changes: Iterable[Change]) -> None:
        """Write changes, all or none.

        Args:
            number: The number that this commit must get.
            changes: The changes.

        Raises:
            LostStoreError: The store does not answer any more.
            StoreError: Another session has taken over, or the run has other commits.
        """

    def replace(self, number: int, changes: Iterable[Change]) -> None:
        """Replace the whole run in one commit; arguments and errors are those of
        :meth:`commit`."""

    def discard(self) -> None:
        """Remove the run."""

    def close(self) -> None:
        """End the session."""


class RunStore(Protocol):
    """Where the runs of a team are, such as a database. The hook ``store`` provides it."""

    @property
    def address(self) -> str:
        """Its address, without credentials."""

    @property
    def identity(self) -> str:
        """A name for the folder of its local copies, the same by every address."""

    def runs(self) -> Mapping[str, tuple[int, str]]:
        """Return the number of the last commit of each run, and who writes into it now, by name."""

    def since(self, run: str, identity: str, commit: int) -> AbstractContextManager[Since]:
        """Open what a copy lacks.

        Args:
            run: Name of the run.
            identity: The identity of the run of the copy; empty for a new copy.
            commit: Number of the copy's last commit.

        Raises:
            StoreError: There is no such run.
        """

    def session(self, run: str, is_new: bool) -> StoreSession:
        """Begin to write into a run.

        Raises:
            StoreError: Another session writes into it; or there is a run of this name already, or
                none.
        """


@runtime_checkable
class RateLimiter(Protocol):
    """How often one endpoint may be called. The hook ``rate_limiter`` provides it.

    The runner calls it under a lock, with seconds of one clock for every ``now``.
    """

    def wait(self, now: float, tokens: float) -> float:
        """Return the seconds until a request of so many tokens may be sent; 0 or less sends it
        now."""

    def sent(self, now: float, tokens: float) -> None:
        """Count a request that is sent, with its estimated tokens."""

    def answered(
        self, now: float, seconds: float, tokens: float, expected: float, headers: Any
    ) -> None:
        """Learn from an answer.

        Args:
            now: The moment.
            seconds: How long the answer took.
            tokens: What the call counts against a limit of tokens; 0 where that is not known.
            expected: The estimated tokens that :meth:`sent` received.
            headers: Its response headers as a mapping; None where there are none.
        """

    def refused(self, now: float, seconds: float, retry_after: float | None, headers: Any) -> bool:
        """Learn from a refusal, with its ``Retry-After``. Return whether far fewer calls may be in
        flight."""

    def learned(self) -> Mapping[str, Any]:
        """Return what the next session of the run receives, as JSON can hold it; nothing where
        nothing was learned."""
