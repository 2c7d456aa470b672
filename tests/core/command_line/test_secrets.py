"""A secret, wherever it is put, reaches no run file, report, log or error."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("context_bench_openai", reason="secrets are options of endpoints")
pytest.importorskip("context_bench_local", reason="these runs need the local plugin")
pytest.importorskip("context_bench_answer_quality", reason="these runs need the answer-quality plugin")

CANARY = "canary-7f3a9c-secret"
Run = Callable[..., Any]


class _Repeating(BaseHTTPRequestHandler):
    """Answers with whatever it was sent, as a bad proxy does: the headers in the error, or in the answer's headers."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        sent = " ".join(f"{name}: {value}" for name, value in self.headers.items()) + self.path
        if b"fail" in body:
            self._answer(401, json.dumps({"error": {"message": f"bad key: {sent}"}}).encode(), sent)
        else:
            reply = b'{"model": "m", "choices": [{"message": {"content": "Paris"}, "finish_reason": "stop"}]}'
            self._answer(200, reply, sent)

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


PLACES = {
    "option": ["--system", "openai:base_url=http://127.0.0.1:{port},api_key={canary},max_retries=0"],
    "two systems": [
        "--system",
        "openai:base_url=http://127.0.0.1:{port},api_key={canary},max_retries=0",
        "--system",
        "openai:base_url=http://127.0.0.1:{port},api_key={canary},max_retries=0,seed=1",
    ],
    "header": ["--system", "openai:base_url=http://127.0.0.1:{port},extra_headers=X-Secret: {canary},max_retries=0"],
    "password": ["--system", "openai:base_url=http://user:{canary}@127.0.0.1:{port},max_retries=0"],
    "proxy": ["--proxy", "http://user:{canary}@127.0.0.1:{port}"],
    "query": ["--system", "openai:base_url=http://127.0.0.1:{port}/v1?api-key={canary},max_retries=0"],
    "set": [
        "--system",
        "openai:base_url=http://127.0.0.1:{port},max_retries=0",
        "--set",
        "systems.openai.api_key={canary}",
    ],
    "environment": ["--system", "openai:base_url=http://127.0.0.1:{port},max_retries=0"],
    "misspelt": ["--system", "openai:base_url=http://127.0.0.1:{port},api_key=a,{canary}"],
    "no address": ["--system", "openai:base_url=http://user:{canary}@,max_retries=0"],
}


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_reaches_nothing_that_is_kept_or_shown(
    context_bench: Run, jsonl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: int, place: str
) -> None:
    if place == "environment":
        monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    file = jsonl([{"id": "a", "question": "q", "answer": "Paris"}, {"id": "b", "question": "fail", "answer": "x"}])
    flags = [flag.format(port=port, canary=CANARY) for flag in PLACES[place]]
    done = context_bench("run", *flags, "-d", file, "--run-file", "r.sqlite", "-o", "out.json", "-o", "out.md")
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
        if place not in ("environment",):
            assert resumed.code == 2
            assert "environment" in resumed.err
    else:
        assert place in ("misspelt", "no address")
        assert done.code == 2
    assert not [text for text in told if CANARY in text]
    assert not [path.name for path in tmp_path.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
