"""A mapping that records its reads, and the watch that records what code does."""

from __future__ import annotations

import copy
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench_testing.recording import RecordingDict
from context_bench_testing.watch import RefusedNetworkError, Watch

LISTINGS: dict[str, Callable[[RecordingDict], Any]] = {
    "dict()": dict,
    "unpacking": lambda fields: {**fields},
    "json": json.dumps,
    "list()": list,
    "items()": lambda fields: fields.items(),
    "values()": lambda fields: fields.values(),
    "copy": copy.deepcopy,
    "update": lambda fields: {}.update(fields),
}


@pytest.mark.parametrize("how", LISTINGS)
def test_every_way_to_list_all_fields_is_recorded(how: str) -> None:
    fields = RecordingDict({"answer": "a"})
    LISTINGS[how](fields)
    assert fields.listed


@pytest.mark.parametrize(
    "read",
    [
        lambda fields: fields["answer"],
        lambda fields: fields.get("answer"),
        lambda fields: "answer" in fields,
        lambda fields: fields.pop("answer"),
    ],
    ids=["[]", "get", "in", "pop"],
)
def test_every_way_to_read_a_field_is_recorded(read: Callable[[RecordingDict], Any]) -> None:
    fields = RecordingDict({"answer": "a", "question": "q"})
    read(fields)
    assert (fields.read, fields.listed) == ({"answer"}, False)


def test_a_field_that_is_absent_is_recorded_too() -> None:
    fields = RecordingDict({})
    with pytest.raises(KeyError):
        fields["answer"]
    assert fields.read == {"answer"}


def test_the_network_is_refused_and_recorded() -> None:
    with Watch("tests") as watch, pytest.raises(RefusedNetworkError):
        socket.create_connection(("127.0.0.1", 9), 1)
    assert list(watch.capabilities) == ["network"]


def test_nothing_is_refused_or_recorded_after_the_watch(tmp_path: Path) -> None:
    with Watch("tests") as watch:
        pass
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), 5).close()
    assert not watch.capabilities
    assert not watch.files


def test_programs_and_output_are_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    with Watch("tests") as watch:
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        print("hello")
    assert list(watch.capabilities) == ["subprocess"]
    assert watch.output == "hello\n"
    assert capsys.readouterr().out == ""


def test_files_outside_the_temporary_folder_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    kept = tmp_path / "kept.txt"
    removed = tmp_path / "removed.txt"
    removed.touch()
    with Watch("tests") as watch:
        kept.write_text("x", encoding="utf-8")
        kept.read_text(encoding="utf-8")
        removed.unlink()
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "file").write_text("x", encoding="utf-8")
    assert watch.files == {str(kept), str(removed)}


def test_only_the_variables_that_the_package_itself_reads_are_recorded() -> None:
    package = __name__.partition(".")[0]
    with Watch(package) as watch:
        os.environ.get("ACME_ONE")
        os.getenv("ACME_TWO")
        tempfile.mkdtemp(dir=tempfile.gettempdir())
    assert watch.environ == {"ACME_ONE", "ACME_TWO"}
    with Watch("another") as watch:
        os.environ.get("ACME_ONE")
    assert watch.environ == set()
