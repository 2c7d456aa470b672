"""The command of the source pages, from two datasets of the hub, through an endpoint, to a report."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute
from context_bench.plugins.discovery import discover
from context_bench.plugins.loading import load

pytest.importorskip("datasets")

from hub_records import RECORDS, publish


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An endpoint that knows two answers, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            text = "\n".join(message["content"] for message in asked[-1]["messages"])
            answer = "Ann" if "Ann is." in text else "So it is 1001."
            message = {"role": "assistant", "content": answer}
            body = json.dumps(
                {
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
                }
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    server.server_close()


def test_the_documented_command_runs_end_to_end(
    hub: Any,
    endpoint: tuple[str, list[dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = discover()
    for name in ("hotpotqa", "gsm8k"):
        publish(hub, load(catalog.find("datasets", name)).wanted(), RECORDS[name])
    url, asked = endpoint
    command = ["--proxy", url, "--name", "N", "--dataset", "hotpotqa", "--dataset", "gsm8k", "-n", "50"]
    assert execute([*command, "--format", "json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    values = told["summary"]["N"]
    assert values["dataset:hotpotqa"] == 1.0
    assert values["dataset:gsm8k"] == 0.25
    assert len(asked) >= len(RECORDS["hotpotqa"]) + len(RECORDS["gsm8k"])
    shown = json.dumps(asked)
    assert "1,001" not in shown
    assert "#### 1" not in shown
