"""Which lines of a long run a page lists: a sample, all, or those of a kind, so many a page; and where the others are."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from urllib.parse import urlencode

from context_bench_html.sample import MOST_LINES, Sample, page_of, sample_of
from context_bench_html.side_by_side import DIFFERENT, FAILED, IMPROVED, REGRESSED, SideBySide

_KINDS = {"failed": FAILED, "regressed": REGRESSED, "improved": IMPROVED, "different": DIFFERENT}
_ALL = "all"
PAGE = 500
"""Lines of a page."""

FIRST = f"?{urlencode({'lines': _ALL, 'page': 1})}"
"""Asks for the first page of all lines."""


def listed(
    found: SideBySide, kind: str, page: str, most: int = MOST_LINES
) -> tuple[Sample | None, list[tuple[str, str]]]:
    """Return the lines that a page lists, None for all of a run that is not long, and what else there is to list.

    Args:
        found: All lines.
        kind: ``all``, or what the lines are, such as ``failed``; anything else asks for the sample.
        page: Number of the page, from 1; what is no number is the first one, and what is beyond the last the last.
        most: Lines of a sample.

    Returns:
        The lines; and the other lists and pages, as what to call them and an address, which the one that is shown lacks.
    """
    states = found.states
    sample = sample_of(found, states, most)
    if sample is None:
        return None, []
    kinds: dict[str, Sequence[int]] = {_ALL: range(len(states))}
    for name, bit in _KINDS.items():
        lines = array("i", (line for line, state in enumerate(states) if state & bit))
        if lines:
            kinds[name] = lines
    pages = [("a sample", "" if kind not in kinds else _address("", 1))]
    for name, own in kinds.items():
        pages.append((f"{name} ({len(own):,})", "" if name == kind else _address(name, 1)))
    if kind not in kinds:
        return sample, pages
    chosen = kinds[kind]
    last = (len(chosen) - 1) // PAGE + 1
    number = min(max(int(page) if page.isdecimal() and len(page) < 10 else 1, 1), last)
    for name, other in (("previous page", number - 1), ("next page", number + 1)):
        if 1 <= other <= last:
            pages.append((name, _address(kind, other)))
    shown = chosen[(number - 1) * PAGE : number * PAGE]
    what = "lines" if kind == _ALL else f"{kind} lines"
    return page_of(
        found, list(shown), f"Page {number:,} of {last:,} of {what}: {len(shown):,}"
    ), pages


def _address(kind: str, page: int) -> str:
    asked = {"lines": kind, "page": str(page)} if kind else {}
    return f"?{urlencode(asked)}#rows"
