"""Reports for files and other programs: Markdown, and CSV."""

from __future__ import annotations

from context_bench_reports.comma_separated import CsvReporter
from context_bench_reports.markdown import MarkdownReporter

__all__ = ["CsvReporter", "MarkdownReporter"]
