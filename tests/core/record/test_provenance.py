"""What a run file says about where its numbers came from."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import DatasetError
from context_bench.results.reading import read_result
from context_bench.store.reader import RunReader

pytest.importorskip("context_bench_answer_quality", reason="its manifest is what is recorded")
pytest.importorskip("context_bench_needle", reason="its options are what is recorded")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    def system(example: dict[str, Any]) -> str:
        return "x"

    evaluate(
        system,
        "needle:length=300",
        ["answer-quality"],
        max_examples=2,
        progress=False,
        run_file=tmp_path / "r.sqlite",
    )
    return tmp_path / "r.sqlite"


def test_versions_plugins_and_git_are_recorded(path: Path) -> None:
    found = read_result(path).config["provenance"]
    assert found.keys() >= {"context_bench", "python", "platform", "plugins", "git"}
    plugin = found["plugins"]["context-bench-answer-quality"]
    assert plugin["version"]
    assert len(plugin["manifest_sha256"]) == 64


def test_a_dataset_is_recorded_with_its_options_length_and_content(path: Path) -> None:
    [dataset] = RunReader(path).datasets()
    assert dataset["length"] == 2
    assert len(dataset["content"]) == 16
    description = dataset["description"]
    assert description["component"] == "context-bench-needle/needle"
    assert description["options"] == {"length": "300"}
    assert len(description["manifest_sha256"]) == 64


def test_each_evaluator_is_recorded_with_version_manifest_and_rule(path: Path) -> None:
    store = RunReader(path)
    [evaluator] = store.evaluators()
    provenance = evaluator["provenance"]
    assert provenance["distribution"] == "context-bench-answer-quality"
    assert provenance["distribution_version"]
    assert provenance["manifest_sha256"]
    [label] = store.labels()
    assert label.plan["evaluators"]["context-bench-answer-quality/answer-quality"]


def test_the_versions_of_what_core_and_the_used_plugins_require_are_recorded(path: Path) -> None:
    from importlib.metadata import version

    found = read_result(path).config["provenance"]["dependencies"]
    assert found["context-bench"]["attrs"] == version("attrs")
    assert found["context-bench"]["importlib-metadata"] == version("importlib-metadata")
    assert found.keys() == {"context-bench", "context-bench-answer-quality", "context-bench-needle"}


def test_what_is_required_and_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from context_bench.session.provenance import dependencies

    folder = tmp_path / "sample_plugin-1.2.dist-info"
    folder.mkdir()
    lines = [
        "Name: sample-plugin",
        "Version: 1.2",
        "Requires-Dist: attrs>=20",
        "Requires-Dist: not-there-at-all",
    ]
    lines += ["Requires-Dist: absent-extra; extra == 'x'", "Requires-Dist: click; extra == 'x'"]
    (folder / "METADATA").write_text(
        "\n".join(["Metadata-Version: 2.1", *lines, "", "Requires-Dist: prose"])
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    found = dependencies(["sample-plugin", "no-such-distribution"])
    assert found.keys() == {"sample-plugin"}
    assert found["sample-plugin"].keys() == {"attrs", "click", "not-there-at-all"}
    assert found["sample-plugin"]["not-there-at-all"] is None


class Edition(list[Any]):
    """A dataset that tells its revision."""

    revision = "main@4f2a"


def test_a_dataset_that_tells_its_revision_has_it_recorded(tmp_path: Path) -> None:
    class HubDataset(list[Any]):
        _fingerprint = "0f3a"

    class Called(list[Any]):
        def revision(self) -> str:
            return "7"

    examples = [{"id": "a", "question": "q", "answer": "x"}]
    given = {
        "one": Edition(examples),
        "two": HubDataset(examples),
        "three": Called(examples),
        "four": examples,
    }
    evaluate(
        lambda example: "x",
        None,
        ["answer-quality"],
        datasets=given,
        progress=False,
        run_file=tmp_path / "d.sqlite",
    )
    found = [
        entry["description"].get("revision")
        for entry in RunReader(tmp_path / "d.sqlite").datasets()
    ]
    assert found == ["main@4f2a", "0f3a", "7", None]


def test_a_revision_that_cannot_be_told_stops_the_run_before_it_begins(tmp_path: Path) -> None:
    class Offline(list[Any]):
        def revision(self) -> str:
            raise OSError("no route to the hub")

    with pytest.raises(DatasetError, match="revision of a dataset cannot be read: no route"):
        evaluate(lambda example: "x", Offline([{}]), ["answer-quality"], progress=False)


def test_a_file_is_recorded_by_its_hash_and_a_changed_one_is_told_on_resume(tmp_path: Path) -> None:
    pytest.importorskip("context_bench_local", reason="it reads the file")
    pytest.importorskip("context_bench_replay", reason="it is the system")
    from context_bench.plan.plan import make_plan
    from context_bench.plan.run_config import RunConfig
    from context_bench.plan.specs import parse_dataset, parse_system
    from context_bench.plugins.discovery import discover
    from context_bench.plugins.settings import PluginSettings
    from context_bench.session import run as runs

    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(b'{"id": "a", "question": "q", "answer": "x", "response": "x"}\n')
    catalog = discover(PluginSettings.read(environ={}))
    request = RunConfig(
        systems=(parse_system("replay"),), datasets=(parse_dataset(str(rows)),), progress=False
    )
    path = tmp_path / "f.sqlite"
    runs.run(catalog, make_plan(catalog, request), path)
    [dataset] = RunReader(path).datasets()
    assert dataset["description"]["source"] == {
        "file": "rows.jsonl",
        "bytes": rows.stat().st_size,
        "sha256": sha256(rows.read_bytes()).hexdigest(),
    }
    told: list[str] = []
    runs.resume(catalog, path, on_warning=told.append)
    assert told == []
    rows.write_bytes(b'{"id": "a", "question": "q", "answer": "y", "response": "x"}\n')
    result = runs.resume(catalog, path, on_warning=told.append)
    assert "has changed since the run began (another source)" in told[0]
    assert [row.scores["exact_match"] for row in result.rows] == [0.0]
