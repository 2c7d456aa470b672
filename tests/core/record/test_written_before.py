"""Run files of earlier versions open for ever: `report`, `export`, `verify` and reuse say of them what they said then.

The files in folder ``before`` were written by the format's own version, with the rows that it exported beside them.
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from context_bench.bench.reading import canonical_row, read_result
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings
from context_bench.results import strict
from context_bench.runs import open_run
from context_bench.store.questions import EarlierResponses
from context_bench_audit.verification import verify

BEFORE = Path(__file__).with_name("before")
NAMES = sorted(path.name.removesuffix(".sqlite.gz") for path in BEFORE.glob("*.sqlite.gz"))
SCORES = {
    "agreement": {"echo": None, "half": None},
    "conversation": {"talk": 0.5},
    "failures": {"half": 0.0},
    "multi-system": {"echo": 1.0, "half": 0.0},
    "single": {"echo": 1.0},
    "unfinished": {"stops": None},
}


def unpacked(name: str, folder: Path) -> Path:
    path = folder / f"{name}.sqlite"
    with gzip.open(BEFORE / f"{name}.sqlite.gz") as packed, path.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return path


def test_every_kind_of_run_is_kept() -> None:
    assert sorted(SCORES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_its_rows_and_scores_are_read_as_they_were(name: str, tmp_path: Path) -> None:
    path = unpacked(name, tmp_path)
    before = path.read_bytes()
    wanted = [json.loads(line) for line in (BEFORE / f"{name}.jsonl").read_text().splitlines()]
    with open_run(path) as run:
        found = [json.loads(json.dumps(strict(canonical_row(row)))) for row in run.rows()]
        assert [{key: row[key] for key in old} for row, old in zip(found, wanted)] == wanted
        assert len(run) == len(found) == len(wanted)
    result = read_result(path)
    assert {
        system: values.get("mean_score") for system, values in result.summary.items()
    } == SCORES[name]
    assert result.is_complete == (name != "unfinished")
    assert path.read_bytes() == before, "reading a file changes nothing in it"
    assert [file.name for file in tmp_path.iterdir()] == [path.name], "and leaves nothing beside it"


@pytest.mark.parametrize("name", NAMES)
def test_it_verifies_and_its_responses_can_be_reused(name: str, tmp_path: Path) -> None:
    if name == "agreement":
        pytest.importorskip(
            "context_bench_agreement", reason="it says what these rows were held against"
        )
    path = unpacked(name, tmp_path)
    assert verify(discover(PluginSettings.read(environ={})), path).problems == []
    with open_run(path) as run:
        keys = [
            keys.response
            for example in run.examples()
            for keys in run.keys(example.identity)
            if run.systems[keys.identity.slot]["shared"]
        ]
    earlier = EarlierResponses([path])
    assert all(earlier.find(bytes.fromhex(key)) for key in keys)
