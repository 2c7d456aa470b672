"""Pins: what a card says of the edition that its numbers are measured on, and whether the records are those."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import chain, islice
from typing import Any

from context_bench.errors import DatasetError
from context_bench_huggingface.lines import line_of
from context_bench_huggingface.wanted import Wanted

FIRST = 8
"""How many records of a split a pin holds the hash of."""

LATEST = "latest"
"""The revision that reads the branch of a pinned card."""


def rows_hash(records: Iterable[Mapping[str, Any]]) -> str:
    """Return the hash of the first records of a split, right answers included."""
    content = sha256()
    for record in islice(records, FIRST):
        content.update(line_of(record))
    return content.hexdigest()


def checked(wanted: Wanted, records: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a split, which are those that its card pins.

    Its first records are compared before any of them is given out, their number at the end of the split.

    Raises:
        DatasetError: They are others.
    """
    first, size = wanted.first.get(wanted.split), wanted.sizes.get(wanted.split)
    source = iter(records)
    head = list(islice(source, FIRST)) if first is not None else []
    if first is not None and rows_hash(head) != first:
        raise DatasetError(
            f"The first records of {wanted.where} are not those that its card pins: their hash is {rows_hash(head)[:12]}, the "
            f"card has {first[:12]}. {_REMEDY}"
        )
    count = 0
    for record in chain(head, source):
        yield record
        count += 1
    if size is not None and count != size:
        raise DatasetError(
            f"{wanted.where} has {count} records, and its card pins {size}. {_REMEDY}"
        )


def pin_table(name: str, config: str, splits: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of a manifest that pins a configuration.

    Args:
        name: The dataset.
        config: The configuration, or ``default``.
        splits: By split its ``commit``, ``records`` and ``first``.
    """
    commits = {facts["commit"] for facts in splits.values()}
    if len(commits) != 1:
        raise DatasetError(
            f"{name} changed while it was read: its splits are of different commits."
        )
    sizes = ", ".join(f"{split} = {facts['records']}" for split, facts in splits.items())
    first = ", ".join(f'{split} = "{facts["first"]}"' for split, facts in splits.items())
    lines = [
        f'[datasets.{name}.pins."{config}"]',
        f'commit = "{commits.pop()}"',
        f"sizes = {{ {sizes} }}",
        f"first = {{ {first} }}",
    ]
    return "\n".join(lines) + "\n"


def with_pins(manifest: str, name: str, tables: Iterable[str]) -> str:
    """Return the text of a manifest with the pins of a dataset in place of those of the same configurations.

    Raises:
        DatasetError: It has no such dataset.
    """
    start = f"[datasets.{name}]"
    lines = manifest.splitlines(keepends=True)
    if start not in map(str.strip, lines):
        raise DatasetError(f"The manifest has no table {start}.")
    tables = list(tables)
    heads = {table.partition("\n")[0] for table in tables}
    left: list[str] = []
    is_replaced = False
    for line in lines:
        if line.startswith("["):
            is_replaced = line.strip() in heads
        if not is_replaced:
            left.append(line)
    own = [place for place, line in enumerate(left) if line.startswith((start, start[:-1] + "."))]
    place = own[1] if len(own) > 1 else len(left)
    return "".join([*left[:place], *tables, *left[place:]])


_REMEDY = (
    f"revision={LATEST} reads what the hub has today; numbers of the two do not compare. "
    "`context-bench datasets pin` writes new pins."
)
