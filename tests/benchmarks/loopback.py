"""A chat endpoint on the loopback that refuses some of what it is asked: what the benchmarks of limits share."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Loopback(ThreadingHTTPServer):
    """A server that listens until it is shut down, on a thread of its own.

    Args:
        handler: Answers a request.
    """

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, handler: type[Chat]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is none of its business."""


class Chat(BaseHTTPRequestHandler):
    """Answers a chat or a completion with one word."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Read the request and answer it."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer()

    def answer(self) -> None:
        """Answer the request, with :meth:`reply`."""
        raise NotImplementedError

    def reply(
        self, is_admitted: bool, tokens: int = 2, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send the answer, or a refusal.

        Args:
            is_admitted: Whether it answers.
            tokens: What the answer says it took, prompt and answer together.
            headers: Sent besides.
        """
        usage = {
            "prompt_tokens": tokens // 2,
            "completion_tokens": tokens - tokens // 2,
            "total_tokens": tokens,
        }
        message = {"role": "assistant", "content": "because"}
        choice = {"index": 0, "message": message, "text": "because", "finish_reason": "stop"}
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
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Keep quiet."""
