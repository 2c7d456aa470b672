"""Which systems of a run are compared with which baseline, and in what two systems are called
differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ASKED = (
    "model", "layout", "system_prompt", "prompt_template", "endpoint",
    "temperature", "top_p", "top_k", "seed", "stop",
    "max_tokens", "max_completion_tokens", "context_tokens", "thinking_budget", "extra_body",
)  # fmt: skip
"""Options of endpoints that decide what is asked: layout, sampling and limits."""
_NOT_SAMPLING = ("stream", "stream_options", "n", "user")


def held_against(
    labels: Sequence[str], baseline: str | None, descriptions: Sequence[Mapping[str, Any]]
) -> dict[int, int]:
    """Return the slots that are held against another baseline than the first, by slot: that with
    their own parameters.

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
    """Return in what two systems are asked differently - layout, sampling, limits - as far as they
    say, by parameter."""
    left, right = _asked(one), _asked(other)
    if left is None or right is None:
        return {}
    return {
        name: (left.get(name), right.get(name))
        for name in left | right
        if left.get(name) != right.get(name)
    }


def _asked(description: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the request parameters that a recorded system tells: those of the endpoint, which is a
    chain's last step."""
    last = description["steps"][-1] if description.get("steps") else description
    told = last.get("fingerprint")
    if not isinstance(told, Mapping) or not {"model", "parameters"} <= told.keys():
        return None
    sampling = told["parameters"] if isinstance(told["parameters"], Mapping) else {}
    asked = {name: told.get(name) for name in ASKED if name in told and name != "endpoint"}
    return asked | {name: value for name, value in sampling.items() if name not in _NOT_SAMPLING}
