"""Requests are attributed to rows by what they hold: a proxy's late, doubled and missing requests spoil no other row."""

from __future__ import annotations

import http.server
import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from context_bench.errors import ConfigurationError
from context_bench_upstream import Forwarded, ForwardedContext
from context_bench_upstream.attribution import Attribution, Owner, RowContent

pytestmark = pytest.mark.skipif(
    find_spec("context_bench_openai") is None,
    reason="context-bench-openai asks the proxy, and is not installed",
)

Send = Callable[[dict[str, Any], dict[str, str]], None]


class Proxy:
    """Answers at once, and forwards what a test says: ``forward`` is given the request, and what sends one upstream."""

    def __init__(self) -> None:
        self.upstream = ""
        self.passes_headers = True
        self.forward: Callable[[dict[str, Any], dict[str, str], Send], None] = (
            lambda body, headers, send: send(body, headers)
        )
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                row = self.headers.get("x-context-bench-row", "")
                proxy.forward(body, {"x-context-bench-row": row}, proxy.send)
                reply = {"choices": [{"message": {"role": "assistant", "content": "ok"}}]}
                raw = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: object) -> None:
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def send(self, body: dict[str, Any], headers: dict[str, str]) -> None:
        passed = urllib.request.Request(
            f"{self.upstream}/v1/chat/completions",
            json.dumps(body).encode(),
            {"content-type": "application/json", **(headers if self.passes_headers else {})},
        )
        with urllib.request.urlopen(passed, timeout=20) as answer:
            answer.read()

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture(params=[True, False], ids=["header passed on", "header dropped"])
def proxy(request: pytest.FixtureRequest) -> Iterator[Proxy]:
    made = Proxy()
    made.passes_headers = request.param
    yield made
    made.stop()


@pytest.fixture
def system(proxy: Proxy) -> Iterator[ForwardedContext]:
    made = ForwardedContext(base_url=proxy.url, api_key="")
    proxy.upstream = made.upstream.url
    yield made
    made.close()


LONG = {
    "context": "the first row is long: " + " ".join(f"word{n}" for n in range(400)),
    "question": "which?",
}
SHORT = {"context": "the second row is short", "question": "what?"}


def test_a_late_request_is_not_the_next_rows(
    proxy: Proxy, system: ForwardedContext, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting: list[tuple[dict[str, Any], dict[str, str]]] = []

    def late(body: dict[str, Any], headers: dict[str, str], send: Send) -> None:
        """Forward each request, and once more with the next one, behind it."""
        send(body, headers)
        for before in waiting:
            send(*before)
        waiting[:] = [(body, headers)]

    proxy.forward = late
    first, second = system.process(LONG), system.process(SHORT)
    assert "word399" in first["context"]
    assert "word399" not in json.dumps(second)
    assert "short" in second["context"]
    assert (first["forwarded"]["late"], second["forwarded"]["late"]) == (0, 1)
    assert (second["forwarded"]["requests"], second["forwarded"]["unknown"]) == (1, 0)
    third = system.process(LONG)
    assert third["forwarded"]["late"] == 1
    assert capsys.readouterr().err.count("forwarded a request") == 1


def test_a_row_whose_request_is_missing_fails_though_another_one_arrives(
    proxy: Proxy, system: ForwardedContext
) -> None:
    system.process(LONG)
    earlier = {"model": "m", "messages": [{"role": "user", "content": LONG["context"]}]}
    proxy.forward = lambda body, headers, send: send(earlier, {"x-context-bench-row": "1-another"})
    with pytest.raises(ConfigurationError, match="1 of rows before it"):
        system.process(SHORT)


def test_requests_of_nobody_are_counted(proxy: Proxy, system: ForwardedContext) -> None:
    system.process(LONG)
    stray = {"model": "m", "messages": [{"role": "user", "content": "a summary of nothing"}]}

    def forward(body: dict[str, Any], headers: dict[str, str], send: Send) -> None:
        send(body, headers)
        send(stray, {})

    proxy.forward = forward
    output = system.process({"context": "quite another text", "question": "why?"})
    facts = output["forwarded"]
    assert facts["requests"] == 1
    assert facts["late"] + facts["unknown"] == 1
    assert "another text" in output["context"]


def test_the_same_row_twice_is_measured_twice(proxy: Proxy, system: ForwardedContext) -> None:
    outputs = [system.process(LONG) for _ in range(3)]
    assert [output["forwarded"]["requests"] for output in outputs] == [1, 1, 1]
    assert [output["forwarded"]["late"] for output in outputs] == [0, 0, 0]


def request(text: str) -> Forwarded:
    body = {"messages": [{"role": "user", "content": text}]}
    return Forwarded("/v1/chat/completions", "chat", {}, body)


@pytest.mark.parametrize(
    ("before", "now", "forwarded", "owner"),
    [
        ("a b c", "d e f", "d e f", Owner.CURRENT),
        ("a b c", "d e f", "a b c", Owner.EARLIER),
        ("a b c", "d e f", "d f", Owner.CURRENT),
        ("a b c", "d e f", "nothing", Owner.UNKNOWN),
        ("a b c", "a b c d e", "a b c d e", Owner.CURRENT),
        ("a b c", "a b c d e", "a b c", Owner.UNKNOWN),
        ("a b c d e", "a b c", "a b c", Owner.CURRENT),
        ("a b c d e", "a b c", "a b c d e", Owner.EARLIER),
        ("a b c", "a b c", "a b c", Owner.CURRENT),
        ("a b c", "c a b", "b", Owner.UNKNOWN),
        ("a x b y c a c d", "a x b y c", "a c", Owner.CURRENT),
        ("a b c d e", "c b a", "b c", Owner.EARLIER),
    ],
    ids=[
        "its own",
        "of the row before",
        "words dropped",
        "of neither",
        "the row before and more",
        "the row before alone",
        "a part of the row before",
        "the row before in front of a part of it",
        "the same row again",
        "the same words in another order",
        "words that are neighbors once what was between them is removed",
        "neighbors that no removal makes of the row",
    ],
)
def test_a_request_is_compared_with_what_only_one_row_says(
    before: str, now: str, forwarded: str, owner: Owner
) -> None:
    attribution = Attribution()
    attribution.begin(RowContent.of("1", {"context": before}))
    attribution.begin(RowContent.of("2", {"context": now}))
    assert attribution.owner(request(forwarded)) is owner
