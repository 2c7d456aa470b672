"""Which systems of a run are compared with which baseline, and in what two systems are called
differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.protocols import CALL_OPTIONS

_NOT_SAMPLING = ("stream", "stream_options", "n", "user")


def held_against(
    labels: Sequence[str], baseline: str | None, descriptions: Sequence[Mapping[str, Any]]
) -> dict[int, int]:
    """Return the systems that are compared with another baseline than the first, by number.

    Each further baseline has a label ``BASELINE:...`` and is its own baseline. A system that is
    called differently than the first baseline is compared with the one that is called alike.

    Args:
        labels: Labels of all systems, by number.
        baseline: Label of the first baseline; None without one.
        descriptions: What is recorded of each system, by number.
    """
    if baseline is None:
        return {}
    others = [number for number, label in enumerate(labels) if label.startswith(f"{baseline}:")]
    if not others:
        return {}
    main = descriptions[labels.index(baseline)]
    pairs = {number: number for number in others}
    for number, description in enumerate(descriptions):
        if number in pairs or labels[number] == baseline or not unpaired(description, main):
            continue
        for other in others:
            if not unpaired(description, descriptions[other]):
                pairs[number] = other
                break
    return pairs


def unpaired(
    description: Mapping[str, Any], other: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
    """Return in which parameters - layout, sampling, limits - two systems are called differently.

    A system that does not describe its calls differs from none.
    """
    left = _call_parameters(description)
    right = _call_parameters(other)
    if left is None or right is None:
        return {}
    return {
        name: (left.get(name), right.get(name))
        for name in left | right
        if left.get(name) != right.get(name)
    }


def _call_parameters(description: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the recorded parameters of the calls of a system, which a chain's last step makes."""
    steps = description.get("steps")
    last = steps[-1] if steps else description
    fingerprint = last.get("fingerprint")
    if not isinstance(fingerprint, Mapping) or not {"model", "parameters"} <= fingerprint.keys():
        return None
    parameters = {
        name: fingerprint[name]
        for name in CALL_OPTIONS
        if name in fingerprint and name != "endpoint"
    }
    sampling = fingerprint["parameters"]
    if isinstance(sampling, Mapping):
        parameters.update(
            {name: value for name, value in sampling.items() if name not in _NOT_SAMPLING}
        )
    return parameters
