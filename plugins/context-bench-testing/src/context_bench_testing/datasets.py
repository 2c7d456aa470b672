"""Conformance of a dataset: the examples that its loader yields."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from copy import deepcopy
from itertools import islice
from typing import Any

from context_bench.answers import REFERENCE_FIELDS
from context_bench.prompts import ASKING_FIELDS
from context_bench_testing.samples import Example, examples_of
from context_bench_testing.subject import Outcome, Subject, is_json_like, same

_NUMBER = 3
"""Examples that each load reads."""


def check_dataset(subject: Subject, loader: Any) -> None:
    """Check the loader of a dataset with each of its examples."""
    for example in examples_of(subject.component):
        lacking = [
            name
            for name, option in subject.component.manifest.options.items()
            if option.required and name not in example.options
        ]
        if lacking:
            table = f"[[datasets.{subject.component.name}.examples]]"
            text = f"not loaded: it needs the option {lacking[0]}; name it in {table}"
            subject.report.note("not-run", text)
            continue
        _check_load(subject, loader, example)


def _check_load(subject: Subject, loader: Any, example: Example) -> None:
    if not _binds(subject, loader, example):
        return
    manifest = subject.component.dataset
    config = example.config or manifest.default_config
    rows = _load(subject, loader, example, config=config, split=example.split)
    if rows is None:
        return
    if not rows:
        subject.report.fault("empty", "it yields no example")
        return
    everything = _load(subject, loader, example, config=config, split=example.split, limit=None)
    _check_rows(subject, rows)
    _check_fields(subject, rows, is_whole=len(everything or rows) < _NUMBER)
    again = _load(subject, loader, example, config=config, split=example.split)
    if manifest.deterministic and again is not None and not same(again, rows):
        text = "a second load yields other examples; set deterministic = false"
        subject.report.fault("not-deterministic", text)
    _check_limit(
        subject,
        rows,
        _load(subject, loader, example, config=config, split=example.split, limit=1),
        everything,
    )
    for name in manifest.configs:
        if name != config:
            _load(subject, loader, example, config=name, split=None)
    for name in manifest.splits:
        if name != example.split:
            _load(subject, loader, example, config=config, split=name)
    if all(isinstance(row, dict) for row in rows):
        _check_shared(subject, loader, example, rows)


def _binds(subject: Subject, loader: Any, example: Example) -> bool:
    try:
        inspect.signature(loader).bind(limit=1, config=None, split=None, **example.options)
    except TypeError as error:
        text = f"its loader cannot be called as a run calls it: {error}"
        subject.report.fault("signature", text)
        return False
    except ValueError:  # built in, without a signature
        return True
    return True


def _load(
    subject: Subject,
    loader: Any,
    example: Example,
    *,
    config: str | None,
    split: str | None,
    limit: int | None = _NUMBER,
) -> list[Any] | None:
    """Return at most three examples, or None with a finding."""

    def read() -> Any:
        rows = loader(limit=limit, config=config, split=split, **example.options)
        if isinstance(rows, Mapping | str) or not isinstance(rows, Iterable):
            return rows
        return list(islice(rows, _NUMBER + 1))

    outcome: Outcome = subject.call("the loader", read)
    of_part = "".join(f" of {name}" for name in (config, split) if name)
    if outcome.error is not None:
        if not subject.is_refused(outcome) and not subject.refuses(outcome, example):
            subject.report.fault("raises", f"loading{of_part} raises {outcome.error_text}")
        return None
    if not isinstance(outcome.value, list):
        kind = type(outcome.value).__name__
        subject.report.fault("return-type", f"its loader returns {kind}, not examples one by one")
        return None
    if limit is not None and len(outcome.value) > limit:
        subject.report.fault("limit", f"with limit={limit} it yields more than {limit} examples")
    return outcome.value[:_NUMBER]


def _check_limit(
    subject: Subject, three: list[Any], one: list[Any] | None, everything: list[Any] | None
) -> None:
    """Compare the first examples under several limits."""
    if not subject.component.manifest.deterministic:
        return
    for rows, limit in ((one, 1), (everything, None)):
        if rows is None:
            continue
        if not rows or not same(rows[0], three[0]):
            subject.report.fault("limit", f"with limit={limit} its first example is another one")


def _check_rows(subject: Subject, rows: list[Any]) -> None:
    report = subject.report
    ids: list[str] = []
    for row in rows:
        if not isinstance(row, Mapping):
            report.fault("return-type", f"it yields {type(row).__name__}, not a mapping")
            return
        unnamed = [name for name in row if not isinstance(name, str)]
        if unnamed:
            report.fault("return-type", f"a field of its examples is called {unnamed[0]!r}")
        elif not is_json_like(dict(row)):
            report.fault("not-json", "an example contains a value that JSON cannot hold")
        if row.get("id") is not None:
            ids.append(str(row["id"]))
    if not ids:
        report.note("id", "its examples have no id, so a report shows their positions")
    elif len(set(ids)) < len(ids):
        report.fault("id", f"two of its examples have the id {_repeated(ids)!r}")


def _repeated(ids: list[str]) -> str:
    return next(name for name in ids if ids.count(name) > 1)


_OF_EVERY_DATASET = ("id", "dataset", "cluster", *ASKING_FIELDS)
"""Fields that the examples of any dataset may have."""


def _check_fields(subject: Subject, rows: list[Any], *, is_whole: bool) -> None:
    """Compare the fields of the examples with fields, inputs and gold.

    A field that the first examples do not have may be in a later one, unless these are all.
    """
    manifest = subject.component.dataset
    present = {name for row in rows if isinstance(row, Mapping) for name in row}
    report = subject.report
    if manifest.fields:
        for name in sorted(map(str, present - {*manifest.fields, *_OF_EVERY_DATASET})):
            text = f"its examples have the field {name}, which fields does not declare"
            report.fault("undeclared-field", text)
    for key in ("fields", "inputs", "gold"):
        for name in getattr(manifest, key):
            if name in present:
                continue
            text = f"{key} names {name}, which its first {len(rows)} examples do not have"
            if is_whole or key == "gold":
                report.fault("missing-field", text)
            else:
                report.note("missing-field", text)
    both = sorted(set(manifest.inputs) & {*manifest.gold, *REFERENCE_FIELDS})
    if both:
        report.fault("gold", f"inputs names {both[0]}, which is a right answer")


def _check_shared(subject: Subject, loader: Any, example: Example, rows: list[Any]) -> None:
    """Report examples that share state with each other, or with the next load."""
    if len({id(row) for row in rows}) < len(rows):
        subject.report.fault("shared", "it yields the same object for several examples")
        return
    before = deepcopy(rows)
    for row in rows:
        _spoil(row)
    manifest = subject.component.dataset
    config = example.config or manifest.default_config
    again = _load(subject, loader, example, config=config, split=example.split)
    if manifest.deterministic and again is not None and not same(again, before):
        text = "what a caller changes in an example is changed in the next load too"
        subject.report.fault("shared", text)


def _spoil(row: dict[str, Any]) -> None:
    """Change an example, in depth."""
    for value in row.values():
        if isinstance(value, list):
            value.append("changed")
        elif isinstance(value, dict):
            value["changed"] = "changed"
    row["changed"] = "changed"
