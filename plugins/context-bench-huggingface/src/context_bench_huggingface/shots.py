"""Prompts and worked examples: what stands around and before a question."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from random import Random
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench_huggingface.wanted import Wanted

POOL = 1000
"""How many examples of a split worked examples are drawn from: its first ones, so that no split is read whole."""


def draw(examples: Iterable[Mapping[str, Any]], count: int, seed: int) -> list[Mapping[str, Any]]:
    """Return ``count`` of the first :data:`POOL` examples, drawn with a seed, in the order that they were drawn.

    >>> [each["id"] for each in draw(({"id": i} for i in range(9)), 3, seed=0)]
    [6, 8, 0]
    """
    pool = list(islice(examples, POOL))
    return Random(seed).sample(pool, min(count, len(pool)))


def prompted(
    examples: Iterable[dict[str, Any]], wanted: Wanted, shots: Iterable[Mapping[str, Any]] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the examples with their questions as the prompt has them, behind the worked examples."""
    template = wanted.prompt or "{question}"
    before = "".join(f"{render(template, shot, wanted)}{_answer(shot, wanted)}\n\n" for shot in shots)
    if not before and wanted.prompt is None:
        yield from examples
        return
    for example in examples:
        question = before + render(template, example, wanted)
        if example.get("context") == example.get("question"):
            yield {**example, "context": question, "question": question}
        else:
            yield {**example, "question": question}


def render(template: str, example: Mapping[str, Any], wanted: Wanted) -> str:
    """Return a template with the fields of an example in its braces.

    Raises:
        ConfigurationError: The template names a field that the example does not have.
    """
    try:
        return string.Formatter().vformat(template, (), example)
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise ConfigurationError(
            f"The prompt of {wanted.name} is {template!r}, which cannot be filled in: {error}. An example has: "
            f"{', '.join(example)}."
        ) from error


def _answer(shot: Mapping[str, Any], wanted: Wanted) -> str:
    text = render(wanted.shot, shot, wanted)
    return text if wanted.shot[:1].isspace() else f"\n{text}"
