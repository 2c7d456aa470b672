"""The dataset: a log of inspect_ai as a stream of examples."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from context_bench.errors import ConfigurationError, DatasetError
from context_bench_inspect.samples import example_of


def inspect_log(
    limit: int | None = None,
    config: str | None = None,
    split: str | None = None,
    *,
    path: str | os.PathLike[str],
) -> Iterator[dict[str, Any]]:
    """Return an example for each sample of a log, and for each of its epochs.

    Args:
        limit: Maximum number of examples; None for all.
        config: Logs have no configurations.
        split: Logs have no splits.
        path: A log of inspect_ai: ``.json``, or ``.eval``, which inspect_ai itself reads.

    Raises:
        ConfigurationError: The file does not exist, or inspect_ai is needed and not installed.
        DatasetError: The file is not a log of inspect_ai.
    """
    if config is not None or split is not None:
        raise ConfigurationError("Logs of inspect_ai have no configurations and no splits.")
    file = Path(path).expanduser()
    if not file.is_file():
        raise ConfigurationError(f"Log '{file}' does not exist.")
    samples = _samples_of_eval(file) if file.suffix == ".eval" else _samples_of_json(file)
    return islice(_examples(file, samples), limit)


def _examples(file: Path, samples: Iterator[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for number, sample in enumerate(samples, start=1):
        try:
            yield example_of(sample)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise DatasetError(
                f"{file}, sample {number}: not a sample of inspect_ai: {type(error).__name__}: {error}."
            ) from error


def _samples_of_json(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        log = json.loads(file.read_text(encoding="utf-8"))
        samples = log["samples"]
        is_log = isinstance(log["eval"], Mapping) and isinstance(samples, list)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DatasetError(
            f"{file} is not a JSON log of inspect_ai: {type(error).__name__}: {error}."
        ) from error
    if not is_log:
        raise DatasetError(f"{file} is not a JSON log of inspect_ai.")
    yield from samples


def _samples_of_eval(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        from inspect_ai.log import read_eval_log_samples
    except ImportError as error:
        raise ConfigurationError(
            f"'{file}' is an .eval log, which needs inspect_ai. Install context-bench-inspect[scorers], "
            "or convert the log with 'inspect log convert --to json'."
        ) from error
    return _dumped(file, read_eval_log_samples)


def _dumped(file: Path, read: Any) -> Iterator[Mapping[str, Any]]:
    try:
        for sample in read(str(file), all_samples_required=False, resolve_attachments=True):
            yield sample.model_dump(mode="json", exclude={"events", "events_data", "store"})
    except (OSError, ValueError, LookupError) as error:
        raise DatasetError(
            f"{file} cannot be read by inspect_ai: {type(error).__name__}: {error}."
        ) from error
