"""The result of a run: its rows, read lazily from the run file, and the summary of the metrics."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from context_bench.console import finite
from context_bench.errors import ConfigurationError
from context_bench.plugins.loading import attempted
from context_bench.protocols import Metric
from context_bench.records import AGREEMENT, ANY_KEY, Completeness, EvalRow, flatten, row_to_dict
from context_bench.results.registry import with_declarations
from context_bench.results.score_means import UNKNOWN_DATASET
from context_bench.results.summary import SCORES, ChosenRows, Summary, metric_notes, summarize
from context_bench.results.table import score_table, summary_columns
from context_bench.runs import StoredRows, completeness_of
from context_bench.store.encoding import storable

_SHOWN_REASONS = 3

__all__ = ["EvalResult", "StoredRows", "row_to_dict", "strict"]


class EvalResult:
    """What :func:`~context_bench.evaluate` returns.

    Attributes:
        rows: Every row in canonical order - dataset, position, system, repetition - as a lazy
            sequence over the run file.
        summary: Metric values by key, by system; under ``scores`` every score of every evaluator,
            by evaluator and key, with ``mean``, ``n`` rows that it is of, ``unscored`` and the same
            by dataset under ``datasets``; under ``sources`` where counts come from (``reported`` by
            endpoints, the name of a tokenizer, ``none``) and the share of rows that they cover, by
            key.
        timing: ``seconds`` that the run took, ``rows_per_second``, and ``reused_rows`` that it
            found done already.
        config: What was asked for: systems, evaluators, metrics, datasets, num_examples,
            max_workers, run file.
        warnings: What the user should know, a line each.
        findings: Those of the warnings that come of the numbers.
        metrics: The metrics, each with what its values mean.
        keys_by_metric: Keys of the summary that each metric returned, by its name.
        completeness: How much of the run is there; a filtered result says it of the whole run.
    """

    def __init__(
        self,
        rows: Sequence[EvalRow],
        metrics: Sequence[Metric],
        timing: Mapping[str, Any],
        config: Mapping[str, Any],
        *,
        declared: Sequence[str] = (),
        warnings: Sequence[str] = (),
        completeness: Completeness | None = None,
        summary: Summary | None = None,
    ) -> None:
        self.rows = rows
        if isinstance(rows, StoredRows):
            declared = [key for label in rows.reader.labels() for key in label.keys]
            completeness = completeness_of(rows.reader)
        self.completeness = completeness or Completeness(len(rows))
        self.timing = dict(timing)
        self.config = dict(config)
        self.metrics = tuple(map(with_declarations, metrics))
        self._declared = tuple(declared)
        if summary is None:
            summary = summarize(rows, self.metrics, self._declared, self.config)
        self.summary = summary.values
        self.keys_by_metric = summary.keys
        self.findings = summary.findings
        self.warnings = (*warnings, *(line for line in self.findings if line not in warnings))

    @property
    def is_complete(self) -> bool:
        """Whether the run has ended as it should; see :attr:`completeness`."""
        return self.completeness.is_complete

    def filter(
        self, where: Callable[[EvalRow], bool] | None = None, /, **attributes: Any
    ) -> EvalResult:
        """Return the result of some of the rows, with its own summary and counts.

        Args:
            where: Keeps a row when it returns true.
            attributes: Values that a row's attributes must have, such as ``dataset="gsm8k"``.

        Raises:
            ConfigurationError: Rows have no such attribute.
        """
        for name in attributes:
            if not hasattr(EvalRow, name):
                raise ConfigurationError(
                    f"Rows have no attribute {name!r}, so they cannot be filtered by it."
                )

        def is_chosen(row: EvalRow) -> bool:
            if where is not None and not where(row):
                return False
            return all(getattr(row, name) == value for name, value in attributes.items())

        chosen = ChosenRows(self.rows, is_chosen)
        examples = {(row.dataset, row.position, row.example_id) for row in chosen}
        config = self.config | {
            "num_examples": len(examples),
            "systems": list(dict.fromkeys(row.system for row in chosen)),
            "filter": sorted(attributes),
        }
        declared = dict.fromkeys(self._declared)
        for values in self.summary.values():
            for scores in values[SCORES].values():
                declared.update(dict.fromkeys(scores))
        return EvalResult(
            rows=chosen,
            metrics=self.metrics,
            timing=self.timing,
            config=config,
            declared=list(declared),
            warnings=self.warnings,
            completeness=self.completeness,
        )

    def table(self, everything: bool = False) -> tuple[list[str], list[list[str]]]:
        """Return headings and lines of the summary as text, the system first.

        Args:
            everything: Whether to give also what the table of the terminal leaves out.
        """
        columns = summary_columns(self.metrics, self.summary, everything)
        lines = [
            [system, *(column.text(values) for column in columns)]
            for system, values in self.summary.items()
        ]
        return ["system", *(column.heading for column in columns)], lines

    def score_table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and lines of the scores that the summary is not about: the mean of each
        system, and the unscored rows.

        Without lines there is no other score. A score that no row of any system has is left to the
        warnings.
        """
        primaries, agreements = primary_scores(self)
        agreement_keys = (f"{AGREEMENT}{key}" for key in (*primaries, *agreements))
        shown = self._shown_scores(primaries)
        return score_table(self.summary, (*shown, *agreements, *agreement_keys))

    def _shown_scores(self, primaries: Sequence[str]) -> Sequence[str]:
        """Return the scores that the summary is about: the primary ones, or the score field."""
        field = self.config.get("score_field", "score")
        return primaries if field == "score" else [field]

    def notes(self) -> list[str]:
        """Return what a reader must know beside the numbers, a line each."""
        notes = [*self.completeness.sentences, *_score_notes(self)]
        notes += map(one_line, metric_notes(self.metrics, self.summary, self.config))
        notes += [f"Warning: {finding}" for finding in self.findings]
        return notes

    def to_dict(self, rows: bool = True) -> dict[str, Any]:
        """Return the result as JSON values: infinite and undefined numbers become None."""
        values: dict[str, Any] = {
            "config": self.config,
            "summary": self.summary,
            "timing": self.timing,
            "warnings": list(self.warnings),
            "is_complete": self.is_complete,
            "completeness": self.completeness.to_dict(),
        }
        if rows:
            values["rows"] = list(self.row_dicts())
        return strict(values)  # type: ignore[no-any-return]

    def row_dicts(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as JSON-like values, in canonical order."""
        undeclared = self._undeclared()
        for row in self.rows:
            yield row_to_dict(row, undeclared.get(row.dataset or UNKNOWN_DATASET, ()))

    def flat_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as lines of a flat table, value by column, in canonical order.

        The mean of a column of scores is the mean of the summary: a failed row has the worst value,
        and ``failed`` is true.
        """
        undeclared = self._undeclared()
        for row in self.rows:
            yield dict(flatten(row, undeclared.get(row.dataset or UNKNOWN_DATASET, ())))

    def _undeclared(self) -> dict[str, list[str]]:
        """Return the score keys that no evaluator declares, by dataset."""
        found: dict[str, dict[str, None]] = {}
        for values in self.summary.values():
            for key, score in values[SCORES].get(ANY_KEY, {}).items():
                for dataset, mean in score["datasets"].items():
                    if mean["n"]:
                        found.setdefault(dataset, {})[key] = None
        return {dataset: list(keys) for dataset, keys in found.items()}

    def to_json(self, indent: int | None = 2, rows: bool = True) -> str:
        """Return the result as strict JSON."""
        return json.dumps(self.to_dict(rows), indent=indent, ensure_ascii=False, allow_nan=False)

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with a line for each row and a column for each score.

        A score that is called like a column of its own (``latency``, say) stands under
        ``score:latency``.

        Raises:
            ConfigurationError: pandas is not installed.
        """
        try:
            import pandas as pd  # type: ignore[import-untyped, import-not-found, unused-ignore]
        except ImportError as error:
            raise ConfigurationError("to_dataframe needs pandas: `pip install pandas`.") from error
        return pd.DataFrame(list(self.flat_rows()))

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame, under the name that ragas gives it; see `to_dataframe`."""
        return self.to_dataframe()

    def to_polars(self) -> Any:
        """Return a Polars DataFrame with a line for each row, as :meth:`to_dataframe` has it.

        Raises:
            ConfigurationError: Polars is not installed.
        """
        try:
            import polars as pl  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise ConfigurationError("to_polars needs Polars: `pip install polars`.") from error
        return pl.DataFrame(list(self.flat_rows()), infer_schema_length=None)

    def compare(self, **settings: Any) -> Any:
        """Return which system is better, by how much and how surely; context-bench-compare does it,
        and says what it takes.

        Raises:
            UnknownNameError: The package is not installed.
        """
        return _installed("commands", "compare-result")(self, **settings)

    def plot(self, **settings: Any) -> Any:
        """Return a chart of the result, which notebooks show; context-bench-html draws it, and says
        what it takes.

        Raises:
            UnknownNameError: The package is not installed.
        """
        return _installed("commands", "plot-result")(self, **settings)

    def verdict(self) -> str | None:
        """Return in one line which system keeps the answers, and how many tokens that takes: the
        line above the table. None where there is nothing to say, or nothing that can be used says
        it; context-bench-compare does."""
        from context_bench.plugins.component import OK
        from context_bench.plugins.discovery import discover
        from context_bench.plugins.loading import load

        found = discover().named("commands", "verdict-result")
        usable = [component for component in found if component.state == OK]
        if not usable:
            return None
        line = attempted(usable[0].id, load(usable[0]), self)
        return None if line is None else one_line(str(line))

    def __str__(self) -> str:
        from io import StringIO

        stream = StringIO()
        _installed("reporters", "table")().write(self, stream)
        return stream.getvalue()

    def _repr_html_(self) -> str:
        """Return the table as notebooks show it."""
        from html import escape

        headings, lines = self.table()
        rows = [_html_row("th", headings), *(_html_row("td", line) for line in lines)]
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes())
        verdict = self.verdict()
        above = "" if verdict is None else f"<p><strong>{escape(verdict)}</strong></p>"
        return f"{above}<table>{''.join(rows)}</table>{notes}"

    def __repr__(self) -> str:
        return f"<EvalResult: {len(self.rows)} rows, {len(self.summary)} systems>"


def _html_row(tag: str, cells: Sequence[str]) -> str:
    from html import escape

    row = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f"<tr>{row}</tr>"


def _installed(kind: str, name: str) -> Any:
    from context_bench.plugins.discovery import discover
    from context_bench.plugins.loading import load

    return load(discover().find(kind, name).require_ok())


def strict(value: Any) -> Any:
    """Return JSON-like values with every number finite (others become None) and every text
    encodable."""
    return finite(value, storable)


def _score_notes(result: EvalResult) -> Iterator[str]:
    """Yield what the score is, which rows have no score, and which systems are not comparable."""
    field = result.config.get("score_field", "score")
    primaries, agreements = primary_scores(result)
    keys = primaries if field == "score" else [field]
    has_mean = any("mean_score" in values for values in result.summary.values())
    if keys and (has_mean or not agreements):
        yield f"score is {', '.join(keys)}; failed rows count as wrong, unscored rows are left out."
    if agreements:
        reference = result.config.get("reference", "the reference")
        yield (
            f"agreement is {', '.join(agreements)} against the response of {reference}, on the "
            f"rows without a gold answer; the noise floor is {reference} asked twice, against "
            "itself."
        )
    if field != "score":
        yield from _field_notes(result, field)
    for label in result.config.get("reads_gold", ()):
        yield (
            f"{label} reads gold: it receives the right answers and is not a system to compare "
            "with."
        )
    if any(values.get("num_unscored") for values in result.summary.values()):
        yield from _unscored_notes(result)


def _field_notes(result: EvalResult, field: str) -> Iterator[str]:
    """Yield how many rows do not have the score that the metrics read."""
    rows = 0
    scored = 0
    for values in result.summary.values():
        rows += values.get("num_rows", 0)
        for scores in values[SCORES].values():
            if field in scores:
                scored += scores[field]["n"]
    if scored < rows:
        yield f"{rows - scored} of {rows} rows have no {field}, and are left out of it."


def _unscored_notes(result: EvalResult) -> Iterator[str]:
    """Yield the most frequent reasons of unscored rows."""
    reasons: Counter[str] = Counter()
    for row in result.rows:
        if row.score is None and not row.failed:
            reasons.update(list(dict.fromkeys(row.unscored.values())))
    if reasons:
        counts = (f"{reason} ({count})" for reason, count in reasons.most_common(_SHOWN_REASONS))
        yield f"Unscored: {'; '.join(counts)}."


def primary_scores(result: EvalResult) -> tuple[list[str], list[str]]:
    """Return the primary scores, and those that rows without a gold answer have against the
    reference.

    Reads rows only until every dataset, and rows with and without a gold answer, have been seen.
    """
    expected_datasets = len(result.config.get("datasets", ())) or 1
    expected_kinds = set()
    for key, is_agreement in (("mean_score", False), ("agreement", True)):
        if any(key in values for values in result.summary.values()):
            expected_kinds.add(is_agreement)
    seen: dict[tuple[str, bool], str | None] = {}
    for row in result.rows:
        seen.setdefault((row.dataset, row.is_agreement), row.primary)
        datasets = {dataset for dataset, _ in seen}
        kinds = {is_agreement for _, is_agreement in seen}
        if expected_kinds <= kinds and len(datasets) >= expected_datasets:
            break
    primaries: dict[str, None] = {}
    agreements: dict[str, None] = {}
    for (_, is_agreement), primary in seen.items():
        if primary and is_agreement:
            agreements[primary.removeprefix(AGREEMENT)] = None
        elif primary:
            primaries[primary] = None
    return list(primaries), list(agreements)


def one_line(text: str) -> str:
    """Return a text as one line of printable characters, whatever a system or a file called
    itself."""
    line = " ".join(storable(text).split())
    return "".join(letter for letter in line if letter.isprintable())
