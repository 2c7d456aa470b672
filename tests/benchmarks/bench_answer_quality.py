"""AnswerQuality against the SQuAD v1.1 evaluation: `python tests/benchmarks/bench_answer_quality.py` prints a table.

The reference is written here from the published definition and does what the official script does for each reference:
it normalises both texts for the F1 and again for the exact match. Ours gives four scores, the reference two. "First" reads
each reference for the first time; "again" is a second system answering the same questions.
"""

from __future__ import annotations

import random
import re
import string
import time
from collections import Counter
from collections.abc import Callable

from context_bench_answer_quality import AnswerQuality
from context_bench_answer_quality import evaluator as evaluator_module

Row = tuple[str, float, float, float]
Pair = tuple[str, list[str]]

WORDS = (
    "the",
    "a",
    "of",
    "in",
    "Paris,",
    "London.",
    "was",
    "1984",
    "(the)",
    "King's",
    "film",
    "New-York",
    "and",
    "first",
)


def rows() -> list[Row]:
    """Name of the case, seconds an answer of ours, seconds of the reference, and how many times faster ours is."""
    cases = {
        "short answer, 1 reference": pairs(words=(1, 5), references=1),
        "sentence, 3 references": pairs(words=(8, 20), references=3),
        "paragraph, 2 references": pairs(words=(60, 150), references=2),
    }
    return [
        row
        for name, texts in cases.items()
        for row in (
            _row(f"{name}, first", texts, forget=True),
            _row(f"{name}, again", texts, forget=False),
        )
    ]


def _row(name: str, texts: list[Pair], forget: bool) -> Row:
    score = AnswerQuality().score
    examples = [({"answers": references}, {"response": response}) for response, references in texts]

    def ours() -> None:
        if forget:
            evaluator_module._remembered.cache_clear()
        for original, processed in examples:
            score(original, processed)

    def reference() -> None:
        for response, references in texts:
            max(f1(response, one) for one in references)
            max(exact_match(response, one) for one in references)

    seconds, reference_seconds = best_of(ours) / len(texts), best_of(reference) / len(texts)
    return name, seconds, reference_seconds, reference_seconds / seconds


def pairs(words: tuple[int, int], references: int, count: int = 300) -> list[Pair]:
    """Random responses with their references, which have a fourth of the words."""
    rng = random.Random(1)

    def text(shrink: int) -> str:
        return (
            " ".join(rng.choices(WORDS, k=max(1, rng.randint(*words) // shrink)))
            + f" {rng.randrange(10**6)}"
        )

    return [(text(1), [text(4) for _ in range(references)]) for _ in range(count)]


def f1(response: str, reference: str) -> float:
    """Token F1 by counting both sides, as the definition of SQuAD v1.1 says."""
    found, wanted = normalized(response).split(), normalized(reference).split()
    shared = sum((Counter(found) & Counter(wanted)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(found), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def exact_match(response: str, reference: str) -> bool:
    """Equality after normalisation."""
    return normalized(response) == normalized(reference)


def normalized(text: str) -> str:
    """Lower case, no punctuation, no articles, single spaces: one pass for each, character by character."""
    punctuation = set(string.punctuation)
    bare = "".join(character for character in text.lower() if character not in punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def best_of(function: Callable[[], None], seconds: float = 1.0) -> float:
    """The fastest of at least three runs, repeated for about a second."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the table."""
    print("| case | ours | reference | times faster |")
    print("|---|---:|---:|---:|")
    for name, ours, reference, ratio in rows():
        print(f"| {name} | {1e6 * ours:.1f} us | {1e6 * reference:.1f} us | {ratio:.1f} |")


if __name__ == "__main__":
    main()
