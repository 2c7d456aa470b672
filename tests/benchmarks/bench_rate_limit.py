"""An endpoint that hides its limit of 50 requests a second: 20 ms an answer, 429 without a `Retry-After` above the limit.

100 % is 50 answers in every second, from the first on. Nobody is told of the limit. The loop is a pool of threads that
asks again after doubling pauses with jitter; inspect_ai has the adaptive connections that it has by default, 64 samples at
once; lm-eval may try a request 1,000 times instead of its 3, or it would end with an error.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from side_by_side import INSPECT, LM_EVAL, OURS, POOL, Runner, cells, is_quick, run, versions

LIMIT = 50
ANSWER_SECONDS = 0.02
CASES = ((OURS, 8), (OURS, 64), (POOL, 64), (INSPECT, 64), (LM_EVAL, 64))


class Endpoint(ThreadingHTTPServer):
    """A chat endpoint on the loopback that refuses whatever is over the limit within any one second."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.accepted: deque[float] = deque()
        self.times: list[float] = []
        self.refused = 0
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def admit(self) -> bool:
        """Count a request and say whether it is answered."""
        now = time.monotonic()
        with self.lock:
            while self.accepted and self.accepted[0] <= now - 1.0:
                self.accepted.popleft()
            if len(self.accepted) < LIMIT:
                self.accepted.append(now)
                self.times.append(now)
                return True
            self.refused += 1
            return False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is none of its business."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        is_admitted = self.server.admit()
        if is_admitted:
            time.sleep(ANSWER_SECONDS)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": "because"},
            "text": "because",
            "finish_reason": "stop",
        }
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
        body = json.dumps(answer if is_admitted else {"error": {"message": "slow down"}}).encode()
        self.send_response(200 if is_admitted else 429)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


def shares(runner: Runner, workers: int, rows: int) -> list[str]:
    """Return the share of ideal throughput, and the share of answers that were refusals."""
    with Endpoint() as endpoint:
        # one row to warm up: its answer is gone from the window before the rest begin, or is one of 50
        found = run(runner, rows=rows, workers=workers, url=endpoint.url, warm_up=1)
        endpoint.shutdown()
    ideal = (rows - LIMIT) / LIMIT + ANSWER_SECONDS  # the first 50 are answered at once
    asked = len(endpoint.times) + endpoint.refused
    return [f"{ideal / found['seconds']:.1%}", f"{endpoint.refused / asked:.1%}"]


def main() -> None:
    """Print the table."""
    rows = 200 if is_quick() else 1500
    print(f"| {rows:,} calls | in flight | share of ideal | refused |\n|---|---:|---:|---:|")
    for runner, workers in CASES:
        found = cells(2, lambda r=runner, w=workers: shares(r, w, rows))  # type: ignore[misc]
        print(f"| {runner.label} | {workers} | {found} |", flush=True)
    print(f"\n{versions(runner for runner, _ in CASES)}")


if __name__ == "__main__":
    main()
