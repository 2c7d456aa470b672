"""What all tests share: patience, a Ctrl-C that works, the recorded benchmark data, the command line, and a model that counts."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import socketserver
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # so a job in the background starts, and all that it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)
if (
    hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
):  # as nohup starts all
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

os.environ.setdefault(
    "HF_UPDATE_DOWNLOAD_COUNTS", "0"
)  # the datasets library would count each load at its hub
if "CONTEXT_BENCH_HOME" not in os.environ:  # no test leaves a key in the home of whoever runs it
    os.environ["CONTEXT_BENCH_HOME"] = tempfile.mkdtemp(prefix="context-bench-home-")
    atexit.register(shutil.rmtree, os.environ["CONTEXT_BENCH_HOME"], ignore_errors=True)
socketserver.StreamRequestHandler.disable_nagle_algorithm = (
    True  # a reply is two writes: one would wait
)

# No deadline for one example: a busy machine is no fault of the code. In CI, Hypothesis chooses that by itself.
if find_spec("hypothesis") and "CI" not in os.environ:
    from hypothesis import settings

    settings.register_profile("patient", deadline=None)
    settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that keep a second Python from going through every table again, and one for a part of the files."""
    parser.addoption("--share", metavar="K/N", help="run the K-th of N shares of the files")
    parser.addoption("--cases", type=int, metavar="N", help="run at most N cases of each test")
    parser.addoption(
        "--of-each-file", type=int, metavar="N", help="run at most N tests of each file"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Have properties that ask for no number of examples tried on fewer, where tests are run on few cases."""
    if config.getoption("--cases") and find_spec("hypothesis"):
        from hypothesis import settings

        settings.register_profile("few", settings.default, max_examples=25)
        settings.load_profile("few")


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the bytecode of the tests, also where none is to be written: many sessions collect the same files.

    What the tests import afterwards leaves as much as before: some write a module twice within a second.
    """
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out other shares' files and what is over the numbers asked for: of a test's cases, then of a file's tests."""
    if share := config.getoption("--share"):
        number, shares = map(int, share.split("/"))
        files = set(sorted({item.path for item in items})[number - 1 :: shares])
        config.hook.pytest_deselected(items=[item for item in items if item.path not in files])
        items[:] = [item for item in items if item.path in files]
    for option, place in (("--cases", _test_of), ("--of-each-file", _file_of)):
        most = config.getoption(option)
        if not most:
            continue
        groups: dict[object, list[pytest.Item]] = {}
        for item in items:
            groups.setdefault(place(item), []).append(item)
        kept = {id(item) for group in groups.values() for item in spread(group, most)}
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
        items[:] = [item for item in items if id(item) in kept]


def _test_of(item: pytest.Item) -> object:
    return item.parent, getattr(item, "originalname", item.name)


def _file_of(item: pytest.Item) -> object:
    return item.path


def spread(group: Sequence[pytest.Item], most: int) -> list[pytest.Item]:
    """Return at most so many of a group, evenly from all of it, and others on each Python."""
    if len(group) <= most:
        return list(group)
    begin = sys.version_info.minor % 4 / 4
    return [group[int((number + begin) * len(group) / most)] for number in range(most)]


SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """The path of a file or folder of the shared records; the test is skipped where they are not beside the checkout.

    With ``CONTEXT_BENCH_SHARED=required``, as CI sets it, it fails instead: what must be there is not passed over.
    """

    def path(name: str) -> Path:
        found = SHARED / name
        if not found.exists():
            missing = f"the shared records are not beside the checkout: no {name}"
            if os.environ.get("CONTEXT_BENCH_SHARED") == "required":
                pytest.fail(f"{missing}, and CONTEXT_BENCH_SHARED=required")
            pytest.skip(missing)
        return found

    return path


class Done(NamedTuple):
    """What a command left: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str


@pytest.fixture
def context_bench(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Done]:
    """Run the command line in an empty folder."""
    from context_bench.cli import execute

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: str) -> Done:
        code = execute([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return call


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., str]:
    """Write rows to a JSONL file and return its name."""

    def write(rows: list[Any], name: str = "rows.jsonl") -> str:
        text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write


class CountingModel(str):
    """The address of a model that counts words, and behind ``/half`` of a proxy that leaves every second word out.

    Attributes:
        asked: The requests, each with its path.
        extra: What a reply to a path says besides of its usage.
    """

    asked: list[dict[str, Any]]
    extra: Callable[[str], Mapping[str, Any]]

    def reply(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.asked.append({"path": path, **body})
        words = [word for message in body["messages"] for word in str(message["content"]).split()]
        if path.startswith("/half"):
            words = words[::2]
        usage = {"prompt_tokens": len(words), "completion_tokens": 1, **self.extra(path)}
        message = {"role": "assistant", "content": words[0]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {"model": body["model"], "choices": [choice], "usage": usage}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingModel]:
    """A model on loopback that counts words."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            content = json.dumps(found.reply(self.path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = CountingModel(f"http://127.0.0.1:{server.server_port}")
    found.asked, found.extra = [], lambda path: {}
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


COUNTED_ROWS = [
    {
        "id": "a",
        "context": "one two three four five six seven",
        "question": "which?",
        "answer": "one",
    },
    {
        "id": "b",
        "context": "one two three four five six seven",
        "question": "which?",
        "answer": "two",
    },
]


@pytest.fixture
def counted_rows(jsonl: Callable[..., str]) -> str:
    """The name of a file of two rows, seven words each."""
    return jsonl(COUNTED_ROWS)


@pytest.fixture
def proxies(model: CountingModel, counted_rows: str) -> list[str]:
    """The arguments of a run that measures the model and the proxy before it on those rows."""
    asked = [
        "--proxy",
        f"{model}/half",
        "--name",
        "half",
        "--proxy",
        model,
        "--name",
        "direct",
        "--model",
        "m",
    ]
    return [*asked, "--dataset", counted_rows, "--quiet", "--format", "json"]


if find_spec("datasets"):
    import tempfile
    from collections.abc import Iterator
    from importlib.util import module_from_spec, spec_from_file_location
    from pathlib import Path

    import pytest

    _spec = spec_from_file_location("fake_hub", Path(__file__).with_name("fake_hub.py"))
    assert _spec is not None
    assert _spec.loader is not None
    fake_hub = module_from_spec(_spec)
    _spec.loader.exec_module(fake_hub)
    HUB = fake_hub.FakeHub()
    _downloads = tempfile.mkdtemp(prefix="context-bench-hub-")
    atexit.register(shutil.rmtree, _downloads, ignore_errors=True)
    os.environ.update(  # read once, when the library is imported: no test may reach the real hub
        HF_ENDPOINT=HUB.url,
        HF_HOME=_downloads,
        HF_HUB_DISABLE_TELEMETRY="1",
        HF_HUB_DISABLE_XET="1",
    )
    for _name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        os.environ.pop(_name, None)

    @pytest.fixture
    def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_hub.FakeHub]:
        """An empty hub on loopback, which the library takes for the real one; nothing sleeps before another attempt."""
        import time
        from types import SimpleNamespace

        import huggingface_hub.utils._http as http

        monkeypatch.setattr(http, "time", SimpleNamespace(sleep=lambda _: None, time=time.time))
        HUB.start()
        HUB.reset()
        yield HUB
        HUB.reset()
