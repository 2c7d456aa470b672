"""The result of a run: its rows, read lazily from the run file, what they add up to, and the columns that people see of it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from context_bench.console import finite
from context_bench.errors import ConfigurationError
from context_bench.metrics import SOURCES
from context_bench.metrics.registry import with_declarations
from context_bench.metrics.summary import NESTED, SCORES, ChosenRows, metric_notes, summarize
from context_bench.plugins.component_metadata import SummaryValue
from context_bench.protocols import Metric
from context_bench.records import (
    AGREEMENT,
    ANY_KEY,
    Completeness,
    EvalRow,
    flatten,
    row_to_dict,
    shown_seconds,
)
from context_bench.runs import StoredRows, completeness_of
from context_bench.store.encoding import storable

__all__ = ["EvalResult", "StoredRows", "row_to_dict", "strict"]


class EvalResult:
    """What :func:`~context_bench.evaluate` returns.

    Attributes:
        rows: Every row in canonical order - dataset, position, system, repetition - as a lazy sequence over the run file.
        summary: Metric values by key, by system; under ``scores`` every score of every evaluator, by evaluator and key, with
            ``mean``, ``n`` rows that it is of, ``unscored`` and the same by dataset under ``datasets``; under ``sources`` where
            counts come from (``reported`` by endpoints, the name of a tokenizer, ``none``) and the share of rows that they
            cover, by key.
        timing: ``seconds`` that the run took, ``rows_per_second``, and ``reused_rows`` that it found done already.
        config: What was asked for: systems, evaluators, metrics, datasets, num_examples, max_workers, run file.
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
        declared: Sequence[str] = (),
        warnings: Sequence[str] = (),
        completeness: Completeness | None = None,
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
        chosen = ChosenRows(
            self.rows,
            lambda row: (
                (where is None or where(row))
                and all(getattr(row, k) == v for k, v in attributes.items())
            ),
        )
        examples = {(row.dataset, row.position, row.example_id) for row in chosen}
        systems = list(dict.fromkeys(row.system for row in chosen))
        config = self.config | {
            "num_examples": len(examples),
            "systems": systems,
            "filter": sorted(attributes),
        }
        declared = (
            *self._declared,
            *(
                key
                for values in self.summary.values()
                for s in values[SCORES].values()
                for key in s
            ),
        )
        return EvalResult(
            chosen, self.metrics, self.timing, config, declared, self.warnings, self.completeness
        )

    def table(self, everything: bool = False) -> tuple[list[str], list[list[str]]]:
        """Return headings and lines of the summary as text, the system first.

        Args:
            everything: Whether to give also what the table of the terminal leaves out.
        """
        shown = columns(self, everything)
        lines = [
            [system, *(column.text(values) for column in shown)]
            for system, values in self.summary.items()
        ]
        return ["system", *(column.heading for column in shown)], lines

    def score_table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and lines of the scores below the headline: the mean of each system, and how many rows have none.

        No lines mean that the headline is all there is. A score that no row of any system has is left to the warnings.
        """
        headlines = {name for names in headlines_of(self) for name in names}
        headlines |= {f"{AGREEMENT}{name}" for name in headlines}
        by_system = [values[SCORES] for values in self.summary.values()]
        names = {
            (key, evaluator): None
            for scores in by_system
            for evaluator in scores
            for key in scores[evaluator]
        }
        lines, missing = [], []
        for key, evaluator in names:
            found = [scores.get(evaluator, {}).get(key, _NONE) for scores in by_system]
            if key not in headlines and any(score["n"] - score["failed"] for score in found):
                means = [_FORMS["score"](score["mean"]) if score["n"] else "-" for score in found]
                lines.append([key, evaluator.rpartition("/")[2].strip(ANY_KEY), *means])
                missing.append(sum(score["unscored"] for score in found))
        headings = ["score", "by", *self.summary]
        if not any(missing):
            return headings, lines
        return [*headings, "unscored"], [[*line, str(count)] for line, count in zip(lines, missing)]

    def notes(self) -> list[str]:
        """Return what a reader must know beside the numbers, a line each."""
        notes = [*self.completeness.sentences, *_score_notes(self)]
        notes += map(one_line, metric_notes(self.metrics, self.summary, self.config))
        notes += [f"Warning: {finding}" for finding in self.findings]
        return notes

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
        rows = [
            [("th", cell) for cell in headings],
            *([("td", cell) for cell in line] for line in lines),
        ]
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
    return finite(value, storable)


@frozen
class Column:
    """One column of the summary.

    Attributes:
        key: Summary key.
        heading: What stands above it.
        form: One of :data:`~context_bench.plugins.manifest.FORMATS`.
    """

    key: str
    heading: str
    form: str = "number"

    def text(self, values: Mapping[str, Any]) -> str:
        """Return the value of a system as text; a dash when there is none."""
        value = values.get(self.key)
        source = values.get(SOURCES, {}).get(self.key, {"covered": 1.0})
        if source["covered"] < 1:
            return f"- ({100 * source['covered']:.0f} %)"
        return "-" if value is None else _FORMS[self.form](value)


def columns(result: EvalResult, everything: bool = False) -> list[Column]:
    """Return the columns for a result: those that some system has a value for, in the order that metrics declare.

    Args:
        result: The result.
        everything: Whether to show also what a table leaves to files.
    """
    declared = {key: value for metric in result.metrics for key, value in metric.values.items()}
    keys = dict.fromkeys(
        key for values in result.summary.values() for key in values if key not in NESTED
    )
    keys |= dict.fromkeys(
        key for values in result.summary.values() for key in values.get(SOURCES, ())
    )
    found = [(_pattern(declared, key), key) for key in keys]
    patterns = [pattern for pattern, _ in found]
    shown = []
    for pattern, key in found:
        value = declared.get(pattern, SummaryValue(key, "score"))
        is_alone = (
            pattern.endswith("*") and patterns.count(pattern) == 1
        )  # one dataset is the whole
        if not is_alone and (everything or not value.detail):
            heading = value.heading.replace("*", key[len(pattern) - 1 :])
            shown.append((value.order, Column(key, heading, value.format)))
    return [column for _, column in sorted(shown, key=lambda pair: pair[0])]


def _pattern(declared: Mapping[str, SummaryValue], key: str) -> str:
    """Return the declared key that a key is; itself when nothing declares it."""
    if key in declared:
        return key
    return next(
        (name for name in declared if name.endswith("*") and key.startswith(name[:-1])), key
    )


_NONE = {"n": 0, "failed": 0, "unscored": 0}


def _score_notes(result: EvalResult) -> Iterator[str]:
    """Tell what the score is, and what else stands beside or in its place."""
    field = result.config.get("score_field", "score")
    headlines, agreements = headlines_of(result)
    headlines = [field] if field != "score" else headlines
    if headlines and (
        not agreements or any("mean_score" in values for values in result.summary.values())
    ):
        yield f"score is {', '.join(headlines)}; failed rows count as wrong, unscored rows are left out."
    if agreements:
        reference = result.config.get("reference", "the reference")
        yield (
            f"agreement is {', '.join(agreements)} against the response of {reference}, on the rows without a gold answer; "
            f"the noise floor is {reference} asked twice, against itself."
        )
    if field != "score":
        rows = sum(values.get("num_rows", 0) for values in result.summary.values())
        told = [
            s[field]["n"]
            for values in result.summary.values()
            for s in values[SCORES].values()
            if field in s
        ]
        if sum(told) < rows:
            yield f"{rows - sum(told)} of {rows} rows have no {field}, and are left out of it."
    for label in result.config.get("reads_gold", ()):
        yield f"{label} reads gold: it is shown the right answers, and is no system to compare with."
    if any(values.get("num_unscored") for values in result.summary.values()):
        reasons: Counter[str] = Counter()
        for row in result.rows:
            if row.score is None and not row.failed:
                reasons.update(list(dict.fromkeys(row.unscored.values())))
        if reasons:
            yield (
                "Unscored: "
                + "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common(3))
                + "."
            )


def one_line(text: str) -> str:
    """Return a text as one line of printable characters, whatever a system or a file called itself."""
    line = " ".join(storable(text).split())
    return "".join(letter for letter in line if letter.isprintable())


def headlines_of(result: EvalResult) -> tuple[list[str], list[str]]:
    """Return the headline scores, and those that rows without a gold answer have against the reference."""
    seen: dict[tuple[str, bool], str | None] = {}
    wanted = len(result.config.get("datasets", ())) or 1
    keys = {key for values in result.summary.values() for key in values}
    kinds = {agrees for key, agrees in (("mean_score", False), ("agreement", True)) if key in keys}
    for row in result.rows:
        seen.setdefault((row.dataset, row.is_agreement), row.headline)
        if kinds <= {agrees for _, agrees in seen} and len({label for label, _ in seen}) >= wanted:
            break
    told = [(agrees, headline) for (_, agrees), headline in seen.items() if headline]
    agreements = dict.fromkeys(
        headline.removeprefix(AGREEMENT) for agrees, headline in told if agrees
    )
    return list(dict.fromkeys(headline for agrees, headline in told if not agrees)), list(
        agreements
    )


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


_FORMS = {
    "score": lambda value: f"{value:.4f}",
    "percent": lambda value: f"{100 * value:.1f} %",
    "count": lambda value: f"{value:.0f}",
    "money": lambda value: f"{value:.4g}" if math.isfinite(value) else "never",
    "factor": lambda value: f"{value:.3g}x",
    "seconds": shown_seconds,
    "number": _number,
}
