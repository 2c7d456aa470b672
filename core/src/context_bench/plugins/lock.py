"""The lock file: a wiring plan that later runs must match, so that installing a package cannot change a number."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from context_bench import __version__
from context_bench.errors import ConfigurationError, LockDriftError

FORMAT = 1


def write_lock(
    path: Path,
    plans: Mapping[str, Mapping[str, Any]],
    version: str = __version__,
    parts: Mapping[str, Mapping[str, Any]] | None = None,
    hooks: Mapping[str, Mapping[str, Any]] | None = None,
    metrics: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Write the plans of some datasets, by label, and the run parts, active hooks and metrics, by id, to ``path``.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    more = {key: value for key, value in (("parts", parts), ("hooks", hooks), ("metrics", metrics)) if value}
    document = {"format": FORMAT, "context_bench": version, "datasets": plans, **more}
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"The lock file {path} cannot be written: {error}.") from error


def check_lock(
    path: Path,
    plans: Mapping[str, Mapping[str, Any]],
    version: str = __version__,
    parts: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Compare the plans of this run, the version of core, and the run parts where they are given, with the locked ones.

    Raises:
        ConfigurationError: There is no readable lock file.
        LockDriftError: Anything differs; the message lists every difference.
    """
    locked = _read(path)
    differences = (
        [] if not plans or locked.get("context_bench") == version else [_change("context-bench", locked, version)]
    )
    differences += [] if parts is None else sorted(_part_differences(_table(locked, "parts"), parts))
    for label, plan in plans.items():
        name = label or "rows without a label"
        before = locked["datasets"].get(label)
        if isinstance(before, dict):
            differences += [f"{name}: {line}" for line in sorted(_differences(before, plan))]
        else:
            differences.append(f"{name}: not in the lock file")
    if differences:
        raise _drift(path, differences)


def unlocked(path: Path, kind: str, active: Mapping[str, Mapping[str, Any]], named: Collection[str]) -> list[str]:
    """Return the ids of the active hooks or metrics that the lock file does not name: a locked run does not import them.

    Args:
        path: The lock file.
        kind: ``"hooks"`` or ``"metrics"``.
        active: What is known of the active ones, by id.
        named: The ids of those that the user asked for by name.

    Raises:
        ConfigurationError: There is no readable lock file.
        LockDriftError: One that was asked for is not locked, or a locked one is another now, or not active.
    """
    locked, one = _table(_read(path), kind), f"the {kind.removesuffix('s')}"
    differences = [f"{one} {name} was asked for, but is not in the lock file" for name in named if name not in locked]
    differences += [f"{one} {name} is locked, but not active now" for name in locked if name not in active]
    for name in locked:
        if name in active and locked[name] != active[name]:
            differences.append(f"{one} {name} was {locked[name]!r}, is {active[name]!r}")
    if differences:
        raise _drift(path, differences)
    return [name for name in active if name not in locked]


def _table(locked: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    found = locked.get(kind)
    return found if isinstance(found, dict) else {}


def _drift(path: Path, differences: list[str]) -> LockDriftError:
    return LockDriftError(
        f"The wiring differs from {path}:\n  " + "\n  ".join(differences) + "\n"
        "Install what was locked, or accept the change with `context-bench lock`."
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.exists() and not path.is_file():
            raise ConfigurationError(f"The lock file {path} cannot be read: it is no regular file.")
        locked = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(f"There is no lock file {path}. Write one with `context-bench lock`.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"The lock file {path} cannot be read: {error}.") from error
    if not isinstance(locked, dict) or locked.get("format") != FORMAT or not isinstance(locked.get("datasets"), dict):
        raise ConfigurationError(f"{path} is no lock file of format {FORMAT}. Write one with `context-bench lock`.")
    return locked


def _change(name: str, locked: Mapping[str, Any], version: str) -> str:
    return f"{name}: version was {locked.get('context_bench')!r}, is {version!r}"


def _part_differences(before: Mapping[str, Any], now: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name in before.keys() | now.keys():
        if name not in before:
            yield f"the run part {name} is not in the lock file"
        elif name not in now:
            yield f"the run part {name} is locked, but this run does not use it"
        elif before[name] != now[name]:
            yield f"the run part {name} was {before[name]!r}, is {now[name]!r}"


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for fact in before.keys() | now.keys():
        old, new = before.get(fact), now.get(fact)
        if fact != "evaluators" and old != new:
            yield f"{fact} was {old!r}, is {new!r}"
    evaluators = before.get("evaluators")
    old_evaluators: Mapping[str, Any] = evaluators if isinstance(evaluators, dict) else {}
    for name in old_evaluators.keys() | now["evaluators"].keys():
        old, new = old_evaluators.get(name), now["evaluators"].get(name)
        if old is None:
            yield f"{name} is new ({new['rule']})"
        elif new is None:
            yield f"{name} is gone (was: {_fact(old, 'rule')})"
        else:
            for fact in (set(old) if isinstance(old, dict) else set()) | set(new):
                if _fact(old, fact) != new.get(fact):
                    yield f"{name}: {fact} was {_fact(old, fact)!r}, is {new.get(fact)!r}"


def _fact(evaluator: Any, fact: str) -> Any:
    return evaluator.get(fact) if isinstance(evaluator, dict) else None
