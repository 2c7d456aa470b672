"""What the parts of a run promise each other.

Users implement these and inherit from none of them: a class with the right methods is enough. Optional abilities are
optional methods, named with each protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TextIO, runtime_checkable

from context_bench.records import EvalRow

Example = Mapping[str, Any]
"""One row of a dataset: ``id``, ``context``, ``question``, ``answer`` or ``answers``, and whatever else it has."""

Output = Mapping[str, Any]
"""What a system returned: ``response``, a new ``context``, ``usage``, and whatever else it has."""


@runtime_checkable
class System(Protocol):
    """Something that touches an LLM's context: a compressor, a proxy, an endpoint, a function.

    Optional: ``aprocess`` (the same, async), ``process_conversation``, ``fingerprint() -> Mapping`` with every
    parameter that can change an output (without it, responses are never reused across runs), and ``reads``, the
    example fields that the system looks at. A system with an attribute ``cache_salt`` puts that text, when it is set, as
    a line in front of everything that it sends to a model, and into its fingerprint. ``latency_headers`` names response
    headers in which a proxy says how many milliseconds it took itself. ``process`` may be called from several threads at once.
    """

    @property
    def name(self) -> str:
        """Name of the system, used as its label unless another is given."""
        ...

    def process(self, example: dict[str, Any]) -> Mapping[str, Any]:
        """Return the output for one example. The example is a private copy."""
        ...


@runtime_checkable
class Evaluator(Protocol):
    """Something that scores one output.

    Optional: ``score_batch(pairs) -> list``, ``ascore`` (async), ``fingerprint() -> Mapping`` with every parameter that
    can change a score.
    """

    @property
    def name(self) -> str:
        """Name of the evaluator."""
        ...

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Mapping[str, float]:
        """Return scores by key; an empty mapping when there is nothing to say about this row."""
        ...


@runtime_checkable
class Metric(Protocol):
    """Something that aggregates the rows of one system."""

    @property
    def name(self) -> str:
        """Name of the metric."""
        ...

    def compute(self, rows: Sequence[EvalRow]) -> Mapping[str, float]:
        """Return values by key. ``rows`` can be iterated more than once and may be too long to list."""
        ...


@runtime_checkable
class DatasetLoader(Protocol):
    """A callable that streams examples."""

    def __call__(
        self, limit: int | None = None, config: str | None = None, split: str | None = None, **options: Any
    ) -> Iterable[dict[str, Any]]:
        """Yield at most ``limit`` examples."""
        ...


@runtime_checkable
class Reporter(Protocol):
    """Something that writes a result."""

    @property
    def name(self) -> str:
        """Name of the format."""
        ...

    def write(self, result: Any, stream: TextIO) -> None:
        """Write an :class:`~context_bench.results.EvalResult`."""
        ...


@runtime_checkable
class Executor(Protocol):
    """Something that runs jobs; the driver alone keeps keys, limits and the run file."""

    def map(self, function: Callable[[Any], Any], jobs: Iterable[Any], window: int) -> Iterator[Any]:
        """Yield the results of ``function`` in any order, never holding more than ``window`` jobs."""
        ...


@runtime_checkable
class Tokenizer(Protocol):
    """Something that counts tokens."""

    @property
    def name(self) -> str:
        """Name of the counting rule, recorded with the run."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``."""
        ...


@runtime_checkable
class Store(Protocol):
    """Where a run keeps what it has done: the record, and the state that it resumes from."""

    def commit(self, rows: Sequence[Any]) -> None:
        """Write finished rows durably, all or none."""
        ...

    def finished(self) -> Iterator[tuple[int, bytes]]:
        """Yield the packed identity and the response key of every answered row, in canonical order."""
        ...

    def rows(self) -> Iterator[EvalRow]:
        """Yield every row in canonical order."""
        ...
