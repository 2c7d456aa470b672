"""The scorer as an evaluator of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench.answers import answer_of
from context_bench.records import Scores
from context_bench_code import CodeExecution
from context_bench_scorers_code.python_unit_testing import result_of

_FIELDS = ("unit_test", "unit_tests", "test")


class PythonUnitTestingEvaluator:
    """Whether the code in the response passes the unit test of its row, under ``python_unit_testing``.

    The test stands in ``unit_test`` (or ``unit_tests``, or ``test``), a text or a list of texts, all of which must pass.

    Args:
        timeout: Seconds that a program may compute or sleep.
        memory: Mebibytes of address space that it may use.
        allow_unsandboxed: Whether to run programs without isolation where no isolating sandbox works.
    """

    name = "python_unit_testing"

    def __init__(
        self, *, timeout: float = 10.0, memory: int = 1024, allow_unsandboxed: bool = False
    ) -> None:
        self._code = CodeExecution(timeout, memory=memory, allow_unsandboxed=allow_unsandboxed)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return 1.0 or 0.0, or nothing and the reason where the row has no test that can be run, whatever the response is.

        Raises:
            SandboxError: No program can be run here.
            InconclusiveScoreError: A program did not get the time that it may take.
        """
        tests = next((original[name] for name in _FIELDS if original.get(name)), None)
        response = answer_of(processed)
        if tests is None or response is None:
            return Scores(
                {},
                {
                    "unscored": "the example has no unit test"
                    if tests is None
                    else "the response is no text"
                },
            )
        row = {"test": tests, "entry_point": original.get("entry_point")}
        result = result_of(self._code.score(row, {"response": response}))
        assert result.category is not None
        if result.score is None:
            return Scores({}, result.details)
        return Scores(
            {"python_unit_testing": result.score},
            {"category": result.category.name, **result.details},
        )

    def isolation(self) -> str:
        """Return the name of the sandbox that programs run in.

        Raises:
            SandboxError: There is none.
        """
        return self._code.isolation()

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score."""
        return self._code.fingerprint()
