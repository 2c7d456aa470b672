"""Pairs beside math-verify: recorded references, and answers that are mutations of them or of others.

CI compares a sample; ``CONTEXT_BENCH_PAIRS=2000`` compares as many. No pair may be equal to us alone unless it is one of the forms that the library does not know and that are equal.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
from collections import Counter

import pytest

from context_bench_math.forms import same_form
from context_bench_math.notation import plain
from context_bench_math.reading import read
from context_bench_math.wording import differ_as_text

math_verify = pytest.importorskip("math_verify")

PAIRS = int(os.environ.get("CONTEXT_BENCH_PAIRS", "200"))
MUTATIONS = (
    lambda text: text,
    lambda text: re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), text, count=1),
    lambda text: text.replace("+", "-", 1),
    lambda text: f"-{text}",
    lambda text: text.replace("(", "[", 1),
    lambda text: text[::-1] if text.isalpha() else text.replace(",", ", ", 1),
    lambda text: text.replace("x", "y", 1),
    lambda text: text.replace("\\frac", "\\dfrac"),
    lambda text: rf"\text{{{text}}}" if text.isalpha() else f"{text}.",
)


def _library(gold: str, answer: str) -> bool:
    readings = [
        math_verify.parse(f"${text.strip('$')}$", parsing_timeout=None) for text in (gold, answer)
    ]
    return bool(math_verify.verify(*readings, timeout_seconds=None))


def _pairs(references: list[str]) -> list[tuple[str, str]]:
    draw = random.Random(31)
    pairs = []
    for number in range(PAIRS):
        gold = draw.choice(references)
        other = gold if number % 4 else draw.choice(references)
        pairs.append((gold, draw.choice(MUTATIONS)(other)))
    return pairs


@pytest.mark.shared
@pytest.mark.one_python
def test_no_pair_is_equal_to_us_alone(shared, evaluator) -> None:
    with gzip.open(shared("data/math.raw.jsonl.gz"), "rt", encoding="utf-8") as file:
        references = [json.loads(line)["answer"] for line in file]
    counted: Counter[str] = Counter()
    alone = []
    for gold, answer in _pairs(references):
        ours = evaluator.score({"answer": gold}, {"response": rf"\boxed{{{answer}}}"})["math_equiv"]
        theirs = _library(gold, answer)
        counted[f"ours {ours:g}, theirs {theirs:d}"] += 1
        if ours and not theirs and not _is_known_form(gold, answer):
            alone.append((gold, answer))
    print(dict(counted))
    assert alone == []
    assert sum(counted.values()) == PAIRS


def _is_known_form(gold: str, answer: str) -> bool:
    """Whether two texts are written alike but for typesetting, or in two forms of one thing that the library does not know."""
    if read(gold, is_reference=True).writing == read(answer).writing:
        return True
    return not differ_as_text(gold, answer) and same_form(plain(gold), plain(answer)) is True
