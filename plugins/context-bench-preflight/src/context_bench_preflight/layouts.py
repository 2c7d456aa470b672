"""Does a proxy act in this layout? And if its address is wrong, which one would be right?

A proxy may look at some messages only. Whether it acts is seen in the prompt tokens that the endpoint reports: against the
baseline for the same messages, and from one layout to the next. A system says in its manifest which layouts it has: an
option ``layout`` with choices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit, urlunsplit

from attrs import evolve, frozen

from context_bench.errors import ContextBenchError
from context_bench_preflight.diagnostics import NOTE, WARNING, Finding, Reply, token_finding
from context_bench_preflight.probing import Probe
from context_bench_preflight.samples import Sample

_LEAST_SHARE = 0.95
"""A layout helps when it makes a prompt shorter than this share of what is usual in it."""

_LEAST_TOKENS = 40
_TEMPLATE_SHARE = 0.9
"""Without a baseline, layouts are compared with each other, and their templates differ by some tokens, too."""


@frozen
class TokenLine:
    """Prompt tokens of one example in one layout.

    Attributes:
        example: Its name.
        layout: The layout; empty where the system has none.
        before: What the baseline reports for it; None where there is no baseline, or it reports none.
        after: What the system reports.
        is_own: Whether the run asks so.
    """

    example: str
    layout: str
    before: int | None
    after: int
    is_own: bool

    @property
    def saved(self) -> float | None:
        """The share of the prompt that the system took away; None where nobody knows."""
        return None if not self.before else 1 - self.after / self.before


def layouts_of(probe: Probe, samples: Sequence[Sample]) -> list[str]:
    """Return the layouts of a system besides its own, which some of the examples can be asked in."""
    found = probe.option("layout")
    if found is None:
        return []
    choices, mine = found
    return [
        str(choice)
        for choice in choices
        if choice != mine and any(_fits(choice, one) for one in samples)
    ]


def ask_layouts(probe: Probe, samples: Sequence[Sample], layouts: Sequence[str]) -> None:
    """Ask a system about each example in each of these layouts that it fits."""
    for layout in layouts:
        for sample in samples:
            if _fits(layout, sample):
                probe.ask(f"layout={layout}", sample.example, sample.name, layout=layout)


def _fits(layout: object, sample: Sample) -> bool:
    return layout != "messages" or bool(sample.example.get("messages"))


def token_lines(probe: Probe, baseline: Probe | None) -> list[TokenLine]:
    """Return the prompt tokens of each example in each layout that was asked."""
    own = _layout(probe) or ""
    direct = {} if baseline is None else _reported(baseline, _layout(baseline) or "")
    return [
        TokenLine(name, layout, direct.get((name, layout)), tokens, layout == own)
        for (name, layout), tokens in _reported(probe, own).items()
    ]


def _reported(probe: Probe, own: str) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for reply in probe.replies:
        is_plain = reply.purpose == "as in the run"
        if reply.prompt_tokens is not None and (is_plain or reply.purpose.startswith("layout=")):
            layout = own if is_plain else reply.purpose.partition("=")[2]
            found.setdefault((reply.example, layout), reply.prompt_tokens)
    return found


def try_layouts(
    probe: Probe, samples: Sequence[Sample], baseline: Probe | None, is_baseline: bool
) -> Iterator[Finding]:
    """Ask in every layout, and find a proxy that is inert in its own, and the layout in which it is not."""
    lines = token_lines(probe, baseline)
    if is_baseline or not lines:
        return
    if baseline is not None and _model(probe) != _model(baseline):
        yield Finding(
            "no-baseline",
            NOTE,
            f"it asks for the model {_model(probe)!r}, {baseline.label} for {_model(baseline)!r}: their prompt tokens "
            "cannot be compared.",
            "Ask both for one model.",
        )
        return
    if baseline is None and _saved(probe.replies):
        return
    ask_layouts(probe, samples, layouts_of(probe, samples))
    lines = token_lines(probe, baseline)
    yield from _alone(lines) if baseline is None else _against(lines, baseline.label)


def _alone(lines: Sequence[TokenLine]) -> Iterator[Finding]:
    totals = _totals(lines)
    mine = totals.pop(next(line.layout for line in lines if line.is_own))
    count = len({line.example for line in lines if line.is_own})
    best = min(totals, key=lambda name: totals[name], default=None)
    told = ", ".join(f"layout={name}: {total:,}" for name, total in totals.items())
    on_these = f"on {these(count)}"
    if (
        best is not None
        and totals[best] < _TEMPLATE_SHARE * mine
        and mine - totals[best] > _LEAST_TOKENS
    ):
        yield Finding(
            "inert",
            WARNING,
            f"{mine:,} prompt tokens as the run asks {on_these}; {told}. It acts in another layout only.",
            f"Give it layout={best}.",
            {"prompt_tokens": mine, **totals},
        )
    else:
        others = f"; {told}" if told else ""
        yield Finding(
            "no-baseline",
            NOTE,
            f"{mine:,} prompt tokens as the run asks {on_these}{others}. There is nothing to compare them with.",
            "Name the endpoint behind it (--baseline URL), and preflight tells whether it compresses.",
            {"prompt_tokens": mine, **totals},
        )


def _totals(lines: Sequence[TokenLine]) -> dict[str, int]:
    """Return the tokens of each layout over the examples, of those layouts that all of them were asked in."""
    names = {line.example for line in lines if line.is_own}
    totals: dict[str, int] = {}
    for layout in dict.fromkeys(line.layout for line in lines):
        of_it = [line for line in lines if line.layout == layout and line.example in names]
        if len(of_it) == len(names):
            totals[layout] = sum(line.after for line in of_it)
    return totals


def _against(lines: Sequence[TokenLine], baseline: str) -> Iterator[Finding]:
    own = [line for line in lines if line.is_own and line.before is not None]
    finding = token_finding([(line.after, line.before or 0) for line in own], baseline)
    if finding is None:
        return
    if finding.name != "inert":
        yield finding
        return
    told, acting = [], []
    for layout in dict.fromkeys(line.layout for line in lines if not line.is_own):
        tried = [line for line in lines if line.layout == layout and line.before]
        if not tried:
            continue
        after, before = sum(line.after for line in tried), sum(line.before or 0 for line in tried)
        told.append(f"layout={layout}: {after:,} for {before:,}")
        helped = [line for line in tried if line.after < _LEAST_SHARE * (line.before or 0)]
        if helped:
            acting.append((after / before, layout, len(helped), len(tried)))
    evidence = f"{finding.evidence} Other layouts: {', '.join(told)}." if told else finding.evidence
    if acting:
        share, best, helped_of, asked = min(acting)
        some = "" if helped_of == asked else f", which comes of {helped_of} of them"
        advice = f"Give it layout={best}: there the prompt is {1 - share:.0%} shorter on {these(asked)}{some}."
    else:
        advice = (
            f"No layout helps on {these(len(own))}. See its log, whether compression is switched on, and whether the "
            "prompts are long enough."
        )
    yield evolve(finding, evidence=evidence, advice=advice)


def these(count: int) -> str:
    """Return what a few examples are called."""
    return "this example" if count == 1 else f"these {count} examples"


def _layout(probe: Probe) -> str | None:
    found = probe.option("layout")
    return None if found is None else str(found[1])


def _model(probe: Probe) -> str | None:
    found = probe.option("model")
    return None if found is None else str(found[1])


def _saved(replies: Sequence[Reply]) -> bool:
    """Whether a header counts tokens that were saved."""
    return any(
        "saved" in name and re.fullmatch(r"\d+(\.\d+)?", value.strip()) and float(value) > 0
        for reply in replies
        for name, value in reply.headers.items()
    )


def other_addresses(probe: Probe, sample: Sample, finding: Finding) -> Finding:
    """Return the finding of a wrong address with the forms of it that were tried, and the one that works."""
    found = probe.option("base_url")
    if found is None or not isinstance(found[1], str):
        return finding
    tried = []
    for address in _forms(found[1]):
        try:
            shown = probe.endpoint_with(base_url=address)
        except ContextBenchError:
            continue
        if shown is None or shown == probe.endpoint or shown in tried:
            continue
        tried.append(shown)
        if (
            probe.ask("another address", sample.example, sample.name, base_url=address).output
            is not None
        ):
            return evolve(finding, advice=f"{shown} answers: give that as the address.")
    return (
        evolve(finding, advice=f"{finding.advice} Tried in vain: {', '.join(tried)}.")
        if tried
        else finding
    )


def _forms(address: str) -> Iterator[str]:
    parts = urlsplit(address if "//" in address else f"http://{address}")
    path = parts.path.rstrip("/")
    for suffix in ("", "/v1", "/chat/completions"):
        yield urlunsplit((parts.scheme, parts.netloc, suffix, "", ""))
    yield urlunsplit((parts.scheme, parts.netloc, f"{path}/v1", "", ""))
    yield urlunsplit((parts.scheme, parts.netloc, f"{path}/chat/completions", "", ""))
