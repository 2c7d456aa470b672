"""Throughput: calls of 50 ms against the ideal of workers / 0.05 s, and an endpoint that hides a limit of 50 a second."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from context_bench import evaluate

CALL = 0.05


class Async:
    name = "async"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("the async lane calls aprocess")

    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(CALL)
        return {"response": example["question"]}


class Blocking:
    name = "blocking"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        time.sleep(CALL)
        return {"response": example["question"]}


class One:
    name = "one"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"one": 1.0}


def examples(rows: int) -> list[dict[str, Any]]:
    return [{"id": str(number), "question": "why?", "answer": "because"} for number in range(rows)]


def share_of_ideal(system: Any, workers: int, rounds: int) -> float:
    evaluate(system, examples(8), [One()], progress=False, max_workers=workers)  # imports what a run needs
    rows = workers * rounds
    started = time.perf_counter()
    result = evaluate(system, examples(rows), [One()], progress=False, max_workers=workers)
    # timing covers the run itself: reading and summing up follow it
    seconds = result.timing["seconds"] or time.perf_counter() - started
    assert len(result.rows) == rows
    return float(rounds * CALL / seconds)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    accepted: ClassVar[deque[float]] = deque()
    lock = threading.Lock()
    refused = 0
    answered = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        now = time.monotonic()
        with self.lock:
            while self.accepted and self.accepted[0] <= now - 1.0:
                self.accepted.popleft()
            allowed = len(self.accepted) < 50
            if allowed:
                self.accepted.append(now)
                type(self).answered += 1
            else:
                type(self).refused += 1
        if allowed:
            time.sleep(0.02)
        choice = {"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
        body = json.dumps({"choices": [choice]} if allowed else {"error": {"message": "slow down"}}).encode()
        self.send_response(200 if allowed else 429)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


def hidden_limit(rows: int, workers: int) -> tuple[float, float]:
    """Return the share of ideal throughput, and the share of answers that were refusals."""
    from context_bench_openai import OpenAIProxy

    _Handler.accepted.clear()
    _Handler.refused = _Handler.answered = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    system = OpenAIProxy(f"http://127.0.0.1:{server.server_port}", model="m", api_key="")
    result = evaluate(system, examples(rows), [One()], progress=False, max_workers=workers)
    server.shutdown()
    assert not result.failures if hasattr(result, "failures") else True
    asked = _Handler.refused + _Handler.answered
    return rows / 50 / float(result.timing["seconds"]), _Handler.refused / asked


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    print("| calls of 50 ms | workers | share of ideal |")
    print("| --- | ---: | ---: |")
    for system, workers in ((Async(), 64), (Async(), 256), (Blocking(), 8), (Blocking(), 64)):
        print(f"| {system.name} | {workers} | {share_of_ideal(system, workers, rounds):.1%} |")
    print("\n| hidden limit of 50 a second | workers | share of ideal | refused |")
    print("| --- | ---: | ---: | ---: |")
    for workers in (8, 64):
        ideal, refused = hidden_limit(1500, workers)
        print(f"| 1,500 calls | {workers} | {ideal:.1%} | {refused:.1%} |")


if __name__ == "__main__":
    main()
