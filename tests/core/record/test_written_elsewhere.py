"""A run file that one Python wrote is sound to another: its check sums rest on `marshal`, which must say the same everywhere.

`python tests/core/record/test_written_elsewhere.py` writes the file anew, for a new format of run files.
"""

from __future__ import annotations

import gzip
import json
import platform
import sys
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from context_bench import evaluate
from context_bench.bench.reading import canonical_row
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings
from context_bench.store.reader import RunReader
from context_bench.store.rows import _summed
from context_bench_audit.verification import verify

FILE = Path(__file__).with_name("written-by-python-3.11.sqlite.gz")

EXAMPLES = [
    {"id": "ascii", "question": "Paris", "answer": "Paris"},
    {"id": "unicode", "question": "Größe 東京 🗼 \u0000 \ud800", "answer": "東京"},
    {
        "id": "numbers",
        "question": "7",
        "answer": 2**70,
        "more": [1.5, -0.0, 1e300, True, None, -(2**31) - 1],
    },
    {"question": "no id", "answer": ""},
    {"id": "breaks", "question": "break", "answer": "x"},
    {"id": "talk", "multi_turn": True, "turns": ["one", "two"], "answer": "two"},
    {"id": "broken talk", "multi_turn": True, "turns": ["one", "break"], "answer": "two"},
]
VALUES = (
    2**62,
    -1,
    0,
    "",
    "Paris",
    "東京 🗼",
    b"\x00\xff",
    None,
    0.1,
    -0.0,
    1e300,
    2**31,
    -(2**31),
    2**31 - 1,
)
CRC = 1632394004


class Echo:
    name = "echo"
    __module__ = "written_elsewhere"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if example["question"] == "break":
            raise RuntimeError("Größe \ud800 of a problem")
        usage = {"input_tokens": 3, "output_tokens": 5_000_000_000, "cost": 0.25}
        return {
            "response": example["question"],
            "usage": usage,
            "latency": 0.125,
            "headers": {"x": "é"},
        }

    def process_turn(self, turns: list[Any]) -> dict[str, Any]:
        return self.process({"question": turns[-1]})

    def fingerprint(self) -> dict[str, Any]:
        return {"model": "m"}


class Same:
    name = "same"
    __module__ = "written_elsewhere"
    version = "1"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"same": float(original["answer"] == processed["response"]), "third": 1 / 3}


def write(path: Path) -> None:
    evaluate([Echo()], EXAMPLES, [Same()], progress=False, run_file=path, samples=2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run.sqlite"
    path.write_bytes(gzip.decompress(FILE.read_bytes()))
    return path


def test_a_file_that_python_3_11_wrote_verifies_here(path: Path) -> None:
    found = verify(discover(PluginSettings.read(environ={})), path)
    assert (found.sealed, found.rows, found.problems) == (True, 14, [])
    assert RunReader(path).run()["provenance"]["python"].startswith("3.11.")


def test_it_holds_the_same_rows_keys_and_hashes_as_a_file_written_here(
    path: Path, tmp_path: Path
) -> None:
    pytest.importorskip("context_bench_conversations", reason="it asks conversations")
    write(tmp_path / "here.sqlite")
    there, here = RunReader(path), RunReader(tmp_path / "here.sqlite")
    for query in (
        "SELECT id, key, output, hash, latency, measured, check_sum FROM responses ORDER BY id",
        "SELECT * FROM examples ORDER BY id",
        "SELECT response, turn, key, output, check_sum FROM turns ORDER BY 1, 2",
        "SELECT * FROM evaluations ORDER BY response",
    ):
        assert list(there.stream(query)) == list(here.stream(query))
    exported = [
        [json.dumps(canonical_row(row), sort_keys=True) for row in store.rows()]
        for store in (there, here)
    ]
    assert exported[0] == exported[1]


def test_a_run_that_another_python_began_is_resumed_and_asks_nothing_again(path: Path) -> None:
    pytest.importorskip("context_bench_conversations", reason="it asks conversations")

    class Silent(Echo):
        __module__ = Echo.__module__

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            assert example["question"] == "break", "it was answered"
            return super().process(example)

    Silent.__qualname__ = Echo.__qualname__  # its key has the name of its class
    evaluate([Silent()], EXAMPLES, [Same()], progress=False, run_file=path, samples=2)
    assert verify(discover(PluginSettings.read(environ={})), path).problems == []


def test_the_check_sum_of_every_kind_of_value_is_pinned() -> None:
    assert _summed(VALUES)[-1] == CRC
    interned = tuple(sys.intern(value) if isinstance(value, str) else value for value in VALUES)
    assert _summed(interned)[-1] == CRC
    assert crc32(b"123456789") == 0xCBF43926


if __name__ == "__main__":
    from tempfile import mkdtemp

    from context_bench.runner import stopping

    stopping.format_exception = lambda *_: ["Traceback (most recent call last):\n"]  # type: ignore[assignment]  # no folders
    assert platform.python_version().startswith("3.11."), (
        "the name of the file says that Python 3.11 wrote it"
    )
    place = Path(mkdtemp()) / "run.sqlite"
    write(place)
    FILE.write_bytes(gzip.compress(place.read_bytes(), mtime=0))
    print(FILE.stat().st_size, "bytes;", "CRC =", _summed(VALUES)[-1])
