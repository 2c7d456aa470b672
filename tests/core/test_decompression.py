"""A compressed file gives out no more bytes than its size allows."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path

import pytest

from context_bench.cli import execute
from context_bench.decompression import EXPANSION_VARIABLE, bounded
from context_bench.errors import DatasetError

MIB = 1 << 20


def packed(size: int) -> bytes:
    return gzip.compress(bytes(size))


def opened(content: bytes, max_expansion: int | None = None) -> io.BufferedIOBase:
    stream = gzip.GzipFile(fileobj=io.BytesIO(content))
    return bounded(stream, len(content), "bomb.gz", max_expansion)  # type: ignore[return-value]


def test_a_file_of_zeros_ends_at_its_limit() -> None:
    content = packed(300 * MIB)
    with opened(content) as stream, pytest.raises(DatasetError) as refused:
        list(iter(lambda: stream.read(MIB), b""))
    assert "bomb.gz" in str(refused.value)
    assert EXPANSION_VARIABLE in str(refused.value)
    with opened(content) as stream, pytest.raises(DatasetError):
        stream.read()


def test_a_large_file_of_texts_is_read_whole() -> None:
    content = packed(200 * MIB)
    with opened(content) as stream:
        assert len(stream.read()) == 200 * MIB


def test_the_limit_can_be_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    content = packed(260 * MIB)
    for times in (0, 5000):
        with opened(content, times) as stream:
            assert len(stream.read()) == 260 * MIB
    monkeypatch.setenv(EXPANSION_VARIABLE, "0")
    with opened(content) as stream:
        assert len(stream.read()) == 260 * MIB
    monkeypatch.setenv(EXPANSION_VARIABLE, "many")
    with pytest.raises(DatasetError, match="whole number"):
        opened(content)


def test_random_bytes_pass() -> None:
    content = gzip.compress(os.urandom(MIB))
    with opened(content, 1) as stream:
        assert len(stream.read()) == MIB


def test_a_run_of_a_bomb_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("context_bench_local", reason="reads the file")
    pytest.importorskip("context_bench_replay", reason="answers")
    monkeypatch.chdir(tmp_path)
    line = json.dumps({"id": "1", "answer": "a", "response": "a" * (280 * MIB)})
    Path("bomb.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    assert execute(["run", "--system", "replay", "--dataset", "bomb.jsonl.gz", "-q"]) == 2
    error = capsys.readouterr().err
    assert "bomb.jsonl.gz" in error
    assert EXPANSION_VARIABLE in error
    assert "Traceback" not in error
