"""Metrics: what the rows of one system add up to.

Each class is a :class:`~context_bench.protocols.Metric`. A ``score_field`` is a score key, or ``"score"`` for each row's
headline score. Everywhere the same rule holds: a failed row counts as wrong (with the worst value of its score), an
unscored row is left out, and both are counted in :class:`Counts`. A metric that has nothing to measure returns no key.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from context_bench.aggregation import Columns, percentiles
from context_bench.errors import MetricError, did_you_mean
from context_bench.records import EvalRow

Rows = Sequence[EvalRow]


class _ByColumns:
    """A metric that is computed from columns; whole rows are made into columns first."""

    score_field: str = "score"

    def compute(self, rows: Rows) -> dict[str, float]:
        """Return the values of this metric by key."""
        return self.compute_columns(Columns.of(rows, (self.score_field,)))

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the values of this metric by key, from the columns of the rows."""
        raise NotImplementedError


@frozen
class Counts(_ByColumns):
    """How many rows there are, and how many of them are scored, unscored and failed.

    Keys: ``num_rows``, ``num_scored``, ``num_unscored`` and ``num_failed``, and ``num_agreement`` where rows without a gold
    answer were held against a reference; all others add up to the first.
    """

    name: str = "counts"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the four counts."""
        valued = len(columns.values("score"))
        failed = columns.failed
        scored = valued - min(valued, columns.failed_with_value)
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
class MeanScore(_ByColumns):
    """The mean of a score. Key: ``mean_score``."""

    score_field: str = "score"
    name: str = "mean_score"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean, summed exactly."""
        values = columns.values(self.score_field)
        return {self.name: math.fsum(values) / len(values)} if values else {}


@frozen
class Agreement(_ByColumns):
    """How far rows without a gold answer agree with the reference: the mean of the score, its response as the answer.

    Keys: ``agreement``; and ``agreement_floor``, how far the reference agrees with itself when it is asked twice. A system
    that agrees as much cannot be told from it. The summary shows the floor with every system.
    """

    score_field: str = "score"
    name: str = "agreement"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean; of the reference's own rows, the floor."""
        values = columns.agreements(self.score_field)
        if not values:
            return {}
        return {"agreement_floor" if columns.is_reference else self.name: math.fsum(values) / len(values)}

    @staticmethod
    def share_floor(summary: Mapping[str, dict[str, float]]) -> None:
        """Put the floor of the reference beside the agreement of every system."""
        for floor in [values["agreement_floor"] for values in summary.values() if "agreement_floor" in values]:
            for values in summary.values():
                if "agreement" in values:
                    values.setdefault("agreement_floor", floor)


@frozen
class PassRate(_ByColumns):
    """The share of rows whose score reaches a threshold. Key: ``pass_rate``."""

    threshold: float = 0.7
    score_field: str = "score"
    name: str = "pass_rate"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the share."""
        values = columns.values(self.score_field)
        return {self.name: sum(value >= self.threshold for value in values) / len(values)} if values else {}


@frozen
class CompressionRatio(_ByColumns):
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
class PromptTokens(_ByColumns):
    """What the model's endpoint reported of the prompts. Only rows with a reported count are looked at.

    Keys: ``mean_prompt_tokens``, and ``cache_read_share``, the share of the prompt tokens that the provider served from
    its cache, where it says so.
    """

    name: str = "prompt_tokens"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean and the share."""
        if not columns.reported:
            return {}
        found = {"mean_prompt_tokens": columns.reported_tokens / columns.reported}
        if columns.has_cache_counts:
            found["cache_read_share"] = columns.cached_tokens / columns.reported_tokens
        return found


@frozen
class TrueCompression(_ByColumns):
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
        counts: dict[str, float] = {"num_compared": compared, "num_uncompared": columns.rows - compared}
        if not compared:
            return counts
        return {
            "tokens_saved": 1 - columns.compared_tokens / columns.baseline_tokens,
            "tokens_saved_mean": math.fsum(columns.savings) / compared,
            "compression_factor": columns.baseline_tokens / columns.compared_tokens,
            **counts,
        }


@frozen
class Cost(_ByColumns):
    """What the rows cost in money: as the endpoint reports it, else by the prices of cached and uncached tokens.

    A prefix that was read from the provider's cache is billed as such, so a system that breaks the cache shows what it
    really saves. Keys: ``cost``, the sum over the answered rows; ``mean_cost``; ``cost_saved``, 1 - (sum of the costs) /
    (sum of the baseline's), over the rows of which both are known; ``num_unpriced``, the answered rows without a cost.
    """

    name: str = "cost"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the costs; nothing when none is known."""
        if not columns.costs:
            return {}
        total, baseline = math.fsum(columns.costs), math.fsum(columns.baseline_costs)
        found = {"cost": total, "mean_cost": total / len(columns.costs)}
        if baseline > 0:
            found["cost_saved"] = 1 - math.fsum(columns.compared_costs) / baseline
        return {**found, "num_unpriced": columns.answered - len(columns.costs)}


@frozen
class CostOfPass(_ByColumns):
    """Tokens spent, prompt and response, for each row that passes (after Erol et al. 2025, arXiv:2504.13359).

    Keys: ``cost_of_pass``, infinite when nothing passes, and ``num_passing``; ``price_of_pass``, the same in money, input
    and output at their prices, where every answered row has a cost and a gold answer. Rows without a gold answer cannot
    pass, so what they took is not counted.
    """

    threshold: float = 0.7
    score_field: str = "score"
    name: str = "cost_of_pass"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the cost and the number of passing rows."""
        values = columns.values(self.score_field)
        if not values:
            return {}
        passing = sum(value >= self.threshold for value in values)
        found: dict[str, float] = {"cost_of_pass": columns.spent / passing if passing else math.inf}
        if columns.costs and len(columns.costs) == columns.answered and not columns.agreements("score"):
            found["price_of_pass"] = math.fsum(columns.costs) / passing if passing else math.inf
        return {**found, "num_passing": passing}


@frozen
class Latency(_ByColumns):
    """Seconds that the system took, over the rows that it answered. Percentiles interpolate linearly.

    Keys: ``latency_mean``, ``latency_median``, ``latency_p95`` and ``latency_p99``; where it is known how long the system
    took without its model, also ``system_latency_median``, ``system_latency_p95``, ``model_latency_median`` and
    ``model_latency_p95``, over the rows of which it is known.
    """

    name: str = "latency"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean and the percentiles."""
        values = columns.latencies
        if not values:
            return {}
        median, p95, p99 = columns.latencies_at((0.5, 0.95, 0.99))
        return {
            "latency_mean": math.fsum(values) / len(values),
            "latency_median": median,
            "latency_p95": p95,
            "latency_p99": p99,
            **_split_latency("system", columns.system_latencies),
            **_split_latency("model", columns.model_latencies),
        }


@frozen
class PerDatasetBreakdown(_ByColumns):
    """The mean score of each dataset. Keys: ``dataset:LABEL``; rows without a label are ``dataset:unknown``."""

    score_field: str = "score"
    name: str = "per_dataset"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean of each dataset that has a scored or failed row, in order of appearance."""
        found = columns.values_by_label(self.score_field).items()
        return {f"dataset:{label or 'unknown'}": math.fsum(values) / len(values) for label, values in found}


@frozen
class ParetoRank:
    """Where a system stands among the others in quality (more is better) and cost (less is better).

    It needs all systems at once, so :meth:`compute` has nothing to say; :meth:`rank_systems` does the work.

    Attributes:
        quality_field: Summary key to be high.
        cost_field: Summary key to be low.
        method: ``"dominators"``: 1 + the number of systems that are no worse in both and better in one. ``"front"``: 1
            for the Pareto front, 2 for the front once the first is taken away, and so on.
    """

    quality_field: str = "mean_score"
    cost_field: str = "cost_of_pass"
    method: str = "dominators"
    name: str = "pareto_rank"

    def compute(self, rows: Rows) -> dict[str, float]:
        """Return nothing: a rank needs the other systems."""
        return {}

    @staticmethod
    def rank_systems(
        summary: Mapping[str, Mapping[str, float]],
        quality_field: str = "mean_score",
        cost_field: str = "cost_of_pass",
        method: str = "dominators",
    ) -> dict[str, int]:
        """Return the rank of each system that has both values; rank 1 is on the Pareto front.

        >>> ParetoRank.rank_systems({"a": {"mean_score": .9, "cost_of_pass": 10}, "b": {"mean_score": .8, "cost_of_pass": 20}})
        {'a': 1, 'b': 2}
        """
        if method not in ("dominators", "front"):
            raise MetricError(f"ParetoRank's method is 'dominators' or 'front', not {method!r}.")
        points = {
            name: (values[quality_field], -values[cost_field])
            for name, values in summary.items()
            if quality_field in values and cost_field in values
        }
        if method == "dominators":
            return {name: 1 + sum(_dominates(q, p) for q in points.values()) for name, p in points.items()}
        ranks: dict[str, int] = {}
        rank = 1
        while points:
            front = [name for name, p in points.items() if not any(_dominates(q, p) for q in points.values())]
            for name in front:
                ranks[name] = rank
                del points[name]
            rank += 1
        return {name: ranks[name] for name in summary if name in ranks}


def _split_latency(who: str, values: array[float]) -> dict[str, float]:
    if not values:
        return {}
    median, p95 = percentiles(values, (0.5, 0.95))
    return {f"{who}_latency_median": median, f"{who}_latency_p95": p95}


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile of sorted values by linear interpolation (Hyndman and Fan's type 7, numpy's default).

    >>> round(percentile(list(range(1, 21)), 0.95), 2)
    19.05
    """
    place = (len(values) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)


def check_score_field(metric: object, rows: Iterable[EvalRow], declared: Iterable[str]) -> None:
    """Refuse a metric whose ``score_field`` no row has.

    Args:
        metric: The metric.
        rows: All rows; read only when the field is not declared.
        declared: Keys that the manifests of the wired evaluators promise.

    Raises:
        MetricError: Nothing in this run gives the score; the message suggests close names.
    """
    field = getattr(metric, "score_field", None)
    declared = set(declared)
    if field is None or field == "score" or field in declared:
        return
    known = set(declared)
    empty = True
    for row in rows:
        if field in row.scores:
            return
        known.update(row.scores)
        empty = empty and row.failed
    if empty and not declared:
        return  # every row failed: the failures say why there is no score
    name = getattr(metric, "name", type(metric).__name__)
    raise MetricError(
        f"The metric {name} asks for the score {field!r}, which no evaluator of this run gives. {did_you_mean(field, known)}"
    )


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] >= other[0] and one[1] >= other[1] and one != other
