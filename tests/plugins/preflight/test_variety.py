"""A few examples that differ stand for many, whatever the order in which they come."""

from __future__ import annotations

import random
from typing import Any

import pytest

variety = pytest.importorskip("context_bench_preflight.variety")

PROSE = "It rained, as it often does, and nobody minded; the clerk, who was late, ran.\n" * 9


@pytest.mark.parametrize(
    ("example", "structure"),
    [
        ({"context": PROSE}, "prose"),
        ({"context": '[{"a": 1}, {"a": 2}]'}, "json"),
        ({"context": "a,b,c\n1,2,3\n4,5,6\n"}, "table"),
        ({"context": "| a | b |\n|---|---|\n| 1 | 2 |\n"}, "table"),
        ({"context": "2026-01-02 started\n2026-01-02 went on\n2026-01-03 ended\n"}, "log"),
        ({"context": "import os\ndef f(x):\n    return x\nclass A:\n    if x:\n"}, "code"),
        ({"messages": [{"role": "user", "content": "hello " * 9}], "question": "?"}, "messages"),
        ({"question": "how many?"}, "prose"),
        ({"answer": "x"}, "prose"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_structure_of_an_example_is_that_of_its_longest_text(
    example: dict[str, Any], structure: str
) -> None:
    assert variety.nature_of(example).structure == structure


def pool() -> list[tuple[str, dict[str, Any]]]:
    made = [
        (f"prose-{n}", {"id": f"prose-{n}", "context": PROSE * (1 + n % 3), "dataset": "a"})
        for n in range(40)
    ]
    made += [
        (f"json-{n}", {"id": f"json-{n}", "context": f"[{n}]", "dataset": "a"}) for n in range(2)
    ]
    made += [("other", {"id": "other", "context": PROSE, "dataset": "b"})]
    return made


@pytest.mark.parametrize("seed", range(4))
def test_the_choice_does_not_hang_on_the_order(seed: int) -> None:
    examples = pool()
    chosen = [examples[place][0] for place in variety.varied(examples, 3, seed)]
    for shuffle in range(5):
        random.Random(shuffle).shuffle(examples)
        assert [examples[place][0] for place in variety.varied(examples, 3, seed)] == chosen
    assert {name.partition("-")[0] for name in chosen} == {"prose", "json", "other"}


def test_the_longest_comes_first_and_there_are_never_more_than_there_are() -> None:
    examples = pool()[:2]
    assert len(variety.varied(examples, 5)) == 2
    lengths = [variety.nature_of(pool()[place][1]).length for place in variety.varied(pool(), 6)]
    assert lengths == sorted(lengths, reverse=True)
