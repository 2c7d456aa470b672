"""Repositories on the fake hub."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

README = """---
configs:
- config_name: main
  data_files:
  - {split: test, path: main/test-*}
  - {split: train, path: main/train-*}
- config_name: socratic
  data_files:
  - {split: test, path: socratic/test-*}
---
"""


def parquet(rows: Iterable[Mapping[str, Any]], row_group_size: int = 1000) -> bytes:
    import pyarrow as arrow
    from pyarrow import parquet as files

    buffer = io.BytesIO()
    files.write_table(
        arrow.Table.from_pylist(list(rows)),
        buffer,
        row_group_size=row_group_size,
        compression="none",
    )
    return buffer.getvalue()


def lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def problems(count: int, width: int = 10) -> list[dict[str, str]]:
    return [
        {"question": f"What is {i}+1? {'x' * width}", "answer": f"One more.\n#### {i + 1}"}
        for i in range(count)
    ]


@pytest.fixture
def gsm8k(hub: Any) -> Callable[..., str]:
    """Put GSM8K on the hub, in its real columns and configurations, and return its commit."""

    def put(count: int = 30, width: int = 10) -> str:
        files = {
            "README.md": README.encode(),
            "main/test-00000-of-00001.parquet": parquet(problems(count, width), 500),
            "main/train-00000-of-00001.parquet": parquet(problems(40)),
            "socratic/test-00000-of-00001.parquet": parquet(problems(3)),
        }
        return str(hub.put("openai/gsm8k", files))

    return put
