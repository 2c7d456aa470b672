"""Pinned benchmarks: a card's commit, sizes and hash of first records, and what a run makes of others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli
from attrs import evolve

from context_bench.cli import execute
from context_bench.errors import DatasetError
from context_bench.plugins.discovery import discover
from context_bench.plugins.loading import load

pytest.importorskip("datasets")

from hub_records import RECORDS, publish, publish_dataset

from context_bench_huggingface.access import Access
from context_bench_huggingface.pins import with_pins

CATALOG = discover()


@pytest.fixture
def pinned(hub: Any) -> Any:
    """Return a loader of GSM8K whose card pins what the hub has now."""
    loader = load(CATALOG.find("datasets", "gsm8k"))
    publish_dataset(hub, "gsm8k", loader)
    [table] = loader.pins(None, (None,), Access())
    facts = tomli.loads(table)["datasets"]["gsm8k"]["pins"]
    return evolve(loader, definition={**loader.definition, "pins": facts})


def repinned(loader: Any, **changes: Any) -> Any:
    """Return a loader whose card pins something else."""
    [(config, pin)] = loader.definition["pins"].items()
    pins = {config: {**pin, **changes}}
    return evolve(loader, definition={**loader.definition, "pins": pins})


def test_a_pinned_dataset_stays_what_it_was(pinned: Any, hub: Any) -> None:
    before = list(pinned())
    [pin] = pinned.definition["pins"].values()
    assert pinned.revision() == f"{pin['commit']} first:{pin['first']['test']}"
    rows = [{**row, "answer": "So.\n#### 77"} for row in RECORDS["gsm8k"]]
    publish(hub, pinned.wanted(revision="latest"), rows)
    assert list(pinned()) == before
    latest = list(pinned(revision="latest"))
    assert {example["answer"] for example in latest} == {"77"}
    assert pinned.revision(revision="latest") not in (pinned.revision(), None)
    assert list(pinned(revision="main")) == latest


def test_other_records_at_the_pinned_commit_are_refused_before_the_first(pinned: Any) -> None:
    """A mirror, or a commit that was written over."""
    with pytest.raises(DatasetError, match=r"not those that its card pins.*revision=latest"):
        next(repinned(pinned, first={"test": "0" * 64})(limit=1))
    with pytest.raises(DatasetError, match="has 4 records, and its card pins 5"):
        list(repinned(pinned, sizes={"test": 5})())
    assert len(list(repinned(pinned, sizes={"test": 5})(limit=2))) == 2
    with pytest.raises(DatasetError, match=r"has no revision '0+'.*revision=latest"):
        next(repinned(pinned, commit="0" * 40)())
    assert len(list(repinned(pinned, first={"test": "0" * 64})(revision="latest"))) == 4


def test_a_fetched_copy_is_compared_with_the_pin(pinned: Any, tmp_path: Path) -> None:
    assert list(pinned.fetch(str(tmp_path), access=Access()))
    offline: dict[str, Any] = {"folder": str(tmp_path), "offline": True}
    assert list(pinned(**offline)) == list(pinned())
    with pytest.raises(DatasetError, match="not those that its card pins"):
        next(repinned(pinned, first={"test": "0" * 64})(**offline))
    with pytest.raises(DatasetError, match="holds no copy of it"):
        next(repinned(pinned, commit="0" * 40)(**offline))


def test_pins_are_written_into_a_manifest(hub: Any, capsys: pytest.CaptureFixture[str]) -> None:
    publish_dataset(hub, "math", load(CATALOG.find("datasets", "math")))
    place = Path(CATALOG.find("datasets", "math").distribution.manifest_path or "")
    manifest = place.read_text(encoding="utf-8")
    assert execute(["datasets", "pin", "math", "--split", "test"]) == 0, capsys.readouterr().err
    tables = [f"{text.strip()}\n" for text in capsys.readouterr().out.strip().split("\n\n")]
    assert len(tables) == 7
    assert place.read_text(encoding="utf-8") == manifest
    written = with_pins(manifest, "math", tables)
    assert with_pins(written, "math", tables) == written
    before, after = tomli.loads(manifest), tomli.loads(written)
    pins = after["datasets"]["math"].pop("pins")
    assert after == before
    assert set(pins) == set(before["datasets"]["math"]["definition"]["parts"])
    assert pins["algebra"]["sizes"] == {"test": 2}


def test_without_the_hubs_parquet_files_those_of_the_repository_are_read(
    hub: Any, tmp_path: Path
) -> None:
    """The hub takes its branch away when the files of a repository are Parquet themselves."""
    loader = load(CATALOG.find("datasets", "winogrande"))
    publish_dataset(hub, "winogrande", loader)
    before = list(loader())
    wanted = loader.wanted()
    hub.repositories.pop(wanted.source)
    for split in (wanted.split, wanted.shots_split):
        moved = wanted.changed(revision="main", files=None, split=split)
        publish(hub, moved, RECORDS["winogrande"])
    assert list(loader()) == before
    assert loader.revision() == hub.commit(wanted.source, "main")
    assert list(loader.fetch(str(tmp_path), access=Access()))
    assert list(loader(folder=str(tmp_path), offline=True)) == before
    with pytest.raises(DatasetError, match="take revision and files out of its definition"):
        list(loader.pins(None, (None,), Access()))


def test_a_changed_answer_is_drift_of_a_locked_run(
    hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    loader = load(CATALOG.find("datasets", "gsm8k"))
    publish_dataset(hub, "gsm8k", loader)
    asked = ["--dataset", "gsm8k", "--system", "replay:field=answer"]
    assert execute(["lock", *asked]) == 0, capsys.readouterr().err
    commit = hub.commit("openai/gsm8k", "main")
    assert commit in Path("context-bench.lock").read_text(encoding="utf-8")
    run = ["run", *asked, "--locked", "-q", "-o", "report.json", "--run-file"]
    assert execute([*run, "a.sqlite"]) == 0, capsys.readouterr().err
    edition = json.loads(Path("report.json").read_text(encoding="utf-8"))["config"]["editions"]
    assert edition["gsm8k"]["revision"] == commit
    assert len(edition["gsm8k"]["fingerprint"]) >= 32
    rows = [*RECORDS["gsm8k"][:-1], {**RECORDS["gsm8k"][-1], "answer": "So.\n#### 77"}]
    publish(hub, loader.wanted(), rows)
    assert execute([*run, "b.sqlite"]) == 2
    assert commit in capsys.readouterr().err


def test_latest_is_an_option_of_a_run(hub: Any, pinned: Callable[..., Any], tmp_path: Path) -> None:
    run = ["run", "--dataset", "gsm8k", "--system", "replay:field=answer", "-q", "--run-file"]
    assert execute([*run, str(tmp_path / "a.sqlite"), "--revision", "latest"]) == 0
    assert execute([*run, str(tmp_path / "b.sqlite"), "--revision", "no-such-branch"]) == 2
