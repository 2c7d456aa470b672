"""A hundred SIGKILLs at random moments: while a run file is created, while it runs, while it is rescored.

Every fourth row is a conversation of three turns, each of them a request of its own; four requests are in flight. A server
counts them. A session that was killed is followed by `run` where there is no file yet, else by `resume`; a rescoring by the
same rescoring. Moments are drawn from the whole of what a session takes undisturbed, at creation from what it takes until
the file is there and 100 ms more. `python tests/benchmarks/bench_kills.py` prints the table and fails if any number
that has to be zero is not.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from killing import WORKERS, Found, Server, Work, install, life, undisturbed
from side_by_side import is_quick

WANTED = {"creation": 30, "run": 45, "rescore": 25}
KINDS = {"run": "creation", "resume": "run", "rescore": "rescore"}
SEED = 12
BEHIND = 0.1


def moments(work: Work, folder: Path) -> dict[str, float]:
    """Return the seconds that an undisturbed session takes: until the file is there, until the run ends, for a rescoring."""
    path = folder / "timed.sqlite"
    started = time.monotonic()
    process = work.begin(path, "run")
    started = time.monotonic()
    while not path.exists():
        time.sleep(0.001)
    created = time.monotonic() - started
    process.communicate()
    ran = time.monotonic() - started
    process = work.begin(path, "rescore")
    started = time.monotonic()
    process.communicate()
    return {"run": created + BEHIND, "resume": ran, "rescore": time.monotonic() - started}


def main() -> None:
    """Print the table."""
    wanted = {kind: count // (10 if is_quick() else 1) for kind, count in WANTED.items()}
    chance = random.Random(SEED)
    found = Found({})
    with TemporaryDirectory() as name:
        folder = Path(name)
        install(folder / "site")
        server = Server(0.01)
        work = Work(folder, server, 200)
        whole = undisturbed(work, folder / "whole.sqlite")
        longest = moments(work, folder)

        def kill(command: str) -> dict[str, Any]:
            if found.kills.get(KINDS[command], 0) >= wanted[KINDS[command]]:
                return {}
            return {"seconds": chance.uniform(0, longest[command])}

        files = 0
        while any(found.kills.get(kind, 0) < count for kind, count in wanted.items()):
            life(work, folder / f"{files}.sqlite", whole, found, kill)
            files += 1
        server.close()
    kills = ", ".join(f"{count} in {kind}" for kind, count in sorted(found.kills.items()))
    rows = [
        ("SIGKILLs", f"{sum(found.kills.values())}: {kills}"),
        ("run files, sessions", f"{files}, {found.sessions}"),
        ("committed answers that were asked for again", found.again),
        ("committed answers that were lost", found.lost),
        ("files that the next session refused", found.refused),
        ("canonical rows other than those of an undisturbed run", found.differing),
        ("rescorings that showed some of their scores before they ended", found.half_shown),
        (
            "requests beyond one for each answer",
            f"{found.beyond}, of {WORKERS * sum(found.kills.values())} that may be",
        ),
    ]
    print("| | |\n|---|---:|")
    for label, number in rows:
        print(f"| {label} | {number} |")
    assert not any((found.again, found.lost, found.refused, found.differing, found.half_shown))
    assert found.beyond <= WORKERS * sum(found.kills.values())


if __name__ == "__main__":
    main()
