"""A PostgreSQL server of its own for these tests, and what the tests of clusters and of kills share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "benchmarks")]

from postgres_server import FAST, Server  # noqa: E402


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with closing(Server(FAST)) as server:
        yield server
