"""What a passing row takes in tokens."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from context_bench.metrics import NO_SOURCE, REPORTED, SOURCES, ColumnMetric, Columns

_SOURCE_PHRASES = {REPORTED: "as its endpoint reports them", NO_SOURCE: "not all from one source"}


@frozen
class CostOfPass(ColumnMetric):
    """Tokens spent, prompt and response, for each row that passes (after Erol et al. 2025, arXiv:2504.13359).

    Rows without a gold answer cannot pass, so their tokens are not counted. The tokens of a failed row are unknown.

    Counts that endpoints report and counts of core's tokenizer are never added: without one source for every answered row
    there is no ``cost_of_pass``, and ``columns.sources`` contains the share of the rows that the reported counts cover.

    Keys: ``cost_of_pass``, infinite when no row passes, and ``num_passing``.
    """

    threshold: float = 0.7
    score_field: str = "score"
    name: str = "cost_of_pass"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the cost and the number of passing rows."""
        if not columns.values(self.score_field):
            return {}
        passing = columns.passing(self.score_field, self.threshold)
        values: dict[str, float] = {"num_passing": passing}
        rows = sum(columns.spenders.values())
        if not rows:  # no answer, so no two sources that could differ
            values["cost_of_pass"] = math.inf
            return values
        source = REPORTED if columns.spenders.get(REPORTED) else next(iter(columns.spenders))
        covered = 0.0 if source == NO_SOURCE else columns.spenders[source] / rows
        if covered < 1:
            columns.sources["cost_of_pass"] = (NO_SOURCE, covered)
            return values
        columns.sources["cost_of_pass"] = (source, covered)
        values["cost_of_pass"] = columns.spent[source] / passing if passing else math.inf
        return values

    def notes(
        self, summary: Mapping[str, Mapping[str, Any]], config: Mapping[str, Any]
    ) -> Iterator[str]:
        """Yield where token counts come from, unless that is the same for all systems and rows."""
        sources = {}
        for label, values in summary.items():
            source = values.get(SOURCES, {}).get("cost_of_pass")
            if source is not None:
                sources[label] = source
        names = {source["source"] for source in sources.values()}
        if len(names) < 2 and all(source["covered"] == 1 for source in sources.values()):
            return
        phrases = [f"{label} {_source_phrase(entry['source'])}" for label, entry in sources.items()]
        yield (
            f"Tokens: {'; '.join(phrases)}. Counts from different sources are neither added nor ranked; "
            "- (50 %): half the rows have one."
        )


def _source_phrase(source: str) -> str:
    return _SOURCE_PHRASES.get(source, f"counted by the tokenizer {source}")
