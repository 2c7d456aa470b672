"""The lock file: a wiring plan that later runs must match, so that installing a package cannot
change a number."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from context_bench import __version__
from context_bench.console import atomic_write, escape_control
from context_bench.errors import ConfigurationError, LockDriftError

FORMAT = 2


def write_lock(
    path: Path, plans: Mapping[str, Mapping[str, Any]], **more: Mapping[str, Any]
) -> None:
    """Write the plans of some datasets, by label, and further sections, such as the active
    extensions by id, to ``path``.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    used = {kind: described for kind, described in more.items() if described}
    document = {"format": FORMAT, "context_bench": __version__, "datasets": plans, **used}
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False)
    with atomic_write(path, "The lock file") as stream:
        stream.write(escape_control(text, is_json=True) + "\n")


def check_lock(
    path: Path,
    plans: Mapping[str, Mapping[str, Any]],
    further_drift: Callable[[Mapping[str, Any]], Iterable[str]] = lambda locked: (),
) -> None:
    """Compare the plans of this run and the version of core with the locked ones.

    Args:
        path: The lock file.
        plans: The plans by label.
        further_drift: Returns what differs besides, given what the lock file holds.

    Raises:
        ConfigurationError: There is no readable lock file.
        LockDriftError: Anything differs; the message lists every difference.
    """
    locked = _read(path)
    differences: list[str] = []
    if plans and locked.get("context_bench") != __version__:
        differences.append(
            f"context-bench: version was {locked.get('context_bench')!r}, is {__version__!r}"
        )
    for label, plan in plans.items():
        name = label or "rows without a label"
        locked_plan = locked["datasets"].get(label)
        if isinstance(locked_plan, dict):
            drift = sorted(_drift_of_plan(locked_plan, plan))
            differences += [f"{name}: {line}" for line in drift]
        else:
            differences.append(f"{name}: not in the lock file")
    differences += further_drift(locked)
    _refuse(path, differences)


def check_revisions(path: Path, revisions: Mapping[str, str | None]) -> None:
    """Compare the revisions of opened datasets with those that the lock file has.

    Args:
        path: The lock file.
        revisions: The revisions by label.

    Raises:
        ConfigurationError: There is no readable lock file.
        LockDriftError: A locked revision differs; the message lists each difference.
    """
    locked = _table(_read(path), "revisions")
    differences = [
        f"the revision of dataset {label} was {locked[label]!r}, is {revision!r}"
        for label, revision in revisions.items()
        if label in locked and locked[label] != revision
    ]
    _refuse(path, differences)


def unlocked(
    path: Path, kind: str, active: Mapping[str, Mapping[str, object]], named: Collection[str]
) -> list[str]:
    """Return the ids of the active extensions or metrics that the lock file does not name: a locked
    run does not import them.

    Args:
        path: The lock file.
        kind: ``"extensions"`` or ``"metrics"``.
        active: What is known of the active ones, by id.
        named: The ids of those that the user asked for by name.

    Raises:
        ConfigurationError: There is no readable lock file.
        LockDriftError: One that was asked for is not locked, or a locked one is another now, or not
            active.
    """
    locked = _table(_read(path), kind)
    noun = f"the {kind.removesuffix('s')}"
    differences = [
        f"{noun} {name} was asked for, but is not in the lock file"
        for name in named
        if name not in locked
    ]
    differences += _drift_of(noun, locked, active)
    _refuse(path, differences)
    return [name for name in active if name not in locked]


def _table(locked: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    table = locked.get(kind)
    return table if isinstance(table, dict) else {}


def _refuse(path: Path, differences: list[str]) -> None:
    if differences:
        raise LockDriftError(
            f"The wiring differs from {path}:\n  " + "\n  ".join(differences) + "\n"
            "Install what was locked, or accept the change with `context-bench lock`."
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.exists() and not path.is_file():
            raise ConfigurationError(f"The lock file {path} cannot be read: it is no regular file.")
        locked = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(
            f"There is no lock file {path}. Write one with `context-bench lock`."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"The lock file {path} cannot be read: {error}.") from error
    if (
        not isinstance(locked, dict)
        or locked.get("format") != FORMAT
        or not isinstance(locked.get("datasets"), dict)
    ):
        raise ConfigurationError(
            f"{path} is no lock file of format {FORMAT}. Write one with `context-bench lock`."
        )
    return locked


def _drift_of(
    noun: str, locked: Mapping[str, object], active: Mapping[str, object]
) -> Iterator[str]:
    """Yield what has become of locked components: those that are not active come first."""
    for name in locked:
        if name not in active:
            yield f"{noun} {name} is locked, but not active now"
    for name, facts in locked.items():
        if name in active and active[name] != facts:
            yield f"{noun} {name} was {facts!r}, is {active[name]!r}"


def _drift_of_plan(locked: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[str]:
    yield from _changes({**locked, "evaluators": None}, {**plan, "evaluators": None})
    locked_evaluators = _table(locked, "evaluators")
    evaluators = plan["evaluators"]
    for name in locked_evaluators.keys() | evaluators.keys():
        facts = _table(locked_evaluators, name)
        if name not in locked_evaluators:
            yield f"{name} is new ({evaluators[name]['rule']})"
        elif name not in evaluators:
            yield f"{name} is gone (was: {facts.get('rule')})"
        else:
            yield from (f"{name}: {change}" for change in _changes(facts, evaluators[name]))


def _changes(locked: Mapping[str, object], current: Mapping[str, object]) -> Iterator[str]:
    for fact in locked.keys() | current.keys():
        if locked.get(fact) != current.get(fact):
            yield f"{fact} was {locked.get(fact)!r}, is {current.get(fact)!r}"
