"""ROUGE against the rouge-score package: `python tests/benchmarks/bench_rouge.py` prints a Markdown table.

Both sides read plain strings and give precision, recall and F-measure. Texts are random words under Zipf's law, so that
they share words as real summaries do. Times are the best of several runs.
"""

from __future__ import annotations

import logging
import random
import sys
import time
from collections.abc import Callable

from context_bench_rouge import RougeScore, rouge_l

Row = tuple[str, float, float, float]

RANKS = range(1, 4001)
ENDINGS = ("", "", "s", "ed", "ing", "ation", "fulness")

try:
    from rouge_score.rouge_scorer import RougeScorer
except ImportError:
    RougeScorer = None


def rows() -> list[Row]:
    """Name of the case, seconds of ours, seconds of rouge-score, and how many times faster ours is."""
    if RougeScorer is None:
        raise RuntimeError(
            "rouge-score is not installed: `pip install rouge-score==0.1.2` in this environment first."
        )
    logging.getLogger("absl").setLevel(logging.WARNING)
    return [
        _case("rougeL, 300 x 150 words", "rougeL", 300, 150),
        _case("rougeL, 3000 x 500 words", "rougeL", 3000, 500),
        _case("rougeL, 3000 x 3000 words", "rougeL", 3000, 3000),
        _case("rougeLsum, 60 x 50 words", "rougeLsum", 60, 50, sentence=12),
        _case("rougeLsum, 300 x 150 words", "rougeLsum", 300, 150, sentence=20),
        _case("rougeLsum, 600 x 400 words", "rougeLsum", 600, 400, sentence=25),
        _case("rouge1, 300 x 150 words", "rouge1", 300, 150),
        _case("rouge2, 300 x 150 words", "rouge2", 300, 150),
        _case("all four, stemmed, 300 x 150 words", "all", 300, 150, sentence=20, stemmer=True),
    ]


def rouge_l_seconds() -> float:
    """The seconds that `rouge_l` takes for two texts of 3,000 words."""
    prediction, reference = text(3000, seed=1), text(3000, seed=2)
    return best_of(lambda: rouge_l(prediction, reference))


def _case(
    name: str,
    rouge_type: str,
    of_reference: int,
    of_response: int,
    sentence: int = 0,
    **options: bool,
) -> Row:
    reference, response = text(of_reference, 1, sentence), text(of_response, 2, sentence)
    ours = RougeScore(rouge_type, **options)
    types = [one.value for one in ours.rouge_types]
    theirs = RougeScorer(types, use_stemmer=options.get("stemmer", False))
    seconds = best_of(lambda: ours.compare(response, reference))
    reference_seconds = best_of(lambda: theirs.score(reference, response))
    return name, seconds, reference_seconds, reference_seconds / seconds


def text(words: int, seed: int, sentence: int = 0) -> str:
    """Random words under Zipf's law, with a line break after each `sentence` words."""
    letters = random.Random(0)
    vocabulary = [
        "".join(letters.choices("etaoinshrdlu", k=rank % 7 + 1)) + letters.choice(ENDINGS)
        for rank in RANKS
    ]
    drawn = random.Random(seed).choices(vocabulary, [1 / rank for rank in RANKS], k=words)
    breaks = ("\n" if sentence and place % sentence == 0 else " " for place in range(1, words + 1))
    return "".join(word + separator for word, separator in zip(drawn, breaks))


def best_of(function: Callable[[], object], seconds: float = 1.0) -> float:
    """The fastest of at least three runs, repeated for about a second."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 1000):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the table."""
    try:
        found = rows()
    except RuntimeError as error:
        sys.exit(str(error))
    print("| case | ours | rouge-score | times faster |")
    print("|---|---:|---:|---:|")
    for name, ours, reference, ratio in found:
        print(f"| {name} | {1000 * ours:.3f} ms | {1000 * reference:.2f} ms | {ratio:.0f} |")
    print(f"\n`rouge_l` on 3000 x 3000 words: {1000 * rouge_l_seconds():.2f} ms")


if __name__ == "__main__":
    main()
