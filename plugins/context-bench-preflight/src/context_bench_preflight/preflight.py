"""Preflight: a few requests per system, to find before money is spent what would make its numbers deceive.

Requests are made from examples of the dataset, as the run would send them: there are proxies that change for good when they
see a short prompt, so no other prompt is sent first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import time
from typing import Any
from uuid import uuid4

from attrs import Factory, define, frozen

from context_bench.catalog import Catalog
from context_bench.config import RunConfig, SystemConfig
from context_bench.errors import ContextBenchError
from context_bench.records import shown_seconds
from context_bench.tokens import WordTokenizer
from context_bench_preflight.diagnostics import (
    ERROR,
    NOTE,
    WARNING,
    Finding,
    Reply,
    empty_findings,
    header_findings,
    is_cache_hit,
    limit_findings,
    own_cache,
    stored_findings,
    usage_findings,
)
from context_bench_preflight.error_findings import (
    GOES_ON,
    error_findings,
    error_name,
    model_finding,
    with_models,
)
from context_bench_preflight.layouts import (
    TokenLine,
    ask_layouts,
    layouts_of,
    other_addresses,
    token_lines,
    try_layouts,
)
from context_bench_preflight.probing import PATIENCE, Probe, with_nonce
from context_bench_preflight.samples import Sample, varied_samples
from context_bench_preflight.variety import Nature, nature_of

EXAMPLES = 3
_FAST = 0.1
_SLOW_ENOUGH = 0.2


@define(eq=False)
class Checkup:
    """What preflight found out about one system.

    Attributes:
        label: What it is called in the run.
        endpoint: What it asks, without secrets; None when it asks no endpoint.
        requests: The requests that were sent, with what came of them.
        findings: What the user should know; beside what keeps a system from working, nothing else.
        tokens: Prompt tokens by example and layout, before and after.
        natures: What each example is like, by name.
        unit: What those are counted by: the endpoint, or words of the context where none is asked.
    """

    label: str
    endpoint: str | None = None
    requests: Sequence[Reply] = ()
    findings: list[Finding] = Factory(list)
    tokens: Sequence[TokenLine] = ()
    unit: str = "prompt tokens"
    natures: Mapping[str, Nature] = Factory(dict)

    @property
    def can_work(self) -> bool:
        """Whether nothing was found that keeps the system from working."""
        return all(finding.severity != ERROR for finding in self.findings)


@frozen(eq=False)
class Plan:
    """The systems and examples of a preflight.

    Attributes:
        systems: The systems.
        samples: Examples to ask about.
    """

    systems: Sequence[SystemConfig]
    samples: Sequence[Sample]

    @property
    def baseline(self) -> str | None:
        """Label of the system that the others are compared with."""
        return next((system.label for system in self.systems if system.is_baseline), None)

    def most_requests(self) -> int:
        """Return how many requests all systems together are sent at most."""
        return sum(self._most(Probe(system)) for system in self.systems)

    def _most(self, probe: Probe) -> int:
        try:
            is_endpoint = probe.endpoint is not None
        except ContextBenchError:
            return 0  # it cannot be set up, which is told when it is its turn
        if not is_endpoint:
            return len(self.samples)
        layouts = (
            len(layouts_of(probe, self.samples))
            if len(self.systems) > 1 or probe.label != self.baseline
            else 0
        )
        return len(self.samples) * (1 + layouts) + _BESIDE


_BESIDE = 3
"""The models, one request again, and the same in other words."""


def plan_preflight(catalog: Catalog, config: RunConfig, examples: int = EXAMPLES) -> Plan:
    """Return what a preflight of a config would do; datasets are read, and no system is asked.

    Raises:
        ContextBenchError: There is no system, a name is unknown, or a dataset cannot be read.
    """
    return Plan(SystemConfig.all_of(catalog, config), varied_samples(catalog, config, examples))


def preflight(
    plan: Plan,
    patience: float = PATIENCE,
    on_checked: Callable[[Checkup], None] = lambda one: None,
    on_asking: Callable[[str, int, str], None] = lambda label, number, purpose: None,
) -> list[Checkup]:
    """Ask every system a few times, the baseline first, and return what was found, in the order of the config.

    Args:
        plan: What to do.
        patience: Seconds that one request may take.
        on_checked: Is told of each system as it is done.
        on_asking: Is told of each request before it is sent: the system, the number of the request, and what it is for.
    """
    done: dict[str, Checkup] = {}
    baseline: Probe | None = None
    probes = []
    for system in sorted(plan.systems, key=lambda system: not system.is_baseline):
        probe, label = Probe(system, patience, on_asking), system.label
        probes.append(probe)
        done[label] = _check(probe, plan, None if system.is_baseline else baseline)
        on_checked(done[label])
        if system.is_baseline and done[label].can_work:
            baseline = probe
    for probe in probes:
        probe.close()
    return [done[system.label] for system in plan.systems]


def _check(probe: Probe, plan: Plan, baseline: Probe | None) -> Checkup:
    checkup = Checkup(
        probe.label, natures={one.name: nature_of(one.example) for one in plan.samples}
    )
    try:
        checkup.endpoint = probe.endpoint
        checkup.findings += list(_findings(probe, plan, baseline))
    except ContextBenchError as error:
        advice = "Nothing was sent."
        checkup.findings.append(Finding("cannot-be-set-up", ERROR, str(error), advice))
    checkup.requests = list(probe.replies)
    if not checkup.can_work:
        checkup.findings = [finding for finding in checkup.findings if finding.severity == ERROR]
    elif checkup.endpoint is None:
        checkup.unit, checkup.tokens = "words of context", list(_context_words(plan, probe.replies))
    else:
        checkup.tokens = token_lines(probe, baseline)
    return checkup


def _context_words(plan: Plan, replies: Sequence[Reply]) -> Iterator[TokenLine]:
    """Yield how long the context of each example was, and how long a transformer left it."""
    given = {sample.name: sample.example.get("context") for sample in plan.samples}
    count = WordTokenizer().count
    for reply in replies:
        before, after = given.get(reply.example), (reply.output or {}).get("context")
        if isinstance(before, str) and isinstance(after, str):
            yield TokenLine(reply.example, "", count(before), count(after), True)


def _findings(probe: Probe, plan: Plan, baseline: Probe | None) -> Iterator[Finding]:
    asked_at = time()
    plain = list(_plain(probe, plan.samples))
    is_endpoint = probe.endpoint is not None
    found = error_findings(plain)
    works = any(reply.output is not None for reply in plain)
    may_list = is_endpoint and (
        works or any(f.name not in ("unreachable", "timeout") for f in found)
    )
    offered = _offered(probe) if may_list else []
    model = _text(probe.option("model"))
    for finding in found:
        named = with_models(finding, model, offered)
        if named.name == "wrong-url" and not works:
            named = other_addresses(probe, plan.samples[0], named)
        yield named
    if not works:
        return
    yield from empty_findings(plain)
    yield from _without_output(plain)
    if not is_endpoint:
        yield from _unchanged(probe, plan, plain)
        return
    answered_by = next((_answered_by(reply) for reply in plain if reply.output is not None), None)
    listed = model_finding(model, offered, answered_by)
    if listed is not None:
        yield listed
    yield from usage_findings(plain)
    yield from header_findings(plain)
    yield from _cache(probe, plan, plain, asked_at)
    if probe.label == plan.baseline and len(plan.systems) > 1:
        ask_layouts(probe, plan.samples, layouts_of(probe, plan.samples))
    yield from try_layouts(probe, plan.samples, baseline, probe.label == plan.baseline)
    yield from limit_findings(probe.replies)


def _plain(probe: Probe, samples: Sequence[Sample]) -> Iterator[Reply]:
    """Ask about each example as the run would; stop where no other would fare better."""
    for sample in samples:
        reply = probe.ask("as in the run", sample.example, sample.name)
        yield reply
        if reply.error is not None and error_name(reply.error) not in GOES_ON:
            return


def _offered(probe: Probe) -> list[str]:
    found = probe.models()
    return found if isinstance(found, list) else []


def _cache(probe: Probe, plan: Plan, plain: Sequence[Reply], asked_at: float) -> Iterator[Finding]:
    """Ask one request again; when the answer looks stored, ask it in other words to be sure."""
    at_first = list(
        stored_findings([reply for reply in plain if reply.output is not None], asked_at)
    )
    yield from at_first
    place = next(place for place, reply in enumerate(plain) if reply.output is not None)
    first, sample = plain[place], plan.samples[place]
    again = probe.ask("the same again", sample.example, sample.name)
    if again.output is None or at_first:
        return
    is_same = again.id is not None and (again.id, again.created) == (first.id, first.created)
    is_fast = first.seconds > _SLOW_ENOUGH and again.seconds < _FAST * first.seconds
    hit = is_cache_hit(again)
    if not (is_same or is_fast or hit):
        return
    other = with_nonce(sample.example, f"preflight {uuid4().hex[:8]}")
    new = probe.ask("in other words", other, sample.name) if other is not None else None
    fresh = new if new is not None and new.output is not None else None
    said = []
    if is_same and fresh is not None and fresh.id != again.id:
        said.append(
            "the same request twice has one id"
            + (" and one date" if again.created is not None else "")
        )
    if hit and (fresh is None or is_cache_hit(fresh) is None):
        said.append(f"the second reply says {hit!r}")
    if is_fast and (fresh is None or again.seconds < _FAST * fresh.seconds):
        other_words = "" if fresh is None else f", {shown_seconds(fresh.seconds)} in other words"
        took, then = shown_seconds(first.seconds), shown_seconds(again.seconds)
        said.append(f"the first reply took {took}, the second {then}{other_words}")
    if said:
        figures = {
            "first_seconds": first.seconds,
            "second_seconds": again.seconds,
            "same_id": is_same,
        }
        yield own_cache("; ".join(said) + ".", figures)


def _without_output(replies: Sequence[Reply]) -> Iterator[Finding]:
    useless = [
        r for r in replies if r.output is not None and not ({"response", "context"} & set(r.output))
    ]
    if useless:
        keys = ", ".join(sorted(map(str, useless[0].output or {}))) or "nothing"
        yield Finding(
            "no-output",
            ERROR if len(useless) == len(replies) else WARNING,
            f"{len(useless)} of {len(replies)} outputs have neither a response nor a context. They have: {keys}.",
            "A system returns {'response': ...}, or {'context': ...} for a reader.",
            {"outputs": len(useless)},
        )


def _unchanged(probe: Probe, plan: Plan, replies: Sequence[Reply]) -> Iterator[Finding]:
    """Find a context transformer that returns its input unchanged."""
    pairs = [
        (sample.example.get("context"), reply.output["context"])
        for sample, reply in zip(plan.samples, replies)
        if reply.output is not None
        and "context" in reply.output
        and sample.example.get("context") is not None
    ]
    if pairs and all(given == returned for given, returned in pairs):
        size = sum(len(str(given)) for given, _ in pairs)
        yield Finding(
            "inert",
            NOTE if probe.label == plan.baseline else WARNING,
            f"{len(pairs)} of {len(pairs)} contexts ({size:,} characters) came back unchanged.",
            "Is it switched on, and are the examples long enough for it? As a baseline this is right.",
            {"contexts": len(pairs), "characters": size},
        )


def _text(found: tuple[Any, Any] | None) -> str | None:
    return None if found is None or found[1] is None else str(found[1])


def _answered_by(reply: Reply) -> str | None:
    found: Mapping[str, Any] = reply.output or {}
    return str(found["model"]) if found.get("model") else None
