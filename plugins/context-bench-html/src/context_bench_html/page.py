"""The page: everything that a template shows of a result, and the template with its style and script put in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from attrs import frozen
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from context_bench_compare.rendering import RATIO_NAMES
from context_bench_html import charts
from context_bench_html.deciding import Decision, Trade, decide, trade
from context_bench_html.embedding import embedded, policy_hash, visible
from context_bench_html.heat_maps import HeatMap, by_dataset, by_needle
from context_bench_html.payload import Texts, rows_payload
from context_bench_html.pictures import Picture, drawn
from context_bench_html.sample import Sample
from context_bench_html.side_by_side import (
    DIFFERENT,
    FAILED,
    IMPROVED,
    REGRESSED,
    SideBySide,
    array_of,
)
from context_bench_html.summary import main_tables, score_table
from context_bench_html.svg import number


@frozen(eq=False)
class Opened:
    """How the rows of a page get their full texts.

    Attributes:
        texts: Full texts that the page holds.
        address: Where a server has each line's, by its name; None in a file.
        status: Where a server says how far the run is, for a page that follows it; None in a file.
        home: Where the list of runs is; None in a file.
        notes: Where a server keeps what persons say of rows; None in a file.
        sample: The lines that the page holds, where these are not all.
        rest: Where a server has the page with what takes all rows of a long run; None where this is it.
        pages: Where a server lists other lines: what to call them, and the address; the ones that are shown have none.
    """

    texts: Texts
    address: str | None = None
    status: str | None = None
    home: str | None = None
    notes: str | None = None
    sample: Sample | None = None
    rest: str | None = None
    pages: Sequence[tuple[str, str]] = ()


def report_page(
    result: Any, found: SideBySide, run: Any, opened: Opened, pictures: Sequence[Picture] = ()
) -> Iterable[str]:
    """Return the report of a result as parts of an HTML document.

    Args:
        result: The result.
        found: Its rows side by side.
        run: The open run, or None.
        opened: How full texts are had.
        pictures: What packages add.
    """
    decision = decide(found, run)
    return _page(
        result,
        found if opened.sample is None else opened.sample.found,
        opened,
        headline=result.verdict(),
        decision=decision,
        baseline=None if found.baseline is None else found.cells[found.baseline].label,
        notes=_notes(result),
        scores=score_table(result),
        charts=_charts(found, decision),
        trade=trade(found, run),
        pictures=[(drawn(f"picture-{number}", one), one) for number, one in enumerate(pictures)],
        heat_maps=_heat_maps(found),
        counts={"lines": len(found.lines), **_counts(found.states)},
    )


def first_page(result: Any, opened: Opened) -> Iterable[str]:
    """Return the report of a long run before all its rows are read, as parts of an HTML document: some lines, and what the
    run file tells of all rows.

    Args:
        result: The result as it is stored.
        opened: How full texts and the rest are had; its sample are the lines.
    """
    assert opened.sample is not None
    return _page(
        result,
        opened.sample.found,
        opened,
        headline=None,
        decision=Decision(),
        baseline=None,
        notes=(),
        scores=score_table(result),
        charts=dict.fromkeys(_CHARTS),
        trade=Trade(),
        pictures=(),
        heat_maps=(),
        counts={},
    )


def _page(result: Any, shown: SideBySide, opened: Opened, **values: Any) -> Iterable[str]:
    """Return a report of which some lines are shown, given the values of the template that are not the same for each."""
    rows = rows_payload(
        shown,
        shown.states,
        opened.texts,
        opened.address,
        opened.notes,
    )
    parts: Iterable[str] = template("report.html").generate(
        title=title_of(result),
        result=result,
        completeness=result.completeness,
        tables=main_tables(result),
        run_file=result.config.get("run_file"),
        left_out=opened.texts.left_out,
        provenance=provenance_of(result),
        rows=rows,
        opened=opened,
        **values,
    )
    return parts


def template(name: str, package: str = "context_bench_html") -> Any:
    """Return a template of a package, which may use those of this one; whatever is put into it is escaped."""
    return _environment(package).get_template(name)


@cache
def _environment(package: str = "context_bench_html") -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("context_bench_html")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: (
            visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
        ),
    )
    static = {
        name: (files("context_bench_html") / "static" / name).read_text("utf-8")
        for name in ("report.css", "report.js")
    }
    style, script = static["report.css"], static["report.js"]
    environment.globals.update(
        style=Markup(style),
        script=Markup(script),
        policy=f"default-src 'none'; style-src {policy_hash(style)}; script-src {policy_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
        number=number,
        embedded=embedded,
        drawn_tradeoff=charts.tradeoff,
        measure_of=charts.measure_of,
        ratio_names=RATIO_NAMES,
    )
    return environment


def policy(connects: bool = False) -> str:
    """Return the content security policy of a page: its own style and script, and no address, or that of its own server."""
    own = str(_environment().globals["policy"])
    return (
        own.replace("form-action 'none'", "form-action 'self'; connect-src 'self'")
        if connects
        else own
    )


def title_of(result: Any) -> str:
    """Return what a run is called: its systems and its datasets."""
    config = result.config
    systems = ", ".join(map(str, config.get("systems", ()))) or "no system"
    datasets = ", ".join(filter(None, map(str, config.get("datasets", ())))) or "examples"
    return f"{systems} on {datasets}"


def provenance_of(result: Any) -> list[tuple[str, str]]:
    """Return where the numbers come from, as names and texts."""
    config, provenance = result.config, result.config.get("provenance") or {}
    told = [
        ("run file", config.get("run_file")),
        ("examples", config.get("num_examples")),
        ("rows", len(result.rows)),
        ("evaluators", ", ".join(map(str, config.get("evaluators", ())))),
        ("metrics", ", ".join(str(metric.name) for metric in result.metrics)),
        ("context-bench", provenance.get("context_bench") or provenance.get("version")),
        ("python", provenance.get("python")),
    ]
    return [(name, str(value)) for name, value in told if value not in (None, "")]


def _notes(result: Any) -> list[str]:
    """Return what a reader must know beside the numbers; how complete they are and warnings stand above them."""
    above = {*result.completeness.sentences, *(f"Warning: {line}" for line in result.warnings)}
    return [note for note in result.notes() if note not in above]


_CHARTS = ("forest", "forest_datasets", "forest_scores", "score", "latency")


def _charts(found: SideBySide, decision: Decision) -> dict[str, Any]:
    return {
        "forest": charts.forest("forest", decision.primary_scores),
        "forest_datasets": charts.forest("forest-datasets", decision.datasets),
        "forest_scores": charts.forest("forest-scores", decision.scores),
        "score": _histograms(
            "score", "Scores", found, [array_of(cells.values) for cells in found.cells]
        ),
        "latency": _histograms(
            "latency",
            "Latency",
            found,
            [array_of(cells.latency) for cells in found.cells],
            log=True,
        ),
    }


def _histograms(
    name: str, title: str, found: SideBySide, columns: Sequence[Any], log: bool = False
) -> list[Markup]:
    known = [column[column > 0 if log else column == column] for column in columns]
    ends = [end for column in known if len(column) for end in (column.min(), column.max())]
    if not ends:
        return []
    low, high = (min(ends), max(ends)) if log else (min(0.0, *ends), max(1.0, *ends))
    bins = charts.Bins.of(columns, low, high, log)
    return [
        charts.histogram(f"{name}-{place}", title, cells.label, column, bins, place)
        for place, (cells, column) in enumerate(zip(found.cells, columns))
    ]


def _heat_maps(found: SideBySide) -> list[HeatMap]:
    maps = [by_dataset(found)] if len(found.datasets) > 1 else []
    return [*maps, *by_needle(found)]


def _counts(states: Sequence[int]) -> dict[str, int]:
    bits = {"regressed": REGRESSED, "different": DIFFERENT, "improved": IMPROVED, "failed": FAILED}
    return {name: int(np.count_nonzero(np.array(states) & bit)) for name, bit in bits.items()}
