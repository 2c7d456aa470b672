"""The reporter: a result as one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

from context_bench import EvalRow
from context_bench.runs import Run, open_run
from context_bench_html.details import detail_of
from context_bench_html.page import Opened, report_page
from context_bench_html.payload import excerpt_length, texts_of
from context_bench_html.pictures import pictures_of
from context_bench_html.sample import MOST_LINES, add_texts, sample_of
from context_bench_html.side_by_side import SideBySide, side_by_side, with_examples
from context_bench_html.sizes import size_of


class HtmlReporter:
    """Writes one HTML file that needs no network.

    Args:
        texts: How much of it may be full texts, such as ``"20MB"``; those of regressed, failed and different rows come
            first. Scores and beginnings of up to 2,000 lines are always there, and of a longer run those of a sample.

    Raises:
        ConfigurationError: ``texts`` is no size.
    """

    name = "html"

    def __init__(self, texts: str | int = "20MB") -> None:
        self._room = size_of(texts)

    def write(self, result: Any, stream: TextIO) -> None:
        """Write the report of an :class:`~context_bench.EvalResult`."""
        with ExitStack() as stack:
            run = stack.enter_context(open_run(path)) if (path := run_file_of(result)) else None
            rows: Sequence[EvalRow] = (
                list(result.rows) if result.config.get("filter") is not None else result.rows
            )
            is_long = len(rows) > MOST_LINES  # of a row or more a line
            found = read(result, rows, run, excerpt=0 if is_long else None)
            sample = sample_of(found, found.states)
            shown = found if sample is None else sample.found
            if is_long:
                add_texts(shown, rows, run)
            texts = texts_of(shown.states, detail_reader(shown, rows, run), self._room)
            opened = Opened(texts, sample=sample)
            for part in report_page(result, found, run, opened, pictures_of(run)):
                stream.write(part)


def read(
    result: Any, rows: Sequence[EvalRow], run: Run | None, excerpt: int | None = None
) -> SideBySide:
    """Return the rows of a result side by side, with what its examples say where there is a run file.

    Args:
        result: The result.
        rows: Its rows.
        run: The open run, or None.
        excerpt: Letters that are kept of each text; None keeps what there is room for, and 0 none.
    """
    excerpt = excerpt_length(len(rows)) if excerpt is None else excerpt
    config = result.config
    labels, derived = list(config.get("systems", ())), config.get("derived", ())
    found = side_by_side(rows, labels, config.get("baseline"), excerpt, derived)
    if run is not None:
        with_examples(found, run.examples(), excerpt)
    return found


def detail_reader(
    found: SideBySide, rows: Sequence[EvalRow], run: Run | None
) -> Callable[[int], dict[str, Any]]:
    """Return a function that gives everything about a line by its number."""

    def detail(number: int) -> dict[str, Any]:
        indexes = [cells.rows[number] for cells in found.cells]
        content = None if run is None else run.example(found.lines[number].identity).content
        return detail_of(content, [rows[index] for index in indexes if index is not None])

    return detail


def run_file_of(result: Any) -> Path | None:
    """Return the run file of a result, also the temporary one of ``evaluate()``; None when it has none."""
    named = result.config.get("run_file") or getattr(
        getattr(result.rows, "reader", None), "path", None
    )
    return Path(named) if named and Path(named).is_file() else None
