"""Verifying a run file: is it whole, is it what was written, and do its scores come out again?"""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from attrs import field, mutable

from context_bench.catalog import Catalog
from context_bench.config import recompute
from context_bench.errors import ContextBenchError, StoreError
from context_bench.runs import Run, open_run
from context_bench_audit.checksum import checksum_file, matches_checksum

_MOST = 20


@mutable
class Verification:
    """What verifying a run file found.

    Attributes:
        has_checksum: Whether a checksum of the whole file was written earlier, and compared.
        rows: Rows whose checksums were compared.
        recomputed: Scores that were computed again.
        left_out: Scores that were not computed again; the notes say why.
        problems: What is wrong, at most 20 lines.
        notes: What could not be verified, and why.
    """

    has_checksum: bool = False
    rows: int = 0
    recomputed: int = 0
    left_out: int = 0
    problems: list[str] = field(factory=list)
    notes: list[str] = field(factory=list)

    def blame(self, problem: str) -> None:
        """Add a problem, while there is room."""
        if len(self.problems) < _MOST:
            self.problems.append(problem)


def verify(catalog: Catalog, path: Path) -> Verification:
    """Check the checksums and hashes of a run file, and compute its deterministic scores again.

    Nothing in the file is changed, and no system is asked.

    Raises:
        StoreError: The file is missing or is no run file at all.
    """
    if not path.is_file():
        raise StoreError(f"There is no run file {path}.")
    found = Verification()
    with ExitStack() as stack:
        try:
            run = stack.enter_context(open_run(path))
            matches = matches_checksum(path)
            found.has_checksum = matches is not None
            if matches is False:
                found.blame(
                    f"The file differs from its checksum {checksum_file(path).name}. "
                    "Delete the checksum if you resumed or rescored the run since."
                )
            found.rows = len(run)
            for problem in islice(run.faults(), _MOST):
                found.blame(problem)
            incomplete = [entry["label"] for entry in run.datasets if entry["length"] is None]
        except StoreError as error:
            found.blame(str(error))
            return found
        found.notes += [f"Dataset {label!r} was not read to its end." for label in incomplete]
        found.notes += run.completeness.sentences
        if not found.problems:
            try:
                _recompute(catalog, run, found)
            except ContextBenchError as error:
                found.notes.append(f"The scores were not computed again: {error}")
    return found


def _recompute(catalog: Catalog, run: Run, found: Verification) -> None:
    """Score the stored responses again with what is installed, and hold the scores against the stored ones."""
    again = recompute(catalog, run)
    for identity, evaluator, scores in again.scores():
        [keys] = run.keys(identity)
        before = keys.values.get(evaluator)
        if before is not None:
            found.recomputed += 1
            if dict(before) != dict(scores):
                found.blame(
                    f"{evaluator} scored {dict(before)} at {identity}, and scores {dict(scores)} now."
                )
    found.left_out = sum(again.left_out.values())
    found.notes += again.notes
