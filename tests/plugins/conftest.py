"""What the tests of judging packages share: a server that says what a test scripts, in either interface."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest


class FakeJudge:
    """A server on this machine that answers each request with the next saying and remembers what it was asked.

    The last saying repeats.
    A saying is the text of a reply, a mapping that changes the reply's choice (``message`` adds to the message), a pair of
    status and error message, or a function from the request to one of these.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.model = ""  # what replies say of who wrote them; empty says what was asked
        self.sayings: list[Any] = ["Rating: [[3]]"]
        self.in_flight = self.most_in_flight = 0
        self.gate: threading.Barrier | None = None
        self._lock = threading.Lock()
        judge = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                status, body = judge.answer(self.path, request, self.headers.get("authorization"))
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
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def says(self, *sayings: Any) -> None:
        self.sayings = list(sayings)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def prompts(self) -> list[str]:
        """The last message of every request."""
        return [request["messages"][-1]["content"] for request in self.requests]

    def answer(self, path: str, request: dict[str, Any], key: str | None) -> tuple[int, Any]:
        with self._lock:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            self.requests.append(request)
            self.paths.append(path)
            self.keys.append(key)
            saying = self.sayings.pop(0) if len(self.sayings) > 1 else self.sayings[0]
        try:
            if self.gate is not None:
                self.gate.wait(timeout=30)
            return self._body(path, request, saying(request) if callable(saying) else saying)
        finally:
            with self._lock:
                self.in_flight -= 1

    def _body(self, path: str, request: dict[str, Any], saying: Any) -> tuple[int, Any]:
        if isinstance(saying, tuple):
            return saying[0], {"error": {"message": saying[1]}}
        if path.endswith("/messages"):
            usage = {"input_tokens": 40, "output_tokens": 5}
            block = {"type": "text", "text": saying}
            return 200, {
                "model": request["model"],
                "content": [block],
                "stop_reason": "end_turn",
                "usage": usage,
            }
        changes = {"message": {"content": saying}} if isinstance(saying, str) else dict(saying)
        message = {"role": "assistant", "content": None, **changes.pop("message", {})}
        choice = {"index": 0, "finish_reason": "stop", "message": message, **changes}
        return 200, {
            "model": self.model or request["model"],
            "choices": [choice],
            "usage": {"prompt_tokens": 40, "completion_tokens": 5},
        }


@pytest.fixture
def fake() -> Iterator[FakeJudge]:
    fake = FakeJudge()
    yield fake
    fake.stop()


@pytest.fixture(autouse=True)
def _no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("URL", "MODEL", "PROVIDER"):
        monkeypatch.delenv(f"CONTEXT_BENCH_JUDGE_{name}", raising=False)


@pytest.fixture
def run_readme(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return what runs the Python blocks of the README of the package under test, each on its own.

    It takes texts to put in the place of others in a block, such as the address of a server, and whether the blocks are
    parts of one program.
    """
    package = f"context-bench-{request.path.parent.name}"
    readme = Path(__file__).resolve().parents[2] / "plugins" / package / "README.md"

    def run(changes: Mapping[str, str] = {}, one_program: bool = False) -> None:
        blocks = re.findall(r"```python\n(.*?)```", readme.read_text("utf-8"), re.DOTALL)
        assert blocks, f"{readme} has no block of Python"
        names: dict[str, Any] = {"__name__": "readme"}
        for block in blocks:
            for old, new in changes.items():
                block = block.replace(old, new)
            exec(compile(block, str(readme), "exec"), names if one_program else dict(names))

    return run
