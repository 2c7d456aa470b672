"""The columns that people see: which summary values, under which heading, in which form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from attrs import frozen

from context_bench.records import AGREEMENT
from context_bench.results import EvalResult


@frozen
class Column:
    """One column of the summary.

    Attributes:
        key: Summary key.
        heading: What stands above it.
        form: ``score``, ``percent``, ``count``, ``seconds`` or ``number``.
    """

    key: str
    heading: str
    form: str = "number"

    def text(self, values: Mapping[str, float]) -> str:
        """Return the value of a system as text; a dash when there is none."""
        value = values.get(self.key)
        return "-" if value is None else _FORMS[self.form](value)


_KNOWN = [
    Column("mean_score", "score", "score"),
    Column("agreement", "agreement", "score"),
    Column("agreement_floor", "noise floor", "score"),
    Column("pass_rate", "pass", "percent"),
    Column("tokens_saved", "tokens saved", "percent"),
    Column("compression_ratio", "saved", "percent"),
    Column("mean_input_tokens", "tokens in", "number"),
    Column("mean_output_tokens", "tokens out", "number"),
    Column("mean_prompt_tokens", "prompt tokens", "number"),
    Column("cache_read_share", "from cache", "percent"),
    Column("cost_of_pass", "tokens/pass", "number"),
    Column("cost", "cost", "money"),
    Column("cost_saved", "cost saved", "percent"),
    Column("price_of_pass", "cost/pass", "money"),
    Column("latency_median", "p50", "seconds"),
    Column("latency_p95", "p95", "seconds"),
    Column("num_rows", "rows", "count"),
    Column("num_agreement", "agreed", "count"),
    Column("num_unscored", "unscored", "count"),
    Column("num_failed", "failed", "count"),
    Column("pareto_rank", "rank", "count"),
    Column("num_scored", "scored", "count"),
    Column("num_passing", "passing", "count"),
    Column("latency_mean", "mean", "seconds"),
    Column("latency_p99", "p99", "seconds"),
    Column("tokens_saved_mean", "tokens saved, mean of rows", "percent"),
    Column("compression_factor", "compression", "factor"),
    Column("num_compared", "compared", "count"),
    Column("num_uncompared", "not compared", "count"),
    Column("system_latency_median", "system p50", "seconds"),
    Column("system_latency_p95", "system p95", "seconds"),
    Column("model_latency_median", "model p50", "seconds"),
    Column("model_latency_p95", "model p95", "seconds"),
    Column("mean_cost", "mean cost", "money"),
    Column("num_unpriced", "no cost", "count"),
]
_DETAIL = {
    "num_scored",
    "num_passing",
    "latency_mean",
    "latency_p99",
    "tokens_saved_mean",
    "compression_factor",
    "num_compared",
    "num_uncompared",
    "system_latency_median",
    "system_latency_p95",
    "model_latency_median",
    "model_latency_p95",
    "mean_cost",
    "num_unpriced",
}


def columns(result: EvalResult, everything: bool = False) -> list[Column]:
    """Return the columns for a result: those that some system has a value for, datasets after the score.

    Args:
        result: The result.
        everything: Whether to show also what a table leaves to files.
    """
    present = list(dict.fromkeys(key for values in result.summary.values() for key in values))
    chosen = [column for column in _KNOWN if column.key in present and (everything or column.key not in _DETAIL)]
    named = {column.key for column in _KNOWN}
    after = 1 if chosen and chosen[0].key == "mean_score" else 0
    chosen[after:after] = [
        Column(key, key.removeprefix("dataset:"), "score") for key in present if key.startswith("dataset:")
    ]
    others = [key for key in present if key not in named and not key.startswith("dataset:")]
    return chosen + [Column(key, key, "score") for key in others if everything or key not in _DETAIL]


def table(result: EvalResult, everything: bool = False) -> tuple[list[str], list[list[str]]]:
    """Return headings and lines of the summary, the system first."""
    shown = columns(result, everything)
    lines = [[system, *(column.text(values) for column in shown)] for system, values in result.summary.items()]
    return ["system", *(column.heading for column in shown)], lines


def notes(result: EvalResult) -> Sequence[str]:
    """Return what a reader must know beside the numbers, a line each."""
    told = []
    field = result.config.get("score_field", "score")
    headlines, agreements = _headlines(result)
    headlines = [field] if field != "score" else headlines
    if headlines and (not agreements or any("mean_score" in values for values in result.summary.values())):
        told.append(f"score is {', '.join(headlines)}; failed rows count as wrong, unscored rows are left out.")
    if agreements:
        reference = result.config.get("reference", "the reference")
        told.append(
            f"agreement is {', '.join(agreements)} against the response of {reference}, on the rows without a gold answer; "
            f"the noise floor is {reference} asked twice, against itself."
        )
    for values in result.summary.values():
        if values.get("num_unscored"):
            told.append(_unscored(result))
            break
    told += [*_compared(result), *_billed(result)]
    return [note for note in told if note]


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
    if missing:
        rows = ", ".join(f"{count:.0f} of {system}" for system, count in missing.items())
        told.append(f"Rows left out of that, because they or their baseline's report no prompt tokens: {rows}.")
    return told


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


def _headlines(result: EvalResult) -> tuple[list[str], list[str]]:
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
