"""The fixture's value: `evaluate()` with a run file for each call, and a note of what it returned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from context_bench import EvalResult, evaluate
from context_bench.errors import ContextBenchError
from context_bench_pytest.row_texts import run_file_of
from context_bench_pytest.run_lines import line_of_error, lines_of


class Session(Protocol):
    """What the runner needs of the pytest session."""

    test_id: str
    worker: str

    def add(self, lines: list[dict[str, Any]]) -> None:
        """Note lines for the section at the end of the session."""


class BenchmarkRunner:
    """Runs benchmarks in tests.

    Attributes:
        folder: Where the run files are.

    Args:
        folder: An existing folder that no other process uses.
        session: The pytest session.
    """

    def __init__(self, folder: Path, session: Session) -> None:
        self.folder = folder
        self._session = session

    def __call__(
        self,
        systems: Any,
        dataset: Any = None,
        evaluators: Sequence[Any] | None = None,
        **options: Any,
    ) -> EvalResult:
        """Give the examples to the systems, score the responses, and return the result.

        Args:
            systems: As for :func:`context_bench.evaluate`: a function, an object, a spec, or several.
            dataset: Examples, or a dataset spec or path.
            evaluators: Evaluators, as objects or names; None wires them to the dataset.
            options: Further arguments of :func:`context_bench.evaluate`. `progress` is off, and `run_file` is a new
                file, unless they are given; with `cache_dir`, the run file is in that folder.

        Raises:
            ContextBenchError: The run could not start, or was stopped.
        """
        __tracebackhide__ = True
        options.setdefault("progress", False)
        if not options.get("run_file") and not options.get("cache_dir"):
            options["run_file"] = self._new_file()
        try:
            result = evaluate(systems, dataset, evaluators, **options)
        except ContextBenchError as error:
            place = options.get("run_file") or options["cache_dir"]
            self._note([line_of_error(error, Path(place))])
            raise error.with_traceback(
                None
            ) from None  # the message says it all, as on the command line
        self._note(lines_of(result, run_file_of(result)))
        return result

    def _note(self, lines: list[dict[str, Any]]) -> None:
        place = {"test": self._session.test_id, "worker": self._session.worker}
        self._session.add([place | line for line in lines])

    def _new_file(self) -> Path:
        """Return the path of a run file with the name of the test that does not exist yet."""
        test = self._session.test_id.rpartition("::")[2]
        name = re.sub(r"[^\w.-]+", "-", test).strip("-.")[:_LONGEST_NAME] or "run"
        path = self.folder / f"{name}.sqlite"
        number = 2
        while path.exists():
            path = self.folder / f"{name}-{number}.sqlite"
            number += 1
        return path


_LONGEST_NAME = 80
