"""How many tokens a system saves: by its own text, and by what the endpoint of the model reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from context_bench.metrics import REPORTED, ColumnMetric, Columns


@frozen
class CompressionRatio(ColumnMetric):
    """How much shorter a transformer made the text: 1 - (tokens that it returned) / (tokens of the example).

    One tokenizer counts both, so the metric reads only rows whose output has a ``context`` or another field of the prompt.
    :class:`TrueCompression` compares the counts of endpoints, which come from another tokenizer. Gold answers and responses
    are never counted. 0.0 means that nothing was saved; a negative value, that the text became longer.

    Keys: ``compression_ratio``, ``mean_input_tokens`` and ``mean_output_tokens``.
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
class PromptTokens(ColumnMetric):
    """Prompt tokens that the endpoint of the model reports, over the rows with a reported count.

    Keys: ``mean_prompt_tokens``; and ``cache_read_share``, the share of the prompt tokens that the provider read from its
    cache, where the endpoint reports it.
    """

    name: str = "prompt_tokens"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean and the share."""
        if not columns.reported:
            return {}
        covered = columns.reported / max(columns.answered, columns.reported)
        columns.sources["mean_prompt_tokens"] = (REPORTED, covered)
        values = {"mean_prompt_tokens": columns.reported_tokens / columns.reported}
        if columns.has_cache_counts:
            values["cache_read_share"] = columns.cached_tokens / columns.reported_tokens
        return values


@frozen
class TrueCompression(ColumnMetric):
    """How many prompt tokens the model did not have to read, compared with the rows of the baseline.

    A row is compared with the baseline's row of the same example and repetition, by the prompt tokens that endpoints report.
    Rows where one of the two has no reported count are left out and counted.

    Keys: ``tokens_saved``, 1 - (sum of the prompt tokens) / (sum of the baseline's); ``tokens_saved_mean``, the mean over the
    rows of 1 - (prompt tokens) / (the baseline's); ``compression_factor``, (sum of the baseline's) / (sum of the prompt
    tokens), 2.0 for half the tokens; ``num_compared`` and ``num_uncompared``.
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
        covered = compared / max(columns.answered, compared)
        for key in ("tokens_saved", "tokens_saved_mean", "compression_factor"):
            columns.sources[key] = (REPORTED, covered)
        return {
            "tokens_saved": 1 - columns.compared_tokens / columns.baseline_tokens,
            "tokens_saved_mean": math.fsum(columns.savings) / compared,
            "compression_factor": columns.baseline_tokens / columns.compared_tokens,
            **counts,
        }

    def notes(
        self, summary: Mapping[str, Mapping[str, Any]], config: Mapping[str, Any]
    ) -> Iterator[str]:
        """Yield what the savings are compared with, and whose rows are left out."""
        baseline = config.get("baseline")
        if not baseline:
            return
        if not any("tokens_saved" in values for values in summary.values()):
            yield (
                f"No tokens saved are known against {baseline}: "
                "no row has prompt tokens reported on both sides."
            )
            return
        yield f"tokens saved: prompt tokens as the model's endpoint reports them, against {baseline}."
        yield from _pair_notes(config, baseline)
        uncompared = _uncompared_rows(summary)
        if uncompared:
            counts = ", ".join(f"{count:.0f} of {label}" for label, count in uncompared.items())
            yield (
                "Rows left out of that, because they or their baseline's report no prompt tokens: "
                f"{counts}."
            )


def _uncompared_rows(summary: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return how many rows of a system are not compared, by label, for the systems that have such rows."""
    counts = {}
    for label, values in summary.items():
        if "tokens_saved" not in values or values.get("num_uncompared"):
            counts[label] = values.get("num_uncompared", values.get("num_rows", 0))
    return counts


def _pair_notes(config: Mapping[str, Any], baseline: str) -> Iterator[str]:
    """Yield which systems have another baseline, and which systems are called with other parameters than theirs."""
    baselines = config.get("baselines", {})
    for label, other in baselines.items():
        if label != other:
            yield f"{label} is compared with {other}."
    for label, differences in config.get("unpaired", {}).items():
        current = []
        reference = []
        for parameter, (value, baseline_value) in differences.items():
            current.append(f"{parameter} {_shown(value)}")
            reference.append(f"{parameter} {_shown(baseline_value)}")
        yield (
            f"Not paired: {label} is called with {', '.join(current)}, "
            f"{baselines.get(label, baseline)} with {', '.join(reference)}."
        )


def _shown(value: object) -> str:
    return "unset" if value is None else str(value)
