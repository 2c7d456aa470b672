"""``EvalResult.plot()``: a chart of the report on its own, which notebooks show and which is saved as a page."""

from __future__ import annotations

import os
from contextlib import ExitStack
from html import escape
from importlib.resources import files
from typing import Any

from attrs import frozen

from context_bench.console import atomic_write
from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.runs import open_run
from context_bench_html import charts
from context_bench_html.deciding import decide, trade
from context_bench_html.reporter import read, run_file_of

KINDS = ("differences", "tradeoff")


@frozen
class Chart:
    """A chart.

    Attributes:
        svg: The drawing.
        height: Pixels that it takes.
    """

    svg: str
    height: int

    @property
    def page(self) -> str:
        """A page that holds the chart alone and asks for nothing."""
        style = (files("context_bench_html") / "static" / "report.css").read_text("utf-8")
        head = f'<meta charset="utf-8"><title>Chart</title><style>{style}</style>'
        return f'<!doctype html><html lang="en"><head>{head}</head><body><main>{self.svg}</main></body></html>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page into a file.

        Raises:
            ConfigurationError: It cannot be written.
        """
        with atomic_write(path, "The chart") as stream:
            stream.write(self.page)

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox srcdoc="{escape(self.page)}" title="Chart" width="100%" height="{self.height}" '
            'style="border:0"></iframe>'
        )


def plot_result(result: Any, kind: str = "differences") -> Chart:
    """Return a chart of a result.

    Args:
        result: An :class:`~context_bench.EvalResult`.
        kind: ``differences``: each system against the baseline, with intervals; ``tradeoff``: score against cost, prompt
            tokens or latency, with the Pareto front.

    Raises:
        UnknownNameError: There is no such kind.
        ConfigurationError: The result has nothing to draw: one system only, or no costs.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of chart", kind, KINDS)
    with ExitStack() as stack:
        path = run_file_of(result)
        run = stack.enter_context(open_run(path)) if path else None
        found = read(result, result.rows, run)
        if kind == "tradeoff":
            drawn = charts.tradeoff("tradeoff", trade(found, run).front)
        else:
            drawn = charts.forest("forest", decide(found, run).primary_scores)
    if drawn is None:
        raise ConfigurationError(
            f"There is nothing to draw as {kind}: a chart takes two systems with values."
        )
    return Chart(str(drawn), 380)
