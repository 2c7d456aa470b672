"""A secret, wherever it is put, reaches no run file, report, log or error."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

pytest.importorskip("context_bench_openai", reason="secrets are options of endpoints")
pytest.importorskip("context_bench_local", reason="these runs need the local plugin")
pytest.importorskip(
    "context_bench_answer_quality", reason="these runs need the answer-quality plugin"
)

CANARY = "canary-7f3a9c-secret"
FORMS = [CANARY, b64encode(CANARY.encode()).decode(), b64encode(f"user:{CANARY}".encode()).decode()]
FORMS += [CANARY.encode().hex(), CANARY[::-1]]
Run = Callable[..., Any]


class _Repeating(BaseHTTPRequestHandler):
    """Answers with whatever it was sent, as a bad proxy does: in the error, in the answer's headers, or as the answer."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        sent = " ".join(f"{name}: {value}" for name, value in self.headers.items()) + self.path
        sent += f" {FORMS[3]} {FORMS[4]}"
        if b"fail" in body:
            self._answer(401, json.dumps({"error": {"message": f"bad key: {sent}"}}).encode(), sent)
        else:
            text = f"Paris {sent}" if b"echo" in body else "Paris"
            choice = {"message": {"content": text}, "finish_reason": "stop"}
            self._answer(200, json.dumps({"model": "m", "choices": [choice]}).encode(), sent)

    def _answer(self, status: int, body: bytes, sent: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Request-Id", sent)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Repeating)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


PLAIN = ["--system", "openai:base_url=http://127.0.0.1:{port}"]
JUDGE = [
    "--allow",
    "network",
    "--add-evaluator",
    "judge",
    "--set",
    "evaluators.judge.max_retries=0",
    "--judge-url",
    "http://127.0.0.1:{port}",
]
PROJECT_FILES = {
    "project file": """
        [[systems]]
        name = "openai"
        options = {{ base_url = "http://127.0.0.1:{port}", api_key = "{canary}" }}
    """,
    "project file with a password": """
        [[systems]]
        name = "openai"
        options = {{ base_url = "http://user:{canary}@127.0.0.1:{port}" }}
    """,
    "judge project file": """
        [evaluators.judge]
        api_key = "{canary}"
    """,
}
PLACES = {
    "option": [
        "--system",
        "openai:base_url=http://127.0.0.1:{port},api_key={canary}",
    ],
    "two systems": [
        "--system",
        "openai:base_url=http://127.0.0.1:{port},api_key={canary}",
        "--system",
        "openai:base_url=http://127.0.0.1:{port},api_key={canary},seed=1",
    ],
    "header": [
        "--system",
        "openai:base_url=http://127.0.0.1:{port},extra_headers=X-Secret: {canary}",
    ],
    "first header of two": [
        "--system",
        "openai:base_url=http://127.0.0.1:{port},extra_headers=X-Secret: {canary}/X-Team: research",
    ],
    "password": ["--system", "openai:base_url=http://user:{canary}@127.0.0.1:{port}"],
    "proxy": ["--proxy", "http://user:{canary}@127.0.0.1:{port}"],
    "query": [
        "--system",
        "openai:base_url=http://127.0.0.1:{port}/v1?api-key={canary}",
    ],
    "set": [
        "--system",
        "openai:base_url=http://127.0.0.1:{port}",
        "--set",
        "systems.openai.api_key={canary}",
    ],
    "environment": PLAIN,
    "project file": [],
    "project file with a password": [],
    "judge option": [*PLAIN, *JUDGE, "--set", "evaluators.judge.api_key={canary}"],
    "judge header": [
        *PLAIN,
        *JUDGE,
        "--set",
        "evaluators.judge.extra_headers=Authorization: Bearer {canary}",
    ],
    "judge password": [*PLAIN, *JUDGE[:-1], "http://user:{canary}@127.0.0.1:{port}"],
    "judge query": [*PLAIN, *JUDGE[:-1], "http://127.0.0.1:{port}/v1?access_token={canary}"],
    "judge environment": [*PLAIN, *JUDGE],
    "judge project file": [*PLAIN, *JUDGE],
    "misspelt": ["--system", "openai:base_url=http://127.0.0.1:{port},api_key=a,{canary}"],
    "no address": ["--system", "openai:base_url=http://user:{canary}@"],
}


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_reaches_nothing_that_is_kept_or_shown(
    context_bench: Run,
    jsonl: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    port: int,
    place: str,
) -> None:
    if place.startswith("judge"):
        pytest.importorskip("context_bench_judge", reason="the judge has secrets of its own")
    if "environment" in place:
        monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    if place in PROJECT_FILES:
        project = PROJECT_FILES[place].format(port=port, canary=CANARY)
        (tmp_path / "context-bench.toml").write_text(dedent(project), encoding="utf-8")
    questions = {"a": "q", "b": "fail", "c": "echo"}
    file = jsonl(
        [{"id": name, "question": text, "answer": "Paris"} for name, text in questions.items()]
    )
    flags = [flag.format(port=port, canary=CANARY) for flag in PLACES[place]]
    done = context_bench(
        "run", *flags, "-d", file, "--run-file", "r.sqlite", "-o", "out.json", "-o", "out.md"
    )
    told = [done.out, done.err]
    if (tmp_path / "r.sqlite").exists():
        assert done.code == 12
        for command in (
            ["explain", "row", "r.sqlite", "b"],
            ["explain", "key", "r.sqlite", "a"],
            ["export", "r.sqlite"],
        ):
            other = context_bench(*command)
            assert other.code == 0
            told += [other.out, other.err]
        resumed = context_bench("resume", "r.sqlite")
        told += [resumed.out, resumed.err]
        if "environment" not in place:
            assert resumed.code == 2
            assert "environment" in resumed.err
    else:
        assert place in ("misspelt", "no address")
        assert done.code == 2
    assert not [text for text in told for form in FORMS if form in text]
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".toml"]
    assert not [
        path.name for path in files if any(form.encode() in path.read_bytes() for form in FORMS)
    ]
    if (tmp_path / "r.sqlite").exists():
        rows = {
            row["example_id"]: row
            for row in json.loads((tmp_path / "out.json").read_text("utf-8"))["rows"]
        }
        assert "***" in rows["c"]["response"] or place.startswith("judge")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this platform")
def test_a_killed_run_leaves_no_secret_in_its_write_ahead_log(
    jsonl: Run, tmp_path: Path, port: int
) -> None:
    rows = [
        {"id": str(n), "question": ("fail", "echo", "q")[n % 3], "answer": "Paris"}
        for n in range(2000)
    ]
    command = [
        sys.executable,
        "-m",
        "context_bench",
        "run",
        "-d",
        jsonl(rows),
        "--run-file",
        "r.sqlite",
        "-q",
    ]
    command += [
        "--system",
        f"openai:base_url=http://user:{CANARY}@127.0.0.1:{port}",
        "--keep-going",  # the first answers may all be refusals
    ]
    path = tmp_path / "r.sqlite"
    with (tmp_path / "told.txt").open("wb") as told:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=told, stderr=told)
    try:
        while not stopped_amid_writes(process, path):
            process.send_signal(signal.SIGCONT)
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    kept = {
        file.name: file.read_bytes() for file in tmp_path.iterdir() if file.name != "rows.jsonl"
    }
    assert kept["r.sqlite-wal"]
    assert not [
        name for name, content in kept.items() if any(form.encode() in content for form in FORMS)
    ]
    assert any(b"Paris" in content and b"***" in content for content in kept.values())


def stopped_amid_writes(process: subprocess.Popen[bytes], path: Path) -> bool:
    """Stop the process, and say whether its write-ahead log holds something now: the process may empty it at any time."""
    assert process.poll() is None, (path.parent / "told.txt").read_text("utf-8")
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    log = path.with_name(f"{path.name}-wal")
    return committed(path) >= 60 and log.exists() and log.stat().st_size > 0


def committed(path: Path) -> int:
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM responses").fetchone()[0])
    except sqlite3.Error:  # not there yet
        return 0
