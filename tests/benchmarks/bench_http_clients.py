"""HTTP clients at 64 requests in flight of 50 ms: CPU a request from an event loop and from threads, and their size.

`python tests/benchmarks/bench_http_clients.py [ROUNDS]` prints a Markdown table of the clients that are installed. Each one
posts the same JSON and reads the same reply, from a server in another process. The size of a client is the size of its
distribution with everything that it requires.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

IN_FLIGHT = 64
LATENCY = 0.05
PATH = "/v1/chat/completions"
HEADERS = {"content-type": "application/json"}
FIELDS = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Rome is the capital of Italy. " * 40},
        {"role": "user", "content": "Which country is Rome in?"},
    ],
}
SERVER = Path(__file__).with_name("bench_endpoint.py")

AsyncPost = Callable[[bytes], Awaitable[bytes]]
SyncPost = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Measurement:
    """What a client took.

    Attributes:
        rate: Requests a second.
        cpu: Seconds of CPU a request, of the client's process.
    """

    rate: float
    cpu: float

    @property
    def cells(self) -> str:
        """CPU a request in ms, and the share of the ideal rate, as two cells of a table."""
        return f"{1000 * self.cpu:.2f} | {self.rate / (IN_FLIGHT / LATENCY):.0%}"


# Clients of an event loop.


async def aiohttp_on_a_loop(url: str, resources: AsyncExitStack) -> AsyncPost:
    import aiohttp

    connector = aiohttp.TCPConnector(limit=0)
    session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
    await resources.enter_async_context(session)

    async def post(body: bytes) -> bytes:
        async with session.post(url, data=body, headers=HEADERS) as response:
            return await response.read()

    return post


async def httpx_on_a_loop(url: str, resources: AsyncExitStack, name: str = "httpx") -> AsyncPost:
    module = importlib.import_module(name)
    limits = module.Limits(max_connections=None, max_keepalive_connections=IN_FLIGHT)
    client = await resources.enter_async_context(module.AsyncClient(limits=limits))

    async def post(body: bytes) -> bytes:
        response = await client.post(url, content=body, headers=HEADERS)
        return bytes(response.content)

    return post


async def httpx2_on_a_loop(url: str, resources: AsyncExitStack) -> AsyncPost:
    return await httpx_on_a_loop(url, resources, name="httpx2")


async def niquests_on_a_loop(url: str, resources: AsyncExitStack) -> AsyncPost:
    niquests = importlib.import_module("niquests")
    session = niquests.AsyncSession(pool_maxsize=IN_FLIGHT, disable_http3=True)
    await resources.enter_async_context(session)

    async def post(body: bytes) -> bytes:
        response = await session.post(url, data=body, headers=HEADERS)
        return bytes(response.content)

    return post


# Clients of threads.


def aiohttp_from_threads(url: str, resources: ExitStack) -> SyncPost:
    """aiohttp on an event loop that a background thread runs."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    def stop() -> None:
        run(connections.aclose())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    connections = AsyncExitStack()
    post = run(aiohttp_on_a_loop(url, connections))
    resources.callback(stop)
    return lambda body: bytes(run(post(body)))


def httpx_from_threads(url: str, resources: ExitStack, name: str = "httpx") -> SyncPost:
    module = importlib.import_module(name)
    limits = module.Limits(max_connections=None, max_keepalive_connections=IN_FLIGHT)
    client = resources.enter_context(module.Client(limits=limits))
    return lambda body: bytes(client.post(url, content=body, headers=HEADERS).content)


def httpx2_from_threads(url: str, resources: ExitStack) -> SyncPost:
    return httpx_from_threads(url, resources, name="httpx2")


def niquests_from_threads(url: str, resources: ExitStack) -> SyncPost:
    niquests = importlib.import_module("niquests")
    session = niquests.Session(pool_maxsize=IN_FLIGHT, disable_http3=True)
    resources.enter_context(session)
    return lambda body: bytes(session.post(url, data=body, headers=HEADERS).content)


def urllib3_from_threads(url: str, resources: ExitStack) -> SyncPost:
    import urllib3

    pool = resources.enter_context(urllib3.PoolManager(maxsize=IN_FLIGHT))
    return lambda body: pool.request("POST", url, body=body, headers=HEADERS).data


def requests_from_threads(url: str, resources: ExitStack) -> SyncPost:
    requests = importlib.import_module("requests")
    session = resources.enter_context(requests.Session())
    session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=IN_FLIGHT))
    return lambda body: bytes(session.post(url, data=body, headers=HEADERS).content)


ON_A_LOOP: dict[str, Callable[[str, AsyncExitStack], Awaitable[AsyncPost]]] = {
    "aiohttp": aiohttp_on_a_loop,
    "httpx": httpx_on_a_loop,
    "httpx2": httpx2_on_a_loop,
    "niquests": niquests_on_a_loop,
}
FROM_THREADS: dict[str, Callable[[str, ExitStack], SyncPost]] = {
    "aiohttp": aiohttp_from_threads,
    "httpx": httpx_from_threads,
    "httpx2": httpx2_from_threads,
    "niquests": niquests_from_threads,
    "urllib3": urllib3_from_threads,
    "requests": requests_from_threads,
}


def encoded_request() -> bytes:
    return json.dumps(FIELDS).encode()


def check_reply(reply: bytes) -> None:
    assert json.loads(reply)["choices"]


async def measure_loop(name: str, url: str, rounds: int) -> Measurement:
    """Measure a client that 64 tasks of one event loop use."""
    async with AsyncExitStack() as resources:
        post = await ON_A_LOOP[name](url, resources)

        async def repeat(times: int) -> None:
            for _ in range(times):
                check_reply(await post(encoded_request()))

        await asyncio.gather(*(repeat(2) for _ in range(IN_FLIGHT)))  # opens the connections
        cpu = process_time()
        started = perf_counter()
        await asyncio.gather(*(repeat(rounds) for _ in range(IN_FLIGHT)))
        return measurement_since(cpu, started, rounds)


def measure_threads(name: str, url: str, rounds: int) -> Measurement:
    """Measure a client that 64 threads use."""
    with ExitStack() as resources:
        post = FROM_THREADS[name](url, resources)
        threads = resources.enter_context(ThreadPoolExecutor(IN_FLIGHT))

        def repeat(times: int) -> None:
            for _ in range(times):
                check_reply(post(encoded_request()))

        list(threads.map(repeat, [2] * IN_FLIGHT))  # opens the connections
        cpu = process_time()
        started = perf_counter()
        list(threads.map(repeat, [rounds] * IN_FLIGHT))
        return measurement_since(cpu, started, rounds)


def measurement_since(cpu: float, started: float, rounds: int) -> Measurement:
    requests = rounds * IN_FLIGHT
    return Measurement(
        rate=requests / (perf_counter() - started), cpu=(process_time() - cpu) / requests
    )


def required(name: str) -> set[str]:
    """Return a distribution and all that it requires without extras, as far as it is installed."""
    names: set[str] = set()
    waiting = [name]
    while waiting:
        current = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        try:
            requirements = distribution(current).requires or []
        except PackageNotFoundError:
            continue
        if current not in names:
            names.add(current)
            unconditional = [text for text in requirements if "extra ==" not in text]
            waiting += [re.split(r"[^A-Za-z0-9._-]", text)[0] for text in unconditional]
    return names


def installed_bytes(name: str) -> int:
    """Return the size of a distribution's files, without compiled Python."""
    files = distribution(name).files or []
    paths = [Path(str(file.locate())) for file in files if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file())


def table_row(name: str, url: str, rounds: int) -> str:
    packages = required(name)
    size = sum(installed_bytes(package) for package in packages) / 2**20
    on_a_loop = "- | -"
    if name in ON_A_LOOP:
        on_a_loop = asyncio.run(measure_loop(name, url, rounds)).cells
    from_threads = measure_threads(name, url, rounds).cells
    version = distribution(name).version
    return f"| {name} {version} | {on_a_loop} | {from_threads} | {len(packages)} | {size:.1f} |"


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    server = subprocess.Popen(
        [sys.executable, str(SERVER), "--serve"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}{PATH}"
        print(
            "| client | ms of CPU a request, event loop | of ideal | ms of CPU, threads | of ideal |"
            " packages | MiB |"
        )
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for name in FROM_THREADS:
            if required(name):
                print(table_row(name, url, rounds), flush=True)
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
