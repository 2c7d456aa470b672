"""The dataset: sample files of lm-eval as a stream of examples."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from context_bench.errors import ConfigurationError, DatasetError
from context_bench_lm_eval.samples import example_of

_FILE = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d.:-]+\.jsonl")


def lm_eval_samples(
    limit: int | None = None,
    config: str | None = None,
    split: str | None = None,
    *,
    path: str | os.PathLike[str],
) -> Iterator[dict[str, Any]]:
    """Return an example for each sample that lm-eval logged with ``--log_samples``.

    Args:
        limit: Maximum number of examples; None for all.
        config: Name of a filter of the task. lm-eval logs each document once for each filter; without this only the lines
            of the first filter are returned.
        split: Sample files have no splits.
        path: A file ``samples_TASK_TIME.jsonl``, or a folder that contains the files of one run.

    Raises:
        ConfigurationError: The path does not exist, or the folder contains two runs of one task.
        DatasetError: A line is not a sample of lm-eval, or no line has the filter.
    """
    if split is not None:
        raise ConfigurationError(f"Sample files of lm-eval have no splits, got split={split!r}.")
    return islice(_examples(_sample_files(Path(path).expanduser()), config), limit)


def _sample_files(path: Path) -> dict[Path, str]:
    """Return the task of each file."""
    if path.is_file():
        return {path: _task_of(path)}
    if not path.is_dir():
        raise ConfigurationError(f"Sample file '{path}' does not exist.")
    files = {file: _task_of(file) for file in sorted(path.rglob("samples_*.jsonl"))}
    if not files:
        raise ConfigurationError(
            f"Folder '{path}' has no samples_*.jsonl. Run lm-eval with --log_samples and --output_path."
        )
    tasks = list(files.values())
    repeated = sorted({task for task in tasks if tasks.count(task) > 1})
    if repeated:
        raise ConfigurationError(
            f"Folder '{path}' has several runs of the task {repeated[0]}. Pass the file of one run."
        )
    return files


def _task_of(path: Path) -> str:
    match = _FILE.fullmatch(path.name)
    return match["task"] if match else path.stem.removeprefix("samples_")


def _examples(files: Mapping[Path, str], wanted: str | None) -> Iterator[dict[str, Any]]:
    filters: dict[str, None] = {}
    matches = 0
    for path, task in files.items():
        chosen = wanted
        for sample in _samples(path):
            name = str(sample["filter"])
            filters[name] = None
            if chosen is None:
                chosen = name  # the lines of one filter come before those of the next
            if name == chosen:
                matches += 1
                yield example_of(sample, task)
    if not matches:
        known = ", ".join(filters) or "no samples at all"
        raise DatasetError(f"No sample has the filter {wanted!r}. The files have: {known}.")


def _samples(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                sample = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DatasetError(f"{path}, line {number}: not JSON: {error}.") from error
            missing = _missing_field(sample)
            if missing is not None:
                raise DatasetError(
                    f"{path}, line {number}: not a sample of lm-eval, {missing!r} is missing or has a wrong type."
                )
            yield sample


def _missing_field(sample: Any) -> str | None:
    """Return the first field without which a line is not a sample, or None."""
    if not isinstance(sample, Mapping):
        return "doc_id"
    types = {
        "doc_id": (int, str),
        "doc": (Mapping, list, str),
        "arguments": (Mapping, list),
        "resps": list,
        "filtered_resps": list,
        "filter": str,
    }
    for name, kind in types.items():
        if not isinstance(sample.get(name), kind):  # type: ignore[arg-type]
            return name
    return None if sample["resps"] and all(sample["resps"]) else "resps"
