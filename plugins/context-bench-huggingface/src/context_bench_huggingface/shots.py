"""Prompts and worked examples: what a question becomes, and what is sent before it."""

from __future__ import annotations

import re
import string
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from attrs import evolve, frozen

from context_bench.errors import ConfigurationError
from context_bench.prompts import prompt_texts
from context_bench_huggingface.wanted import Wanted

POOL = 1000
"""How many examples of a split worked examples are taken from: its first ones, so that no split is read whole."""

CARD = "card"
"""Asks for as many worked examples as the card names."""


@frozen
class Shots:
    """Which worked examples a run wants.

    Attributes:
        count: How many; ``card`` for as many as the card of the dataset names.
        seed: Draws them; None takes the first of the split, as authors list them.
        file: File with the worked examples as text, in place of a split; ``{config}`` in its name is the configuration.
    """

    count: str = "0"
    seed: int | None = None
    file: str | None = None

    def counted(self, wanted: Wanted) -> int:
        """Return how many a run wants of a dataset.

        Raises:
            ConfigurationError: The count is no number.
        """
        if self.count == CARD:
            return wanted.shots
        if not self.count.isascii() or not self.count.isdecimal():
            raise ConfigurationError(
                f"shots is {self.count!r}: expected a number, or card for as many as the card of {wanted.name} names."
            )
        return int(self.count)


def worked(examples: Iterable[Mapping[str, Any]], wanted: Wanted, shots: Shots) -> dict[str, str]:
    """Return worked examples as a text: by the value that they share with a question, or under an empty name.

    They are the first of a split, or those that a seed draws from its first :data:`POOL`. One without gold shows no answer,
    so it is left out.

    Raises:
        ConfigurationError: There are fewer than the run wants.

    >>> rows = [{"question": f"{n} + {n}?", "answer": n + n} for n in range(9)]
    >>> worked(rows, Wanted("sums", "a/b"), Shots("2"))[""]
    '0 + 0?\\n0\\n\\n1 + 1?\\n2'
    """
    needed = _names_in(wanted.shots_template)
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for example in islice(examples, POOL):
        if needed <= example.keys():
            groups[_group(example, wanted)].append(example)
    if not groups:
        raise ConfigurationError(
            f"No example of the split {wanted.split} of {wanted.name} has {' and '.join(sorted(needed))}: leave out shots."
        )
    count = shots.counted(wanted)
    return {
        name: _joined(_taken(pool, count, wanted, shots), wanted) for name, pool in groups.items()
    }


def read_shots(shots: Shots, wanted: Wanted) -> str:
    """Return the worked examples of a file.

    What stands before a line of dashes is left out: the files of BIG-Bench Hard begin with a note to those who collect
    texts to train on.

    Raises:
        ConfigurationError: The file cannot be read, or holds nothing.
    """
    place = Path(str(shots.file).replace("{config}", wanted.config or "")).expanduser()
    try:
        text = place.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"shots_file: {place} cannot be read: {error}.") from error
    text = _HEAD.sub("", text, count=1).strip()
    if not text:
        raise ConfigurationError(f"shots_file: {place} holds no worked examples.")
    return text


def with_shots(
    examples: Iterable[dict[str, Any]], wanted: Wanted, found: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield examples with the worked examples that come before their questions.

    Raises:
        ConfigurationError: There is none for the group of an example.
    """
    for example in examples:
        name = "" if "" in found else _group(example, wanted)
        if name not in found:
            raise ConfigurationError(
                f"{wanted.name} has no worked example whose {wanted.shots_same} is {name!r}: leave out shots."
            )
        yield {**example, "shots": found[name]}


def prompted(examples: Iterable[dict[str, Any]], wanted: Wanted) -> Iterator[dict[str, Any]]:
    """Yield the examples with their questions as the prompt has them."""
    if wanted.prompt is None:
        yield from examples
        return
    for example in examples:
        question = render(wanted.prompt, example, wanted)
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


_HEAD = re.compile(r"\A.*?^-{3,}[ \t]*$", re.DOTALL | re.MULTILINE)


def _names_in(template: str) -> set[str]:
    parts = string.Formatter().parse(template)
    return {name.partition(".")[0].partition("[")[0] for _, name, _, _ in parts if name}


def _group(example: Mapping[str, Any], wanted: Wanted) -> str:
    return "" if wanted.shots_same is None else str(example.get(wanted.shots_same))


def _taken(
    pool: Sequence[Mapping[str, Any]], count: int, wanted: Wanted, shots: Shots
) -> Sequence[Mapping[str, Any]]:
    if len(pool) < count:
        group = f" with one {wanted.shots_same}" if wanted.shots_same else ""
        raise ConfigurationError(
            f"shots is {count}, but the split {wanted.split} of {wanted.name} has {len(pool)} worked examples{group}."
        )
    return pool[:count] if shots.seed is None else Random(shots.seed).sample(pool, count)


def _joined(examples: Iterable[Mapping[str, Any]], wanted: Wanted) -> str:
    """Return worked examples as they are sent: each with its own context, asked as the question is, then its answer."""
    plain = evolve(wanted, parts=())
    return "\n\n".join(
        "\n\n".join(prompt_texts(example).present) + _answer(example, wanted)
        for example in prompted(map(dict, examples), plain)
    )


def _answer(example: Mapping[str, Any], wanted: Wanted) -> str:
    text = render(wanted.shots_template, example, wanted)
    return text if wanted.shots_template[:1].isspace() else f"\n{text}"
