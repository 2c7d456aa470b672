"""The lock holds options of evaluators, the code of editable installs and the files of datasets, and drift of each is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute

pytest.importorskip("context_bench_local", reason="reads the file")
pytest.importorskip("context_bench_replay", reason="answers")
pytest.importorskip("context_bench_answer_quality", reason="scores")

RUN = ["--system", "replay", "--dataset", "qa=data.jsonl", "--evaluators", "answer-quality"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("Paris")
    return tmp_path


def write(answer: str) -> None:
    row = {"id": "1", "question": "q", "answer": answer, "response": "Paris"}
    Path("data.jsonl").write_text(json.dumps(row) + "\n")


def locked_run(*more: str) -> int:
    return execute(["run", "--locked", *RUN, *more, "--format", "none", "-q"])


def test_an_unchanged_run_matches_its_lock() -> None:
    assert execute(["lock", *RUN]) == 0
    assert locked_run() == 0


def test_changed_gold_is_drift(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["lock", *RUN]) == 0
    write("Rome")
    assert locked_run() == 2
    assert "the source of dataset qa" in capsys.readouterr().err


def test_a_changed_source_of_an_editable_install_is_drift(
    site: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    package = site.evaluator("acme-dev", "dev", editable=True)
    sys.path.append(str(package.parent))  # as the .pth file does where Python starts
    run = [*RUN[:-1], "dev"]
    try:
        assert execute(["lock", *run]) == 0
        assert "acme-dev" in json.loads(Path("context-bench.lock").read_text())["content"]
        arguments = ["run", "--locked", *run, "--format", "none", "-q"]
        assert execute(arguments) == 0
        module = package / "__init__.py"
        module.write_text(module.read_text() + "\n# another line\n")
        assert execute(arguments) == 2
        assert "the source code of the editable install acme-dev" in capsys.readouterr().err
        assert execute(["lock", *run]) == 0
        assert execute(arguments) == 0
    finally:
        sys.path.remove(str(package.parent))


HUB_CODE = """
    from pathlib import Path

    def revision(**arguments):
        commit = Path("commit").read_text()
        if commit == "unknown":
            from context_bench.errors import DatasetError
            raise DatasetError("The hub does not answer.")
        return commit

    def load(limit=None, config=None, split=None):
        yield {"id": "1", "question": "q", "answer": "Paris", "response": "Paris"}

    load.revision = revision
"""
HUB_MANIFEST = """
    schema = 1
    api = "1.0"
    [datasets.hub]
    summary = "Rows of a hub"
    class = "load"
"""


def test_the_revision_of_a_dataset_is_locked(site: Any, capsys: pytest.CaptureFixture[str]) -> None:
    points = {"datasets": {"hub": "acme_hub:load"}}
    site.add("acme-hub", code=HUB_CODE, manifest=HUB_MANIFEST, entry_points=points)
    run = ["--system", "replay", "--dataset", "rows=hub", "--evaluators", "answer-quality"]
    arguments = ["run", "--locked", *run, "--format", "none", "-q"]
    Path("commit").write_text("abc")
    assert execute(["lock", *run]) == 0
    assert json.loads(Path("context-bench.lock").read_text())["revisions"] == {"rows": "abc"}
    assert execute(arguments) == 0
    Path("commit").write_text("def")
    capsys.readouterr()
    assert execute(arguments) == 2
    assert "the revision of dataset rows was 'abc', is 'def'" in capsys.readouterr().err
    Path("commit").write_text("unknown")
    assert execute(["lock", *run]) == 0
    assert "The hub does not answer" in capsys.readouterr().err
    assert "revisions" not in json.loads(Path("context-bench.lock").read_text())


def test_options_of_evaluators_are_locked(capsys: pytest.CaptureFixture[str]) -> None:
    option = ["--set", "evaluators.answer-quality.contains=word"]
    assert execute(["lock", *RUN]) == 0
    assert locked_run(*option) == 2
    assert "context-bench-answer-quality/answer-quality" in capsys.readouterr().err
    assert execute(["lock", *RUN, *option]) == 0
    assert locked_run(*option) == 0
    assert locked_run() == 2
