"""The story of a row, and of its keys, as JSON-like values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from context_bench.errors import StoreError, did_you_mean
from context_bench.results import row_to_dict
from context_bench.runner.transcript import output_of
from context_bench.store.encoding import from_json
from context_bench.store.keys import RowId
from context_bench.store.reuse import run_files
from context_bench.store.runfile import RunFile

_NO_PART = ("label", "baseline", "billing", "reference")
"""What the description of a system says that is in no key."""

_POSITION = ~((1 << 20) - 1)


def row_stories(path: Path, example_id: str) -> list[dict[str, Any]]:
    """Return what happened to an example: an entry for each system and sample, in canonical order.

    Raises:
        StoreError: The run has no such example.
    """
    store = RunFile.open(path)
    plans = {label.label: label.plan for label in store.labels()}
    told = []
    for number in _places(store, example_id):
        example = _example(store, number)
        for row in store.rows(number, number | ~_POSITION):
            found = row_to_dict(row)
            wired = plans.get(row.dataset, {}).get("evaluators", {})
            found["example"] = example
            found["output"] = dict(row.output)
            found["failed"] = row.failed
            identity = RowId(*RowId.unpack(number)[:2], row.slot, row.sample)
            found["turns"] = [
                {"response": output["response"], "latency": output["latency"], "attempts": output["attempts"]}
                for output in map(output_of, store.turns(identity))
            ]
            found["wiring"] = {
                name: entry.get("rule") or entry.get("reason") or "wired" if isinstance(entry, Mapping) else "wired"
                for name, entry in wired.items()
            }
            for error, failure in zip(found["errors"], row.errors):
                error["traceback"] = failure.traceback
            told.append(found)
    return told


def failure_causes(path: Path, most: int = 3) -> list[str]:
    """Return a line for each kind of failure of a run, the most frequent first: how many, whose, what it said, and where.

    Beyond ``most`` kinds, one more line says how many there are.
    """
    store = RunFile.open(path)
    systems = {entry["slot"]: entry["label"] for entry in store.systems()}
    evaluators = {entry["number"]: entry["id"] for entry in store.evaluators()}
    found = list(store.read(_CAUSES))
    lines = []
    for slot, evaluator, kind, count, message, example_id, _ in found[:most]:
        who = f"evaluator {evaluators[evaluator]}" if evaluator in evaluators else systems[slot]
        said = " ".join(message.split())
        said = f": {said[:_LONGEST_CAUSE]}{'...' * (len(said) > _LONGEST_CAUSE)}" if said else ""
        rows = "1 row" if count == 1 else f"{count} rows"
        lines.append(f"{who}, {rows}: {kind}{said} (explain row {path} '{example_id}')")
    if len(found) > most:
        others = len(found) - most
        lines.append(f"and {others} other {'kind' if others == 1 else 'kinds'} of failure")
    return lines


_LONGEST_CAUSE = 200

# The bare columns are those of the row with the smallest `response`: SQLite promises it for min().
_CAUSES = """
SELECT (response >> 10) & 1023 AS slot, evaluator, kind, count(*), message, example_id, min(response)
FROM failures JOIN examples ON examples.id = response & ~1048575
GROUP BY slot, evaluator, kind ORDER BY count(*) DESC, min(response)
"""


def key_stories(path: Path, example_id: str, against: Sequence[Path] = ()) -> list[dict[str, Any]]:
    """Return what is in the keys of an example's rows, and why earlier runs have or have not the same ones.

    Args:
        path: The run file.
        example_id: The example.
        against: Run files, or folders of them, whose responses could be reused.

    Raises:
        StoreError: The run has no such example.
    """
    store = RunFile.open(path)
    systems = {entry["slot"]: entry for entry in store.systems()}
    evaluators = {entry["number"]: entry for entry in store.evaluators()}
    others = [other for other in run_files(tuple(against)) if other.resolve() != path.resolve()]
    told = []
    for place in _places(store, example_id):
        [(whole,)] = store.read(f"SELECT hash FROM examples WHERE id = {place}")
        query = (
            f"SELECT id, key, hash, reused FROM responses WHERE id BETWEEN {place} AND {place | ~_POSITION} ORDER BY id"
        )
        for number, key, output, reused in store.read(query):
            identity = RowId.unpack(number)
            system = systems[identity.slot]
            scores = store.read(f"SELECT evaluator, key FROM evaluations WHERE response = {number} ORDER BY evaluator")
            told.append(
                {
                    "system": system["label"],
                    "example_id": example_id,
                    "sample": identity.sample,
                    "response_key": key.hex(),
                    "made_of": {
                        "system_key": system["key"].hex(),
                        "system": {
                            name: value for name, value in system["description"].items() if name not in _NO_PART
                        },
                        "example_hash": whole.hex(),
                        "sample": identity.sample,
                    },
                    "in_no_key": ["label", "concurrency", "deadline", "timeout", "retries", "secrets"],
                    "valid_in_other_runs": system["shared"],
                    "reused": bool(reused),
                    "output_hash": output.hex(),
                    "score_keys": {
                        evaluators[evaluator]["id"]: {
                            "key": found.hex(),
                            "evaluator": evaluators[evaluator]["key"].hex(),
                        }
                        for evaluator, found in scores
                    },
                    "earlier_runs": [_held_against(other, system, place, whole, key, identity) for other in others],
                }
            )
    if not told:
        raise StoreError(f"No system answered {example_id!r}, so it has no key: `context-bench explain row` tells why.")
    return told


def _held_against(
    path: Path, system: Mapping[str, Any], place: int, whole: bytes, key: bytes, identity: RowId
) -> dict[str, str]:
    """Tell why a row of one run is or is not found in another."""
    other = RunFile.open(path)
    found = [
        (other_key, bool(shared))
        for other_key, shared in other.read(
            f"SELECT responses.key, shared FROM responses JOIN systems USING (slot) WHERE responses.key = x'{key.hex()}'"
        )
    ]
    return {"run": str(path), "verdict": _verdict(other, found, system, whole, identity)}


def _verdict(
    other: RunFile, found: Sequence[tuple[bytes, bool]], system: Mapping[str, Any], whole: bytes, identity: RowId
) -> str:
    if not system["shared"]:
        return "never reused: the system has no fingerprint, so its key is valid in its own run only"
    if any(shared for _, shared in found):
        return "the same key: the response can be reused"
    systems = {entry["key"]: entry for entry in other.systems()}
    if system["key"] not in systems:
        return "another key: " + _differences(system, list(systems.values()))
    if not any(other.read(f"SELECT 1 FROM examples WHERE hash = x'{whole.hex()}'")):
        return "another key: the example has other content there, or is not there"
    if identity.sample:
        return "another key: that run has no such sample of the example"
    return "the key is not there: the row failed or was never answered"


def _differences(system: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    mine = system["description"]
    alike = [entry["description"] for entry in others if entry["description"].get("adapter") == mine.get("adapter")]
    if not alike:
        return "no system there is of the same adapter"
    closest = min((list(_changed(mine, other)) for other in alike), key=len)
    return f"the system differs in {', '.join(closest)}" if closest else "the system differs"


def _changed(one: Any, other: Any, path: str = "") -> Iterator[str]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in dict.fromkeys((*one, *other)):
            if name not in (*_NO_PART, "distribution_version", "manifest_sha256"):
                yield from _changed(one.get(name), other.get(name), f"{path}.{name}" if path else str(name))
    elif one != other:
        yield f"{path} ({other!r} there, {one!r} here)"


def _places(store: RunFile, example_id: str) -> list[int]:
    known: list[str] = []
    places = []
    for dataset, position, name, _ in store.examples():
        if name == example_id:
            places.append(RowId(dataset, position).pack())
        elif len(known) < 10_000:
            known.append(name)
    if not places:
        raise StoreError(f"{store.path} has no example {example_id!r}. {did_you_mean(example_id, known)}".rstrip())
    return places


def _example(store: RunFile, number: int) -> Any:
    [(body,)] = store.read(f"SELECT body FROM examples WHERE id = {number}")
    return None if body is None else from_json(body)
