"""The rows of a run side by side: one line for each example and repetition, one cell for each system, read in one pass."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field
from numpy.typing import NDArray

from context_bench import EvalRow
from context_bench.answers import references
from context_bench_compare.columns import ANY_KEY, MEASURES, one_direction
from context_bench_compare.places import example_at, example_place
from context_bench_html.packed import Line, Lines, Packed

REGRESSED, IMPROVED, DIFFERENT, FAILED = 1, 2, 4, 8
"""What a line can be; see :attr:`SideBySide.states`."""

Floats = NDArray[np.float64]


def _whole_numbers() -> Packed:
    return Packed("i")


def _truth_values() -> Packed:
    return Packed("b")


@define(eq=False)
class Cells:
    """What one system has on each line; columns of one length. ``None`` is where it has no row, or nothing is known.

    Attributes:
        label: Label of the system.
        rows: Index of the row in the result.
        values: Primary score; a failed row has the worst value, and one that is held against the reference none.
        failed: Whether the row failed.
        latency: Seconds, of rows that were answered and not reused.
        cost: Money.
        prompt_tokens: Tokens that went on to the model.
        input_tokens, output_tokens: Tokens before and after the system, where both can be told.
        responses: Beginning of the response.
        answers: Response by line, of the lines that are being read.
        scores: The same as ``values`` for each score key.
        broken: Line and row of those with errors, without their texts.
        counted: Who counted the prompt tokens: the endpoint, core, or both.
    """

    label: str
    rows: Packed = field(factory=_whole_numbers)
    values: Packed = field(factory=Packed)
    failed: Packed = field(factory=_truth_values)
    latency: Packed = field(factory=Packed)
    cost: Packed = field(factory=Packed)
    prompt_tokens: Packed = field(factory=_whole_numbers)
    input_tokens: Packed = field(factory=_whole_numbers)
    output_tokens: Packed = field(factory=_whole_numbers)
    responses: list[str | None] = field(factory=list)
    answers: dict[int, str | None] = field(factory=dict)
    scores: dict[str, Packed] = field(factory=dict)
    broken: list[tuple[int, EvalRow]] = field(factory=list)
    counted: set[str] = field(factory=set)

    def put(self, line: int, index: int, row: EvalRow, excerpt: int) -> None:
        """Take what a row says."""
        is_measured = row.is_called and not row.failed
        response = row.response
        self.rows.put(line, index)
        self.values.put(line, None if row.is_agreement else row.score)
        self.failed.put(line, row.failed)
        self.latency.put(line, row.latency if is_measured else None)
        self.cost.put(line, row.cost)
        self.prompt_tokens.put(line, None if row.failed else row.prompt_tokens)
        if not row.failed and row.prompt_tokens is not None:
            self.counted.add("core" if row.reported_tokens is None else "endpoint")
        self.input_tokens.put(line, MEASURES["input_tokens"](row))
        self.output_tokens.put(line, MEASURES["output_tokens"](row))
        if excerpt:
            _put(self.responses, line, None if response is None else excerpt_of(response, excerpt))
        self.answers[line] = response
        for key, value in row.scores.items():
            self.scores.setdefault(key, Packed()).put(line, value)
        if row.errors:
            self.broken.append((line, evolve(row, output={}, response=None)))

    def fail(self, keys: Iterable[str]) -> None:
        """Give rows with errors the worst value of each of these score keys that their errors kept from them."""
        for line, row in self.broken:
            for key in {*keys, *row.keys} - {ANY_KEY, *row.scores}:
                if (value := row.value(key)) is not None:
                    self.scores.setdefault(key, Packed()).put(line, value)

    def fill(self, lines: int) -> None:
        """Make every list as long as there are lines."""
        for column in self._columns():
            column.fill(lines)
        if self.responses:
            self.responses.extend([None] * (lines - len(self.responses)))
        for key, column in self.scores.items():
            if column.is_equal(self.values):  # as that of the key which is the primary score
                self.scores[key] = self.values

    def only(self, lines: Sequence[int]) -> Cells:
        """Return what the system has on some lines, without its responses."""
        chosen = Cells(
            self.label, counted=self.counted, scores={key: Packed() for key in self.scores}
        )
        for mine, theirs in zip(self._columns(), chosen._columns()):
            for place, line in enumerate(lines):
                theirs.put(place, mine[line])
            theirs.fill(len(lines))
        return chosen

    def _columns(self) -> list[Packed]:
        own = [self.rows, self.values, self.failed, self.latency, self.cost, self.prompt_tokens]
        return [*own, self.input_tokens, self.output_tokens, *self.scores.values()]


@define(eq=False)
class SideBySide:
    """All rows of a result.

    Attributes:
        lines: In canonical order.
        cells: One for each system, in the order of the run.
        baseline: Number of the system that the others are held against; None when only one system competes.
        better: Which primary score is better: ``"higher"``, ``"lower"``, ``"neither"``, or ``"mixed"`` where datasets differ.
        questions, golds: Beginnings of the questions and of the right answers, one for each line; empty where unknown.
        states: What each line is, as a sum. ``REGRESSED``: some system scores worse than the baseline. ``IMPROVED``: some system
            scores better. ``DIFFERENT``: some system answers otherwise, in its words or its score. ``FAILED``: some row failed.
        places: ``length`` and ``depth`` of the examples that have them, as a needle in a haystack does, by line.
        derived: Labels of the systems whose rows are made of another one's.
        key_directions: The same of each score key.
        directions: The same of the primary score, by the label of the dataset.
    """

    lines: Lines
    cells: list[Cells]
    baseline: int | None
    better: str = "higher"
    states: array[int] = field(factory=lambda: array("b"))
    questions: list[str] = field(factory=list)
    golds: list[str] = field(factory=list)
    places: dict[int, tuple[float, float]] = field(factory=dict)
    derived: frozenset[str] = frozenset()
    key_directions: Mapping[str, str] = field(factory=dict)
    directions: Mapping[str, str] = field(factory=dict)

    @property
    def competing(self) -> list[Cells]:
        """The systems that are compared: what is derived from another one's rows, as a control is, competes with nobody."""
        return [cells for cells in self.cells if cells.label not in self.derived]

    def others(self) -> Iterable[tuple[int, Cells]]:
        """Return the systems that are held against the baseline, with their numbers."""
        numbered = [
            (number, cells) for number, cells in enumerate(self.cells) if number != self.baseline
        ]
        return [(number, cells) for number, cells in numbered if cells.label not in self.derived]

    @property
    def datasets(self) -> list[str]:
        """Labels of the datasets, in order."""
        return self.lines.datasets

    @property
    def keys(self) -> list[str]:
        """Score keys that some row has."""
        return list(dict.fromkeys(key for cells in self.cells for key in cells.scores))

    def only(self, lines: Sequence[int]) -> SideBySide:
        """Return some lines, without texts."""
        chosen = Lines()
        for line in lines:
            chosen.append(self.lines[line])
        cells = [cells.only(lines) for cells in self.cells]
        states = array("b", (self.states[line] for line in lines))
        return evolve(
            self, lines=chosen, cells=cells, states=states, questions=[], golds=[], places={}
        )


def side_by_side(
    rows: Iterable[EvalRow],
    systems: Sequence[str],
    baseline: str | None,
    excerpt: int = 160,
    derived: Iterable[str] = (),
) -> SideBySide:
    """Return rows side by side.

    Args:
        rows: Rows in canonical order.
        systems: Labels of the systems, in order.
        baseline: Label of the one that the others are held against; None takes the first.
        excerpt: Letters that are kept of each response; 0 keeps none, and no ids of examples.
        derived: Labels of those whose rows are made of another one's.
    """
    reading = _Reading(systems, baseline, frozenset(derived), Lines(keeps_ids=excerpt > 0))
    for index, row in enumerate(rows):
        if not row.is_extra:
            reading.put(index, row, excerpt)
    return reading.end()


class _Reading:
    """Rows side by side while they are read; the responses are those of one example at a time."""

    def __init__(
        self, systems: Sequence[str], baseline: str | None, derived: frozenset[str], lines: Lines
    ) -> None:
        self._baseline = baseline
        self._derived = derived
        self._cells = {label: Cells(label) for label in systems}
        self._lines = lines
        self._states = array("b")
        self._example = (-1, -1)
        self._open: dict[tuple[str, int], int] = {}  # lines of the example
        self._directions: dict[str, str] = {}
        self._key_directions: dict[str, set[str]] = {}

    def put(self, index: int, row: EvalRow, excerpt: int) -> None:
        if self._example != (row.dataset_number, row.position):
            self._leave_example()  # the rows of an example stand together
            self._example = (row.dataset_number, row.position)
        if row.dataset not in self._directions:
            self._directions[row.dataset] = row.better("score")
            for key in row.keys:
                self._key_directions.setdefault(key, set()).add(row.better(key))
        line = self._open.setdefault((row.dataset, row.repetition), len(self._lines))
        if line == len(self._lines):
            identity = (row.dataset_number, row.position, row.repetition)
            self._lines.append(Line(identity, row.example_id, row.dataset))
        if row.system not in self._cells:
            self._cells[row.system] = Cells(row.system)
        self._cells[row.system].put(line, index, row, excerpt)

    def _leave_example(self) -> None:
        """Tell what the lines of the example are, whose rows have all been read."""
        against = self._against()
        for (dataset, _), line in self._open.items():
            had = [cells for cells in self._cells.values() if line in cells.answers]
            state = FAILED if any(cells.failed[line] for cells in had) else 0
            if against is not None and line in against.answers:
                for cells in had:
                    if cells is not against and cells.label not in self._derived:
                        state |= _difference(cells, against, line, self._directions[dataset])
            self._states.append(state)
        self._open.clear()
        for cells in self._cells.values():
            cells.answers.clear()

    def _against(self) -> Cells | None:
        """Return the system that the others are held against; None when only one competes."""
        competing = [cells for cells in self._cells.values() if cells.label not in self._derived]
        if len(competing) < 2:
            return None
        return self._cells.get(self._baseline or "", competing[0])

    def end(self) -> SideBySide:
        self._leave_example()
        found = list(self._cells.values())
        keys = list(dict.fromkeys(key for cells in found for key in cells.scores))
        for cells in found:
            cells.fail(keys)
            cells.fill(len(self._lines))
        against = self._against()
        directions = {key: one_direction(each) for key, each in self._key_directions.items()}
        return SideBySide(
            lines=self._lines,
            cells=found,
            baseline=None if against is None else found.index(against),
            better=one_direction(self._directions.values()),
            states=self._states,
            derived=self._derived,
            key_directions=directions,
            directions=self._directions,
        )


def _difference(ours: Cells, theirs: Cells, line: int, better: str) -> int:
    state = DIFFERENT if ours.answers[line] != theirs.answers[line] else 0
    mine, other = ours.values[line], theirs.values[line]
    if mine is None or other is None or mine == other:
        return state
    if better not in ("higher", "lower"):
        return DIFFERENT
    return DIFFERENT | (IMPROVED if (mine > other) == (better == "higher") else REGRESSED)


def with_examples(found: SideBySide, examples: Iterable[Any], excerpt: int = 160) -> None:
    """Add what the examples, in canonical order, say: where a needle lies, and the beginnings of question and right answer,
    unless ``excerpt`` is 0."""
    places, count = found.lines.places, len(found.lines)
    if excerpt:
        found.questions, found.golds = [""] * count, [""] * count
    line = 0
    for example in examples:
        place = example_at(example.identity)
        while line < count and example_place(int(places[line])) < place:
            line += 1
        content = example.content or {}
        needle = _needle(content)
        told = (question_of(content, excerpt), gold_of(content, excerpt)) if excerpt else None
        while line < count and example_place(int(places[line])) == place:
            if needle is not None:
                found.places[line] = needle
            if told is not None:
                found.questions[line], found.golds[line] = told
            line += 1


def question_of(content: Mapping[str, Any], excerpt: int) -> str:
    """Return the beginning of what an example asks."""
    question = (
        content.get("question")
        or content.get("prompt")
        or last_message(content)
        or content.get("context")
        or ""
    )
    return excerpt_of(str(question), excerpt)


def gold_of(content: Mapping[str, Any], excerpt: int) -> str:
    """Return the beginning of the right answers of an example."""
    return excerpt_of(" | ".join(references(content)), excerpt) if content else ""


def _needle(content: Mapping[str, Any]) -> tuple[float, float] | None:
    length, depth = (_number(content.get(name)) for name in ("length", "depth"))
    return None if length is None or depth is None else (length, depth)


def last_message(content: Mapping[str, Any]) -> str | None:
    """Return the text of an example's last message, or None when it has none."""
    messages = content.get("messages") or content.get("turns")
    if not isinstance(messages, list | tuple) or not messages:
        return None
    last = messages[-1]
    text = last.get("content") if isinstance(last, Mapping) else last
    return text if isinstance(text, str) else None


def excerpt_of(text: str, length: int) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text[: 2 * length + 40].split())
    return (
        line if len(line) <= length and len(text) <= 2 * length + 40 else line[: length - 1] + "…"
    )


def array_of(values: Sequence[float | bool | None]) -> Floats:
    """Return values as an array, with nan where there is none."""
    if isinstance(values, Packed):
        return values.floats()
    return np.array(
        [math.nan if value is None else float(value) for value in values], dtype=np.float64
    )


def _put(column: list[Any], line: int, value: Any) -> None:
    if line >= len(column):
        column.extend([None] * (line + 1 - len(column)))
    column[line] = value


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
