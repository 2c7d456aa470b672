"""Named baselines: run files that a team has agreed on, as plain files that a CI cache or an artifact carries."""

from __future__ import annotations

import json
import os
import shutil
from datetime import datetime, timezone
from pathlib import Path

from attrs import frozen

from context_bench.console import atomic_write, escape_control
from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.runs import open_run

BASELINES = Path("baselines")
"""Folder of the named baselines, in the project's own folder."""


@frozen
class Baseline:
    """A named baseline.

    Attributes:
        name: Its name, without ``@``.
        path: Its run file.
        reason: Why it was promoted.
        promoted: When, as ISO 8601 in UTC.
        source: The file that was promoted.
    """

    name: str
    path: Path
    reason: str
    promoted: str
    source: str

    def age(self, now: datetime | None = None) -> str:
        """Return how long ago it was promoted, such as ``3 days``."""
        seconds = (
            (now or datetime.now(timezone.utc)) - datetime.fromisoformat(self.promoted)
        ).total_seconds()
        for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
            if seconds >= size:
                count = int(seconds // size)
                return f"{count} {unit}{'' if count == 1 else 's'}"
        return "less than a minute"


def promote(source: Path, name: str, reason: str, folder: Path = BASELINES) -> Baseline:
    """Copy a finished run to a named baseline, in place of the one that had the name.

    Raises:
        ConfigurationError: The name cannot be a file's, there is no reason, or the run is not complete.
        StoreError: The file is no run.
    """
    if (
        not name
        or not all(letter.isalnum() or letter in "-_." for letter in name)
        or name.startswith(".")
    ):
        raise ConfigurationError(
            f"{name!r} is no name for a baseline: use letters, digits, '-', '_' and '.'."
        )
    if not reason.strip():
        raise ConfigurationError(
            "A baseline needs a reason that tells others why it is one: --reason TEXT."
        )
    with open_run(source) as run:
        if not run.completeness.is_complete:
            raise ConfigurationError(f"{source} cannot be a baseline: {run.completeness.sentence}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"{folder} cannot be the folder of the baselines: {error.strerror}."
        ) from error
    target = folder / f"{name}.sqlite"
    waiting = folder / f".{name}.{os.getpid()}.sqlite"
    promoted = datetime.now(timezone.utc).isoformat(timespec="seconds")
    told = {"name": name, "reason": reason.strip(), "promoted": promoted, "source": source.name}
    try:
        shutil.copyfile(source, waiting)
        with atomic_write(folder / f"{name}.json", "The story of the baseline") as stream:
            stream.write(
                escape_control(json.dumps(told, indent=2, ensure_ascii=False), is_json=True) + "\n"
            )
            stream.flush()
            os.replace(waiting, target)  # both, or none
    except OSError as error:
        raise ConfigurationError(
            f"The baseline {target} cannot be written: {error.strerror}."
        ) from error
    finally:
        waiting.unlink(missing_ok=True)
    return Baseline(name, target, reason.strip(), promoted, source.name)


def baseline_files(folder: Path = BASELINES) -> list[Path]:
    """Return the run files of the named baselines, in the order of their names."""
    return [path for path in sorted(folder.glob("*.sqlite")) if not path.name.startswith(".")]


def read_baseline(path: Path) -> Baseline:
    """Return what is known of a baseline's file.

    Raises:
        ConfigurationError: What is told of it cannot be read.
    """
    beside = path.with_suffix(".json")
    try:
        told = json.loads(beside.read_text(encoding="utf-8"))
        moment = datetime.fromisoformat(str(told["promoted"]))
        promoted = (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).isoformat()
        return Baseline(path.stem, path, str(told["reason"]), promoted, str(told.get("source", "")))
    except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{beside} does not tell what the baseline {path.stem} is: {error}. Promote it again: context-bench baseline promote."
        ) from error


def story_of(name: str, folder: Path = BASELINES) -> str | None:
    """Return in one line how old a named baseline is and why it is one; None for a path, which nobody promoted."""
    if not name.startswith("@"):
        return None
    try:
        known = read_baseline(find_baseline(name, folder))
    except UnknownNameError:
        raise
    except ConfigurationError as error:
        return f"Baseline {name}: {error}"
    return f"Baseline {name}, promoted {known.age()} ago ({known.promoted[:10]}): {' '.join(known.reason.split())}"


def find_baseline(name: str, folder: Path = BASELINES) -> Path:
    """Return the run file of a baseline by its name with ``@``, or by its path.

    Raises:
        UnknownNameError: No baseline has the name.
        ConfigurationError: There is no such file.
    """
    if not name.startswith("@"):
        path = Path(name)
        if not path.is_file():
            raise ConfigurationError(
                f"There is no run file {name}. A named baseline is written with @, such as @main."
            )
        return path
    path = folder / f"{name[1:]}.sqlite"
    if not path.is_file():
        known = [f"@{path.stem}" for path in baseline_files(folder)]
        hint = "`context-bench baseline promote RUN --as NAME --reason TEXT` makes one."
        raise UnknownNameError("baseline", name, known, hint)
    return path
