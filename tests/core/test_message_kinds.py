"""The text of every kind of message, compared with ``golden/messages.txt``; other tests compare types and codes.

``python tests/core/test_message_kinds.py`` writes the file again; read the changes before you commit them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench import errors
from context_bench.errors import (
    CallRefusedError,
    ChangedRunFileError,
    ContextBenchError,
    DuplicateIdError,
    InconclusiveScoreError,
    LockDriftError,
    LostExecutorError,
    LostStoreError,
    NothingToCompressError,
    RunStoppedError,
    SourceChangedError,
    UnknownNameError,
    UntrustedFileError,
    WiringError,
)
from context_bench.plan.project import project_request, set_value
from context_bench.plan.run_config import RunConfig, require_sample
from context_bench.plan.specs import parse_dataset, parse_system
from context_bench.plan.systems import as_system, labels_of, with_reader
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.loading import attempted
from context_bench.results.metrics import MeanScore
from context_bench.results.summary import check_score_field
from context_bench.run import stopping
from context_bench.runs import open_run
from context_bench.session.datasets import rename_fields
from context_bench.session.prepare import require_complete
from context_bench.store.keys import digest

GOLDEN = Path(__file__).parent / "golden" / "messages.txt"
NONE = Catalog()


def raising(error: Exception) -> Callable[[], object]:
    """Return what raises an error whose text is written where it is raised."""

    def act() -> object:
        raise error

    return act


class Named:
    name = "short"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {}


CASES: dict[str, Callable[[], object]] = {
    "unknown name, close": raising(UnknownNameError("evaluator", "rogue", ["rouge", "math"])),
    "unknown name, few choices": raising(UnknownNameError("order", "x", ["interleaved", "system"])),
    "unknown name, hint": raising(UnknownNameError("run", "x", [], "Run 'ls runs' to see all.")),
    "nothing to compress": raising(NothingToCompressError("bm25", "dataset 'gsm8k'")),
    "unknown key of the project file": lambda: project_request({"run": {"limti": 5}}, NONE),
    "unknown setting": lambda: set_value(RunConfig(), "limit", "5", NONE),
    "value, too small": lambda: RunConfig(limit=0),
    "value, not a number": lambda: RunConfig(threshold="high"),
    "value, not a share": lambda: RunConfig(max_failed="1"),
    "value, not a list": lambda: RunConfig(ids=[1]),
    "value, not a choice": lambda: RunConfig(order="random"),
    "value, not a table": lambda: RunConfig(options={"judge": "large"}),
    "missing dataset": lambda: require_complete(RunConfig()),
    "exclusive options": lambda: RunConfig(sample=3, ids=("a",)),
    "unused option": lambda: require_sample(RunConfig(seed=4)),
    "spec without a name": lambda: parse_system("short="),
    "spec with a colon and nothing after it": lambda: parse_dataset("needle:"),
    "two systems with one label": lambda: labels_of(NONE, [Named(), Named()]),
    "reader without a transformer": lambda: with_reader(
        NONE,
        [Named()],
        parse_system("endpoint"),  # type: ignore[list-item]
    ),
    "not a system": lambda: as_system(3),
    "a class in place of a system": lambda: as_system(str),
    "run file of somebody else": raising(
        UntrustedFileError("shared.sqlite", "resume", ["calls https://example.org"])
    ),
    "plugin that raises": lambda: attempted("acme/quick", lambda: 1 / 0),
    "wiring": raising(WiringError("a and b both give the score 'f1'.")),
    "lock": raising(LockDriftError("The wiring differs from context-bench.lock.")),
    "field without a source": lambda: list(
        rename_fields([{"question": "q"}], {"answer": "gold"}, "rows.jsonl")
    ),
    "changed run file": raising(ChangedRunFileError("run.sqlite")),
    "changed source": raising(SourceChangedError("rows")),
    "duplicate id": raising(DuplicateIdError("Rows 0 and 4 of dataset 'rows' have one id, 'a'.")),
    "metric without its score": lambda: check_score_field(MeanScore("f2"), (), ["f1"]),
    "run file that does not exist": lambda: open_run("absent.sqlite"),
    "value that cannot be stored": lambda: digest({"client": object()}),
    "refused call": raising(CallRefusedError("The budget of 5 USD is spent.")),
    "inconclusive score": raising(InconclusiveScoreError("The judge did not answer.")),
    "lost executor": raising(LostExecutorError("The scheduler at tcp://node:8786 is lost.")),
    "lost store": raising(LostStoreError("The connection to the database is lost.")),
    "stopped run": raising(RunStoppedError("Interrupted.", "run.sqlite", 130)),
    "too many failures": raising(stopping.TooManyFailuresError("3 of 9 rows have failed.")),
    "refusing endpoint": raising(stopping.RefusedError("429 for 10 minutes.")),
    "dead system": raising(stopping.DeadSystemError("The first 10 rows failed.")),
}


def error_of(case: str) -> ContextBenchError:
    with pytest.raises(ContextBenchError) as caught:
        CASES[case]()
    return caught.value


def text() -> str:
    """Return type, code and exit code of each case, and its message."""
    blocks = []
    for case in CASES:
        error = error_of(case)
        head = f"{case}: {type(error).__name__} {error.code} (exit code {error.exit_code})"
        blocks.append(f"{head}\n    {error}\n")
    return "\n".join(blocks)


def test_the_message_of_each_kind_is_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert text() == GOLDEN.read_text(encoding="utf-8")


def test_each_kind_of_error_has_a_code_and_an_example() -> None:
    classes = [
        kind
        for module in (errors, stopping)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, ContextBenchError)
    ]
    codes = {kind.__name__: kind.code for kind in classes}
    assert len(set(codes.values())) == len(codes)
    examples = {type(error_of(case)).__name__ for case in CASES}
    assert set(codes) - examples == {"ContextBenchError"}


if __name__ == "__main__":
    GOLDEN.write_text(text(), encoding="utf-8")
