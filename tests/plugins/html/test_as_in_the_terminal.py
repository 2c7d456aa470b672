"""The report says what the terminal says: the same values in the same notation, and verdicts corrected as in compare."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from context_bench import evaluate
from context_bench.runs import open_run
from context_bench_compare.comparing import compare_runs
from context_bench_compare.verdicts import Rules
from context_bench_html.deciding import decide
from context_bench_html.side_by_side import side_by_side
from context_bench_html.summary import main_tables


class Right:
    name = "right"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"right": float(processed["response"])}


class Guess:
    """Answers right with a chance of its own."""

    def __init__(self, name: str, chance: float) -> None:
        self.name, self.chance = name, chance

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        drawn = random.Random(f"{self.name} {example['id']}").random()
        return {"response": str(float(drawn < self.chance))}


SYSTEMS = [Guess("base", 0.6), Guess("first", 0.7), Guess("second", 0.5), Guess("third", 0.65)]


def run(path: Path) -> Any:
    rows = [{"id": str(number), "question": str(number), "answer": "1"} for number in range(80)]
    return evaluate(SYSTEMS, rows, [Right()], progress=False, run_file=path, baseline="base")


def test_the_numbers_are_those_of_the_terminal(tmp_path: Path) -> None:
    result = run(tmp_path / "run.sqlite")
    headings, lines = result.table()
    first, second = main_tables(result)
    assert [line[0] for line in first.lines] == headings[1:]
    for number, line in enumerate(first.lines, start=1):
        assert list(line[1:]) == [cells[number] for cells in lines]
    [interval] = [line for line in first.lines if line[0] == "score, 95 %"]
    assert all(" to " in cell for cell in interval[1:])
    assert not {line[0] for line in second.lines} & {line[0] for line in first.lines}


def test_the_first_verdict_is_not_corrected_and_the_others_are_as_in_compare(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.sqlite"
    result = run(path)
    with open_run(path) as opened:
        decision = decide(
            side_by_side(result.rows, [system.name for system in SYSTEMS], "base"), opened
        )
        lines = compare_runs([opened], ("score",), Rules(threshold=0.7), "base")
    told = {one.system: one.found for one in decision.primary_scores}
    assert list(told) == [line.system for line in lines]
    for line in lines:
        found = told[line.system]
        assert (found.corrected, found.family, found.together) == (
            line.found.corrected,
            line.found.family,
            line.found.together,
        )
    assert told["first"].corrected == told["first"].p_value
    assert told["second"].together == 2
