"""How long reading takes: 16 awkward shapes of 400,000 characters through every reader of replies and every evaluator.

    python tests/benchmarks/bench_answers.py [characters] [name of a reader]

Prints seconds of processor time for each reader and shape, and how many times longer the whole takes than its half: 2 is
linear. Evaluators whose packages are not installed are left out. Exits with 1 where a text takes more than 20 seconds, or
more than three times as long as its half and more than a second.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from context_bench.answers import (
    part_answer,
    plain_signs,
    read_reply,
    tool_calls,
    without_layout,
    without_remarks,
)
from context_bench.errors import InconclusiveScoreError

SHAPES: Mapping[str, str] = {
    "stars": "*",
    "bold words": "**a ",
    "underscores": "_a ",
    "back-quotes": "`a ",
    "quotation marks": '"a ',
    "quoted lines": "> ",
    "quoted bullets": "> - a\n",
    "pipes": "| a ",
    "rows": "| a | b |\n",
    "numbered lines": "1. a\n",
    "fences": "```\n",
    "open tags": "<answer>a",
    "calls": "<tool_call>",
    "sayings": "the response says: rating ",
    "marks on letters": "e\u0301\u0316",
    "blanks": " ",
}
READERS: Mapping[str, Callable[[str], object]] = {
    "reasoning": part_answer,
    "signs": plain_signs,
    "layout": without_layout,
    "reply": read_reply,
    "remarks": without_remarks,
    "calls": tool_calls,
}


ROWS: Mapping[str, Mapping[str, Any]] = {
    "MathEquivalence": {"answer": "18"},
    "FinalNumber": {"answer": "18"},
    "MultipleChoiceAccuracy": {"choices": ["a", "b", "c", "d"], "correct_letter": "B"},
    "BBHExactMatch": {"answer": "(B)"},
    "NLILabelMatch": {"answer": "Neutral"},
    "DropF1": {"answer": "18"},
    "NeedleRecall": {"answers": ["18"], "needles": ["18"]},
    "BFCLMatch": {
        "answer": [{"f": {"a": [1]}}],
        "functions": [
            {"name": "f", "parameters": {"type": "dict", "properties": {"a": {"type": "integer"}}}}
        ],
    },
    "LexicalFaithfulness": {"context": "a response says 18"},
}
"""An example for each evaluator that reads replies."""


def evaluators() -> dict[str, Callable[[str], object]]:
    """Return what scores a reply, by the class of the evaluator; code is found in a reply, and not run."""
    import context_bench.evaluators as installed

    scorers: dict[str, Callable[[str], object]] = {}
    for name, row in ROWS.items():
        try:
            evaluator = getattr(installed, name)()
        except ImportError:
            continue
        scorers[name] = partial(_score, evaluator, row)
    try:
        from context_bench_code.marking import marked
        from context_bench_judge import UnreadableReply, read_rating, read_verdict
    except ImportError:
        return scorers

    def read(reader: Callable[[str], object], text: str) -> object:
        with suppress(UnreadableReply):
            return reader(text)
        return None

    scorers["rating"] = partial(read, lambda text: read_rating(text, (1, 10)))
    scorers["verdict"] = partial(read, read_verdict)
    scorers["code"] = marked
    return scorers


def _score(evaluator: Any, row: Mapping[str, Any], text: str) -> object:
    with suppress(InconclusiveScoreError):
        return evaluator.score(row, {"response": text})
    return None


def seconds(reader: Callable[[str], object], text: str) -> float:
    """Return the processor time of one reading."""
    began = time.process_time()
    reader(text)
    return time.process_time() - began


def main(characters: int, only: str | None = None) -> int:
    """Print the table, and return 1 where a text takes too long."""
    slow = 0
    for name, reader in {**READERS, **evaluators()}.items():
        if only not in (None, name):
            continue
        for shape, unit in SHAPES.items():
            text = (unit * (characters // len(unit) + 1))[:characters]
            half = seconds(reader, text[: characters // 2])
            whole = seconds(reader, text)
            growth = whole / half if half > 0.001 else float("nan")
            is_slow = whole > 20 or (whole > 1 and growth > 3)
            slow += is_slow
            mark = "  too slow" if is_slow else ""
            print(f"{name:22} {shape:18} {whole:8.3f} s   x {growth:.1f}{mark}", flush=True)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400_000, *sys.argv[2:3]))
