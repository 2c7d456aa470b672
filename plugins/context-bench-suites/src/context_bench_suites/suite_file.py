"""A suite as its TOML file declares it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from attrs import frozen

from context_bench.errors import ConfigurationError, UnknownNameError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA = 1
_TOP = ("schema", "name", "version", "summary", "model", "run", "compare", "headline")
_MODEL: Mapping[str, type] = {"label": str, "options": dict}
_RUN: Mapping[str, type] = {
    "systems": list,
    "datasets": list,
    "reader": str,
    "max_examples": int,
    "sample": int,
    "seed": int,
    "repeat": int,
    "bare": bool,
    "evaluators": list,
    "options": dict,
    "extension_options": dict,
    "tokenizer": str,
    "threshold": float,
    "score_field": str,
}
_COMPARE: Mapping[str, type] = {
    "metrics": list,
    "baseline": str,
    "by": list,
    "cluster": str,
    "margin": float,
    "confidence": float,
    "seed": int,
}
_SCORE_COLUMN = ("heading", "score", "dataset")
_VALUE_COLUMN = ("heading", "value")
_HEADLINE: Mapping[str, type] = {"control": str, "columns": list}
_PINNED = ("datasets", "evaluators", "seed")
_NAMES_OF_TYPES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


@frozen
class Column:
    """A column of the headline table: the mean of a score over the rows of a dataset, or a value of a metric.

    Attributes:
        heading: What stands above it.
        score: Key of the score; empty for a value of a metric.
        dataset: Label of the dataset; empty for a value of a metric.
        value: Key of the value in the summary of a system; empty for a score.
    """

    heading: str
    score: str = ""
    dataset: str = ""
    value: str = ""


@frozen
class Suite:
    """A fixed request and a fixed report.

    Attributes:
        name: Its name.
        version: Its version; another version is another suite.
        summary: What it measures.
        sha256: SHA-256 of its TOML file with line ends of one byte, hexadecimal.
        path: The TOML file.
        run: Arguments of :func:`context_bench.evaluate` that are fixed.
        compare: Arguments of the comparison that are fixed.
        columns: Columns of the headline table.
        control: Name of the control that the headline shows beside each system; None for none.
        model: How the model is called: ``label`` of its own endpoint and ``options`` of the system ``openai``; None for a
            suite that calls no model.
    """

    name: str
    version: str
    summary: str
    sha256: str
    path: Path
    run: Mapping[str, Any]
    compare: Mapping[str, Any]
    columns: tuple[Column, ...]
    control: str | None
    model: Mapping[str, Any] | None = None

    def stamp(self) -> dict[str, str]:
        """Return what a run file keeps of it: ``name``, ``version`` and ``sha256``."""
        return {"name": self.name, "version": self.version, "sha256": self.sha256}


def read_suite(path: Path) -> Suite:
    """Read a suite.

    Args:
        path: Its TOML file, named after the suite.

    Raises:
        ConfigurationError: It cannot be read, lacks a key, or has an unknown one or one of another type.
    """
    try:
        content = path.read_bytes().replace(b"\r\n", b"\n")
        table = tomllib.loads(content.decode())
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"The suite {path} cannot be read: {error}") from error
    _require_known(path, "the file", table, _TOP)
    if table.get("schema") != SCHEMA:
        raise ConfigurationError(
            f"The suite {path} has schema {table.get('schema')!r}; this version reads {SCHEMA}."
        )
    texts = {key: _value(path, table, key, str) for key in ("name", "version", "summary")}
    if texts["name"] != path.stem:
        raise ConfigurationError(
            f"The suite {path} is named {texts['name']!r}; its file must have the same name."
        )
    run = _table(path, table, "run", _RUN)
    for key in _PINNED:
        if key not in run:
            raise ConfigurationError(f"The suite {path} lacks run.{key}, which a suite must pin.")
    if "max_examples" not in run and "sample" not in run:
        raise ConfigurationError(
            f"The suite {path} lacks run.max_examples or run.sample: a suite must pin how many rows it has."
        )
    headline = _table(path, table, "headline", _HEADLINE)
    return Suite(
        **texts,
        sha256=sha256(content).hexdigest(),
        path=path,
        run=run,
        compare=_table(path, table, "compare", _COMPARE),
        columns=tuple(_columns(path, headline)),
        control=headline.get("control"),
        model=_model(path, table),
    )


def _model(path: Path, table: Mapping[str, Any]) -> dict[str, Any] | None:
    if "model" not in table:
        return None
    model = _table(path, table, "model", _MODEL)
    for key in _MODEL:
        _value(path, model, key, _MODEL[key])
    return model


def _columns(path: Path, headline: Mapping[str, Any]) -> Iterable[Column]:
    columns = _value(path, headline, "columns", list)
    for column in columns:
        if not isinstance(column, dict):
            raise ConfigurationError(f"A column of the suite {path} must be a table.")
        keys = _VALUE_COLUMN if "value" in column else _SCORE_COLUMN
        _require_known(path, "headline.columns", column, keys)
        yield Column(**{key: _value(path, column, key, str) for key in keys})


def _table(
    path: Path, table: Mapping[str, Any], name: str, types: Mapping[str, type]
) -> dict[str, Any]:
    found: dict[str, Any] = _value(path, table, name, dict)
    _require_known(path, name, found, types)
    return {key: _value(path, found, key, types[key]) for key in found}


def _value(path: Path, table: Mapping[str, Any], key: str, wanted: type) -> Any:
    value = table.get(key)
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        raise ConfigurationError(
            f"{key} of the suite {path} must be {_NAMES_OF_TYPES[wanted]}, but is {value!r}."
        )
    return value


def _require_known(path: Path, where: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    known = tuple(known)
    for key in table:
        if key not in known:
            raise UnknownNameError(f"key of {where} in the suite {path}", key, known)
