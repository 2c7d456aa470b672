"""How often a row goes from one module of core to another: a guard against a way that grows longer."""

from __future__ import annotations

import sys
import threading
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


def count_handovers(rows: int, workers: int, path: Path) -> int:
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
            [Same()],
            progress=False,
            max_workers=workers,
            run_file=path,
        )
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return handovers[0]


# 28 and 34 on an idle machine; groups of rows are smaller where it is busy
@pytest.mark.parametrize(("workers", "most"), [(1, 40), (2, 65)])
def test_a_row_goes_through_few_modules(workers: int, most: int, tmp_path: Path) -> None:
    count_handovers(FEW, workers, tmp_path / "first.sqlite")  # what is imported once is no row's
    few = count_handovers(FEW, workers, tmp_path / "few.sqlite")
    many = count_handovers(MANY, workers, tmp_path / "many.sqlite")
    handovers = (many - few) / (MANY - FEW)
    assert 0 < handovers <= most
