"""The store ``postgresql``: the runs of a team in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from context_bench.hookspecs import hookimpl

if TYPE_CHECKING:
    from context_bench.protocols import RunStore, TableLayout

__all__ = ["store"]


@hookimpl
def store(address: str, tables: Sequence[TableLayout]) -> RunStore:
    """Return the runs of a database; it is not connected to before it is used.

    Args:
        address: ``postgresql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE``, as libpq takes it. What is
            left out comes from ``PGUSER``, ``PGPASSWORD``, ``PGSERVICE`` and so on.
        tables: The tables of a run.

    Raises:
        ConfigurationError: It is no such address.
    """
    from context_bench_postgres.addresses import Address
    from context_bench_postgres.database import PostgresStore

    return PostgresStore(Address.parse(address), tables)
