"""A threshold that no score of an own file can reach is refused before the first call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import ContextBenchError

pytest.importorskip("context_bench_answer_quality")
pytest.importorskip("context_bench_efficiency")


@pytest.mark.parametrize("threshold", ["1.5", "-0.25"])
def test_a_threshold_outside_the_range_is_refused_before_a_row_is_called(
    threshold: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.csv").write_text("id,question,answer\n1,What is 2 + 2?,4\n")
    called = []

    def system(example: dict[str, Any]) -> str:
        called.append(example)
        return "4"

    with pytest.raises(ContextBenchError, match="f1 is from 0 to 1"):
        evaluate(
            system, "own.csv", threshold=float(threshold), progress=False, run_file="own.sqlite"
        )
    assert called == []
    evaluate(system, "own.csv", threshold=1.0, progress=False, run_file="fits.sqlite")
    assert len(called) == 1
