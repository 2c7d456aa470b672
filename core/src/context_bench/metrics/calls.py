"""Metrics of calls: the tokens that they took and those that were saved, and their time."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

from attrs import frozen

from context_bench.aggregation import NO_SOURCE, REPORTED, Columns, percentiles
from context_bench.metrics.scores import ByColumns


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
        columns.sources["mean_prompt_tokens"] = (REPORTED, columns.reported / max(columns.answered, columns.reported))
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
        counts: dict[str, float] = {"num_compared": compared, "num_uncompared": columns.rows - compared}
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
        passing = sum(value >= self.threshold for value in values)
        found: dict[str, float] = {"num_passing": passing}
        rows = sum(columns.spenders.values())
        source = REPORTED if columns.spenders.get(REPORTED) else next(iter(columns.spenders), NO_SOURCE)
        covered = columns.spenders.get(source, 0) / rows if rows and source != NO_SOURCE else 0.0
        columns.sources["cost_of_pass"] = (source if covered == 1 else NO_SOURCE, covered)
        if covered == 1 or not rows:
            found["cost_of_pass"] = columns.spent.get(source, 0) / passing if passing else math.inf
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
class SpeedRank:
    """Where a system stands among the others in speed: 1 + the systems that are no slower and wait no longer.

    Both count: seconds of the median row from the first sending to its answer, and what the endpoint makes a row wait on
    average. Key: ``speed_rank``, with two systems or more.
    """

    name: str = "speed_rank"

    def compare(self, columns_by_system: Mapping[str, Columns]) -> dict[str, dict[str, float]]:
        """Return the rank of each system that has a latency."""
        points = {
            label: (columns.latencies_at((0.5,))[0], columns.waiting / len(columns.latencies))
            for label, columns in columns_by_system.items()
            if columns.latencies and not columns.is_derived
        }
        if len(points) < 2:
            return {}

        def is_beaten(one: tuple[float, float], other: tuple[float, float]) -> bool:
            return other != one and other[0] <= one[0] and other[1] <= one[1]

        return {
            label: {self.name: 1 + sum(is_beaten(point, other) for other in points.values())}
            for label, point in points.items()
        }


@frozen
class TimeToFirstToken(ByColumns):
    """Seconds to the first token of the answer, where systems measured it.

    Keys: ``first_token_median`` and ``first_token_p95``.
    """

    name: str = "time_to_first_token"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the percentiles."""
        if not columns.first_tokens:
            return {}
        median, p95 = percentiles(columns.first_tokens, (0.5, 0.95))
        return {"first_token_median": median, "first_token_p95": p95}


def _split_latency(who: str, values: array[float]) -> dict[str, float]:
    if not values:
        return {}
    median, p95 = percentiles(values, (0.5, 0.95))
    return {f"{who}_latency_median": median, f"{who}_latency_p95": p95}
