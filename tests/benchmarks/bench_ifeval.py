"""IFEval against lm-evaluation-harness: `python tests/benchmarks/bench_ifeval.py` prints a Markdown table.

Both sides give the strict and the loose verdicts of each published response of four models, from the shared records beside a
developer's checkout. The reference is the checker of lm-evaluation-harness, which is the official one, with what it needs:
`pip install lm-eval[ifeval]`, or `pip install --no-deps lm-eval` with langdetect, nltk and immutabledict. It reads the
sentence parameters that our package ships, so it downloads nothing. Times are the best of several rounds in turn.
"""

from __future__ import annotations

import gzip
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import context_bench_ifeval
from context_bench_ifeval import IFEvalChecker

Case = tuple[dict[str, Any], str]
Row = tuple[str, float, float | None]

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
MODELS = {
    "GPT-4": "ifeval.gpt4-20231107",
    "GPT-4o mini": "ifeval-en.gpt-4o-mini-2024-07-18",
    "Mistral 7B": "ifeval-en.mistral-7b-instruct-v0.3",
    "Qwen 2.5 0.5B": "ifeval-en.qwen2.5-0.5b-instruct-gptq-int4",
}
ROUNDS = 5
FIRST = """
import time
start = time.perf_counter()
from context_bench_ifeval import IFEvalChecker
row = {"instruction_id_list": ["change_case:english_lowercase", "length_constraints:number_sentences",
                               "change_case:capital_word_frequency"],
       "kwargs": [{}, {"relation": "at least", "num_sentences": 2},
                  {"capital_relation": "less than", "capital_frequency": 2}]}
IFEvalChecker().score(row, {"response": "the cat sat on the mat, e.g. today. it was warm there. " * 30})
print(time.perf_counter() - start)
"""


def rows() -> list[Row]:
    """Name of the case, seconds a response of ours, and of the reference (None if it is not installed)."""
    if not DATA.exists():
        raise RuntimeError(
            "The shared records are not beside this checkout, so there is nothing to measure."
        )
    reference = load_reference()
    score = IFEvalChecker().score
    return [_row(name, _cases(file), score, reference) for name, file in MODELS.items()]


def first_verdict_seconds(runs: int = 9) -> float:
    """The seconds from import to the first verdict on language, sentences and capitals, in a fresh process; the median."""
    command = [sys.executable, "-c", FIRST]
    return median(
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(runs)
    )


def load_reference() -> Callable[[dict[str, Any], str], Any] | None:
    """The reference's strict and loose check of a response, without importing the rest of the harness."""
    found = find_spec("lm_eval")
    if found is None or not found.submodule_search_locations:
        return None
    os.environ["NLTK_DATA"] = str(Path(context_bench_ifeval.__file__).parent / "data")
    folder = Path(found.submodule_search_locations[0])
    for name in ("lm_eval", "lm_eval.tasks", "lm_eval.tasks.ifeval"):
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
    harness = import_module("lm_eval.tasks.ifeval.utils")
    import_module("langdetect").DetectorFactory.seed = 0
    logging.disable(logging.ERROR)

    def check(row: dict[str, Any], response: str) -> Any:
        example = harness.InputExample(
            row["key"], row["instruction_id_list"], row["prompt"], row["kwargs"]
        )
        return (
            harness.test_instruction_following_strict(example, response).follow_instruction_list,
            harness.test_instruction_following_loose(example, response).follow_instruction_list,
        )

    return check


def _row(
    name: str, cases: list[Case], score: Any, reference: Callable[[dict[str, Any], str], Any] | None
) -> Row:
    def ours() -> None:
        for row, response in cases:
            score(row, {"response": response})

    def theirs() -> None:
        if reference is not None:
            for row, response in cases:
                reference(row, response)

    seconds: dict[Callable[[], None], list[float]] = {ours: [], theirs: []}
    for _ in range(ROUNDS):
        for run, times in seconds.items():
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
    fastest = {run: min(times) / len(cases) for run, times in seconds.items()}
    return f"{name}, {len(cases)} responses", fastest[ours], fastest[theirs] if reference else None


def _cases(file: str) -> list[Case]:
    asked = _records(DATA / "ifeval.raw.jsonl.gz")
    by_prompt = {row["prompt"]: row for row in asked}
    published = _records(DATA / "outputs" / f"{file}.strict.jsonl.gz")
    return [
        (by_prompt.get(one["prompt"], asked[place]), one["response"])
        for place, one in enumerate(published)
    ]


def _records(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def main() -> None:
    """Print the table."""
    try:
        found = rows()
    except RuntimeError as error:
        sys.exit(str(error))
    compared = all(reference is not None for _, _, reference in found)
    print("| responses | ours, ms each | lm-eval, ms each | times faster |")
    print("|---|---:|---:|---:|")
    for name, ours, reference in found:
        theirs = (
            f"{1000 * reference:.2f} | {reference / ours:.1f}"
            if reference is not None
            else "not installed | -"
        )
        print(f"| {name} | {1000 * ours:.3f} | {theirs} |")
    if compared:
        print(
            f"\nlm-eval {version('lm-eval')} with nltk {version('nltk')} and langdetect {version('langdetect')}."
        )
    print(
        f"\nFrom import to the first verdict in a fresh process: {1000 * first_verdict_seconds():.0f} ms (limit: 150)."
    )


if __name__ == "__main__":
    main()
