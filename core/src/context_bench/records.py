"""What a run produces: rows, usage, failures, and where every score came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any

from attrs import Factory, field, frozen

from context_bench.columns import ROW_COLUMNS, RowColumns, positive_count

_MOST = 2**53


class Scores(dict[str, float]):
    """Scores by key, with details that travel beside them.

    A ``dict[str, float]`` in every respect. An evaluator returns one when it has more to say than
    its documented keys: a judge's reason, per-instruction verdicts. Details must be JSON-like; they
    are stored with the row.

    >>> scores = Scores({"f1": 0.5}, details={"best_reference": "Paris"})
    >>> scores == {"f1": 0.5}, scores.details
    (True, {'best_reference': 'Paris'})
    """

    def __init__(
        self, scores: Mapping[str, float] = {}, /, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(scores)
        self.details: dict[str, Any] = dict(details or {})


REPORTED_CURRENCY = "USD"
"""Currency of the costs that endpoints report."""


@frozen
class Usage:
    """What one response cost, as far as it is known.

    Attributes:
        input_tokens: Tokens of the prompt, cached ones included.
        output_tokens: Tokens of the completion, reasoning included.
        cache_read_tokens: Prompt tokens that the provider served from its cache.
        cache_write_tokens: Prompt tokens that the provider wrote into its cache.
        reasoning_tokens: Completion tokens spent on reasoning.
        cost: Price in US dollars.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None

    @classmethod
    def read(cls, output: Mapping[str, Any]) -> Usage | None:
        """Return the usage that a system reported under ``usage`` in its output, or None when it
        reported none.

        The names of the usual chat interface (``prompt_tokens``, ``completion_tokens``) are
        understood too. What is no :func:`quantity` is taken as unknown.
        """
        found = output.get("usage")
        if found is None or not isinstance(found, Mapping):
            return None
        values = {}
        for name, value in found.items():
            field = _USAGE_NAMES.get(name) if type(name) is str else None
            if field is not None and (field == name or field not in values):
                number = quantity(value)
                if number is not None:
                    values[field] = number
        return cls(**values) if values else None

    def to_dict(self) -> dict[str, float]:
        """Return the known counts by name."""
        return {name: value for name in _USAGE_FIELDS if (value := getattr(self, name)) is not None}

    def __add__(self, other: Usage) -> Usage:
        total: dict[str, Any] = self.to_dict()
        for name, count in other.to_dict().items():
            total[name] = total.get(name, 0) + count
        return Usage(**total)


_USAGE_FIELDS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "cost",
)
_USAGE_NAMES = dict(
    zip(_USAGE_FIELDS, _USAGE_FIELDS),
    prompt_tokens="input_tokens",
    completion_tokens="output_tokens",
)


def quantity(value: Any) -> Any:
    """Return a count, an amount or a duration that somebody tells, as an ``int`` or a ``float``;
    None where it is none.

    It is not negative and at most 2**53, the last number up to which a float tells every one from
    the next: what is beyond is a fault of whoever tells it, and could be neither added nor stored.
    Numbers of numpy and fractions are numbers.

    >>> quantity(3), quantity(-0.0), quantity(-1), quantity(1e300), quantity(True), quantity("3")
    (3, 0.0, None, None, None, None)
    """
    if type(value) is not int:
        if isinstance(value, bool) or not isinstance(value, Real):
            return None
        value = (
            int(value) if isinstance(value, Integral) else float(value) + 0.0
        )  # no minus before a zero
    return value if 0 <= value <= _MOST else None


def shown_seconds(value: float) -> str:
    """Return a duration as people are shown it, in the unit in which it has digits that say
    something.

    >>> shown_seconds(2.5), shown_seconds(0.0125), shown_seconds(0.000084), shown_seconds(0)
    ('2.50 s', '12.5 ms', '84 us', '0 s')
    """
    if value == 0:
        return "0 s"
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.1f} ms" if value >= 1e-3 else f"{value * 1e6:.0f} us"


@frozen
class Failure:
    """One thing that went wrong with one row.

    Attributes:
        stage: ``"system"`` or ``"evaluator"``.
        kind: Class of the error, such as ``"TimeoutError"``.
        message: What the error said.
        evaluator: Id of the evaluator that failed; None for a system.
        attempts: How often it was tried.
        traceback: The traceback as text, for whoever mends it; no part of the canonical export.
    """

    stage: str
    kind: str
    message: str
    evaluator: str | None = None
    attempts: int = 1
    traceback: str = field(default="", eq=False)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-like values, without its traceback."""
        return {
            "stage": self.stage,
            "evaluator": self.evaluator,
            "kind": self.kind,
            "message": self.message,
            "attempts": self.attempts,
        }

    def __str__(self) -> str:
        stage = f"evaluator {self.evaluator}" if self.evaluator else self.stage
        return f"{stage}: {self.kind}: {self.message}" if self.message else f"{stage}: {self.kind}"


@frozen
class KeyMeaning:
    """What a score key means on the rows of one dataset.

    Attributes:
        evaluator: Id of the evaluator that gives it.
        worst: What a row counts whose system or evaluator failed; None when the score has no worst
            value.
        better: ``"higher"``, ``"lower"`` or ``"neither"``; where nobody says it, the end of the
            range that is not the worst.
    """

    evaluator: str
    worst: float | None = 0.0
    better: str = Factory(
        lambda self: "lower" if (self.worst or 0) > 0 else "higher", takes_self=True
    )


def better_of(keys: Mapping[str, KeyMeaning], primary: str | None, key: str) -> str:
    """Return which values of a score key are better on rows whose keys and primary these are:
    ``"higher"`` unless declared.

    Args:
        keys: What the keys of the rows mean.
        primary: Key of their primary score.
        key: A score key, or ``"score"`` for the primary score.
    """
    meaning = keys.get(key) or (keys.get(primary or "") if key == "score" else None)
    return "higher" if meaning is None else meaning.better


def passes(values: Any, threshold: float, better: str = "higher") -> Any:
    """Return whether a score passes, or an array of scores: it reaches the threshold, or stays at
    or below it where less is better."""
    return values <= threshold if better == "lower" else values >= threshold


def number_passing(values: Iterable[float], threshold: float, better: str) -> int:
    """Return how many scores :func:`passes` lets pass, without a call for each."""
    limit = float(threshold)
    return sum(map(limit.__ge__ if better == "lower" else limit.__le__, values))


@frozen
class BaselineRow:
    """The baseline's row of the same example and repetition, as far as it is compared.

    Attributes:
        prompt_tokens: Prompt tokens that its endpoint reported; None when it reported none.
        cost: What it cost, in the currency of the run; None when nobody knows.
    """

    prompt_tokens: int | None = None
    cost: float | None = None


ANY_KEY = "*"
"""Stands in :attr:`EvalRow.keys` for the keys of an evaluator that declares none."""


AGREEMENT = "agreement_"
"""Prefix of the score keys that hold a response against another system's, in place of a gold
answer."""


def _from(default: Callable[[Any], Any]) -> Any:
    """Return a default that is computed from the fields before it."""
    return Factory(default, takes_self=True)


@frozen(eq=False)
class EvalRow(RowColumns):
    """One example with one system: what was answered and how it was scored.

    What was measured about the call are the columns that :class:`~context_bench.columns.RowColumns`
    declares. A row that is made by hand may be given ``output_tokens``: these are its
    ``prompt_tokens`` and ``context_tokens`` where those are missing.

    Attributes:
        system: Label of the system.
        example_id: ``id`` of the example as text (7 and ``"7"`` are one), or ``"#<position>"`` when
            it had none.
        scores: Score by key. Empty when nothing could be scored.
        metadata: What the run recorded in addition to the columns: usage, finish reason, response
            headers.
        dataset: Label of the row's dataset; empty when it has none.
        response: The system's answer as text, or None when there is none (a transformer alone, a
            failure).
        output: Everything the system returned.
        errors: Failures of the system and of evaluators on this row.
        unscored: Reason by evaluator id, for evaluators that had nothing to say.
        details: What an evaluator said beyond its scores, by evaluator id.
        primary: Key of the row's primary score, or None when its dataset has none.
        keys: What the keys of this row's dataset mean.
        prompt_tokens: Tokens that went on to the model: as the endpoint reports them, else counted
            in the context that a transformer returned; None when neither is known.
        position: Position of the example in its dataset, counted from 0.
        repetition: Number of the repetition, counted from 0.
        system_number: Number of the system in the run.
        dataset_number: Number of the row's dataset in the run.
        usage: What the response cost, when the system reported it.
        baseline: The baseline's row of the same example and repetition; None without one.
        reference: Label of the system whose response stood in for the gold answer that the example
            lacks; None where there is a gold answer, or no such system.
        is_extra: Whether the reference was asked once more, only to see how far it agrees with
            itself.
    """

    system: str
    example_id: str
    scores: Mapping[str, float]
    input_tokens: int = 0
    _output_tokens: int | None = None
    metadata: Mapping[str, Any] = field(factory=dict)
    latency: float = 0.0
    dataset: str = ""
    response: str | None = None
    output: Mapping[str, Any] = field(factory=dict)
    errors: tuple[Failure, ...] = ()
    unscored: Mapping[str, str] = field(factory=dict)
    details: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    primary: str | None = None
    keys: Mapping[str, KeyMeaning] = field(factory=dict)
    position: int = 0
    repetition: int = 0
    system_number: int = 0
    dataset_number: int = 0
    usage: Usage | None = None
    baseline: BaselineRow | None = None
    reference: str | None = None
    is_extra: bool = False
    # Columns whose defaults come from other fields of a row that is made by hand:
    reported_tokens: int | None = field(
        default=_from(lambda row: row.usage and row.usage.input_tokens), converter=positive_count
    )
    cached_tokens: int | None = _from(lambda row: row.usage and row.usage.cache_read_tokens)
    context_tokens: int | None = _from(lambda row: row._output_tokens)
    prompt_tokens: int | None = _from(
        lambda row: row.context_tokens if row.reported_tokens is None else row.reported_tokens
    )

    @property
    def is_agreement(self) -> bool:
        """Whether the row's primary score holds its response against the reference's, and not
        against a gold answer."""
        return self.reference is not None and (self.primary or AGREEMENT).startswith(AGREEMENT)

    @property
    def baseline_tokens(self) -> int | None:
        """Prompt tokens that the baseline's endpoint reported; None without a baseline, or when it
        reported none."""
        return None if self.baseline is None else self.baseline.prompt_tokens

    @property
    def tokens_saved(self) -> float | None:
        """Share of the baseline's reported prompt tokens that this row did without; None when
        either is unknown."""
        baseline_tokens = positive_count(self.baseline_tokens)
        if self.reported_tokens is None or baseline_tokens is None:
            return None
        return 1 - self.reported_tokens / baseline_tokens

    @property
    def output_tokens(self) -> int:
        """Tokens that the system put out: what goes on to the model where that is known, else the
        response."""
        return self.response_tokens if self.prompt_tokens is None else self.prompt_tokens

    @property
    def attempt_latency(self) -> float:
        """Seconds of the attempt that was answered."""
        return float(self.metadata.get("attempt_latency", self.latency))

    @property
    def waiting(self) -> float:
        """Seconds for which the endpoint kept the row waiting: refusals, pauses, and rates, also
        before the first sending."""
        return float(self.metadata.get("waiting", 0.0))

    @property
    def score(self) -> float | None:
        """The row's primary score; see :meth:`value`."""
        return self.value("score")

    @property
    def failed(self) -> bool:
        """Whether the system failed, or the evaluator that gives the primary score did; any, where
        none gave a score."""
        if any(error.evaluator is None for error in self.errors):
            return True
        return bool(self.errors) and (
            not self.scores if self.primary is None else self._broke(self.primary)
        )

    def value(self, key: str) -> float | None:
        """Return what this row counts for a score key.

        Args:
            key: A score key, or ``"score"`` for the primary score of the row's dataset.

        Returns:
            The score; the worst value of the key when the row failed; None when the row is
            unscored, or when the key has no meaning on its dataset.
        """
        if key == "score" and key not in self.scores:
            if self.primary is None:
                return None
            key = self.primary
        if key in self.scores:
            return self.scores[key]
        if not self._broke(key):
            return None
        meaning = self.keys.get(key) or self.keys.get(ANY_KEY)
        return meaning.worst if meaning else None

    def counted(self, undeclared: Iterable[str] = ()) -> dict[str, float]:
        """Return what this row counts for each of its score keys, as summaries take it: see
        :meth:`value`. Keys for which it counts nothing are left out.

        Args:
            undeclared: Keys that other rows of the dataset have and that no evaluator declares.
        """
        counted = dict(self.scores)
        if self.errors:
            for key in (*self.keys, *undeclared):
                value = None if key == ANY_KEY else self.value(key)
                if value is not None:
                    counted[key] = value
        return counted

    def better(self, key: str) -> str:
        """Return which values of a score key are better on this row; see :func:`better_of`."""
        return better_of(self.keys, self.primary, key)

    def _broke(self, key: str) -> bool:
        if key in self.scores or not self.errors:
            return False
        meaning = self.keys.get(key) or self.keys.get(ANY_KEY)
        if meaning is not None and meaning.evaluator in self.unscored:
            return False  # no answer could have been scored
        return any(
            error.evaluator is None
            or (meaning is not None and meaning.evaluator in (error.evaluator, ANY_KEY))
            for error in self.errors
        )


def flatten(row: EvalRow, undeclared: Iterable[str] = ()) -> Iterator[tuple[str, Any]]:
    """Yield the columns of a row for a flat table: its own fields, then what it counts for each
    score, so that the mean of a column is the mean of the summary.

    A score whose key is also a field of the row (``latency``, say) keeps both: it becomes
    ``score:latency``.

    Args:
        row: The row.
        undeclared: See :meth:`EvalRow.counted`.
    """
    columns = {
        "system": row.system,
        "dataset": row.dataset,
        "reference": row.reference,
        "example_id": row.example_id,
        "repetition": row.repetition,
        "score": row.score,
        "failed": row.failed,
        **{name: getattr(row, name) for name in _TABULAR},
        "waiting": row.waiting,
        "first_token": row.metadata.get("ttft"),
        "prompt_tokens": row.prompt_tokens,
        "baseline_tokens": row.baseline_tokens,
        "tokens_saved": row.tokens_saved,
        "response": row.response,
        "error": "; ".join(map(str, row.errors)),
    }
    yield from columns.items()
    for key, value in row.counted(undeclared).items():
        yield (f"score:{key}" if key in columns else key), value


_TABULAR = tuple(name for name, column in ROW_COLUMNS.items() if column.tabular)
_EXPORTED = tuple(name for name, column in ROW_COLUMNS.items() if column.exported)


def row_to_dict(row: EvalRow, undeclared: Iterable[str] = ()) -> dict[str, Any]:
    """Return a row as JSON-like values; its ``scores`` are what it counts, the worst value where it
    has failed.

    Args:
        row: The row.
        undeclared: See :meth:`EvalRow.counted`.
    """
    return {
        "system": row.system,
        "dataset": row.dataset,
        "reference": row.reference,
        "is_extra": row.is_extra,
        "position": row.position,
        "repetition": row.repetition,
        "example_id": row.example_id,
        "response": row.response,
        "primary": row.primary,
        "score": row.score,
        "failed": row.failed,
        "scores": row.counted(undeclared),
        "details": {evaluator: dict(details) for evaluator, details in row.details.items()},
        "unscored": dict(row.unscored),
        "errors": [error.to_dict() for error in row.errors],
        **{name: getattr(row, name) for name in _EXPORTED},
        "prompt_tokens": row.prompt_tokens,
        "baseline_tokens": row.baseline_tokens,
        "tokens_saved": row.tokens_saved,
        "metadata": dict(row.metadata),
    }


@frozen
class Completeness:
    """How much of a run is there, and what finishes it.

    Attributes:
        rows_done: Rows that were answered or have failed.
        rows_expected: Rows of the whole run, of all systems and repetitions, at most; None when
            nobody knows.
        status: ``finished``, ``interrupted``, ``stopped``, ``killed``, or ``running`` while a
            session writes.
        remedy: What finishes the run, in words.
        is_being_rescored: Whether a rescoring has begun and not completed: the scores are those
            before it.
    """

    rows_done: int
    rows_expected: int | None = None
    status: str = "finished"
    remedy: str = ""
    is_being_rescored: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether the run has ended as it should."""
        return self.status == "finished"

    @property
    def sentence(self) -> str:
        """What a person must know: ``1 of 20 rows: interrupted; finish it with ...``."""
        whole = (
            self.rows_done
            if self.rows_expected is None
            else max(self.rows_done, self.rows_expected)
        )
        rows = f"{whole} row{'' if whole == 1 else 's'}"
        if self.is_complete:
            return f"{rows}: complete."
        counted = (
            f"{self.rows_done} of {rows}"
            if self.rows_expected is not None
            else f"{rows} of an unknown number"
        )
        word = {"running": "still running"}.get(self.status, self.status)
        return f"{counted}: {word}; {self.remedy}."

    @property
    def sentences(self) -> tuple[str, ...]:
        """What reporters print: nothing of a complete run whose scores stand."""
        rescoring = (
            "A rescoring of this run has not completed; these are the scores before it. "
            "Begin it again to finish it."
        )
        return (
            *(() if self.is_complete else (self.sentence,)),
            *((rescoring,) if self.is_being_rescored else ()),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-like values."""
        return {
            "rows_done": self.rows_done,
            "rows_expected": self.rows_expected,
            "status": self.status,
            "is_complete": self.is_complete,
            "is_being_rescored": self.is_being_rescored,
            "sentence": self.sentence,
        }
