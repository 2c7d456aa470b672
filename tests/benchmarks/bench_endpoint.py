"""An endpoint of 50 ms with 256 requests in flight, the server in another process: the share of the ideal 5,120 a second.

The first line is what server, sockets and event loop allow: requests written as bytes, answers read to their length and
nothing else done. `python tests/benchmarks/bench_endpoint.py [ROUNDS]` prints a Markdown table.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from time import perf_counter, process_time
from typing import Any

IN_FLIGHT, CALL = 256, 0.05
MESSAGES = [
    {"role": "system", "content": "Rome is the capital of Italy. " * 40},
    {"role": "user", "content": "Which country is Rome in?"},
]
Ask = Callable[[], Awaitable[object]]
Make = Callable[[str, AsyncExitStack], Awaitable[Ask]]


# The server: finds the end of a request by its length, and answers all that are due with one timer.


def serve() -> None:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "Italy."},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 290, "completion_tokens": 3, "total_tokens": 293}
    body = json.dumps(
        {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
    )
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-proxy: bench\r\ncontent-length: {len(body)}\r\n\r\n"
    answer = (head + body).encode()
    loop = asyncio.new_event_loop()
    due: deque[tuple[float, asyncio.Transport]] = deque()

    def flush() -> None:
        now = loop.time() + 0.0002
        while due and due[0][0] <= now:
            transport = due.popleft()[1]
            if not transport.is_closing():
                transport.write(answer)
        if due:
            loop.call_at(due[0][0], flush)

    class Connection(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport
            self.rest = b""

        def data_received(self, data: bytes) -> None:
            self.rest += data
            while (end := self.rest.find(b"\r\n\r\n")) >= 0:
                length = int(
                    self.rest[:end].lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
                )
                if len(self.rest) < end + 4 + length:
                    return
                self.rest = self.rest[end + 4 + length :]
                due.append((loop.time() + CALL, self.transport))
                if len(due) == 1:
                    loop.call_at(due[0][0], flush)

    async def run() -> None:
        server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=1024)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    loop.run_until_complete(run())


# The clients, each a function that is awaited once a request.


async def bare(url: str, end: AsyncExitStack) -> Ask:
    loop = asyncio.get_running_loop()
    port = int(url.rpartition(":")[2])
    body = json.dumps({"model": "m", "messages": MESSAGES}).encode()
    request = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )

    class Connection(asyncio.Protocol):
        answered: asyncio.Future[None]

        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            self.answered.set_result(None)

    idle: list[Connection] = []
    end.callback(lambda: [connection.transport.close() for connection in idle])

    async def ask() -> None:
        connection = (
            idle.pop() if idle else (await loop.create_connection(Connection, "127.0.0.1", port))[1]
        )
        connection.answered = loop.create_future()
        connection.transport.write(request)
        await connection.answered
        idle.append(connection)

    return ask


async def chat_client(url: str, end: AsyncExitStack) -> Ask:
    from context_bench_openai import ChatClient

    client = await end.enter_async_context(ChatClient(url, "", model="m"))

    async def ask() -> None:
        assert (await client.achat(MESSAGES)).text == "Italy."

    return ask


async def aiohttp_client(url: str, end: AsyncExitStack) -> Ask:
    import aiohttp

    connector = aiohttp.TCPConnector(limit=0)
    session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
    await end.enter_async_context(session)
    address = f"{url}/v1/chat/completions"

    async def ask() -> None:
        content = json.dumps({"model": "m", "messages": MESSAGES}).encode()
        async with session.post(
            address, data=content, headers={"content-type": "application/json"}
        ) as response:
            assert json.loads(await response.read())["choices"]

    return ask


async def asked(make: Make, url: str, rounds: int) -> tuple[float, float]:
    """Return requests a second, and seconds of CPU a request."""
    async with AsyncExitStack() as end:
        ask = await make(url, end)

        async def some(number: int) -> None:
            for _ in range(number):
                await ask()

        await asyncio.gather(*(some(1) for _ in range(IN_FLIGHT)))  # connections are there already
        cpu, wall = process_time(), perf_counter()
        await asyncio.gather(*(some(rounds) for _ in range(IN_FLIGHT)))
        rows = rounds * IN_FLIGHT
        return rows / (perf_counter() - wall), (process_time() - cpu) / rows


class One:
    name = "one"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"one": 1.0}


def examples(rows: int) -> Iterator[dict[str, Any]]:
    for number in range(rows):
        yield {
            "id": str(number),
            "context": MESSAGES[0]["content"],
            "question": MESSAGES[1]["content"],
            "answer": "Italy",
        }


def evaluated(url: str, rounds: int) -> tuple[float, float]:
    """Return requests a second, and seconds of CPU a request, of a whole run with its run file."""
    from context_bench import evaluate
    from context_bench_openai import OpenAIProxy

    rows = rounds * IN_FLIGHT
    evaluate(
        OpenAIProxy(url, "m", api_key=""),
        examples(8),
        [One()],
        progress=False,
        max_workers=IN_FLIGHT,
    )
    cpu = process_time()
    system = OpenAIProxy(url, "m", name="endpoint", api_key="")
    result = evaluate(system, examples(rows), [One()], progress=False, max_workers=IN_FLIGHT)
    cpu = process_time() - cpu
    assert result.summary["endpoint"]["num_rows"] == rows
    assert all(row.output is not None for row in result.rows[:1])
    return rows / float(result.timing["seconds"]), cpu / rows


CLIENTS: dict[str, Make] = {
    "bare sockets: what the server allows": bare,
    "`ChatClient.achat`": chat_client,
    "aiohttp, request and `json.loads` only": aiohttp_client,
}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        print(
            "| 256 in flight, 50 ms each | requests a second | share of ideal | CPU of the client a request |"
        )
        print("| --- | ---: | ---: | ---: |")
        for name, make in CLIENTS.items():
            _print(name, *asyncio.run(asked(make, url, rounds)))
        _print("`evaluate(OpenAIProxy(...), max_workers=256)`", *evaluated(url, rounds))
    finally:
        server.kill()
        server.wait()
    load = f"; load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"\n{os.cpu_count()} cores, of which the server takes one{load}.")


def _print(name: str, rate: float, cpu: float) -> None:
    print(
        f"| {name} | {rate:,.0f} | {rate / (IN_FLIGHT / CALL):.1%} | {1e3 * cpu:.3f} ms |",
        flush=True,
    )


if __name__ == "__main__":
    serve() if "--serve" in sys.argv else main()
