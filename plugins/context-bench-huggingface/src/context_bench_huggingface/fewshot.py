"""Prompts and worked examples: what stands around and before a question."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from random import Random
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench.prompts import asked
from context_bench_huggingface.wanted import Wanted

POOL = 1000
"""How many examples of a split worked examples are drawn from: its first ones, so that no split is read whole."""


def draw(
    examples: Iterable[Mapping[str, Any]], count: int, seed: int, wanted: Wanted
) -> list[Mapping[str, Any]]:
    """Return ``count`` of the first :data:`POOL` examples, drawn with a seed, in the order that they were drawn.

    One without gold shows no answer, so it is not drawn.

    Raises:
        ConfigurationError: None of them has what a worked example shows.

    >>> from context_bench_huggingface.wanted import Wanted
    >>> [each["id"] for each in draw(({"id": i, "answer": i} for i in range(9)), 3, 0, Wanted("sums", "a/b"))]
    [6, 8, 0]
    """
    shown = {
        name.partition(".")[0].partition("[")[0]
        for _, name, _, _ in string.Formatter().parse(wanted.fewshot_template)
        if name
    }
    pool = [example for example in islice(examples, POOL) if shown <= example.keys()]
    if not pool:
        raise ConfigurationError(
            f"No example of the split {wanted.split} of {wanted.name} has {' and '.join(sorted(shown))}: leave out fewshot."
        )
    return Random(seed).sample(pool, min(count, len(pool)))


def prompted(
    examples: Iterable[dict[str, Any]], wanted: Wanted, fewshot: Iterable[Mapping[str, Any]] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the examples with their questions as the prompt has them, behind the worked examples."""
    template = wanted.prompt or "{question}"
    before = "".join(
        f"{asked(render(template, shot, wanted), shot)}{_answer(shot, wanted)}\n\n"
        for shot in fewshot
    )
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
    text = render(wanted.fewshot_template, shot, wanted)
    return text if wanted.fewshot_template[:1].isspace() else f"\n{text}"
