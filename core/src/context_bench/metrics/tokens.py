"""Metrics of tokens: what a transformer saved, what endpoints report, and what passing rows took."""

from __future__ import annotations

import math

from attrs import frozen

from context_bench.aggregation import NO_SOURCE, REPORTED, Columns
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
