from __future__ import annotations

import json
from pathlib import Path

import pytest

from context_bench_local import local

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(
        not DATA.is_dir(), reason="the shared benchmark records do not lie beside this checkout"
    ),
]


def options_of(name: str) -> dict[str, object]:
    """What a user has to say about a published file that does not explain itself."""
    if name.startswith("mgsm"):
        return {"columns": ["question", "answer"]}
    if name.startswith("drop.release"):
        return {"index": "passage_id"}
    return {}


def test_streamed_files_have_as_many_rows_as_their_list_says():
    listed = json.loads((DATA / "MANIFEST.json").read_text("utf-8"))
    streamed = {".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".tsv", ".tsv.gz"}
    expected = {
        entry["file"]: entry["n"] for entry in listed if entry["file"].endswith(tuple(streamed))
    }
    counted = {
        name: sum(1 for _ in local(path=DATA / name, **options_of(name))) for name in expected
    }
    assert counted == expected
    assert len(counted) > 100


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("outputs/infinitebench-gpt4/passkey.jsonl.gz", 590, ["id", "prediction", "ground_truth"]),
        (
            "outputs/longbench-llama2-7b-chat-4k/trec.jsonl.gz",
            200,
            ["pred", "answers", "all_classes", "length"],
        ),
        ("outputs/bbh-codex-cot/word_sorting.json.gz", 250, ["input", "prediction", "target"]),
        ("bbh/navigate.raw.json.gz", 150, ["input", "target"]),
        ("outputs/rouge.pltrdy-pairs.json", 4, ["hyp", "ref", "scores"]),
        ("drop.release-layout.raw.json", 3, ["passage_id", "passage", "qa_pairs"]),
        ("mgsm_de.raw.tsv.gz", 150, ["question", "answer"]),
    ],
)
def test_published_layouts_are_read(name, rows, columns):
    found = list(local(path=DATA / name, **options_of(name)))
    assert len(found) == rows
    assert list(found[0])[: len(columns)] == columns


def test_json_documents_without_rows_say_so():
    refused = {}
    for path in DATA.rglob("*.json*"):
        if "sessions" in path.parts:
            continue  # agent sessions are no tables: context-bench-sessions reads them
        try:
            assert sum(1 for _ in local(path=path, **options_of(path.name))) > 0
        except ValueError as error:
            refused[path.name] = str(error)
    tables_of_scores = {
        name
        for name in refused
        if name.endswith(("statistics.json", "result.json", "results.json"))
    }
    assert set(refused) == tables_of_scores
    assert all("no key holds an array of objects" in message for message in refused.values())
