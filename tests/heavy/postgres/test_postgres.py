"""Runs in a PostgreSQL database: those of run files, whatever is killed, cut or paused meanwhile."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from clusters import ANSWERS, QUIET, ROWS, called, prepare, run, start, wait_until

import context_bench
from context_bench.cli import execute

REQUEST = ("-d", "rows.jsonl", *ANSWERS)


@pytest.fixture
def database(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new database; its address has the password."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("acme_remote", None)
    prepare(tmp_path)
    move(monkeypatch, "first")
    name = f"team_{time.monotonic_ns()}"
    server.execute(f"CREATE DATABASE {name}")
    return name


def move(monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    """Go on as on another machine, which has no copies and no key of the first."""
    monkeypatch.setenv("CONTEXT_BENCH_HOME", str(Path(machine).absolute()))


def told(driver: subprocess.Popen[str], code: int) -> str:
    """Return what a process told on standard error, once it has ended with a code."""
    _, text = driver.communicate(timeout=60)
    assert driver.returncode == code, text
    return text


def exported(path: str) -> str:
    """Return the canonical export of a run."""
    with redirect_stdout(StringIO()) as captured:
        assert execute(["export", "--canonical", path]) == 0
    return captured.getvalue()


@cache
def wanted() -> str:
    """Return the canonical export of the same run in a run file."""
    assert run("file.sqlite", *ANSWERS) == 0
    return exported("file.sqlite")


def committed(server: Any, database: str) -> set[int]:
    """Return the positions of the rows that the database has."""
    try:
        lines = server.execute("SELECT position FROM context_bench.responses", database)
    except Exception:
        return set()
    return {position for (position,) in lines}


def test_a_run_in_the_database_is_that_of_a_run_file(
    server: Any, database: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    url = server.url(database)
    others = [start("run", *REQUEST, "--store", url, "--run-file", name) for name in ("one", "two")]
    for other in others:
        told(other, 0)
    assert exported(f"{url}#one") == wanted()
    move(monkeypatch, "second")
    assert exported(f"{url}#two") == wanted()

    capfd.readouterr()
    assert execute(["report", f"{url}#one", "--brief"]) == 0
    assert "acme" in capfd.readouterr().out
    assert execute(["compare", f"{url}#one", f"{url}#two"]) == 0
    capfd.readouterr()
    assert (
        execute(["rescore", f"{url}#two", "--trust", "--add-evaluator", "rouge", *QUIET[:2]]) == 0
    )
    move(monkeypatch, "first")
    assert "rouge_l" in exported(f"{url}#two")
    assert exported(f"{url}#one") == wanted()
    assert len(context_bench.open(f"{url}#one").rows) == ROWS

    query = (
        "SELECT run, count(DISTINCT example_id) FROM context_bench.results GROUP BY 1 ORDER BY 1"
    )
    assert server.execute(query, database) == [("one", ROWS), ("two", ROWS)]
    assert run(f"{url}#one", *ANSWERS) == 2
    assert "#one already" in capfd.readouterr().err


def test_the_password_is_nowhere(
    server: Any, database: str, capfd: pytest.CaptureFixture[str]
) -> None:
    url = server.url(database)
    shown = f"postgresql://127.0.0.1:{server.port}/{database}#one"
    for words in (
        ["run", *REQUEST, f"--store={url}", "--run-file", "one", "--limit", "5", "-o", "out.json"],
        ["report", f"{url}#one", "-o", "report.md"],
        ["report", f"{url}#none"],
        ["resume", f"{url}#one", "--max-workers", "nonsense"],
        ["report", f"{server.url(database, 'wrong-password')}#one"],
    ):
        execute(words)
    text = "".join(capfd.readouterr())
    assert shown in text
    assert "no run none" in text
    assert "password authentication failed" in text
    for secret in (server.password, "wrong-password"):
        assert secret not in text
        for path in Path().rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes()
    for table in ("run", "meta", "systems", "runs"):
        assert server.password not in str(
            server.execute(f"SELECT * FROM context_bench.{table}", database)
        )


def test_the_environment_has_the_password(
    server: Any, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGUSER", "team")
    monkeypatch.setenv("PGPASSWORD", server.password)
    assert run(f"postgresql://127.0.0.1:{server.port}/{database}#one", *ANSWERS) == 0


def test_a_killed_driver_loses_no_committed_row_and_asks_none_again(
    server: Any, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{server.url(database)}#one"
    chance = random.Random(7)
    driver = start("run", *REQUEST, "--run-file", url, seconds=0.2)
    for machine in ("second", "first"):
        before = len(committed(server, database))
        wait_until(lambda: len(committed(server, database)) > before, "a row")  # noqa: B023
        time.sleep(chance.uniform(0, 0.2))
        driver.kill()
        told(driver, -signal.SIGKILL)
        had = committed(server, database)
        Path("calls.txt").unlink()
        move(monkeypatch, machine)
        driver = start("resume", url, "--trust", seconds=0.2 if machine == "second" else 0)
        wait_until(lambda: called() != [], "a call")
        assert not had & set(called())
    told(driver, 0)
    assert not had & set(called())
    assert exported(url) == wanted()


def test_a_second_session_is_refused_and_one_that_comes_back_late_commits_nothing(
    server: Any,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    url = f"{server.url(database)}#one"
    driver = start("run", *REQUEST, "--run-file", url, seconds=1)
    wait_until(lambda: committed(server, database) != set(), "a row")
    move(monkeypatch, "second")
    assert execute(["resume", url, "--trust", *QUIET]) == 2
    assert (
        f"Another session writes into the run postgresql://127.0.0.1:{server.port}/{database}#one: process {driver.pid} on"
        in capfd.readouterr().err
    )
    assert execute(["report", url, "--format", "none"]) == 3
    assert f"wait for process {driver.pid} on" in capfd.readouterr().err

    driver.send_signal(signal.SIGSTOP)
    server.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
    assert execute(["resume", url, "--trust", *QUIET]) == 0
    query = "SELECT commits, session FROM context_bench.runs"
    [state] = server.execute(query, database)
    driver.send_signal(signal.SIGCONT)
    assert "is lost" in told(driver, 3)
    assert server.execute(query, database) == [state]


def test_a_session_whose_number_is_not_the_last_commits_nothing(server: Any, database: str) -> None:
    url = f"{server.url(database)}#one"
    driver = start("run", *REQUEST, "--run-file", url, seconds=1)
    wait_until(lambda: committed(server, database) != set(), "a row")
    [(commits,)] = server.execute(
        "UPDATE context_bench.runs SET session = session + 1 RETURNING commits", database
    )
    assert "so this one stops" in told(driver, 2)
    assert server.execute("SELECT commits FROM context_bench.runs", database) == [(commits,)]


def test_a_lost_connection_ends_the_run_with_3_and_resume_goes_on(
    server: Any, database: str
) -> None:
    url = f"{server.url(database)}#one"
    driver = start("run", *REQUEST, "--run-file", url, seconds=1)
    wait_until(lambda: committed(server, database) != set(), "a row")
    server.stop()
    text = told(driver, 3)
    server.start()
    assert text.count("is lost") == 1
    assert f"context-bench resume postgresql://127.0.0.1:{server.port}/{database}#one" in text
    assert execute(["resume", url, *QUIET]) == 0
    assert len(called()) <= ROWS + 2  # those whose commits were lost
    assert exported(url) == wanted()


def test_evaluate_keeps_its_run_in_the_database_and_goes_on_there(
    server: Any, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Same:
        name = "same"

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {"same": float(original["id"] == processed["response"])}

    url = f"{server.url(database)}#one"
    calls = []

    def answer(example: Any) -> Any:
        calls.append(example["id"])
        if len(calls) == 3:
            raise ValueError("not now")
        return example["id"]

    def evaluated() -> Any:
        examples = [{"id": f"e{number}"} for number in range(5)]
        return context_bench.evaluate(
            answer, examples, [Same()], run_file=url, progress=False, max_workers=1
        )

    first = evaluated()
    assert [row.failed for row in first.rows] == [False, False, True, False, False]
    assert server.password not in str(first.config)
    move(monkeypatch, "second")
    assert [row.score for row in evaluated().rows] == [1.0] * 5
    assert calls == ["e0", "e1", "e2", "e3", "e4", "e2"]
    move(monkeypatch, "third")
    assert len(context_bench.open(url).rows) == 5
    assert not list(Path().glob("postgresql*"))


def test_the_viewer_follows_the_runs_of_a_database(server: Any, database: str) -> None:
    from urllib.request import urlopen

    url = server.url(database)
    assert run(f"{url}#one", *ANSWERS) == 0
    viewer = subprocess.Popen(
        [sys.executable, "-m", "context_bench", "view", url], stdout=subprocess.PIPE, text=True
    )
    try:
        assert viewer.stdout is not None
        address = viewer.stdout.readline().strip()
        assert "one.sqlite" in urlopen(address).read().decode()
        assert run(f"{url}#two", *ANSWERS) == 0
        wait_until(lambda: "two.sqlite" in urlopen(address).read().decode(), "the second run")
        assert "acme" in urlopen(f"{address}run/two.sqlite").read().decode()
    finally:
        viewer.terminate()
        viewer.wait(30)
        viewer.stdout.close()
