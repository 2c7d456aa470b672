"""One session at a time writes into a run file; it comes into being whole; and a rescoring shows all of its scores or none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.errors import RunStoppedError, StoreError
from context_bench.results.reading import read_result
from context_bench.runs import open_run
from context_bench.store.lock import SessionLock, writer_of
from context_bench.store.runfile import Rescoring, RunFile

KILLS = 100 if os.environ.get("CONTEXT_BENCH_FULL_SIZE") else 12
KILL = pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this platform"
)
EXAMPLES = [{"id": f"e{n}", "question": "q", "answer": "Paris"} for n in range(5)]


class Echo:
    name = "echo"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "Paris"}


def test_another_thread_and_another_process_cannot_write_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    store = RunFile.create(path, "run", "now", {}, {})
    assert writer_of(path) == os.getpid()
    found: list[str] = []

    def another() -> None:
        try:
            RunFile.open(path)
        except StoreError as error:
            found.append(str(error))

    thread = threading.Thread(target=another)
    thread.start()
    thread.join()
    assert "another thread of this process" in found[0]
    for command in ("resume", "rescore"):
        done = subprocess.run(
            [sys.executable, "-m", "context_bench", command, str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert f"process {os.getpid()}" in done.stderr
    store.close()
    assert writer_of(path) is None
    assert [file.name for file in tmp_path.iterdir()] == ["run.sqlite"]
    RunFile.open(path).close()


@pytest.mark.parametrize("command", ["resume", "rescore"])
def test_a_second_command_ends_before_it_imports_or_plans_anything(
    command: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.sqlite"
    lock = SessionLock(path)
    arguments = (
        [command, "--max-workers", "4", str(path)]
        if command == "resume"
        else [command, str(path), "--force"]
    )
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "context_bench", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    lock.release()
    imported = {
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert done.returncode == 2
    assert f"process {os.getpid()}" in done.stderr
    assert "context_bench.store.lock" in imported
    assert not imported & {
        "click",
        "rich",
        "attrs",
        "sqlite3",
        "context_bench.plugins.discovery",
        "context_bench.session.run",
    }


def test_the_second_session_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = SessionLock(tmp_path / "run.sqlite")
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waits for the lock"))
    with pytest.raises(StoreError, match="Another session writes"):
        SessionLock(tmp_path / "run.sqlite")
    lock.release()
    lock.release()
    SessionLock(tmp_path / "run.sqlite").release()


class Interrupting(Echo):
    """Removes the lock in the middle of a run, and has a second session write into the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.calls = 0

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        if self.calls == 3:
            self.path.with_name(f"{self.path.name}.lock").unlink()
            second = RunFile.open(self.path)
            second.warn(["the second session"])
            second.close()
        time.sleep(0.001)  # too long to share a commit
        return {"response": "Paris"}

    def fingerprint(self) -> dict[str, Any]:
        return {}


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed on Windows")
def test_of_two_sessions_without_a_lock_the_earlier_commits_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    system = Interrupting(path)
    with pytest.raises(RunStoppedError, match="Another session writes"):
        evaluate(system, EXAMPLES, ["answer-quality"], progress=False, max_workers=1, run_file=path)
    with open_run(path) as run:
        assert [row.position for row in run.rows()] == [0, 1]
        assert "the second session" in run.warnings
        assert list(run.faults()) == []
    calls = system.calls
    result = evaluate(system, EXAMPLES, ["answer-quality"], progress=False, run_file=path)
    assert [row.score for row in result.rows] == [1.0] * 5
    assert system.calls - calls == 3, "committed rows are not called again"


def test_two_writers_on_one_file_by_removing_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    first = RunFile.create(path, "run", "now", {}, {})
    first.warn(["first"])
    path.with_name(f"{path.name}.lock").unlink()
    second = RunFile.open(path)
    second.warn(["second"])
    for _ in range(2):
        with pytest.raises(StoreError, match="Another session writes"):
            first.warn(["lost"])
    second.warn(["third"])
    assert second.warnings() == ["first", "second", "third"]
    first.close()
    second.close()


def test_a_file_with_a_hard_link_has_no_second_writer(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    link = tmp_path / "link.sqlite"
    first = RunFile.create(path, "run", "now", {}, {})
    first.warn(["first"])
    os.link(path, link)
    with pytest.raises(StoreError, match="hard link"):
        RunFile.open(link)
    first.warn(["second"])
    first.close()
    with open_run(link) as run:
        assert list(run.warnings) == ["first", "second"]
    link.unlink()
    RunFile.open(path).close()


def test_a_rescoring_of_a_file_that_changed_meanwhile_is_not_published(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    finished(path)
    session = Rescoring(path, {"asked": 1})
    path.with_name(f"{path.name}.lock").unlink()
    other = RunFile.open(path)
    other.warn(["another session"])
    other.close()
    with pytest.raises(StoreError, match="Another session has written"):
        session.publish()
    session.leave()
    with open_run(path) as run:
        assert "another session" in run.warnings


def test_a_result_does_not_keep_the_next_session_out(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    first = evaluate(Echo(), EXAMPLES, ["answer-quality"], progress=False, run_file=path)
    second = evaluate(Echo(), EXAMPLES, ["answer-quality"], progress=False, run_file=path)
    assert [row.score for row in first.rows] == [row.score for row in second.rows] == [1.0] * 5


def test_whoever_waits_for_many_sessions_gets_them_one_after_the_other(tmp_path: Path) -> None:
    """No two hold the lock at once, though each removes the file that it stands on."""
    inside, most, refused = 0, 0, 0
    guard = threading.Lock()

    def take() -> None:
        nonlocal inside, most, refused
        for _ in range(40):
            try:
                lock = SessionLock(tmp_path / "run.sqlite")
            except StoreError:
                refused += 1
                continue
            with guard:
                inside += 1
                most = max(most, inside)
            with guard:
                inside -= 1
            lock.release()

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert refused < 160


CREATE = """
import sys
from context_bench.store.runfile import RunFile
from pathlib import Path
print("ready", flush=True)
sys.stdin.readline()
RunFile.create(Path(sys.argv[1]), "run", "now", {"systems": [], "datasets": []}, {}).close()
print("made", flush=True)
"""


@KILL
def test_a_file_whose_creation_was_killed_is_not_there_or_can_be_resumed(tmp_path: Path) -> None:
    for number in range(KILLS):
        path = tmp_path / f"{number}.sqlite"
        process = subprocess.Popen(
            [sys.executable, "-c", CREATE, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        time.sleep(0.0006 * (number % 12))
        process.kill()
        process.communicate()
        if path.exists():
            with open_run(path) as run:
                assert run.request == {"systems": [], "datasets": []}
                assert run.completeness.sentence.startswith("0 rows")
            RunFile.open(path).close()
        else:
            RunFile.create(path, "run", "now", {}, {}).close()


def finished(path: Path) -> None:
    evaluate(Echo(), EXAMPLES, ["answer-quality"], progress=False, run_file=path)


def test_a_rescoring_shows_nothing_until_it_completes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.sqlite"
    finished(path)
    before = path.read_bytes()
    session = Rescoring(path, {"asked": 1})
    session.store._connection.execute("UPDATE scores SET value = 0.25")
    session.store._connection.commit()
    session.keep(None)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="Another session writes"):
        Rescoring(path, {"asked": 1})
    session.leave()  # as a process that dies leaves it
    assert path.read_bytes() == before
    result = read_result(path)
    assert {row.score for row in result.rows} == {1.0}
    assert execute(["report", str(path), "--format", "json"]) == 0
    told = capsys.readouterr()
    assert "A rescoring of this run has not completed" in told.err
    assert '"is_being_rescored": true' in told.out
    again = Rescoring(path, {"asked": 1})
    values = {
        value
        for (value,) in again.store.lines("SELECT DISTINCT value FROM scores WHERE name = 'f1'")
    }
    assert values == {0.25}, "it goes on where it was"
    again.publish()
    again.leave()
    assert [file.name for file in tmp_path.iterdir()] == ["run.sqlite"]
    with open_run(path) as run:
        assert run.status == "finished"
        assert not run.completeness.is_being_rescored
        lines = list(run.keys((0, 0))[0].values.values())
        assert lines[0]["f1"] == 0.25


@pytest.mark.parametrize("change", ["another request", "another state"])
def test_a_draft_of_something_else_is_thrown_away(tmp_path: Path, change: str) -> None:
    path = tmp_path / "run.sqlite"
    finished(path)
    session = Rescoring(path, {"asked": 1})
    session.store._connection.execute("UPDATE scores SET value = 0.25")
    session.store._connection.commit()
    session.keep(None)  # type: ignore[arg-type]
    session.leave()
    if change == "another state":
        evaluate(Echo(), EXAMPLES, ["answer-quality"], progress=False, run_file=path)
    again = Rescoring(path, {"asked": 2 if change == "another request" else 1})
    assert again.store.lines("SELECT count(*) FROM scores WHERE value = 0.25") == [(0,)]
    again.leave()


SLOW = """
import sys, time
from context_bench.run import loop
def slow(self, job, do=loop.RowProcessor.do):
    print("scored", file=sys.__stdout__, flush=True)
    time.sleep(0.05)
    return do(self, job)
loop.RowProcessor.do = slow
from context_bench.cli import main
main(["rescore", sys.argv[1], "--force", "--evaluators", "answer-quality", "--format", "none"])
"""


@KILL
@pytest.mark.parametrize("signal_name", ["SIGKILL", "SIGINT"])
def test_a_killed_rescore_leaves_the_old_primary_standing(tmp_path: Path, signal_name: str) -> None:
    path = tmp_path / "run.sqlite"
    finished(path)
    before = path.read_bytes()
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for _ in range(2):
        assert process.stdout.readline() == "scored\n"
    process.send_signal(getattr(signal, signal_name))
    _, err = process.communicate()
    assert process.returncode == (-9 if signal_name == "SIGKILL" else 130), err
    assert path.read_bytes() == before
    assert read_result(path).completeness.is_being_rescored
    assert (
        execute(
            ["rescore", str(path), "--force", "--evaluators", "answer-quality", "--format", "none"]
        )
        == 0
    )
    result = read_result(path)
    assert not result.completeness.is_being_rescored
    assert {row.score for row in result.rows} == {1.0}


class Removes(Echo):
    def __init__(self, path: Path) -> None:
        self.path = path
        self.asked = 0

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        self.asked += 1
        if self.asked == 2:
            self.path.unlink()
        time.sleep(0.001)
        return {"response": "Paris"}


def test_a_run_whose_file_was_removed_stops_at_once_and_says_so(tmp_path: Path) -> None:
    system = Removes(tmp_path / "run.sqlite")
    examples = [{"id": f"e{n}", "question": "q", "answer": "Paris"} for n in range(50)]
    with pytest.raises(RunStoppedError, match="is gone: somebody removed") as caught:
        evaluate(system, examples, ["answer-quality"], progress=False, run_file=system.path)
    assert caught.value.path is None, "there is nothing to resume"
    assert system.asked < 10


def test_a_full_disk_stops_the_run_with_one_line_and_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.sqlite"
    create = RunFile.create.__func__  # type: ignore[attr-defined]

    def small(kind: Any, *arguments: Any, **named: Any) -> RunFile:
        store: RunFile = create(kind, *arguments, **named)
        [(pages,)] = store._connection.execute("PRAGMA page_count").fetchall()
        store._connection.execute(f"PRAGMA max_page_count = {pages + 6}")
        return store

    class Chatty(Echo):
        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            time.sleep(0.001)  # too dear to be committed with others
            return {"response": "long " * 3000}

        def fingerprint(self) -> dict[str, Any]:
            return {}

    with monkeypatch.context() as patched:
        patched.setattr(RunFile, "create", classmethod(small))
        with pytest.raises(RunStoppedError, match=r"cannot be written: database or disk is full"):
            evaluate(Chatty(), EXAMPLES, ["answer-quality"], progress=False, run_file=path)
    with open_run(path) as run:
        assert not run.completeness.is_complete
        kept = len(run)
        assert 0 < kept < 5
    result = evaluate(Chatty(), EXAMPLES, ["answer-quality"], progress=False, run_file=path)
    assert len(result.rows) == 5 >= kept
    assert result.is_complete


class Slow(Echo):
    """Takes ten seconds for a row, and fails once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.asked = 0
        monkeypatch.setattr("context_bench.store.runfile.monotonic", lambda: self.now)

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        self.asked += 1
        if self.asked == 4:
            raise ValueError("busy")
        self.now += 10
        return {"response": "Paris"}


def test_the_seconds_of_a_run_are_those_of_its_sessions_and_not_those_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.sqlite"
    system = Slow(monkeypatch)

    def run() -> None:
        limits = {"max_workers": 1, "max_failed": 0.0}
        evaluate(system, EXAMPLES, ["answer-quality"], progress=False, run_file=path, **limits)

    with pytest.raises(RunStoppedError):
        run()
    system.now += 3600
    run()
    system.now += 3600
    run()
    with open_run(path) as done:
        assert (done.status, done.seconds) == ("finished", 50.0)


def test_a_rescoring_adds_no_seconds_to_a_run(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    evaluate(Echo(), EXAMPLES, ["answer-quality"], progress=False, run_file=path)
    with open_run(path) as run:
        before = run.seconds
    assert execute(["rescore", str(path), "--force", "--format", "none"]) == 0
    with open_run(path) as run:
        assert run.seconds == before
