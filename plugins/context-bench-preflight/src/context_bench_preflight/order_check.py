"""Does what a system answers depend on what it was asked before?

The same examples are given three times to the same system: in order, in that order again, and shuffled. Prompt tokens that
differ between them prove history: no sampling noise changes a prompt. Answers that are steady in one order and differ in
the other depend on it; answers that differ already in one order are noise, as far as can be told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from attrs import define, evolve

from context_bench.config import SystemConfig
from context_bench.errors import ConfigurationError, ContextBenchError
from context_bench_preflight.diagnostics import NOTE, WARNING, Finding, Reply
from context_bench_preflight.error_findings import error_findings
from context_bench_preflight.preflight import Checkup
from context_bench_preflight.probing import PATIENCE, Probe
from context_bench_preflight.samples import Sample

PASSES = 3
_NOT_SAID = frozenset({"usage", "latency", "attempts", "headers", "ttft", "envelope"})
_MOST_IDS = 8


@define(eq=False)
class _Passes:
    """What came of each example, by its name: in order, in order again, and shuffled."""

    first: Mapping[str, Reply]
    again: Mapping[str, Reply]
    shuffled: Mapping[str, Reply]


def check_order(
    systems: Sequence[SystemConfig],
    samples: Sequence[Sample],
    baseline: str | None = None,
    seed: int = 0,
    patience: float = PATIENCE,
) -> list[Checkup]:
    """Return for each system whether it depends on history.

    Args:
        systems: The systems; each is set up anew for each pass, at temperature 0 where it has one.
        samples: Examples; at least two, with different names.
        baseline: Label of the system that has no proxy in front of it.
        seed: Seed of the shuffle.
        patience: Seconds that one request may take.

    Raises:
        ConfigurationError: There are fewer than two examples.
    """
    shuffled = shuffle(samples, seed)
    done = []
    for system in systems:
        checkup = Checkup(system.label)
        try:
            passes = [
                _pass(system, some, checkup, patience) for some in (samples, samples, shuffled)
            ]
            checkup.findings += _findings(_Passes(*passes), checkup.requests)
        except ContextBenchError as error:
            checkup.findings.append(
                Finding("cannot-be-set-up", "error", str(error), "Nothing was sent.")
            )
        done.append(checkup)
    return _with_cause(done, baseline)


def shuffle(samples: Sequence[Sample], seed: int) -> list[Sample]:
    """Return examples in another order, the same for the same seed.

    Raises:
        ConfigurationError: There are fewer than two.
    """
    names = [sample.name for sample in samples]
    if len(set(names)) < max(2, len(names)):
        raise ConfigurationError(
            f"An order check needs two examples or more, each with a name of its own; there is {', '.join(names)}."
        )
    shuffled = list(samples)
    chance = Random(seed)
    while [sample.name for sample in shuffled] == names:
        chance.shuffle(shuffled)
    return shuffled


def _pass(
    system: SystemConfig, samples: Sequence[Sample], checkup: Checkup, patience: float
) -> dict[str, Reply]:
    probe = Probe(system, patience)
    checkup.endpoint = probe.endpoint
    for sample in samples:
        probe.ask("order", sample.example, sample.name, temperature=0.0)
    probe.close()
    checkup.requests = [*checkup.requests, *probe.replies]
    return {reply.example: reply for reply in probe.replies}


def _findings(passes: _Passes, replies: Sequence[Reply]) -> Iterator[Finding]:
    yield from error_findings(replies)
    every = (passes.first, passes.again, passes.shuffled)
    names = [name for name in passes.first if all(one[name].output is not None for one in every)]
    if not names:
        return
    prompts = {name: [one[name].prompt_tokens for one in every] for name in names}
    changed = [
        name
        for name in names
        if len({tokens for tokens in prompts[name] if tokens is not None}) > 1
    ]
    if changed:
        shown = "; ".join(
            f"{name}: {'/'.join(f'{tokens:,}' for tokens in _known(prompts[name]))}"
            for name in changed[:4]
        )
        yield Finding(
            "depends-on-history",
            WARNING,
            f"the prompt tokens of {len(changed)} of {len(names)} examples differ with what was asked before ({shown}).",
            "Its figures hold for one order only. Restart it before each run, or switch off what it remembers.",
            {"examples": len(names), "prompts_changed": len(changed), "ids": changed},
        )
    said = {name: [_said(one[name]) for one in every] for name in names if name not in changed}
    noisy = [name for name, (first, again, _) in said.items() if first != again]
    moved = [name for name, (first, again, other) in said.items() if first == again != other]
    if moved and len(moved) > len(noisy):
        beside = f" {len(noisy)} differ in one order already." if noisy else ""
        yield Finding(
            "depends-on-order",
            WARNING,
            f"{len(moved)} of {len(names)} answers are steady in one order and differ in another "
            f"({_some(moved)}).{beside}",
            "What it was asked before is in its answers: a prompt cache, a memory, or a state of its own.",
            {"examples": len(names), "moved": len(moved), "noisy": len(noisy), "ids": moved},
        )
    elif noisy:
        yield Finding(
            "noise",
            NOTE,
            f"{len(noisy)} of {len(names)} answers differ when the same order is asked again, {len(moved)} more in "
            f"another order ({_some([*noisy, *moved])}).",
            "Answers alone cannot show history here; --repeat K measures the spread.",
            {
                "examples": len(names),
                "moved": len(moved),
                "noisy": len(noisy),
                "ids": [*noisy, *moved],
            },
        )


def _with_cause(done: Sequence[Checkup], baseline: str | None) -> list[Checkup]:
    """Tell where the dependence comes from, when the baseline has it as well."""
    names = ("depends-on-order", "depends-on-history")
    plain = [finding.name for one in done if one.label == baseline for finding in one.findings]
    for one in done:
        if one.label != baseline:
            one.findings = [
                evolve(
                    finding,
                    advice=f"{baseline} does so, too: the cause is the server behind it. {finding.advice}",
                )
                if finding.name in names and finding.name in plain
                else finding
                for finding in one.findings
            ]
    return list(done)


def _said(reply: Reply) -> Any:
    said = {name: value for name, value in (reply.output or {}).items() if name not in _NOT_SAID}
    return json.dumps(said, sort_keys=True, default=repr)


def _known(tokens: Sequence[int | None]) -> list[int]:
    return [count for count in tokens if count is not None]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_IDS} more" if len(names) > _MOST_IDS else ""
    return ", ".join(names[:_MOST_IDS]) + more
