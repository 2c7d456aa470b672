"""Does a proxy act in this layout? And if its address is wrong, which one would be right?

A proxy may look at some messages only. Whether it acts is seen in the prompt tokens that the endpoint reports: against the
baseline for the same messages, and from one layout to the next. A system says in its manifest which layouts it has: an
option ``layout`` with choices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit, urlunsplit

from attrs import evolve

from context_bench.errors import ContextBenchError
from context_bench_preflight.diagnostics import NOTE, WARNING, Finding, Reply, token_finding
from context_bench_preflight.probing import Probe
from context_bench_preflight.samples import Sample

_LEAST_SHARE = 0.95
"""A layout helps when it makes the prompt shorter than this share of what is usual in it."""

_LEAST_TOKENS = 40
_TEMPLATE_SHARE = 0.9
"""Without a baseline, layouts are compared with each other, and their templates differ by some tokens, too."""


def try_layouts(
    probe: Probe, samples: Sequence[Sample], baseline: Probe | None, is_baseline: bool
) -> Iterator[Finding]:
    """Find a proxy that is inert in its layout, and the layout in which it is not."""
    plain = {reply.example: reply.prompt_tokens for reply in probe.replies if reply.purpose == "as in the run"}
    known = {name: tokens for name, tokens in plain.items() if tokens is not None}
    if is_baseline or not known:
        return
    longest = max((sample for sample in samples if sample.name in known), key=lambda sample: known[sample.name])
    if baseline is not None:
        yield from _against(probe, baseline, samples, known, longest)
        return
    saved = _saved(probe.replies)
    if saved:
        return
    tokens = {name: reply.prompt_tokens for name, reply in _layouts(probe, longest)}
    counts = {name: count for name, count in tokens.items() if count is not None}
    mine = known[longest.name]
    best = min(counts, key=lambda name: counts[name], default=None)
    told = ", ".join(f"layout={name}: {count:,}" for name, count in counts.items())
    if best is not None and counts[best] < _TEMPLATE_SHARE * mine and mine - counts[best] > _LEAST_TOKENS:
        yield Finding(
            "inert",
            WARNING,
            f"{mine:,} prompt tokens as the run asks; {told}. It acts in another layout only.",
            f"Give it layout={best}.",
            {"prompt_tokens": mine, **counts},
        )
    else:
        others = f"; {told}" if told else ""
        yield Finding(
            "no-baseline",
            NOTE,
            f"{mine:,} prompt tokens as the run asks{others}. There is nothing to compare them with.",
            "Name the endpoint behind it (--baseline URL), and preflight tells whether it compresses.",
            {"prompt_tokens": mine, **counts},
        )


def _against(
    probe: Probe, baseline: Probe, samples: Sequence[Sample], known: Mapping[str, int], longest: Sample
) -> Iterator[Finding]:
    layout = _layout(probe)
    pairs = []
    for sample in samples:
        direct = _baseline_tokens(baseline, sample, layout) if sample.name in known else None
        if direct is not None:
            pairs.append((known[sample.name], direct))
    if _model(probe) != _model(baseline):
        yield Finding(
            "no-baseline",
            NOTE,
            f"it asks for the model {_model(probe)!r}, {baseline.label} for {_model(baseline)!r}: their prompt tokens "
            "cannot be compared.",
            "Ask both for one model.",
        )
        return
    finding = token_finding(pairs, baseline.label)
    if finding is None:
        return
    if finding.name != "inert":
        yield finding
        return
    acting, tried = [], []
    for name, reply in _layouts(probe, longest):
        direct = _baseline_tokens(baseline, longest, name)
        if reply.prompt_tokens is not None and direct is not None:
            tried.append(f"layout={name}: {reply.prompt_tokens:,} for {direct:,}")
            if reply.prompt_tokens < _LEAST_SHARE * direct:
                acting.append((reply.prompt_tokens / direct, name))
    told = f" Other layouts: {', '.join(tried)}." if tried else ""
    if acting:
        share, best = min(acting)
        advice = f"Give it layout={best}: there the prompt is {1 - share:.0%} shorter."
    else:
        advice = (
            "No layout helps. See its log, whether compression is switched on, and whether the prompts are long enough."
        )
    yield evolve(finding, evidence=finding.evidence + told, advice=advice)


def _baseline_tokens(baseline: Probe, sample: Sample, layout: str | None) -> int | None:
    """Return what the baseline reports for an example in a layout; each is asked once."""
    same = layout is None or layout == _layout(baseline)
    purpose = "as in the run" if same else f"layout={layout}"
    for reply in baseline.replies:
        if reply.purpose == purpose and reply.example == sample.name:
            return reply.prompt_tokens
    options = {} if same else {"layout": layout}
    return baseline.ask(purpose, sample.example, sample.name, **options).prompt_tokens


def _layouts(probe: Probe, sample: Sample) -> Iterator[tuple[str, Reply]]:
    """Ask about an example in every other layout that the system declares."""
    found = probe.option("layout")
    if found is None:
        return
    choices, mine = found
    for choice in choices:
        if choice != mine and (choice != "messages" or sample.example.get("messages")):
            yield str(choice), probe.ask(f"layout={choice}", sample.example, sample.name, layout=choice)


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
        if probe.ask("another address", sample.example, sample.name, base_url=address).output is not None:
            return evolve(finding, advice=f"{shown} answers: give that as the address.")
    return evolve(finding, advice=f"{finding.advice} Tried in vain: {', '.join(tried)}.") if tried else finding


def _forms(address: str) -> Iterator[str]:
    parts = urlsplit(address if "//" in address else f"http://{address}")
    path = parts.path.rstrip("/")
    for suffix in ("", "/v1", "/chat/completions"):
        yield urlunsplit((parts.scheme, parts.netloc, suffix, "", ""))
    yield urlunsplit((parts.scheme, parts.netloc, f"{path}/v1", "", ""))
    yield urlunsplit((parts.scheme, parts.netloc, f"{path}/chat/completions", "", ""))
