"""Sixty SIGKILLs: ten in each of six phases of a run file's life.

The phases are the creation of the file, its first commit, the turns of conversations, the middle of the run, the second pass
(rows that are derived from other rows) and a rescoring. Every fourth row is a conversation of three turns, each of them a
request; four requests are in flight. A server counts them. A session kills itself before or after the nth call of a function
that writes, drawn with a fixed seed; `run` follows a killed session where no file exists, else `resume`, and `rescore`
follows a killed rescoring. `python tests/benchmarks/bench_kills.py` prints the table and fails if a number is not zero that
has to be.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from killing import WORKERS, Damage, Server, Workplace, draw_kills, install, live, undisturbed
from side_by_side import is_quick

FILES = 10


def main() -> None:
    """Print the table."""
    files = 2 if is_quick() else FILES
    damage = Damage()
    with TemporaryDirectory() as name:
        folder = Path(name)
        install(folder / "site")
        server = Server()
        workplace = Workplace(folder, server)
        whole = undisturbed(workplace, folder / "whole.sqlite")
        for number in range(files):
            live(workplace, folder / f"{number}.sqlite", whole, draw_kills(number), damage)
        server.close()
    count = damage.kills.total()
    phases = ", ".join(f"{kills} in {phase}" for phase, kills in damage.kills.items())
    allowed = WORKERS * count
    print("| | |\n|---|---:|")
    print(f"| SIGKILLs | {count}: {phases} |")
    print(f"| run files, sessions | {files}, {damage.sessions} |")
    for label, number in damage.faults.items():
        print(f"| {label} | {number} |")
    print(f"| requests beyond one for each answer | {damage.extra}, of {allowed} allowed |")
    assert not any(damage.faults.values()), damage.missed
    assert damage.extra <= allowed


if __name__ == "__main__":
    main()
