"""What two runs of a suite must have in common, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from context_bench.errors import ConfigurationError
from context_bench.runs import Run

STAMP = "suite"
MODEL = "model"
KEYS = ("name", "version", "sha256")
_PINNED = (
    "datasets",
    "fields",
    "inputs",
    "bare",
    "compress_question",
    "reader",
    "limit",
    "sample",
    "seed",
    "ids",
    "repeat",
    "evaluators",
    "add_evaluators",
    "exclude",
    "options",
    "score_prefixes",
    "score_field",
    "threshold",
    "tokenizer",
    "text_fields",
)
_OF_DATASETS = ("component", "distribution_version", "config", "split", "options")
_OF_EVALUATORS = ("version", "distribution_version")


@frozen
class Difference:
    """A pin that two runs do not share.

    Attributes:
        pin: What is pinned, such as ``version`` or ``content of needle``.
        first: Its value in the first run.
        second: Its value in the second run.
    """

    pin: str
    first: Any
    second: Any

    def __str__(self) -> str:
        return f"{self.pin}: {self.first} and {self.second}"


def stamp_of(run: Run) -> Mapping[str, Any]:
    """Return ``name``, ``version`` and ``sha256`` of the suite that a run is of, and ``model`` where it calls one.

    Raises:
        ConfigurationError: It is of none.
    """
    extensions = run.request.get("extension_options")
    stamp = extensions.get(STAMP) if isinstance(extensions, Mapping) else None
    if not isinstance(stamp, Mapping) or not all(isinstance(stamp.get(key), str) for key in KEYS):
        raise ConfigurationError(
            f"{run.path} is not a run of a suite: `context-bench suite run NAME` makes one."
        )
    return stamp


def differences(first: Run, second: Run) -> list[Difference]:
    """Return the pins that two runs of suites do not share.

    The systems, the address of a model, and how fast they were called, are not pinned.

    Args:
        first: A run.
        second: Another.

    Raises:
        ConfigurationError: One of the two is no run of a suite.
    """
    ours, theirs = _pins(first), _pins(second)
    names = [*ours, *(name for name in theirs if name not in ours)]
    return [
        Difference(name, ours.get(name), theirs.get(name))
        for name in names
        if ours.get(name) != theirs.get(name)
    ]


def _pins(run: Run) -> dict[str, Any]:
    return dict(_pins_in_order(run))


def _pins_in_order(run: Run) -> Iterator[tuple[str, Any]]:
    stamp = stamp_of(run)
    for key in KEYS:
        yield f"suite {key}", stamp[key]
    yield MODEL, stamp.get(MODEL)
    request = run.request
    for key in _PINNED:
        value = request.get(key)
        yield key, _without_address(value) if key == "reader" and MODEL in stamp else value
    for name, options in request["extension_options"].items():
        if name != STAMP:
            yield f"options of extension {name}", options
    yield "version of context-bench", run.provenance.get("context_bench")
    for dataset in run.datasets:
        label = dataset["label"]
        for key in _OF_DATASETS:
            yield f"{key} of dataset {label}", dataset["description"].get(key)
        yield f"rows of dataset {label}", dataset["length"]
        yield f"content of dataset {label}", _hexadecimal(dataset["content"])
    for evaluator in run.evaluators:
        name = evaluator["id"]
        for key in _OF_EVALUATORS:
            yield f"{key} of evaluator {name}", evaluator["provenance"].get(key)
        yield f"key of evaluator {name}", _hexadecimal(evaluator["key"])


def _without_address(reader: Any) -> Any:
    """Return a reader without the address of the model: two people have it at different places."""
    options = {key: value for key, value in reader["options"].items() if key != "base_url"}
    return {**reader, "options": options}


def _hexadecimal(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
