"""The data set: rows of any length, depth and seed, made on the spot."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from context_bench_needle import options, prose
from context_bench_needle.dice import Dice, radical_inverse
from context_bench_needle.haystack import build_haystack
from context_bench_needle.needles import Mint, Needle, question_about
from context_bench_needle.ruler import Place, RulerTask
from context_bench_needle.tasks import Task, tasks_of

PER_LENGTH = 100
"""Rows of each length (and task) when no limit is given."""

_UNIFORM = "uniform"


def needle(
    limit: int | None = None,
    config: str | None = None,
    split: str | None = None,
    *,
    length: int | str | None = None,
    lengths: options.Numbers | None = None,
    depth: options.Numbers | None = None,
    seed: int | str = 0,
    per_length: int | str = PER_LENGTH,
    keys: int | str | None = None,
    values: int | str | None = None,
    queries: int | str | None = None,
    key_kind: str | None = None,
    value_kind: str | None = None,
    haystack: str | None = None,
    chains: int | str | None = None,
    hops: int | str | None = None,
) -> Iterable[dict[str, Any]]:
    r"""Return needle-in-a-haystack rows in the manner of RULER (Hsieh et al. 2024, arXiv:2404.06654).

    Rows take the lengths (and, with ``config="all"``, the tasks) in turn, so the first rows of a run cover all of them
    evenly. Row ``i`` of one seed asks the same question at every length and depth. The same arguments give the same
    bytes on every Python version and platform.

    Args:
        limit: The number of rows; ``None`` for ``per_length`` of each length and task.
        config: ``single`` (the default), ``multi-key``, ``multi-value``, ``multi-query`` and more: see
            :data:`~context_bench_needle.tasks.TASKS` and :data:`~context_bench_needle.ruler.RULER_TASKS`. RULER's own names
            work too; ``all`` is its eight retrieval tasks in turn, ``ruler`` all thirteen.
        split: ``test``, the only one.
        length: Tokens of the context (matches of ``\w+|[^\w\s]``), kept exactly. 4000 if neither it nor ``lengths``
            is given. ``"16k"`` is 16000.
        lengths: Several of them: a list, or ``"1k/4k/16k"``.
        depth: Where the needles that are asked for stand, in percent of the haystack: a number, several that take
            turns, or ``"uniform"``, the default: spread evenly over the rows for one needle, drawn for several.
        seed: Another seed gives other rows.
        per_length: Rows of each length and task when there is no limit.
        keys: Keys registered in the context, those that nobody asks for included.
        values: Values of each key.
        queries: Keys that the question asks for.
        key_kind: ``word``, ``number`` or ``uuid``.
        value_kind: ``number``, ``word`` or ``uuid``.
        haystack: ``prose``, ``noise`` (a few sentences over and over) or ``needles`` (needles that nobody asks for).
        chains: Chains of variables, of which one is asked for.
        hops: Assignments along a chain, or documents that a question goes over.

    Raises:
        ValueError: An option has a value that cannot be, or a length is too short for the needles.
        TypeError: An option is of a wrong type.

    >>> row = next(iter(needle(config="multi-value", length=500, seed=1)))
    >>> len(row["needles"]), all(value in row["context"] for value in row["needles"])
    (4, True)
    """
    if split not in (None, "test"):
        raise ValueError(f"needle has one split, 'test', and no {split!r}.")
    tasks = tasks_of(
        config,
        keys=options.whole("keys", keys),
        values=options.whole("values", values),
        queries=options.whole("queries", queries),
        key_kind=key_kind,
        value_kind=value_kind,
        haystack=haystack,
        chains=options.whole("chains", chains),
        hops=options.whole("hops", hops),
    )
    sizes = options.lengths(length, lengths)
    depths = options.depths(depth)
    for task in tasks:
        for size in sizes:
            _require_room(task, size)
    if depths and all(isinstance(task, RulerTask) and not task.has_places for task in tasks):
        raise ValueError(f"needle: depth means nothing to {config}, whose words stand everywhere.")
    count = options.whole("per_length", per_length) or 0
    rows = _rows(tasks, sizes, depths, options.whole("seed", seed) or 0)
    total = options.whole("limit", limit)
    if count < 0 or (total or 0) < 0:
        raise ValueError(
            f"needle: limit is {limit} and per_length is {per_length}, and neither can be below 0."
        )
    return islice(rows, count * len(sizes) * len(tasks) if total is None else total)


def _rows(
    tasks: list[Task | RulerTask], lengths: list[int], depths: list[float] | None, seed: int
) -> Iterator[dict[str, Any]]:
    index = 0
    while True:
        for length in lengths:
            for task in tasks:
                yield make_row(
                    task, length, depths[index % len(depths)] if depths else None, index, seed
                )
        index += 1


def make_row(
    task: Task | RulerTask, length: int, depth: float | None, index: int, seed: int
) -> dict[str, Any]:
    """Return one row; ``depth`` in percent, or ``None`` to spread the needles uniformly."""
    attempt = 0
    while True:
        if isinstance(task, RulerTask):
            row = _attempt_ruler(task, length, depth, index, seed, attempt)
            sound = _is_sound_ruler(row)
        else:
            row = _attempt(task, length, depth, index, seed, attempt)
            sound = _is_sound(row)
        if sound:
            return row
        attempt += 1


def _attempt(
    task: Task, length: int, depth: float | None, index: int, seed: int, attempt: int
) -> dict[str, Any]:
    retry = f"/{attempt}" if attempt else ""
    mint, tokens = _plan(task, length)
    dice = Dice(f"needles/{seed}/{index}{retry}")
    kind = task.value_kind
    keys = [mint.make(task.key_kind, dice) for _ in range(task.keys)]
    needles = [Needle(key, mint.make(kind, dice), kind) for key in keys for _ in range(task.values)]
    asked = _asked_depths(task, depth, index, seed)
    depths = asked + [_drawn(dice) for _ in needles[task.asked :]]
    stack = build_haystack(tokens, task, mint, Dice(f"haystack/{seed}/{index}{retry}"))
    values = [each.value for each in needles[: task.asked]]
    return {
        "id": f"needle-{task.name}-{task.shape}-n{length}-d{_depth_label(asked, depth)}-s{seed}-i{index}",
        "context": stack.hide(list(zip(needles, depths))),
        "question": question_about(keys[: task.queries], kind),
        "answer": ", ".join(values),
        "needles": values,
        "keys": keys[: task.queries],
        "task": task.name,
        "length": length,
        "depth": asked[0] if len(set(asked)) == 1 else None,
        "depths": asked,
        "haystack": task.haystack,
        "seed": seed,
        "index": index,
        "tags": ["needle", task.name],
    }


def _attempt_ruler(
    task: RulerTask, length: int, depth: float | None, index: int, seed: int, attempt: int
) -> dict[str, Any]:
    retry = f"/{attempt}" if attempt else ""
    place = depth if task.has_places else None
    if task.asked == 1:
        [place] = _asked_depths(Task(task.name), depth, index, seed)
    drawn = task.build(length, Place(place), Dice(f"{task.name}/{seed}/{index}{retry}"))
    label = (
        f"{depth:g}"
        if depth is not None and task.has_places
        else f"{place:g}"
        if place is not None
        else _UNIFORM
    )
    return {
        "id": f"needle-{task.name}-{task.shape}-n{length}-d{label}-s{seed}-i{index}",
        "context": drawn.context,
        "question": drawn.question,
        "answer": ", ".join(drawn.needles),
        "needles": drawn.needles,
        "keys": drawn.keys,
        "task": task.name,
        "length": length,
        "depth": drawn.depths[0] if len(set(drawn.depths)) == 1 else None,
        "depths": drawn.depths,
        "haystack": task.haystack,
        "seed": seed,
        "index": index,
        "tags": ["needle", task.name],
        "match": task.match,
    }


def _require_room(task: Task | RulerTask, length: int) -> None:
    if not isinstance(task, RulerTask):
        _plan(task, length)
    elif length < task.least():
        raise ValueError(
            f"needle: a context of {length} tokens is too short for {task.name}; give a length of {task.least()} or more."
        )


def _plan(task: Task, length: int) -> tuple[Mint, int]:
    """Return the maker of words and the tokens left for the haystack."""
    shortest = Mint(0).tokens(task)
    mint = Mint(2 * (length // shortest + task.keys * (1 + task.values)))
    hidden = task.keys * task.values * mint.tokens(task)
    if length < hidden + prose.SHORTEST:
        raise ValueError(
            f"needle: a context of {length} tokens is too short for the {task.keys * task.values} needles of "
            f"{task.name}; give a length of {hidden + prose.SHORTEST} or more."
        )
    return mint, length - hidden


def _asked_depths(task: Task, depth: float | None, index: int, seed: int) -> list[float]:
    if depth is not None:
        return [depth] * task.asked
    if task.asked == 1:
        shift = Dice(f"shift/{seed}").random()
        return [round(100 * ((radical_inverse(index) + shift) % 1), 1)]
    dice = Dice(f"depths/{seed}/{index}")
    return [_drawn(dice) for _ in range(task.asked)]


def _drawn(dice: Dice) -> float:
    return dice.below(1001) / 10


def _depth_label(asked: list[float], depth: float | None) -> str:
    return _UNIFORM if depth is None and len(asked) > 1 else f"{asked[0]:g}"


def _is_sound(row: dict[str, Any]) -> bool:
    """Return whether every value asked for stands exactly once in the context, and nowhere in the question."""
    return all(
        row["context"].count(value) == 1 and value not in row["question"]
        for value in row["needles"]
    )


def _is_sound_ruler(row: dict[str, Any]) -> bool:
    """Return whether every needle stands in the context, never inside another word, and not in the question."""
    context = row["context"]
    return all(
        len(re.findall(rf"(?<!\w){re.escape(needle)}(?!\w)", context)) == context.count(needle) > 0
        and needle not in row["question"]
        for needle in row["needles"]
    )
