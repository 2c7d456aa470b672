"""A report of a run as one HTML file that needs no network: verdicts first, charts, and every row."""

from __future__ import annotations

from context_bench_html.reporter import HtmlReporter

__all__ = ["HtmlReporter"]
