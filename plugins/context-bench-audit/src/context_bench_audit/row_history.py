"""The story of a row, and of its keys, as JSON-like values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from context_bench.errors import StoreError, did_you_mean
from context_bench.runs import Run, open_run, run_files

_NO_PART = ("label", "baseline", "billing", "reference", "held_against")
"""What the description of a system says that is in no key."""


def row_stories(path: Path, example_id: str) -> list[dict[str, Any]]:
    """Return what happened to an example: an entry for each system and repetition, in canonical order.

    Raises:
        StoreError: The run has no such example.
    """
    told = []
    with open_run(path) as run:
        for example in _examples(run, example_id):
            wired = run.plan.get(example.label, {}).get("evaluators", {})
            for identity, row in run.rows_of(example.identity):
                found = run.to_dict(row)
                found["example"] = example.content
                found["output"] = dict(row.output)
                found["turns"] = [
                    {"response": turn.response, "latency": turn.latency, "attempts": turn.attempts}
                    for turn in run.turns(identity)
                ]
                found["wiring"] = {
                    name: entry.get("rule") or entry.get("reason") or "wired"
                    if isinstance(entry, Mapping)
                    else "wired"
                    for name, entry in wired.items()
                }
                for error, failure in zip(found["errors"], row.errors):
                    error["traceback"] = failure.traceback
                told.append(found)
    return told


def key_stories(path: Path, example_id: str, against: Sequence[Path] = ()) -> list[dict[str, Any]]:
    """Return what is in the keys of an example's rows, and why earlier runs have or have not the same ones.

    Args:
        path: The run file.
        example_id: The example.
        against: Run files, or folders of them, whose responses could be reused.

    Raises:
        StoreError: The run has no such example.
    """
    others = [
        other
        for other in run_files(tuple(against))
        if os.path.realpath(other) != os.path.realpath(path)
    ]
    told = []
    with open_run(path) as run:
        evaluators = {entry["id"]: entry["key"].hex() for entry in run.evaluators}
        for example in _examples(run, example_id):
            for keys in run.keys(example.identity):
                system = run.systems[keys.identity.system_number]
                described = {
                    name: value
                    for name, value in system["description"].items()
                    if name not in _NO_PART
                }
                told.append(
                    {
                        "system": system["label"],
                        "example_id": example_id,
                        "repetition": keys.identity.repetition,
                        "response_key": keys.response,
                        "made_of": {
                            "system_key": system["key"].hex(),
                            "system": described,
                            "example_hash": example.hash,
                            "repetition": keys.identity.repetition,
                        },
                        "in_no_key": [
                            "label",
                            "concurrency",
                            "deadline",
                            "timeout",
                            "retries",
                            "secrets",
                        ],
                        "valid_in_other_runs": system["reusable"],
                        "reused": keys.is_reused,
                        "output_hash": keys.output,
                        "score_keys": {
                            name: {"key": found, "evaluator": evaluators[name]}
                            for name, found in keys.scores.items()
                        },
                        "earlier_runs": [
                            {"run": str(other), "verdict": _verdict(other, system, example, keys)}
                            for other in others
                        ],
                    }
                )
    if not told:
        raise StoreError(
            f"No system answered {example_id!r}, so it has no key: `context-bench explain row` tells why."
        )
    return told


def _verdict(path: Path, system: Mapping[str, Any], example: Any, keys: Any) -> str:
    """Tell why a row of one run is or is not found in another."""
    if not system["reusable"]:
        return (
            "never reused: the system has no fingerprint, so its key is valid in its own run only"
        )
    with open_run(path) as other:
        if other.has_key(keys.response):
            return "the same key: the response can be reused"
        if system["key"] not in {entry["key"] for entry in other.systems}:
            return "another key: " + _differences(system, other.systems)
        if not other.has_example(example.hash):
            return "another key: the example has other content there, or is not there"
        if keys.identity.repetition:
            return "another key: that run has no such repetition of the example"
        return "the key is not there: the row failed or was never answered"


def _differences(system: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    mine = system["description"]
    alike = [
        entry["description"]
        for entry in others
        if entry["description"].get("adapter") == mine.get("adapter")
    ]
    if not alike:
        return "no system there is of the same adapter"
    closest = min((list(_changed(mine, other)) for other in alike), key=len)
    return f"the system differs in {', '.join(closest)}" if closest else "the system differs"


def _changed(one: Any, other: Any, path: str = "") -> Iterator[str]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in dict.fromkeys((*one, *other)):
            if name not in (*_NO_PART, "distribution_version", "manifest_sha256"):
                yield from _changed(
                    one.get(name), other.get(name), f"{path}.{name}" if path else str(name)
                )
    elif one != other:
        yield f"{path} ({other!r} there, {one!r} here)"


def _examples(run: Run, example_id: str) -> list[Any]:
    found = list(run.examples(example_id))
    if not found:
        known = [example.id for example in islice(run.examples(), 10_000)]
        raise StoreError(
            f"{run.path} has no example {example_id!r}. {did_you_mean(example_id, known)}".rstrip()
        )
    return found
