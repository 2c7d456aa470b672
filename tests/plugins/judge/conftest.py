"""An OpenAI-compatible server on this machine that says what a test scripts and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Script = Callable[[Mapping[str, Any]], Any]


class FakeJudge:
    """Answers each request with the next saying; the last one repeats.

    A saying is the text of a reply, a mapping that changes the reply's choice (``message`` adds to the message), a pair of
    status and error message, or a function from the request to one of these.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self._sayings: list[Any] = ["Rating: [[3]]"]
        self._lock = threading.Lock()
        judge = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                status, body = judge.answer(request, self.headers.get("authorization"))
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def says(self, *sayings: Any) -> None:
        self._sayings = list(sayings)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def prompts(self) -> list[str]:
        """The user's message of every request."""
        return [request["messages"][-1]["content"] for request in self.requests]

    def answer(self, request: dict[str, Any], key: str | None) -> tuple[int, Any]:
        with self._lock:
            self.requests.append(request)
            self.keys.append(key)
            saying = self._sayings.pop(0) if len(self._sayings) > 1 else self._sayings[0]
        if callable(saying):
            saying = saying(request)
        if isinstance(saying, tuple):
            return saying[0], {"error": {"message": saying[1]}}
        changes = {"message": {"content": saying}} if isinstance(saying, str) else dict(saying)
        message = {"role": "assistant", "content": None, **changes.pop("message", {})}
        choice = {"index": 0, "finish_reason": "stop", "message": message, **changes}
        usage = {"prompt_tokens": 40, "completion_tokens": 5}
        return 200, {"model": "judge-1", "choices": [choice], "usage": usage}


@pytest.fixture
def fake() -> Iterator[FakeJudge]:
    fake = FakeJudge()
    yield fake
    fake.stop()


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
