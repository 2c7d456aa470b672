"""A run to send, and an OTLP endpoint on this machine."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import context_bench


class Collector:
    """An OTLP endpoint that keeps what it was sent."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.status = 200
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.paths.append(self.path)
                collector.headers.append({k.lower(): v for k, v in self.headers.items()})
                collector.bodies.append(body)
                self.send_response(collector.status)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    yield server
    server.stop()


TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Answers:
    """A system with a response id, a traced call, and a failure."""

    name = "answers"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if example["id"] == "3":
            raise ValueError("no model")
        return {
            "response": "Paris",
            "response_id": f"resp-{example['id']}",
            "traceparent": TRACEPARENT if example["id"] == "1" else "nonsense",
        }


class Exact:
    """An evaluator that leaves an example without an answer unscored."""

    name = "own_exact"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        if "answer" not in original:
            return {}
        return {"own_exact": float(processed["response"] == original["answer"])}


EXAMPLES = [
    {"id": "1", "question": "Capital of France?", "answer": "Paris"},
    {"id": "2", "question": "Capital of Italy?", "answer": "Rome"},
    {"id": "3", "question": "Capital of Peru?", "answer": "Lima"},
    {"id": "4", "question": "Capital of Mars?"},
]


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.sqlite"
    context_bench.evaluate(
        systems=[Answers()],
        dataset=EXAMPLES,
        evaluators=[Exact()],
        score_field="own_exact",
        run_file=path,
    )
    return path
