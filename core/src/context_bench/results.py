"""The result of a run: its rows, read lazily from the run file, and what they add up to."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench.metrics.registry import with_declarations
from context_bench.metrics.summary import ChosenRows, summarise
from context_bench.protocols import Metric
from context_bench.records import Completeness, EvalRow, flatten, row_to_dict
from context_bench.runs import StoredRows, completeness_of

__all__ = ["EvalResult", "StoredRows", "row_to_dict", "strict"]


class EvalResult:
    """What :func:`~context_bench.bench.evaluate` returns.

    Attributes:
        rows: Every row in canonical order - dataset, position, system, sample - as a lazy sequence over the run file.
        summary: Metric values by key, by system; under ``scores`` every score of every evaluator, by evaluator and key, with
            ``mean``, ``n`` rows that it is of, ``unscored`` and the same by dataset under ``datasets``; under ``sources`` where
            counts come from (``reported`` by endpoints, the name of a tokenizer, ``none``) and the share of rows that they
            cover, by key.
        timing: ``seconds`` that the run took, ``rows_per_second``, and ``reused_rows`` that it found done already.
        config: What was asked for: systems, evaluators, metrics, datasets, num_examples, max_workers, run file.
        warnings: What the user should know, a line each.
        findings: Those of the warnings that come of the numbers.
        metrics: The metrics, each with what its values mean.
        said: Keys of the summary that each metric gave, by its name.
        completeness: How much of the run is there; a filtered result says it of the whole run.
    """

    def __init__(
        self,
        rows: Sequence[EvalRow],
        metrics: Sequence[Metric],
        timing: Mapping[str, Any],
        config: Mapping[str, Any],
        declared: Sequence[str] = (),
        warnings: Sequence[str] = (),
        completeness: Completeness | None = None,
    ) -> None:
        self.rows = rows
        if completeness is None:
            completeness = completeness_of(rows.reader) if isinstance(rows, StoredRows) else Completeness(len(rows))
        self.completeness = completeness
        self.timing = dict(timing)
        self.config = dict(config)
        self.metrics = tuple(map(with_declarations, metrics))
        self._declared = tuple(declared)
        labels, baseline, baselines, derived = map(self.config.get, ("systems", "baseline", "baselines", "derived"))
        self.summary, self.said, self.findings = summarise(
            rows, self.metrics, self._declared, labels or (), baseline, baselines, derived or ()
        )
        self.warnings = (*warnings, *(line for line in self.findings if line not in warnings))

    @property
    def is_complete(self) -> bool:
        """Whether the run has ended as it should; see :attr:`completeness`."""
        return self.completeness.is_complete

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
        chosen = ChosenRows(
            self.rows,
            lambda row: (where is None or where(row)) and all(getattr(row, k) == v for k, v in attributes.items()),
        )
        examples = {(row.dataset, row.position, row.example_id) for row in chosen}
        systems = list(dict.fromkeys(row.system for row in chosen))
        config = self.config | {"num_examples": len(examples), "systems": systems, "filter": sorted(attributes)}
        return EvalResult(chosen, self.metrics, self.timing, config, self._declared, self.warnings, self.completeness)

    def table(self, everything: bool = False) -> tuple[list[str], list[list[str]]]:
        """Return headings and lines of the summary as text, the system first.

        Args:
            everything: Whether to give also what the table of the terminal leaves out.
        """
        from context_bench.table_columns import table

        return table(self, everything)

    def score_table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and lines of the scores below the headline; no lines mean that the headline is all there is."""
        from context_bench.table_columns import score_table

        return score_table(self)

    def notes(self) -> list[str]:
        """Return what a reader must know beside the numbers, a line each."""
        from context_bench.table_columns import notes

        return list(notes(self))

    def to_dict(self, rows: bool = True) -> dict[str, Any]:
        """Return the result as JSON values: infinite and undefined numbers become None."""
        told: dict[str, Any] = {
            "config": self.config,
            "summary": self.summary,
            "timing": self.timing,
            "warnings": list(self.warnings),
            "is_complete": self.is_complete,
            "completeness": self.completeness.to_dict(),
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

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame, under the name that ragas gives it; see `to_dataframe`."""
        return self.to_dataframe()

    def compare(self, **settings: Any) -> Any:
        """Return which system is better, by how much and how surely; context-bench-compare does it, and says what it takes.

        Raises:
            UnknownNameError: The package is not installed.
        """
        return _installed("commands", "compare-result")(self, **settings)

    def plot(self, **settings: Any) -> Any:
        """Return a chart of the result, which notebooks show; context-bench-html draws it, and says what it takes.

        Raises:
            UnknownNameError: The package is not installed.
        """
        return _installed("commands", "plot-result")(self, **settings)

    def __str__(self) -> str:
        from io import StringIO

        stream = StringIO()
        _installed("reporters", "table")().write(self, stream)
        return stream.getvalue()

    def _repr_html_(self) -> str:
        """Return the table as notebooks show it."""
        from html import escape

        headings, lines = self.table()
        rows = [[("th", cell) for cell in headings], *([("td", cell) for cell in line] for line in lines)]
        told = ["".join(f"<{tag}>{escape(cell)}</{tag}>" for tag, cell in row) for row in rows]
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes())
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in told)}</table>{notes}"

    def __repr__(self) -> str:
        return f"<EvalResult: {len(self.rows)} rows, {len(self.summary)} systems>"


def _installed(kind: str, name: str) -> Any:
    from context_bench.plugins.discovery import discover
    from context_bench.plugins.loading import load

    return load(discover().find(kind, name).require_ok())


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
