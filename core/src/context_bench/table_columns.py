"""The columns that people see: which summary values, under which heading, in which form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from context_bench.metrics.summary import NESTED, SCORES, SOURCES
from context_bench.plugins.component_metadata import SummaryValue
from context_bench.records import AGREEMENT, ANY_KEY

if TYPE_CHECKING:
    from context_bench.results import EvalResult


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
    keys = dict.fromkeys(key for values in result.summary.values() for key in values if key not in NESTED)
    keys |= dict.fromkeys(key for values in result.summary.values() for key in values.get(SOURCES, ()))
    found = [(_pattern(declared, key), key) for key in keys]
    patterns = [pattern for pattern, _ in found]
    shown = []
    for pattern, key in found:
        value = declared.get(pattern, SummaryValue(key, "score"))
        is_alone = pattern.endswith("*") and patterns.count(pattern) == 1  # one dataset is the whole
        if not is_alone and (everything or not value.detail):
            heading = value.heading.replace("*", key[len(pattern) - 1 :])
            shown.append((value.order, Column(key, heading, value.format)))
    return [column for _, column in sorted(shown, key=lambda pair: pair[0])]


def _pattern(declared: Mapping[str, SummaryValue], key: str) -> str:
    """Return the declared key that a key is; itself when nothing declares it."""
    if key in declared:
        return key
    return next((name for name in declared if name.endswith("*") and key.startswith(name[:-1])), key)


def table(result: EvalResult, everything: bool = False) -> tuple[list[str], list[list[str]]]:
    """Return headings and lines of the summary, the system first."""
    shown = columns(result, everything)
    lines = [[system, *(column.text(values) for column in shown)] for system, values in result.summary.items()]
    return ["system", *(column.heading for column in shown)], lines


def score_table(result: EvalResult) -> tuple[list[str], list[list[str]]]:
    """Return headings and lines of the scores below the headline: the mean of each system, and how many rows have none.

    No lines mean that the headline is all there is. A score that no row of any system has is left to the warnings.
    """
    headlines = {name for names in headlines_of(result) for name in names}
    headlines |= {f"{AGREEMENT}{name}" for name in headlines}
    by_system = [values[SCORES] for values in result.summary.values()]
    names = {(key, evaluator): None for scores in by_system for evaluator in scores for key in scores[evaluator]}
    lines = []
    missing = []
    for key, evaluator in names:
        found = [scores.get(evaluator, {}).get(key, _NONE) for scores in by_system]
        if key not in headlines and any(score["n"] - score["failed"] for score in found):
            means = [_FORMS["score"](score["mean"]) if score["n"] else "-" for score in found]
            lines.append([key, evaluator.rpartition("/")[2].strip(ANY_KEY), *means])
            missing.append(sum(score["unscored"] for score in found))
    headings = ["score", "by", *result.summary]
    if any(missing):
        return [*headings, "unscored"], [[*line, str(count)] for line, count in zip(lines, missing)]
    return headings, lines


_NONE = {"n": 0, "failed": 0, "unscored": 0}


def notes(result: EvalResult) -> Sequence[str]:
    """Return what a reader must know beside the numbers, a line each."""
    told = list(result.completeness.sentences)
    field = result.config.get("score_field", "score")
    headlines, agreements = headlines_of(result)
    headlines = [field] if field != "score" else headlines
    if headlines and (not agreements or any("mean_score" in values for values in result.summary.values())):
        told.append(f"score is {', '.join(headlines)}; failed rows count as wrong, unscored rows are left out.")
    if agreements:
        reference = result.config.get("reference", "the reference")
        told.append(
            f"agreement is {', '.join(agreements)} against the response of {reference}, on the rows without a gold answer; "
            f"the noise floor is {reference} asked twice, against itself."
        )
    oracles = result.config.get("reads_gold", ())
    told += [
        f"{label} reads gold: it is shown the right answers, and is no system to compare with." for label in oracles
    ]
    for values in result.summary.values():
        if values.get("num_unscored"):
            told.append(_unscored(result))
            break
    told += _counted(result)
    told += [*_compared(result), *_billed(result), *(f"Warning: {line}" for line in result.findings)]
    return [note for note in told if note]


def _counted(result: EvalResult) -> list[str]:
    """Tell where token counts come from, where that is not the same for all systems and rows."""
    found = {system: values.get(SOURCES, {}).get("cost_of_pass") for system, values in result.summary.items()}
    sources = {system: source for system, source in found.items() if source is not None}
    if len({source["source"] for source in sources.values()}) < 2 and all(s["covered"] == 1 for s in sources.values()):
        return []
    words = {"reported": "as its endpoint reports them", "none": "not all from one source"}
    told = "; ".join(
        f"{system} {words.get(source['source'], 'counted by the tokenizer ' + source['source'])}"
        for system, source in sources.items()
    )
    return [
        f"Tokens: {told}. Counts from different sources are neither added nor ranked; - (50 %): half the rows have one."
    ]


def _compared(result: EvalResult) -> list[str]:
    """Tell what the savings are held against, and whose rows are left out."""
    baseline = result.config.get("baseline")
    if not baseline:
        return []
    missing = {
        system: values.get("num_uncompared", values.get("num_rows", 0))
        for system, values in result.summary.items()
        if "tokens_saved" not in values or values.get("num_uncompared")
    }
    if len(missing) == len(result.summary) and not any("tokens_saved" in values for values in result.summary.values()):
        return [f"Nothing could be compared with the baseline {baseline}: no row and its own report prompt tokens."]
    told = [f"tokens saved: prompt tokens as the model's endpoint reports them, against {baseline}."]
    told += [
        f"{system} is held against {other}."
        for system, other in result.config.get("baselines", {}).items()
        if system != other
    ]
    told += _unpaired(result)
    if missing:
        rows = ", ".join(f"{count:.0f} of {system}" for system, count in missing.items())
        told.append(f"Rows left out of that, because they or their baseline's report no prompt tokens: {rows}.")
    return told


def _unpaired(result: EvalResult) -> list[str]:
    """Tell who is asked otherwise than its baseline: what it saves is not its own doing alone."""
    others = result.config.get("baselines", {})
    return [
        f"Not paired: {system} is asked with {', '.join(f'{name} {_value(own)}' for name, (own, _) in how.items())}, "
        f"{others.get(system, result.config['baseline'])} with "
        f"{', '.join(f'{name} {_value(other)}' for name, (_, other) in how.items())}."
        for system, how in result.config.get("unpaired", {}).items()
    ]


def _value(asked: Any) -> str:
    return "unset" if asked is None else one_line(str(asked))


def _billed(result: EvalResult) -> list[str]:
    """Tell what the money is, and whose rows are left out."""
    if not any("cost" in values for values in result.summary.values()):
        return []
    date = f" of {result.config['prices_date']}" if "prices_date" in result.config else ""
    told = [
        f"cost is in {result.config.get('currency', 'USD')}: as the endpoint reports it, else by the given prices{date}, "
        "cached and uncached tokens each at theirs."
    ]
    unpriced = {
        system: values["num_unpriced"] for system, values in result.summary.items() if values.get("num_unpriced")
    }
    if unpriced:
        rows = ", ".join(f"{count:.0f} of {system}" for system, count in unpriced.items())
        told.append(f"Answered rows without a known cost, left out of it: {rows}.")
    return told


def one_line(text: str) -> str:
    """Return a text as one line of printable characters, whatever a system or a file called itself."""
    line = " ".join(text.encode("utf-8", "backslashreplace").decode("utf-8").split())
    return "".join(letter for letter in line if letter.isprintable())


def headlines_of(result: EvalResult) -> tuple[list[str], list[str]]:
    """Return the headline scores, and those that rows without a gold answer have against the reference."""
    seen: dict[tuple[str, bool], str | None] = {}
    wanted = len(result.config.get("datasets", ())) or 1
    kinds = (
        any("mean_score" in v for v in result.summary.values()),
        any("agreement" in v for v in result.summary.values()),
    )
    for row in result.rows:
        seen.setdefault((row.dataset, row.is_agreement), row.headline)
        found = [sum(agrees == kind for _, agrees in seen) for kind in (False, True)]
        if (
            all(not is_there or found[kind] for kind, is_there in enumerate(kinds))
            and len({d for d, _ in seen}) >= wanted
        ):
            break
    names: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for (_, agrees), headline in seen.items():
        if headline:
            names[agrees][headline.removeprefix(AGREEMENT) if agrees else headline] = None
    return list(names[False]), list(names[True])


def _unscored(result: EvalResult) -> str:
    reasons: dict[str, int] = {}
    for row in result.rows:
        if row.score is None and not row.failed:
            for reason in dict.fromkeys(row.unscored.values()):
                reasons[reason] = reasons.get(reason, 0) + 1
    most = sorted(reasons.items(), key=lambda item: -item[1])[:3]
    return "Unscored: " + "; ".join(f"{reason} ({count})" for reason, count in most) + "." if most else ""


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _money(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "never"


def _seconds(value: float) -> str:
    if value == 0:
        return "0 s"
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.1f} ms" if value >= 1e-3 else f"{value * 1e6:.0f} us"


_FORMS = {
    "score": lambda value: f"{value:.4f}",
    "percent": lambda value: f"{100 * value:.1f} %",
    "count": lambda value: f"{value:.0f}",
    "money": _money,
    "factor": lambda value: f"{value:.3g}x",
    "seconds": _seconds,
    "number": _number,
}
