"""Metrics: what the rows of one system, or of all of them, add up to.

A ``score_field`` is a score key, or ``"score"`` for each row's headline score. Everywhere the same rule holds: a failed row
counts as wrong (with the worst value of its score), an unscored row is left out, and both are counted in :class:`Counts`. A
metric that has nothing to measure returns no key.

What installed packages bring is here too, by the names of their classes: ``from context_bench.metrics import ParetoRank``.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from context_bench.aggregation import NO_SOURCE, REPORTED, Columns, percentiles
from context_bench.errors import MetricError, did_you_mean
from context_bench.plugins.loading import facade
from context_bench.protocols import Metric
from context_bench.records import ANY_KEY, EvalRow

__getattr__ = facade("metrics", globals())[0]


class ByColumns:
    """A metric that is computed from columns; whole rows are made into columns first."""

    score_field: str = "score"

    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]:
        """Return the values of this metric by key."""
        return self.compute_columns(Columns.of(rows, (self.score_field,)))

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the values of this metric by key, from the columns of the rows."""
        raise NotImplementedError


@frozen
class Counts(ByColumns):
    """How many rows there are, and how many of them are scored, unscored and failed.

    Keys: ``num_rows``, ``num_scored``, ``num_unscored`` and ``num_failed``, and ``num_agreement`` where rows without a gold
    answer were held against a reference; all others add up to the first. A row is failed where it failed altogether, or at the
    score.
    """

    score_field: str = "score"
    name: str = "counts"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the four counts."""
        scored, failed = columns.scored_and_failed(self.score_field)
        unscored = columns.rows - scored - failed - columns.agreed
        agreed = {"num_agreement": columns.agreed} if columns.agreements("score") else {}
        return {
            "num_rows": columns.rows,
            "num_scored": scored,
            **agreed,
            "num_unscored": unscored,
            "num_failed": failed,
        }


@frozen
class MeanScore(ByColumns):
    """The mean of a score. Key: ``mean_score``."""

    score_field: str = "score"
    name: str = "mean_score"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean, summed exactly."""
        values = columns.values(self.score_field)
        if (better := columns.better(self.score_field)) != "higher":
            (columns.lower if better == "lower" else columns.unranked).add(self.name)
        return {self.name: math.fsum(values) / len(values)} if values else {}


@frozen
class PassRate(ByColumns):
    """The share of rows whose score reaches a threshold, or stays at or below it where less is better. Key: ``pass_rate``."""

    threshold: float = 0.7
    score_field: str = "score"
    name: str = "pass_rate"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the share."""
        values = columns.values(self.score_field)
        return (
            {self.name: columns.passing(self.score_field, self.threshold) / len(values)}
            if values
            else {}
        )


@frozen
class PerDatasetBreakdown(ByColumns):
    """The mean score of each dataset. Keys: ``dataset:LABEL``; rows without a label are ``dataset:unknown``."""

    score_field: str = "score"
    name: str = "per_dataset"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean of each dataset that has a scored or failed row, in order of appearance."""
        found = columns.values_by_label(self.score_field).items()
        return {
            f"dataset:{label or 'unknown'}": math.fsum(values) / len(values)
            for label, values in found
        }


@frozen
class CompressionRatio(ByColumns):
    """How much shorter a transformer made the text: 1 - (tokens that it put out) / (tokens that it was given).

    Both are counted by the same tokenizer, so only rows count whose output has a ``context`` or another field of the
    prompt; what an endpoint reports is counted by another one, and is compared by :class:`TrueCompression`. The gold
    answer and the response are never counted. 0.0 means nothing was saved; a negative value, that it grew. Keys:
    ``compression_ratio``, ``mean_input_tokens`` and ``mean_output_tokens``.
    """

    name: str = "compression_ratio"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the ratio and the two means."""
        if not columns.contexts or not columns.input_tokens:
            return {}
        return {
            "compression_ratio": 1 - columns.context_tokens / columns.input_tokens,
            "mean_input_tokens": columns.input_tokens / columns.contexts,
            "mean_output_tokens": columns.context_tokens / columns.contexts,
        }


@frozen
class PromptTokens(ByColumns):
    """What the model's endpoint reported of the prompts. Only rows with a reported count are looked at.

    Keys: ``mean_prompt_tokens``, and ``cache_read_share``, the share of the prompt tokens that the provider served from
    its cache, where it says so.
    """

    name: str = "prompt_tokens"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean and the share."""
        if not columns.reported:
            return {}
        columns.sources["mean_prompt_tokens"] = (
            REPORTED,
            columns.reported / max(columns.answered, columns.reported),
        )
        found = {"mean_prompt_tokens": columns.reported_tokens / columns.reported}
        if columns.has_cache_counts:
            found["cache_read_share"] = columns.cached_tokens / columns.reported_tokens
        return found


@frozen
class TrueCompression(ByColumns):
    """How many prompt tokens the model was spared: what its endpoint reports, against the baseline's rows.

    A row is compared with the baseline's row of the same example and repetition. Rows where either side has no reported
    count are left out, and counted. Keys: ``tokens_saved``, 1 - (sum of the prompt tokens) / (sum of the baseline's);
    ``tokens_saved_mean``, the mean over the rows of 1 - (its tokens) / (the baseline's); ``compression_factor``, (sum of
    the baseline's) / (sum of the prompt tokens), 2.0 for half the tokens; ``num_compared`` and ``num_uncompared``.
    """

    name: str = "true_compression"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the savings and the counts; nothing when the run has no baseline."""
        if not columns.has_baseline:
            return {}
        compared = len(columns.savings)
        counts: dict[str, float] = {
            "num_compared": compared,
            "num_uncompared": columns.rows - compared,
        }
        if not compared:
            return counts
        for key in ("tokens_saved", "tokens_saved_mean", "compression_factor"):
            columns.sources[key] = (REPORTED, compared / max(columns.answered, compared))
        return {
            "tokens_saved": 1 - columns.compared_tokens / columns.baseline_tokens,
            "tokens_saved_mean": math.fsum(columns.savings) / compared,
            "compression_factor": columns.baseline_tokens / columns.compared_tokens,
            **counts,
        }


@frozen
class CostOfPass(ByColumns):
    """Tokens spent, prompt and response, for each row that passes (after Erol et al. 2025, arXiv:2504.13359).

    Keys: ``cost_of_pass``, infinite when nothing passes, and ``num_passing``. Rows without a gold answer cannot pass, so what
    they took is not counted; a failed row took nothing that anybody knows of.

    What endpoints report and what core counts are never added: without one source for every answered row there is no
    ``cost_of_pass``, and ``columns.sources`` says which share of them the reported counts cover.
    """

    threshold: float = 0.7
    score_field: str = "score"
    name: str = "cost_of_pass"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the cost and the number of passing rows."""
        values = columns.values(self.score_field)
        if not values:
            return {}
        passed, rows = (
            columns.passing(self.score_field, self.threshold),
            sum(columns.spenders.values()),
        )
        found: dict[str, float] = {"num_passing": passed}
        if (
            not rows
        ):  # nothing was answered, so there is nothing that different sources could have counted
            return found | {"cost_of_pass": math.inf}
        source = REPORTED if columns.spenders.get(REPORTED) else next(iter(columns.spenders))
        covered = columns.spenders[source] / rows if source != NO_SOURCE else 0.0
        columns.sources["cost_of_pass"] = (source if covered == 1 else NO_SOURCE, covered)
        if covered == 1:
            found["cost_of_pass"] = columns.spent[source] / passed if passed else math.inf
        return found


@frozen
class Latency(ByColumns):
    """Seconds from the first sending to the answer, over the answered rows. Percentiles interpolate linearly.

    A response that was taken from an earlier run took no time here, and is left out.

    Keys: ``latency_mean``, ``latency_median``, ``latency_p95`` and ``latency_p99``; where it is known how long the system
    took without its model, also ``system_latency_median``, ``system_latency_p95``, ``model_latency_median`` and
    ``model_latency_p95``, over the rows of which it is known.
    """

    name: str = "latency"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean and the percentiles."""
        values = columns.latencies
        mean = {"latency_mean": math.fsum(values) / len(values)} if values else {}
        return {
            **mean,
            **_spread("latency", values, "median", "p95", "p99"),
            **_spread("system_latency", columns.system_latencies, "median", "p95"),
            **_spread("model_latency", columns.model_latencies, "median", "p95"),
        }


@frozen
class Waiting:
    """What endpoints made the rows wait, and how often they were asked again; nothing where no system had to.

    Keys: ``waiting``, seconds of all rows together: refusals, what ``Retry-After`` asks for, learned and advertised rates,
    also before the first sending; ``retries``, those of failed rows included; ``rows_per_minute``, how many rows a minute has
    room for, one after the other, waiting included.
    """

    name: str = "waiting"

    def compare(self, columns_by_system: Mapping[str, Columns]) -> dict[str, dict[str, float]]:
        """Return the waiting of each system, where one of them waited."""
        if not any(columns.waiting or columns.retries for columns in columns_by_system.values()):
            return {}
        found: dict[str, dict[str, float]] = {}
        for label, columns in columns_by_system.items():
            if columns.durations or columns.retries:
                waiting = {"waiting": columns.waiting} if columns.durations else {}
                found[label] = {**waiting, "retries": columns.retries}
            if columns.durations and (seconds := math.fsum(columns.durations)) > 0:
                found[label]["rows_per_minute"] = 60 * len(columns.durations) / seconds
        return found


@frozen
class TimeToFirstToken(ByColumns):
    """Seconds to the first token of the answer, where systems measured it.

    Keys: ``first_token_median`` and ``first_token_p95``.
    """

    name: str = "time_to_first_token"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the percentiles."""
        return _spread("first_token", columns.first_tokens, "median", "p95")


_SHARES = {"median": 0.5, "p95": 0.95, "p99": 0.99}


def _spread(key: str, seconds: array[float], *names: str) -> dict[str, float]:
    """Return percentiles of seconds by key; nothing of none."""
    told = percentiles(seconds, [_SHARES[name] for name in names]) if seconds else ()
    return {f"{key}_{name}": value for name, value in zip(names, told)}


def check_score_field(metric: Metric, rows: Iterable[EvalRow], declared: Iterable[str]) -> None:
    """Refuse a metric whose ``score_field`` no row has.

    Args:
        metric: The metric.
        rows: All rows; read only when the field is not declared.
        declared: Keys that the manifests of the wired evaluators promise.

    Raises:
        MetricError: Nothing in this run gives the score; the message suggests close names.
    """
    field: Any = getattr(metric, "score_field", None)
    known = dict.fromkeys(key for key in declared if key != ANY_KEY)
    if field in (None, "score", *known):
        return
    is_known = bool(known)
    for row in rows:
        if field in row.scores:
            return
        known |= dict.fromkeys(row.scores)
        is_known = is_known or not row.failed
    if is_known:  # else every row failed: the failures say why there is no score
        raise MetricError(
            f"The metric {metric.name} is told to take the score {field!r}, which no evaluator of this run gives. "
            f"{did_you_mean(field, known)} --score-field KEY names another."
        )
