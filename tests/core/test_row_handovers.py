"""How often a row goes from one module of core to another: a guard against a way that grows longer."""

from __future__ import annotations

import sys
import threading
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import context_bench
from context_bench import evaluate

CORE = str(Path(context_bench.__file__).parent)
FEW, MANY = 200, 600


class Same:
    name = "same"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"same": 1.0}


class Later:
    name = "later"

    async def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"same": 1.0}


def count_handovers(rows: int, evaluator: Any, workers: int, path: Path) -> int:
    """Return the calls from one module of core to another that a run makes, on all its threads."""
    handovers = [0]

    def note(frame: FrameType, event: str, argument: object) -> None:
        caller = frame.f_back
        if event != "call" or caller is None:
            return
        name = frame.f_code.co_filename
        calling = caller.f_code.co_filename
        if name != calling and name.startswith(CORE) and calling.startswith(CORE):
            handovers[0] += 1

    examples = ({"id": str(number), "question": "why?"} for number in range(rows))
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        evaluate(
            lambda example: "because",
            examples,
            [evaluator],
            progress=False,
            max_workers=workers,
            run_file=path,
        )
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return handovers[0]


# 34, 40 and 55 on an idle machine; groups of rows are smaller where it is busy
@pytest.mark.parametrize(
    ("evaluator", "workers", "most"),
    [(Same(), 1, 40), (Same(), 2, 65), (Later(), 1, 100)],
)
def test_a_row_goes_through_few_modules(
    evaluator: Any, workers: int, most: int, tmp_path: Path
) -> None:
    count = partial(count_handovers, evaluator=evaluator, workers=workers)
    count(FEW, path=tmp_path / "first.sqlite")  # what is imported once is no row's
    few = count(FEW, path=tmp_path / "few.sqlite")
    many = count(MANY, path=tmp_path / "many.sqlite")
    handovers = (many - few) / (MANY - FEW)
    assert 0 < handovers <= most
