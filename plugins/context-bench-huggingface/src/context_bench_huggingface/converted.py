"""Datasets whose repository holds a program: the hub's own Parquet files of them, and what is read where there are none."""

from __future__ import annotations

from attrs import evolve

from context_bench.errors import DatasetError
from context_bench_huggingface.access import Access
from context_bench_huggingface.wanted import Wanted

CONVERTED = "refs/convert/parquet"
"""The branch that the hub fills with Parquet files."""


def with_files(wanted: Wanted, access: Access) -> Wanted:
    """Return what is wanted at a revision that the repository has.

    The hub takes its branch of Parquet files away when the repository itself holds such files. Then the configurations of
    ``main`` are read, which are the same records.

    Raises:
        DatasetError: The repository cannot be asked.
    """
    if wanted.revision != CONVERTED:
        return wanted
    try:
        return evolve(wanted, revision=access.commit(wanted))
    except DatasetError as error:
        if type(error.__cause__).__name__ != "RevisionNotFoundError":
            raise
    return evolve(wanted, revision="main", files=None, format=None)
