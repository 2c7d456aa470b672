"""Where the shared benchmark records lie."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_json():
    """Reads a shared file: a list of records for JSON lines, a value for JSON. Skips where it is not there."""

    def read(name):
        path = SHARED / name
        if not path.exists():
            pytest.skip(
                f"the shared benchmark records are not beside this checkout: {name} is missing"
            )
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file] if ".jsonl" in name else json.load(file)

    return read
