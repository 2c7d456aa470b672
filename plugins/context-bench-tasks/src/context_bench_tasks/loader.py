"""The dataset ``tasks``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench_tasks.bug_hunt import MAX_FUNCTIONS, MIN_FUNCTIONS, bug_hunt
from context_bench_tasks.folders import read_folders
from context_bench_tasks.hunt import MAX_ASSETS, evidence_hunt
from context_bench_tasks.refactor import long_refactor

GENERATORS: Mapping[str, Callable[[int, int, int], dict[str, Any]]] = {
    "evidence-hunt": evidence_hunt,
    "bug-hunt": bug_hunt,
    "long-refactor": long_refactor,
}
_ASSETS: Mapping[str, tuple[int, int]] = {"bug-hunt": (MIN_FUNCTIONS, MAX_FUNCTIONS)}


def tasks(
    path: str | None = None,
    limit: int | None = None,
    config: str | None = None,
    split: str | None = None,
    *,
    n: int = 20,
    seed: int = 1,
    assets: int = 8,
) -> Iterator[dict[str, Any]]:
    """Yield the tasks: ``id``, ``question``, ``files`` (content by path), ``limits``, ``task`` and the gold ``check``.

    Args:
        path: Instead of generated tasks: a folder with ``task.toml``, or a folder of such folders.
        limit: The maximum number of tasks.
        config: ``evidence-hunt``, also the default without ``path``, ``bug-hunt`` or ``long-refactor``.
        split: ``test``, the only split.
        n: Number of generated tasks.
        seed: Seed of generated tasks.
        assets: Assets of an evidence hunt, functions of a bug hunt, modules of a refactor; 1 to 50, of a bug
            hunt 3 to 15.

    Raises:
        ConfigurationError: An option cannot be used.
        DatasetError: A folder is not a task.
    """
    if split not in (None, "test"):
        raise ConfigurationError(f"tasks has the split test only, not {split!r}.")
    if limit is not None and limit < 0:
        raise ConfigurationError(f"limit is {limit}, but must not be below zero.")
    if config is not None and config not in GENERATORS:
        raise ConfigurationError(
            f"tasks has no configuration {config!r}: use {', '.join(GENERATORS)}."
        )
    if path is not None and config is not None:
        raise ConfigurationError("tasks takes path or a configuration, not both.")
    if path is not None:
        return islice(read_folders(Path(path)), limit)
    if n < 1:
        raise ConfigurationError(f"n is {n}, but must be at least 1.")
    config = config or "evidence-hunt"
    smallest, largest = _ASSETS.get(config, (1, MAX_ASSETS))
    if not smallest <= assets <= largest:
        raise ConfigurationError(
            f"assets is {assets}, but must be {smallest} to {largest} for {config}."
        )
    generate = GENERATORS[config]
    return islice((generate(seed, index, assets) for index in range(n)), limit)
