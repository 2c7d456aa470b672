"""An address at which no scheduler can be is refused in one sentence."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import ConfigurationError

cluster = pytest.importorskip("context_bench_dask.cluster")


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("nohost", "missing port number"),
        ("host:port", "invalid literal"),
        ("foo://host:1", "unknown address scheme"),
        ("tls://127.0.0.1:1", "TLS expects"),
        ("absent.json", "No such file"),
    ],
)
def test_it_is_refused_and_nothing_is_left_to_close(
    address: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    with pytest.raises(
        ConfigurationError, match=f"No dask scheduler answers at {address}"
    ) as raised:
        cluster.DaskExecutor(address, 1, {})
    assert reason in str(raised.value)
    del raised
    gc.collect()
    assert unraisable == []
