"""What a run file says about where its numbers came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.bench.reading import read_result
from context_bench.store.runfile import RunFile

pytest.importorskip("context_bench_answer_quality", reason="its manifest is what is recorded")
pytest.importorskip("context_bench_needle", reason="its options are what is recorded")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    def system(example: dict[str, Any]) -> str:
        return "x"

    evaluate(
        system, "needle:length=300", ["answer-quality"], max_examples=2, progress=False, run_file=tmp_path / "r.sqlite"
    )
    return tmp_path / "r.sqlite"


def test_versions_plugins_and_git_are_recorded(path: Path) -> None:
    found = read_result(path).config["provenance"]
    assert found.keys() >= {"context_bench", "python", "platform", "plugins", "git"}
    plugin = found["plugins"]["context-bench-answer-quality"]
    assert plugin["version"]
    assert len(plugin["manifest_sha256"]) == 64


def test_a_dataset_is_recorded_with_its_options_length_and_content(path: Path) -> None:
    [dataset] = RunFile.open(path).datasets()
    assert dataset["length"] == 2
    assert len(dataset["content"]) == 16
    description = dataset["description"]
    assert description["component"] == "context-bench-needle/needle"
    assert description["options"] == {"length": "300"}
    assert len(description["manifest_sha256"]) == 64


def test_each_evaluator_is_recorded_with_version_manifest_and_rule(path: Path) -> None:
    store = RunFile.open(path)
    [evaluator] = store.evaluators()
    provenance = evaluator["provenance"]
    assert provenance["distribution"] == "context-bench-answer-quality"
    assert provenance["distribution_version"]
    assert provenance["manifest_sha256"]
    [label] = store.labels()
    assert label.plan["evaluators"]["context-bench-answer-quality/answer-quality"]
