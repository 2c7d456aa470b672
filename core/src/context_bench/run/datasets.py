"""Datasets of a run, and which fields of their examples a system receives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from attrs import Factory, frozen

from context_bench.answers import REFERENCE_FIELDS
from context_bench.errors import ConfigurationError
from context_bench.prompts import ASKING_FIELDS
from context_bench.records import Failure

if TYPE_CHECKING:
    from context_bench.run.examples import Selection
    from context_bench.run.systems import RunSystem


@frozen(eq=False)
class RunDataset:
    """A dataset of a run.

    Attributes:
        number: Its number in the run.
        label: Label of all of its rows; None when the ``dataset`` field of each row sets it.
        examples: The examples; read one by one, never listed.
        fallback: Label of rows that have no ``dataset`` field, when ``label`` is None.
        description: What the run file records about it.
        selection: Which of the examples are used; None means all.
        inputs: The fields of its examples that systems receive; empty for the usual ones.
        more_inputs: Further fields that the caller lets systems receive.
        gold: Fields that are hidden from systems, in addition to the usual ones.
        is_own: Whether the caller passed the examples as objects.
        has_changed: Returns whether the source has changed since it was opened; None where that
            is unknown.
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
"""The fields of an example that are its right answer, whatever its dataset declares."""

_MARKS = ("has_answer", "is_answer", "is_correct", "is_supporting")
_UNCHANGED = ("id", "context", "question", "messages", "tools")
"""Fields in which an entry called ``answer`` is not gold: recorded sessions, schemas of tools."""

EVERYTHING = "everything"
COLUMNS = "columns"
INPUT = "inputs"
OWN = "own"
"""What an object of the caller receives: everything of the caller's own examples, and all but the
gold of a dataset that was named."""


def shown(
    run_system: RunSystem, dataset: RunDataset, example: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the fields of an example that a system receives.

    A system that was named by a spec receives the input fields and those that it declares to read,
    without gold. A system that looks its answers up among the columns receives all but the gold. A
    system that declares to read gold receives everything. An object of the caller receives
    everything of examples that the caller passed, and all but the gold of any other dataset.

    A system that declares what it reads receives these fields and the id: the others are not part
    of the response key.
    """
    visible = _visible(run_system, dataset, example)
    reads = run_system.reads
    if reads is None:
        return visible
    return {name: value for name, value in visible.items() if name == "id" or name in reads}


def _visible(
    run_system: RunSystem, dataset: RunDataset, example: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the fields of an example that a system may see, whatever it declares to read."""
    if run_system.sees == EVERYTHING or (run_system.sees == OWN and dataset.is_own):
        return example
    gold, gold_inside, names = _fields(
        gold=tuple(dataset.gold),
        inputs=tuple(dataset.inputs or INPUTS),
        more_inputs=tuple(dataset.more_inputs),
        reads=tuple(run_system.reads or ()),
    )
    if run_system.sees in (COLUMNS, OWN):
        return {name: value for name, value in example.items() if name not in gold}
    return {
        name: value if name in _UNCHANGED else without_gold(value, gold_inside)
        for name, value in example.items()
        if name in names
    }


@lru_cache(maxsize=256)
def _fields(
    *,
    gold: tuple[str, ...],
    inputs: tuple[str, ...],
    more_inputs: tuple[str, ...],
    reads: tuple[str, ...],
) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the gold fields, those with the marks inside of a field, and the inputs."""
    all_gold = frozenset((*GOLD, *gold))
    visible = frozenset((*inputs, *more_inputs, *reads, *ASKING_FIELDS)) - all_gold
    return all_gold, all_gold.union(_MARKS), visible


def gold_remark(failure: Failure) -> str:
    """Return what to add to the failure of a system that looked for a gold field; else nothing."""
    is_gold = failure.kind == "KeyError" and failure.message.strip("'\" ") in GOLD
    if is_gold and failure.evaluator is None:
        return ", a gold field, which systems do not receive"
    return ""


def gold_among(dataset: RunDataset) -> list[str]:
    """Return the fields that the caller lets systems receive, and that are hidden as gold."""
    return [name for name in dataset.more_inputs if name in GOLD or name in dataset.gold]


def without_gold(value: Any, gold: Collection[str]) -> Any:
    """Return a value without entries of gold names in the mappings inside of it.

    Such entries are the answer of a turn, or the mark of a choice.

    >>> without_gold([{"role": "user", "content": "Hi", "answer": "Hello"}], {"answer"})
    [{'role': 'user', 'content': 'Hi'}]
    """
    if isinstance(value, Mapping):
        return {
            name: without_gold(inner, gold) for name, inner in value.items() if name not in gold
        }
    if isinstance(value, list | tuple):
        return [without_gold(item, gold) for item in value]
    return value


def gold_sources(fields: Mapping[str, str], gold: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the columns that gold fields are read from: they are gold, too, under their own names.

    Args:
        fields: Source of a field by its name, as ``--field`` sets them.
        gold: Gold fields of the dataset.

    Raises:
        ConfigurationError: Another field is read from a column that contains gold.

    >>> gold_sources({"answer": "outputs.0", "question": "q"})
    ('outputs.0', 'outputs')
    """
    targets = {*GOLD, *gold}
    sources = [source for target, source in fields.items() if target in targets]
    for target, source in fields.items():
        if target not in targets:
            _require_no_gold_inside(target, source, sources)
    columns: dict[str, None] = {}
    for source in sources:
        columns[source] = None
        columns[source.partition(".")[0]] = None
    return tuple(columns)


def _require_no_gold_inside(target: str, source: str, gold: Iterable[str]) -> None:
    for gold_source in gold:
        if gold_source.startswith(f"{source}."):
            raise ConfigurationError(
                f"--field {target}={source} would show systems the answer, which is "
                f"{gold_source!r} inside of {source!r}. Take a part of it: {target}={source}.NAME."
            )
