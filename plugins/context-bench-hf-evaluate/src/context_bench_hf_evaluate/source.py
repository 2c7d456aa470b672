"""Which metric: its name or folder, its arguments, and how `evaluate` loads it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from context_bench.errors import ConfigurationError
from context_bench_hf_evaluate.inputs import Form, forms_of


def arguments_of(texts: Sequence[str]) -> dict[str, Any]:
    """Return arguments that are written as ``NAME=VALUE``; a value is JSON, or a text.

    Raises:
        ConfigurationError: One of them has no value.

    >>> arguments_of(["ignore_case=true", "tokenize=char"])
    {'ignore_case': True, 'tokenize': 'char'}
    """
    arguments = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigurationError(f"args must be NAME=VALUE, got {text!r}.")
        try:
            arguments[name] = json.loads(value)
        except (ValueError, RecursionError):
            arguments[name] = value
    return arguments


@frozen
class MetricSource:
    """A metric of `evaluate`, loaded with its first use.

    Attributes:
        metric: Its name on the hub, ``owner/name``, or a folder or script: a path begins with ``.``, ``/`` or ``~``, or
            ends with ``.py``.
        config: Its configuration, if it has several.
        revision: Commit, tag or branch of its script on the hub.
        arguments: Arguments of ``compute``.
        seed: Seed of numpy while it computes: some metrics draw samples.
    """

    metric: str
    config: str | None = None
    revision: str | None = None
    arguments: Mapping[str, Any] = field(factory=dict)
    seed: int = 0
    _lock: threading.RLock = field(factory=threading.RLock, init=False, eq=False, repr=False)
    _loaded: list[Any] = field(factory=list, init=False, eq=False, repr=False)

    @property
    def is_path(self) -> bool:
        """Whether it is a folder or script on this machine."""
        return self.metric.startswith((".", "/", "~", os.sep)) or self.metric.endswith(".py")

    @property
    def name(self) -> str:
        """Its name without owner, folder and suffix."""
        return Path(self.metric).name.removesuffix(".py")

    @property
    def place(self) -> str:
        """What `evaluate` is given: a path, or the name with its owner, which no folder of this name can replace."""
        if self.is_path:
            return str(Path(self.metric).expanduser().resolve())
        return self.metric if "/" in self.metric else f"evaluate-metric/{self.metric}"

    def module(self) -> Any:
        """Return the loaded metric.

        Raises:
            ConfigurationError: It cannot be loaded.
        """
        with self._lock:
            if not self._loaded:
                self._loaded.append(_load(self))
            return self._loaded[0]

    def forms(self) -> list[Form]:
        """Return the forms in which it takes a response and its references.

        Raises:
            ConfigurationError: It takes something else than texts.
        """
        forms = forms_of(self.module().features)
        if not forms:
            raise ConfigurationError(
                f"The metric {self.metric} does not take texts as predictions and references: {self.module().features}."
            )
        return forms

    def compute(
        self, predictions: Sequence[Any], references: Sequence[Any], **defaults: Any
    ) -> Any:
        """Return what the library's ``compute`` returns. A metric collects its inputs, so threads take turns.

        Args:
            predictions: The responses, in the form of the metric.
            references: The references of each.
            defaults: Arguments where the user gives no others.
        """
        module = self.module()
        with self._lock:
            return module.compute(
                predictions=list(predictions),
                references=list(references),
                **{**defaults, **self.arguments},
            )

    def fingerprint(self) -> dict[str, Any]:
        """Return every parameter that can change a score, with the hash of the metric's script."""
        import evaluate

        return {
            "metric": self.name,
            "script": self.module()._hash,
            "config": self.config,
            "arguments": dict(self.arguments),
            "seed": self.seed,
            "evaluate": evaluate.__version__,
        }


def _load(source: MetricSource) -> Any:
    import evaluate

    evaluate.config.HF_UPDATE_DOWNLOAD_COUNTS = False  # else the hub is told of each use
    try:
        return evaluate.load(
            source.place,
            config_name=source.config,
            revision=None if source.is_path else source.revision,
            keep_in_memory=True,
            seed=source.seed,
        )
    except (OSError, ImportError, ValueError, TypeError) as error:
        reason = str(error).rstrip(".")
        if isinstance(error.__context__, ConnectionError):
            reason = "the hub cannot be reached; a folder with its script needs no network, such as ./my_metric"
        raise ConfigurationError(
            f"The metric {source.metric} cannot be loaded: {reason}."
        ) from error
