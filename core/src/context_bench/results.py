"""The result of a run: its rows, read lazily from the run file, and what they add up to."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, overload

from context_bench.aggregation import Columns, read_columns
from context_bench.errors import ConfigurationError
from context_bench.metrics import Agreement, ParetoRank, check_score_field
from context_bench.protocols import Metric
from context_bench.records import EvalRow, flatten
from context_bench.store.runfile import RunFile


class EvalResult:
    """What :func:`~context_bench.bench.evaluate` returns.

    Attributes:
        rows: Every row in canonical order - dataset, position, system, sample - as a lazy sequence over the run file.
        summary: Metric values by key, by system.
        timing: ``seconds`` that the run took, ``rows_per_second``, and ``reused_rows`` that it found done already.
        config: What was asked for: systems, evaluators, metrics, datasets, num_examples, max_workers, run file.
        warnings: What the user should know, a line each.
    """

    def __init__(
        self,
        rows: Sequence[EvalRow],
        metrics: Sequence[Metric],
        timing: Mapping[str, Any],
        config: Mapping[str, Any],
        declared: Sequence[str] = (),
        warnings: Sequence[str] = (),
    ) -> None:
        self.rows = rows
        self.timing = dict(timing)
        self.config = dict(config)
        self.warnings = tuple(warnings)
        self._metrics = tuple(metrics)
        self._declared = tuple(declared)
        self.summary = summarise(rows, self._metrics, self._declared, self.config.get("systems", ()))

    def filter(self, where: Callable[[EvalRow], bool] | None = None, /, **attributes: Any) -> EvalResult:
        """Return the result of some of the rows, with its own summary and counts.

        Args:
            where: Keeps a row when it returns true.
            attributes: Values that a row's attributes must have, such as ``dataset="gsm8k"``.

        Raises:
            ConfigurationError: Rows have no such attribute.
        """
        for name in attributes:
            if not hasattr(EvalRow, name):
                raise ConfigurationError(f"Rows have no attribute {name!r}, so they cannot be filtered by it.")
        chosen = _Chosen(
            self.rows,
            lambda row: (where is None or where(row)) and all(getattr(row, k) == v for k, v in attributes.items()),
        )
        examples = {(row.dataset, row.position, row.example_id) for row in chosen}
        systems = list(dict.fromkeys(row.system for row in chosen))
        config = self.config | {"num_examples": len(examples), "systems": systems, "filter": sorted(attributes)}
        return EvalResult(chosen, self._metrics, self.timing, config, self._declared, self.warnings)

    def to_dict(self, rows: bool = True) -> dict[str, Any]:
        """Return the result as JSON values: infinite and undefined numbers become None."""
        told: dict[str, Any] = {
            "config": self.config,
            "summary": self.summary,
            "timing": self.timing,
            "warnings": list(self.warnings),
        }
        if rows:
            told["rows"] = [row_to_dict(row) for row in self.rows]
        return strict(told)  # type: ignore[no-any-return]

    def to_json(self, indent: int | None = 2, rows: bool = True) -> str:
        """Return the result as strict JSON."""
        return json.dumps(self.to_dict(rows), indent=indent, ensure_ascii=False, allow_nan=False)

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with a line for each row and a column for each score.

        A score that is called like a column of its own (``latency``, say) stands under ``score:latency``.

        Raises:
            ConfigurationError: pandas is not installed.
        """
        try:
            import pandas as pd  # type: ignore[import-untyped, import-not-found, unused-ignore]
        except ImportError as error:
            raise ConfigurationError("to_dataframe needs pandas: `pip install pandas`.") from error
        return pd.DataFrame([dict(flatten(row)) for row in self.rows])

    def __repr__(self) -> str:
        return f"<EvalResult: {len(self.rows)} rows, {len(self.summary)} systems>"


class StoredRows(Sequence[EvalRow]):
    """The rows of a run file, read when they are asked for. ``owner`` is kept alive with them."""

    def __init__(self, store: RunFile, owner: object = None) -> None:
        self.store = store
        self._owner = owner
        self._length: int | None = None

    def __len__(self) -> int:
        if self._length is None:
            self._length = sum(1 for _ in self.store.row_ids())
        return self._length

    def __iter__(self) -> Iterator[EvalRow]:
        yield from self.store.rows()  # a generator of its own keeps the file's owner alive while it runs

    @overload
    def __getitem__(self, index: int) -> EvalRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[EvalRow]: ...
    def __getitem__(self, index: int | slice) -> EvalRow | Sequence[EvalRow]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        number = next(islice(self.store.row_ids(), place, None), None) if place >= 0 else None
        if number is None:
            raise IndexError(f"there are {len(self)} rows, and none at {index}")
        [row] = self.store.rows(number, number)
        return row


class _Chosen(Sequence[EvalRow]):
    def __init__(self, rows: Sequence[EvalRow], keep: Callable[[EvalRow], bool]) -> None:
        self._rows, self._keep = rows, keep

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[EvalRow]:
        yield from filter(self._keep, self._rows)

    @overload
    def __getitem__(self, index: int) -> EvalRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[EvalRow]: ...
    def __getitem__(self, index: int | slice) -> EvalRow | Sequence[EvalRow]:
        if isinstance(index, slice):
            return list(self)[index]
        if index < 0:
            index += len(self)
        for row in islice(self, index, None) if index >= 0 else ():
            return row
        raise IndexError(f"there are {len(self)} rows, and none at {index}")


def summarise(
    rows: Sequence[EvalRow], metrics: Sequence[Metric], declared: Sequence[str] = (), systems: Sequence[str] = ()
) -> dict[str, dict[str, float]]:
    """Return the values of each metric, by system, in the order of the systems.

    Raises:
        MetricError: A metric asks for a score that no row has.
    """
    for metric in metrics:
        check_score_field(metric, rows, declared)
    fields = [field for metric in metrics if (field := getattr(metric, "score_field", None))]
    if isinstance(rows, StoredRows):
        columns = read_columns(rows.store, fields)
    else:
        columns = {}
        for row in rows:
            columns.setdefault(row.system, Columns(fields)).add(row)
    summary: dict[str, dict[str, float]] = {}
    for label in systems or columns:
        summary[label] = {}
        for metric in metrics:
            compute = getattr(metric, "compute_columns", None)
            if compute is not None:
                summary[label] |= compute(columns.get(label) or Columns(fields))
            else:
                summary[label] |= metric.compute(_Chosen(rows, partial(_counts_for, label)))
    for metric in metrics:
        if isinstance(metric, Agreement):
            metric.share_floor(summary)
        if isinstance(metric, ParetoRank) and len(summary) > 1:
            ranks = metric.rank_systems(summary, metric.quality_field, metric.cost_field, metric.method)
            for label, rank in ranks.items():
                summary[label][metric.name] = rank
    return summary


def _counts_for(label: str, row: EvalRow) -> bool:
    """Whether a row is one of a system's that metrics see: not what only tells how far a reference agrees with itself."""
    return row.system == label and not row.is_extra


def row_to_dict(row: EvalRow) -> dict[str, Any]:
    """Return a row as JSON-like values."""
    return {
        "system": row.system,
        "dataset": row.dataset,
        "reference": row.reference,
        "is_extra": row.is_extra,
        "position": row.position,
        "sample": row.sample,
        "example_id": row.example_id,
        "response": row.response,
        "headline": row.headline,
        "score": row.score,
        "scores": dict(row.scores),
        "details": {evaluator: dict(details) for evaluator, details in row.details.items()},
        "unscored": dict(row.unscored),
        "errors": [
            {"stage": e.stage, "evaluator": e.evaluator, "kind": e.kind, "message": e.message, "attempts": e.attempts}
            for e in row.errors
        ],
        "input_tokens": row.input_tokens,
        "prompt_tokens": row.prompt_tokens,
        "response_tokens": row.response_tokens,
        "context_tokens": row.context_tokens,
        "reported_tokens": row.reported_tokens,
        "baseline_tokens": None if row.baseline is None else row.baseline.prompt_tokens,
        "tokens_saved": row.tokens_saved,
        "cost": row.cost,
        "cost_source": row.cost_source,
        "latency": row.latency,
        "system_latency": row.system_latency,
        "metadata": dict(row.metadata),
    }


def strict(value: Any) -> Any:
    """Return JSON-like values with every number finite (others become None) and every text encodable."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {strict(str(key)): strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [strict(item) for item in value]
    if value is None or isinstance(value, bool | int):
        return value
    return str(value)
