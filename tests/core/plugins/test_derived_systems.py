"""Rows that are derived from other rows: keys, resuming, rescoring, readers, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Any

import pytest

CODE = """
    import os
    import time

    from context_bench.hookspecs import hookimpl
    from context_bench.protocols import DerivedSystemSpec

    class Halves:
        def __init__(self, version="1", read=False, of=None):
            self.version, self.read, self.of = version, bool(read), of

        @hookimpl
        def derived_systems(self, systems):
            return [
                DerivedSystemSpec(f"{label} half", self.of or label, {"version": self.version}, self.half, self.read)
                for label, system in systems.items()
                if not hasattr(system, "answers")
            ]

        def half(self, example, source):
            with open(os.environ["DERIVED_LOG"], "a") as log:
                log.write(example["id"] + "\\n")
            if os.environ.get("DERIVED_SLOWLY"):
                time.sleep(0.2)
            assert "answer" not in example, "gold"
            if source["context"] == "breaks":
                raise ValueError("cannot be halved")
            text = source["context"]
            return {"context": text[: len(text) // 2]}

    class Shorten:
        name = "shorten"

        def process(self, example):
            if example["context"] == "fails":
                raise ValueError("no")
            return {"context": example["context"].strip("-")}

        def fingerprint(self):
            return {}

    class Reader:
        name = "reader"
        answers = True

        def process(self, example):
            assert "answer" not in example, "gold"
            return {"response": example["context"].upper()}

        def fingerprint(self):
            return {"model": "m"}

    def texts(path, limit=None, config=None, split=None):
        with open(path) as file:
            for number, line in enumerate(file):
                yield {"id": str(number), "context": line.strip(), "answer": "gold"}

    class Length:
        name = "length"

        def score(self, original, processed):
            return {"length": float(len(processed["context"]))}
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [hooks.halves]
    summary = "Half of everything"
    class = "Halves"
    implements = ["derived_systems"]
    options.version = { type = "str", flag = "--halves", help = "Version" }
    options.read = { type = "str", flag = "--halves-read", help = "Whether it is read" }
    options.of = { type = "str", flag = "--halves-of", help = "Source" }

    [systems.shorten]
    summary = "A compressor"
    class = "Shorten"
    kind = "transformer"
    version = "1"

    [systems.reader]
    summary = "A reader"
    class = "Reader"
    version = "1"

    [datasets.texts]
    summary = "Lines"
    class = "texts"
    files = [".texts"]
    options.path = { type = "path", required = true, help = "The file" }

    [evaluators.length]
    summary = "Letters left"
    class = "Length"
    primary = "length"
    version = "1"
    wire = [{ always = true }]
    [evaluators.length.scores]
    length = { range = [0, "inf"] }
"""
POINTS = {
    "hooks": {"halves": "acme_derived:Halves"},
    "systems": {"shorten": "acme_derived:Shorten", "reader": "acme_derived:Reader"},
    "datasets": {"texts": "acme_derived:texts"},
    "evaluators": {"length": "acme_derived:Length"},
}
CONTEXTS = ("--abcd--", "abcdefgh", "fails", "breaks")
RUN = (
    "run",
    "--system",
    "shorten",
    "--dataset",
    "d.texts",
    "--evaluators",
    "length",
    "--quiet",
    "--run-file",
    "r.sqlite",
)
RUN += ("--max-failed", "100%")


@pytest.fixture
def log(site: Any, context_bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site.basics()
    site.add("acme-derived", code=CODE, manifest=MANIFEST, entry_points=POINTS)
    Path("d.texts").write_text("\n".join(CONTEXTS), encoding="utf-8")
    path = tmp_path / "derived.log"
    path.touch()
    monkeypatch.setenv("DERIVED_LOG", str(path))
    return path


def told(name: str = "r.sqlite") -> dict[tuple[str, int], Any]:
    """Return output and length of every answered row, by label and position."""
    with closing(sqlite3.connect(name)) as connection, connection:
        lines = connection.execute(
            "SELECT label, responses.id, output, value FROM responses JOIN systems USING (system_number) "
            "LEFT JOIN scores ON scores.response = responses.id ORDER BY responses.id"
        ).fetchall()
    places: dict[str, int] = {}
    found = {}
    for label, number, output, value in lines:
        del number
        places[label] = places.get(label, -1) + 1
        found[label, places[label]] = (json.loads(output), value)
    return found


def test_a_derived_row_is_made_of_its_source_scored_and_shown(
    log: Path, context_bench: Any
) -> None:
    done = context_bench(*RUN, "--halves", "1", "--format", "json")
    assert done.code == 0, done.err
    summary, config = (json.loads(done.out)[part] for part in ("summary", "config"))
    assert list(summary) == ["shorten", "shorten half"]
    assert config["derived"] == ["shorten half"]
    assert summary["shorten half"]["num_rows"] == 4
    assert summary["shorten half"]["num_failed"] == 2  # one whose source failed, and one that broke
    assert told()["shorten half", 0] == ({"context": "ab"}, 2.0)
    assert told()["shorten half", 1] == ({"context": "abcd"}, 4.0)
    assert "shorten has no output for this example" in done.err
    assert "cannot be halved" in done.err


def test_what_is_derived_stands_in_plan_lock_and_run_record(log: Path, context_bench: Any) -> None:
    done = context_bench(*RUN, "--halves", "1", "--dry-run")
    assert "extension acme-derived/halves 1.0: derived_systems (version=1)" in done.out
    assert "shorten half: derived from shorten" in done.out
    assert not log.read_text()
    assert context_bench("lock", *RUN[1:7], "--halves", "1").code == 0
    assert "acme-derived/halves" in Path("context-bench.lock").read_text()
    assert context_bench(*RUN, "--halves", "1").code == 0
    with closing(sqlite3.connect("r.sqlite")) as connection, connection:
        [(description,)] = connection.execute(
            "SELECT description FROM systems WHERE system_number = 1"
        ).fetchall()
    assert json.loads(description)["derived"] == {"by": "halves", "from": "shorten", "version": "1"}


def test_a_resumed_run_derives_only_what_is_missing(log: Path, context_bench: Any) -> None:
    assert context_bench(*RUN, "--halves", "1").code == 0
    before = told()
    log.write_text("")
    with closing(sqlite3.connect("r.sqlite")) as connection, connection:
        connection.execute(
            "DELETE FROM scores WHERE response IN (SELECT max(id) FROM responses WHERE system_number = 1)"
        )
        connection.execute(
            "DELETE FROM evaluations WHERE response IN (SELECT max(id) FROM responses WHERE system_number = 1)"
        )
        connection.execute(
            "DELETE FROM responses WHERE id IN (SELECT max(id) FROM responses WHERE system_number = 1)"
        )
    assert context_bench("resume", "r.sqlite").code in (0, 12)
    assert log.read_text().split() == [
        "1",
        "3",
    ]  # 3 failed, and is tried again as any failed row is
    assert told() == before


def test_scores_are_renewed_without_deriving_again(log: Path, context_bench: Any) -> None:
    assert context_bench(*RUN, "--halves", "1").code == 0
    before = told()
    log.write_text("")
    done = context_bench("rescore", "r.sqlite", "--force")
    assert done.code in (0, 12), done.err
    assert told() == before
    assert not log.read_text()


def test_the_key_of_a_derived_row_is_that_of_its_slot_and_of_its_source(
    log: Path, context_bench: Any
) -> None:
    def keys(name: str) -> list[bytes]:
        with closing(sqlite3.connect(name)) as connection, connection:
            return [
                key
                for (key,) in connection.execute(
                    "SELECT key FROM responses WHERE system_number = 1 ORDER BY id"
                )
            ]

    for name, version in (("r.sqlite", "1"), ("s.sqlite", "1"), ("t.sqlite", "2")):
        assert (
            context_bench(
                *(name if one == "r.sqlite" else one for one in RUN), "--halves", version
            ).code
            == 0
        )
    assert keys("r.sqlite") == keys("s.sqlite")
    assert not set(keys("r.sqlite")) & set(keys("t.sqlite"))
    assert len(set(keys("r.sqlite"))) == 2


def test_a_reader_answers_from_what_was_derived_only_when_asked_to(
    log: Path, context_bench: Any
) -> None:
    read = (*RUN, "--reader", "reader")
    done = context_bench(*read, "--halves", "1", "--halves-read", "yes")
    assert done.code == 0, done.err
    assert told()["shorten half", 0][0] == {
        "context": "ab",
        "response": "AB",
    }
    assert "Derived rows call the reader up to 3 times" in done.err
    done = context_bench(*RUN[:-4], "--run-file", "u.sqlite", *RUN[-2:], "--halves-read", "yes")
    assert done.code == 2
    assert "Name it with --reader" in done.words


def test_what_cannot_be_derived_is_refused_before_anything_is_asked(
    log: Path, context_bench: Any
) -> None:
    done = context_bench(*RUN, "--halves-of", "nobody")
    assert done.code == 2
    assert "has no source 'nobody'" in done.words
    done = context_bench(*RUN, "--system", "shorten half=shorten", "--halves", "1")
    assert done.code == 2
    assert "'shorten half'" in done.words
    done = context_bench(*RUN, "--halves", "1", "--no-store-examples")
    assert done.code == 2, done.out
    assert "its examples must be kept" in done.words
    assert not Path("r.sqlite").exists()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this platform")
def test_a_run_killed_while_it_derives_goes_on_where_it_ended(
    log: Path, site: Any, context_bench: Any
) -> None:
    Path("d.texts").write_text("\n".join(f"abcd{n:04}" for n in range(40)), encoding="utf-8")
    environment = {
        **os.environ,
        "DERIVED_SLOWLY": "1",
        "PYTHONPATH": str(site.folder),
        "CONTEXT_BENCH_PLUGINS": "acme-derived",
    }
    command = [sys.executable, "-m", "context_bench", *RUN, "--halves", "1"]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while len(log.read_text().split()) < 4 and process.poll() is None:
            sleep(0.01)
        process.send_signal(signal.SIGKILL)
    finally:
        process.wait()
    kept = len([label for label, _ in told() if label == "shorten half"])
    assert 1 <= kept < 40
    log.write_text("")
    assert context_bench("resume", "r.sqlite").code == 0
    assert len(log.read_text().split()) == 40 - kept
    assert told()["shorten half", 39][0] == {"context": "abcd"}
