"""What a run tells of itself: where it ran and what it was given, and which of its systems are held against which."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from context_bench import __version__
from context_bench.plugins.catalog import Catalog
from context_bench.records import REPORTED_CURRENCY
from context_bench.store.reader import RunReader

if TYPE_CHECKING:
    from context_bench.protocols import Metric

ASKED = (
    "model", "layout", "system_prompt", "prompt_template", "endpoint", "temperature", "top_p", "top_k", "seed", "stop",
    "max_tokens", "max_completion_tokens", "context_tokens", "thinking_budget", "extra_body",
)  # fmt: skip
"""Options of endpoints that decide what is asked: layout, sampling and limits."""
_NOT_SAMPLING = ("stream", "stream_options", "n", "user")


def provenance(catalog: Catalog) -> dict[str, Any]:
    """Return versions, plugins with their manifests' hashes, and git state; nothing that is secret."""
    distributions = {component.distribution.name: component.distribution for component in catalog}
    return {
        "context_bench": __version__,
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": platform.system(),
        "machine": platform.machine(),
        "plugins": {
            name: {"version": distribution.version, "manifest_sha256": distribution.manifest_hash}
            for name, distribution in sorted(distributions.items())
        },
        "git": _git_state(),
    }


def used_distributions(store: RunReader) -> set[str]:
    """Return core and the distributions whose components a run uses, those met so far."""
    systems = [
        step
        for entry in store.systems()
        for step in entry["description"].get("steps", [entry["description"]])
    ]
    names = [step.get("adapter", "") for step in systems]
    names += [entry["description"].get("component", "") for entry in store.datasets()]
    names += [entry["provenance"].get("evaluator", "") for entry in store.evaluators()]
    return {"context-bench", *(name.partition("/")[0] for name in names if "/" in name)}


def dependencies(names: Iterable[str]) -> dict[str, dict[str, str | None]]:
    """Return, for each of these distributions, the versions of what it requires; None for what is not installed.

    Requirements for another system or of an extra are named only where they are installed.
    """
    from importlib_metadata import Distribution, PackageNotFoundError

    from context_bench.plugins.discovery import requirement_names

    @cache
    def version(name: str) -> str | None:
        try:
            return str(Distribution.from_name(name).version)
        except PackageNotFoundError:
            return None

    versions: dict[str, dict[str, str | None]] = {}
    for name in sorted(set(names)):
        if version(name) is None:
            continue
        needed = requirement_names(Distribution.from_name(name).requires or ())
        versions[name] = {
            other: version(other)
            for other, is_unconditional in sorted(needed.items())
            if is_unconditional or version(other) is not None
        }
    return versions


def told_of(store: RunReader, metrics: Sequence[Metric]) -> dict[str, Any]:
    """Return what a result's config says of the run that its file holds."""
    labels = store.labels()
    return {
        "systems": [entry["label"] for entry in store.systems()],
        **comparison_of(store),
        "datasets": list(dict.fromkeys(label.dataset for label in labels)),
        "evaluators": [entry["id"] for entry in store.evaluators()],
        "wiring": {label.label: label.plan for label in labels},
        "metrics": [metric.name for metric in metrics],
        "num_examples": sum(entry["length"] or 0 for entry in store.datasets()),
    }


def comparison_of(store: RunReader) -> dict[str, Any]:
    """Return what a result's config says of baseline, reference, oracles, derived rows and money, where the run has them."""
    systems = store.systems()
    told: dict[str, Any] = {
        trait: found
        for trait in ("reads_gold", "derived")
        if (found := [entry["label"] for entry in systems if entry["description"].get(trait)])
    }
    for entry in systems:
        roles = {
            "baseline": entry["system_number"] == store.baseline(),
            "reference": "reference" in entry["description"],
        }
        told |= {role: entry["label"] for role, is_its in roles.items() if is_its}
    if "baseline" in told:
        told |= _pairs_of(store, told["baseline"])
    billed = [
        entry["description"]["billing"] for entry in systems if "billing" in entry["description"]
    ]
    billing: dict[str, str] = billed[0] if billed else {}
    told["currency"] = billing.get("currency", REPORTED_CURRENCY)
    return told | ({"prices_date": billing["date"]} if billing.get("date") else {})


def _pairs_of(store: RunReader, baseline: str) -> dict[str, Any]:
    """Return which systems are held against another baseline, and which are asked otherwise than theirs, and how."""
    systems, paired = {entry["system_number"]: entry for entry in store.systems()}, store.paired()
    held = {
        entry["label"]: systems[paired[slot]] for slot, entry in systems.items() if slot in paired
    }
    [main] = [entry for entry in systems.values() if entry["label"] == baseline]
    found = {
        entry["label"]: unpaired(
            entry["description"], held.get(entry["label"], main)["description"]
        )
        for entry in systems.values()
    }
    told: dict[str, Any] = (
        {"baselines": {label: other["label"] for label, other in held.items()}} if held else {}
    )
    unequal = {
        label: {name: list(pair) for name, pair in how.items()}
        for label, how in found.items()
        if how
    }
    return told | ({"unpaired": unequal} if unequal else {})


def held_against(
    labels: Sequence[str], baseline: str | None, descriptions: Sequence[Mapping[str, Any]]
) -> dict[int, int]:
    """Return the slots that are held against another baseline than the first, by slot: that with their own parameters.

    Args:
        labels: Labels of all systems, by slot.
        baseline: Label of the first baseline.
        descriptions: What is recorded of each system.
    """
    others = [
        slot
        for slot, label in enumerate(labels)
        if baseline is not None and label.startswith(f"{baseline}:")
    ]
    found = {slot: slot for slot in others}
    for slot, description in enumerate(descriptions):
        if slot not in found and labels[slot] != baseline and others:
            main = descriptions[labels.index(str(baseline))]
            if unpaired(description, main):
                twins = [
                    other for other in others if not unpaired(description, descriptions[other])
                ]
                found |= {slot: twins[0]} if twins else {}
    return found


def unpaired(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return in what two systems are asked differently - layout, sampling, limits - as far as they say, by parameter."""
    left, right = _asked(one), _asked(other)
    if left is None or right is None:
        return {}
    return {
        name: (left.get(name), right.get(name))
        for name in left | right
        if left.get(name) != right.get(name)
    }


def _asked(description: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the request parameters that a recorded system tells: those of the endpoint, which is a chain's last step."""
    last = description["steps"][-1] if description.get("steps") else description
    told = last.get("fingerprint")
    if not isinstance(told, Mapping) or not {"model", "parameters"} <= told.keys():
        return None
    sampling = told["parameters"] if isinstance(told["parameters"], Mapping) else {}
    asked = {name: told.get(name) for name in ASKED if name in told and name != "endpoint"}
    return asked | {name: value for name, value in sampling.items() if name not in _NOT_SAMPLING}


def _git_state() -> dict[str, Any] | None:
    commit, changes = (
        _git("rev-parse", "HEAD"),
        _git("status", "--porcelain", "--untracked-files=no"),
    )
    return None if commit is None else {"commit": commit, "dirty": bool(changes)}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
