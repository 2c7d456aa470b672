"""Whether code passes its unit test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from context_bench_code import CodeExecution
from context_bench_scorers import (
    Category,
    MissingParameterError,
    Scorer,
    ScoreResult,
    UserTypeError,
    UserValueError,
)
from context_bench_scorers.batches import Batch, Texts

PASS = Category("pass", "the unit test passes")
FAIL = Category("fail", "the unit test does not pass")
BROKEN = Category("broken test", "the unit test itself cannot be run")


class PythonUnitTesting(Scorer):
    """1.0 where a candidate passes its unit test, else 0.0: the test is run behind the candidate, in a sandbox.

    Candidate i belongs to test i. Programs run in `context-bench-code`'s sandbox and under its rule: without one that isolates,
    nothing is run unless you say so. A program that exits early does not pass. Only the standard library can be imported. A test
    that is no Python or imports more gives no score, whatever the candidate is, and the category "broken test", with the
    reason in the details.

    Args:
        unit_test_dir: A folder with one test a file; files are taken in the order of their names, hidden ones are passed over.
        unit_tests: The tests themselves.
        timeout: Seconds that a program may compute or sleep.
        memory: Mebibytes of address space that it may use.
        allow_unsandboxed: Whether to run programs without isolation where no isolating sandbox works.

    Raises:
        UserValueError: Neither or both are given; the folder is not there, holds no file, or holds one that is no text in UTF-8.
        SandboxError: This system has no isolating sandbox.
    """

    def __init__(
        self,
        unit_test_dir: str | Path | None = None,
        unit_tests: Sequence[str] | None = None,
        *,
        timeout: float = 10.0,
        memory: int = 1024,
        allow_unsandboxed: bool = False,
    ) -> None:
        if (unit_test_dir is None) == (unit_tests is None):
            raise MissingUnitTestsError(
                "Give unit_test_dir (a folder with one test a file) or unit_tests (the tests)."
            )
        if isinstance(unit_tests, (str, bytes)):
            raise UserTypeError(
                f"unit_tests is a list of texts, not {type(unit_tests).__name__}; write [text] for one."
            )
        self.unit_test_dir = None if unit_test_dir is None else str(unit_test_dir)
        self.unit_tests = (
            _read(Path(unit_test_dir))
            if unit_test_dir is not None
            else [str(t) for t in unit_tests or ()]
        )
        self.timeout = timeout
        self.memory = memory
        self.allow_unsandboxed = allow_unsandboxed
        self._code = CodeExecution(timeout, memory=memory, allow_unsandboxed=allow_unsandboxed)

    @staticmethod
    def name() -> str:
        """Return the name of the scorer."""
        return "python_unit_testing"

    @staticmethod
    def requires_reference() -> bool:
        """Whether it compares with references: it does not."""
        return False

    @staticmethod
    def is_categorical() -> bool:
        """Whether every result has a category: it has."""
        return True

    @staticmethod
    def categories() -> list[Category]:
        """Return the categories."""
        return [FAIL, PASS, BROKEN]

    def run(
        self,
        candidate_outputs: Texts,
        reference_outputs: Texts | None = None,
        inputs: Texts | None = None,
        contexts: Texts | None = None,
        batch_size: int = 1,
    ) -> list[ScoreResult]:
        """Return a result for each candidate: candidate i against test i.

        Raises:
            UserValueError: There are fewer tests than candidates, or the lists differ in length.
        """
        batch = Batch.of(candidate_outputs, reference_outputs, inputs, contexts)
        list(batch.split(batch_size))
        return self._checked(self.run_batch(list(batch.candidates)), len(batch))

    async def arun(
        self,
        candidate_outputs: Texts,
        reference_outputs: Texts | None = None,
        inputs: Texts | None = None,
        contexts: Texts | None = None,
        batch_size: int = 5,
    ) -> list[ScoreResult]:
        """Return a result for each candidate without blocking the event loop; see `run`."""
        import asyncio

        return await asyncio.to_thread(
            self.run, candidate_outputs, reference_outputs, inputs, contexts, batch_size=batch_size
        )

    def run_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> list[ScoreResult]:
        """Return a result for each candidate; the first belongs to the first test."""
        if len(self.unit_tests) < len(candidate_batch):
            raise UserValueError(
                f"There are {len(self.unit_tests)} unit tests for {len(candidate_batch)} candidates; each needs its own."
            )
        return [self.run_one(code, test) for code, test in zip(candidate_batch, self.unit_tests)]

    def run_one(self, candidate: str, unit_test: str) -> ScoreResult:
        """Return the result of one candidate with one test.

        Raises:
            SandboxError: No program can be run here.
            InconclusiveScoreError: A program did not get the time that it may take.
        """
        return result_of(
            self._code.score({"test": unit_test, "entry_point": None}, {"response": candidate})
        )

    def to_dict(self, warn: bool = False) -> dict[str, Any]:
        """Return the configuration: the tests themselves, or the folder that they are in."""
        found = super().to_dict(warn)
        found.pop("unit_tests" if self.unit_test_dir is not None else "unit_test_dir", None)
        return found

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score."""
        return {"scorer": self.name(), "unit_tests": self.unit_tests, **self._code.fingerprint()}


class MissingUnitTestsError(MissingParameterError, UserValueError):
    """Neither a folder nor a list of unit tests was given, or both."""


def result_of(scores: Mapping[str, float]) -> ScoreResult:
    """Return the verdict of the sandbox as a result; one without a score says why under ``unscored``."""
    details = dict(getattr(scores, "details", {}))
    if "pass_at_1" not in scores:
        return ScoreResult(None, BROKEN, details={"outcome": "broken tests", **details})
    return (
        ScoreResult(1.0, PASS, details=details)
        if scores["pass_at_1"]
        else ScoreResult(0.0, FAIL, details=details)
    )


def _read(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise UserValueError(f"unit_test_dir: there is no folder {str(folder)!r}.")
    files = sorted(
        path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")
    )
    if not files:
        raise UserValueError(f"unit_test_dir: the folder {str(folder)!r} holds no file.")
    return [_text(path) for path in files]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as fault:
        raise UserValueError(
            f"unit_test_dir: {path.name!r} is no text in UTF-8 ({fault.reason})."
        ) from fault
