"""Reporters: a result as a terminal table, Markdown, strict JSON or CSV."""

from __future__ import annotations

from context_bench.reporters.terminal import TableReporter
from context_bench.reporters.text import CsvReporter, JsonReporter, MarkdownReporter

__all__ = ["CsvReporter", "JsonReporter", "MarkdownReporter", "TableReporter"]
