"""What a comparison looks like: lines of a table, JSON, Markdown for a pull request, JUnit for CI."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from context_bench.console import escape_control
from context_bench_compare.averages import Macro
from context_bench_compare.comparing import ALL_ROWS, Line, Overview
from context_bench_compare.gates import FAILED, INCONCLUSIVE, PASSED, Outcome
from context_bench_compare.intervals import Interval, TooFew, counted, percent
from context_bench_compare.verdicts import INCOMPARABLE, Comparison, guarantee_sentence

_SIGNS = {PASSED: "✅", FAILED: "❌", INCONCLUSIVE: "❔"}

HEADINGS = (
    "system",
    "score",
    "rows",
    "mean",
    "baseline",
    "difference",
    "interval",
    "flips",
    "verdict",
)


def aligned(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return rows as columns below their headings, aligned; None is shown as ``-``, and no cell holds a line end."""
    shown = [
        [escape_control("-" if cell is None else cell, lines=False) for cell in row]
        for row in [headings, *rows]
    ]
    widths = [max(map(len, column)) for column in zip(*shown)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in shown
    )


def cells(lines: Sequence[Line]) -> list[list[str]]:
    """Return a line of cells for each comparison, below :data:`HEADINGS`."""
    return [
        [
            line.system,
            line.metric if line.slice == ALL_ROWS else f"{line.metric} [{line.slice}]",
            str(line.found.rows),
            _number(line.found.mean),
            _number(line.found.baseline_mean),
            _number(line.found.difference, "+"),
            interval_text(line.found),
            f"+{len(line.found.improved)} -{len(line.found.regressed)}",
            line.found.word,
        ]
        for line in lines
    ]


_SHOWN_IDS = 5
"""Ids of rows that flipped that the text names; JSON has more."""


def interval_text(found: Comparison) -> str:
    """Return the interval of a difference as ``[-0.02, +0.05]``, or why there is none."""
    if isinstance(found.interval, Interval):
        return f"[{_number(found.interval.low, '+')}, {_number(found.interval.high, '+')}]"
    return "-" if found.word == INCOMPARABLE else "too few"


def sentences(lines: Sequence[Line]) -> list[str]:
    """Return for each comparison what its verdict rests on, and which rows flipped."""
    told = []
    for line in lines:
        name = line.metric if line.slice == ALL_ROWS else f"{line.metric}, {line.slice}"
        told.append(
            f"{line.system} against {line.baseline} ({name}): {line.found.word}. {line.found.sentence}."
        )
        found = line.found
        told += [f"  {text}" for text in below(line)]
        if (
            found.answered_difference is not None
            and abs(found.answered_difference - found.difference) > 1e-9
        ):
            told.append(
                f"  Failed rows count as wrong; over the rows that both answered it is {found.answered_difference:+.4g}."
            )
        if line.macro is not None:
            told.append(f"  {macro_sentence(line.macro)}")
        if found.unmatched:
            verbs = ("has", "is") if found.unmatched == 1 else ("have", "are")
            told.append(
                f"  {counted(found.unmatched, 'row')} {verbs[0]} no counterpart and {verbs[1]} left out."
            )
        if line.others and line.slice == ALL_ROWS:
            told.append(
                f"  Scored in different ways in the two runs, and not compared here: {', '.join(line.others)}."
            )
        for which, count in (
            ("regressed", len(found.regressed)),
            ("improved", len(found.improved)),
        ):
            names = line.flipped.get(which, ())[:_SHOWN_IDS]
            if names and line.slice == ALL_ROWS:
                more = f" and {count - len(names)} more" if count > len(names) else ""
                told.append(f"  {which.capitalize()}: {', '.join(names)}{more}.")
    return told


def below(line: Line) -> list[str]:
    """Return what stands below a verdict over all rows: the guarantee, and by what rows hang together."""
    found = line.found
    if line.slice != ALL_ROWS:
        return []
    told = [text for text in (guarantee_sentence(found),) if text]
    if found.clusters is not None and found.clustered_by:
        what = {
            "example": "samples of one example",
            "context": "rows with the same context",
        }.get(found.clustered_by, f"rows with the same {found.clustered_by}")
        told.append(
            f"{counted(found.rows, 'row')} count as {found.clusters}, as {what} hang together."
        )
    return told


def macro_sentence(macro: Macro) -> str:
    """Return the average over datasets in words."""
    shown = (
        f"{_number(macro.interval.low, '+')} to {_number(macro.interval.high, '+')} at {percent(macro.interval.confidence)}"
        if isinstance(macro.interval, Interval)
        else macro.interval.told
    )
    means = f"{_number(macro.mean)} against {_number(macro.baseline_mean)}"
    return f"Macro average over {macro.datasets} datasets: {means}, {_number(macro.difference, '+')} ({shown})."


def more_sentences(found: Overview) -> list[str]:
    """Return the ratios of sums and the Pareto front in words."""
    told = []
    for ratio in found.ratios:
        shown = (
            f"{_number(ratio.interval.low, '+')} to {_number(ratio.interval.high, '+')} at {percent(ratio.interval.confidence)}"
            if isinstance(ratio.interval, Interval)
            else ratio.interval.told
        )
        told.append(
            f"{RATIO_NAMES[ratio.name]}{ratio.unit and f' in {ratio.unit}'}: {ratio.system} {_number(ratio.value)}, "
            f"{ratio.baseline} {_number(ratio.baseline_value)}; {_number(ratio.difference, '+')} ({shown}), "
            f"over {ratio.rows:,} rows."
        )
    if found.front is not None:
        unit = found.front.unit and f" {found.front.unit}"
        told.append(
            f"Pareto front of {found.front.metric} against {found.front.name}, {found.front.extent}:"
        )
        told += [
            f"  {point.system}: {_number(point.score)} at {_number(point.cost)}{unit}, "
            f"{'on' if point.is_on_front else 'off'} the front; {share_text(point.share)}."
            for point in found.front.points
        ]
    return told


def share_text(share: float) -> str:
    """Return in words in what share of the bootstrap draws a system is on the front."""
    return (
        "the rows are too few to say how surely"
        if math.isnan(share)
        else f"on it in {share:.0%} of the bootstrap draws"
    )


RATIO_NAMES = {"compression": "Tokens out for each token in", "cost_per_pass": "Cost for each pass"}


def more_to_dict(found: Overview) -> dict[str, Any]:
    """Return the ratios of sums and the Pareto front as JSON-like values."""
    ratios = [
        {
            "system": one.system,
            "baseline": one.baseline,
            "ratio": one.name,
            "value": _finite(one.value),
            "baseline_value": _finite(one.baseline_value),
            "difference": _finite(one.difference),
            "interval": interval_to_dict(one.interval),
            "rows": one.rows,
            "unit": one.unit,
        }
        for one in found.ratios
    ]
    front = None
    if found.front is not None:
        points = [
            {
                "system": p.system,
                "score": p.score,
                "cost": p.cost,
                "on_front": p.is_on_front,
                "share_of_draws": _finite(p.share),
            }
            for p in found.front.points
        ]
        front = {
            "metric": found.front.metric,
            "measure": found.front.measure,
            "rows": found.front.rows,
            "cost_rows": found.front.cost_rows,
            "unit": found.front.unit,
            "points": points,
        }
    return {"ratios": ratios, "front": front}


def interval_to_dict(interval: Interval | TooFew) -> dict[str, Any]:
    """Return an interval, or why there is none, as JSON-like values."""
    if not isinstance(interval, Interval):
        return {"too_few": interval.reason}
    return {
        "low": _finite(interval.low),
        "high": _finite(interval.high),
        "confidence": interval.confidence,
        "method": interval.method,
    }


def to_dict(line: Line) -> dict[str, Any]:
    """Return a comparison as JSON-like values; what is not a finite number is None."""
    found = line.found
    return {
        "system": line.system,
        "baseline": line.baseline,
        "metric": line.metric,
        "slice": line.slice,
        "verdict": found.word,
        "sentence": found.sentence,
        "rows": found.rows,
        "clusters": found.clusters,
        "unmatched": found.unmatched,
        "mean": _finite(found.mean),
        "baseline_mean": _finite(found.baseline_mean),
        "difference": _finite(found.difference),
        "interval": interval_to_dict(found.interval),
        "guarantee": interval_to_dict(found.guarantee),
        "clustered_by": found.clustered_by or None,
        "family": found.family,
        "together": found.together,
        "macro": None if line.macro is None else macro_to_dict(line.macro),
        "answered_difference": found.answered_difference,
        "p_value": found.p_value,
        "p_value_corrected": found.corrected,
        "test": found.test,
        "detectable_difference": _finite(found.detectable),
        "improved": {"count": len(found.improved), "first": list(line.flipped.get("improved", ()))},
        "regressed": {
            "count": len(found.regressed),
            "first": list(line.flipped.get("regressed", ())),
        },
    }


def macro_to_dict(macro: Macro) -> dict[str, Any]:
    """Return the average over datasets as JSON-like values."""
    return {
        "datasets": macro.datasets,
        "mean": _finite(macro.mean),
        "baseline_mean": _finite(macro.baseline_mean),
        "difference": _finite(macro.difference),
        "interval": interval_to_dict(macro.interval),
    }


def outcome_to_dict(outcome: Outcome) -> dict[str, Any]:
    """Return how a gate came out as JSON-like values."""
    return {
        "gate": str(outcome.gate),
        "state": outcome.state,
        "sentence": outcome.sentence,
        "basis": outcome.gate.basis,
        "more_rows": outcome.more_rows,
    }


def gate_sentence(outcome: Outcome) -> str:
    """Return a line about a gate."""
    more = (
        f" About {counted(outcome.more_rows, 'further row')} would decide."
        if outcome.more_rows
        else ""
    )
    by = f" By {outcome.gate.by}." if outcome.gate.by else ""
    return f"Gate {outcome.gate}: {outcome.state}. {outcome.sentence}.{by}{more}"


def markdown(compared: Overview, outcomes: Sequence[Outcome] = ()) -> str:
    """Return a comparison and its gates as Markdown, for a pull request."""
    told, lines = [], compared.lines
    if outcomes:
        told += [f"- {_SIGNS[one.state]} {_escaped(gate_sentence(one))}" for one in outcomes]
        told.append("")
    if lines:
        told.append("| " + " | ".join(HEADINGS) + " |")
        told.append("|" + "---|" * len(HEADINGS))
        told += ["| " + " | ".join(map(_escaped, row)) + " |" for row in cells(lines)]
        told += [
            "",
            *(
                f"- {_escaped(text.strip())}"
                for text in (*sentences(lines), *more_sentences(compared))
            ),
        ]
    return "\n".join(told) + "\n"


def junit(compared: Overview, outcomes: Sequence[Outcome] = ()) -> str:
    """Return gates as JUnit XML; verdicts where there are no gates.

    Failed gates and worse verdicts are failures. Inconclusive gates and verdicts are skipped.
    """
    suite = ElementTree.Element("testsuite", name="context-bench", errors="0")
    for outcome in outcomes:
        case = ElementTree.SubElement(
            suite, "testcase", classname="gates", name=_xml(str(outcome.gate))
        )
        if outcome.state == FAILED:
            ElementTree.SubElement(case, "failure", message=_xml(outcome.sentence))
        elif outcome.state != PASSED:
            ElementTree.SubElement(case, "skipped", message=_xml(gate_sentence(outcome)))
    for line in () if outcomes else compared.lines:
        name = f"{line.system} {line.metric} {line.slice}"
        case = ElementTree.SubElement(suite, "testcase", classname="comparisons", name=_xml(name))
        if line.found.word == "worse":
            ElementTree.SubElement(case, "failure", message=_xml(line.found.sentence))
        elif line.found.word in ("inconclusive", "incomparable"):
            ElementTree.SubElement(case, "skipped", message=_xml(line.found.sentence))
    for tag, name in (("testcase", "tests"), ("failure", "failures"), ("skipped", "skipped")):
        suite.set(name, str(len(list(suite.iter(tag)))))
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        + ElementTree.tostring(suite, encoding="unicode")
        + "\n"
    )


def _xml(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return "".join(letter if letter.isprintable() or letter in "\t\n" else "�" for letter in text)


def _escaped(text: str) -> str:
    shown = " ".join(text.split())
    for letter in "\\`*_[]<>|":
        shown = shown.replace(letter, "\\" + letter)
    return shown


def _number(value: float, sign: str = "") -> str:
    return "-" if not math.isfinite(value) else f"{value:{sign}.4g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def csv(compared: Overview, outcomes: Sequence[Outcome] = ()) -> str:
    """Return a line of CSV for each comparison; cells that a spreadsheet would take for a formula get an apostrophe."""
    import csv as writing
    import io

    stream = io.StringIO()
    writer = writing.writer(stream, lineterminator="\n")
    names = (
        "system",
        "baseline",
        "metric",
        "slice",
        "verdict",
        "rows",
        "clusters",
        "mean",
        "baseline_mean",
        "difference",
    )
    more = ("answered_difference", "p_value", "p_value_corrected", "test", "detectable_difference")
    ends = ("low", "high", "confidence", "guaranteed_low", "guaranteed_high")
    writer.writerow((*names, *ends, "improved", "regressed", *more))
    for line in compared.lines:
        told = to_dict(line)
        values = [told["interval"].get(name) for name in ("low", "high", "confidence")]
        values += [told["guarantee"].get(name) for name in ("low", "high")]
        counts = [told[which]["count"] for which in ("improved", "regressed")]
        before, after = ([told[name] for name in keys] for keys in (names, more))
        writer.writerow([_cell(value) for value in (*before, *values, *counts, *after)])
    return stream.getvalue()


_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def _cell(value: Any) -> Any:
    """Return a value for a CSV cell; one that a spreadsheet would take for a formula gets an apostrophe."""
    if isinstance(value, str):
        text = value.replace("\r", " ")
        begins = text.lstrip().lstrip("\ufeff\u200b").lstrip()  # what a spreadsheet leaves out
        return f"'{text}" if text.startswith(("\t", "\n")) or begins.startswith(_FORMULA) else text
    return "" if value is None else value
