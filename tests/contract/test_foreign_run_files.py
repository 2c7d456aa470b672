"""A run file of somebody else does nothing on its own: each command against each kind of thing that such a file can name.

The file is made as anybody makes one, by a run with another key. It names a program, a Python module, an address with a key, a
judge, a path, consent and a weak sandbox; each of them leaves a trace when it is used.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from context_bench.cli import execute
from context_bench.plugins.discovery import discover
from context_bench.store.mark import mark_of

if TYPE_CHECKING:
    from context_bench_http.local_server import LocalServer

pytestmark = pytest.mark.one_python

KEY = "sk-of-the-victim-0123456789"
RUN = "run.sqlite"


class Server:
    """Counts the requests that arrive, and refuses each."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                server.requests.append((self.path, self.headers.get("authorization", "")))
                self.send_response(400)
                self.send_header("content-length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


def things(folder: Path, url: str) -> dict[str, list[str]]:
    """Return the arguments of a run for each kind of thing that a file can name."""
    judge = ["--evaluators", "judge", "--judge-url", url, "--judge-model", "m"]
    code = [
        *("--evaluators", "code", "--allow", "executes-model-code", "--allow-unsandboxed-code"),
        *("--set", "evaluators.code.tier=process"),
    ]
    return {
        "a program": ["--system", f"command:run=sh -c 'touch {folder}/trace; exit 1',version=1"],
        "a module": ["--system", f"python:target=planted:answer,path={folder}/modules,version=1"],
        "an address and a key": ["--system", f"openai:base_url={url},model=m"],
        "a judge": ["--system", "replay", *judge],
        "a tier and consent": ["--system", "replay", *code],
        "a path": [
            *("--system", "replay", "--evaluators", "swebench-resolved"),
            *("--set", f"evaluators.swebench-resolved.report={folder / 'private.json'}"),
        ],
        "an option": ["--system", "replay", "--evaluators", "answer-quality", "--max-workers", "3"],
    }


NAMES = list(things(Path(), ""))
READING = {
    "report": ["report", RUN],
    "report as HTML": ["report", RUN, "-o", "asked.html"],
    "report as Markdown": ["report", RUN, "-o", "asked.md"],
    "export": ["export", RUN],
    "compare": ["compare", RUN],
    "cite": ["cite", RUN],
    "verify": ["verify", RUN],
    "explain row": ["explain", "row", RUN, "1"],
    "explain key": ["explain", "key", RUN, "1"],
}
ACTING = {
    "resume": ["resume", RUN],
    "rescore": ["rescore", RUN],
    "rescore with force": ["rescore", RUN, "--force"],
    "rescore with another evaluator": ["rescore", RUN, "--add-evaluator", "answer-quality"],
}


@pytest.fixture(scope="module")
def made(server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Return folder and home of a run of each kind, as their author made them."""
    folders: dict[str, tuple[Path, Path]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        for number, name in enumerate(NAMES):
            folder = tmp_path_factory.mktemp(f"author{number}")
            home = tmp_path_factory.mktemp(f"home{number}")
            patch.setenv("CONTEXT_BENCH_HOME", str(home))
            patch.chdir(folder)
            (folder / "modules").mkdir()
            (folder / "modules" / "planted.py").write_text(
                "def answer(example):\n"
                f"    open({str(folder / 'trace')!r}, 'w').close()\n"
                "    raise ValueError('no')\n"
                f"open({str(folder / 'trace')!r}, 'w').close()\n"
            )
            (folder / "private.json").write_text('{"resolved_ids": ["1"], "submitted_ids": ["1"]}')
            program = f"open({str(folder / 'trace')!r}, 'w').close()\ndef f():\n    return 1\n"
            row = {
                "id": "1",
                "instance_id": "1",
                "patch": "diff",
                "question": "write f",
                "answer": "1",
                "test": "def check(f):\n    assert f() == 1\n",
                "entry_point": "f",
                "prompt": "",
                "response": f"```python\n{program}```",
            }
            (folder / "data.jsonl").write_text(json.dumps(row) + "\n")
            code = execute(
                [
                    *("run", "--dataset", "data.jsonl", "--run-file", RUN, "-q", "--keep-going"),
                    *("--max-failed", "100%", *things(folder, server.url)[name]),
                ]
            )
            assert code in (0, 3, 12)
            assert (folder / RUN).exists()
            folders[name] = folder, home
    return folders


@pytest.fixture
def at_the_victim(
    request: pytest.FixtureRequest,
    made: dict[str, tuple[Path, Path]],
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Return the folder of somebody who was sent a run file with what lies beside it."""
    folder, _ = made[request.getfixturevalue("thing")]
    (folder / "trace").unlink(missing_ok=True)
    server.requests.clear()
    OPENED.clear()
    home = tmp_path / "home"
    place = tmp_path / "victim"
    place.mkdir()
    for name in (RUN, "data.jsonl"):
        shutil.copy(folder / name, place / name)
    monkeypatch.setenv("CONTEXT_BENCH_HOME", str(home))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(place)
    mark_of("another run", "{}")
    assert (home / "run-file.key").exists()  # so that it is not foreign for want of a key
    return folder


OPENED: list[str] = []


def remember_opened(event: str, arguments: tuple[Any, ...]) -> None:
    """Remember the private files that this process opens; Python cannot remove an audit hook."""
    if event == "open" and str(arguments[0]).endswith("private.json"):
        OPENED.append(str(arguments[0]))


sys.addaudithook(remember_opened)


def files_in(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}


def check_nothing_happened(folder: Path, server: Server, before: dict[str, bytes]) -> None:
    assert not (folder / "trace").exists()
    assert server.requests == []
    assert OPENED == []
    now = {name: text for name, text in files_in(Path()).items() if not name.startswith("asked")}
    assert now == before


@pytest.mark.parametrize("thing", NAMES)
@pytest.mark.parametrize("command", READING)
def test_reading_a_foreign_file_does_nothing(
    thing: str,
    command: str,
    at_the_victim: Path,
    server: Server,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = files_in(Path())
    code = execute(READING[command])
    captured = capsys.readouterr()
    assert code in (0, 2, 3), captured.err
    check_nothing_happened(at_the_victim, server, before)
    assert KEY not in captured.out + captured.err


def fetched(pages: LocalServer, path: str) -> tuple[int, str]:
    try:
        with urlopen(pages.url + path, timeout=60) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize("thing", NAMES)
def test_viewing_a_foreign_file_does_nothing(
    thing: str, at_the_victim: Path, server: Server
) -> None:
    local_server = pytest.importorskip("context_bench_http.local_server")
    viewer = pytest.importorskip("context_bench_view.server")
    before = files_in(Path())
    token = "a-token-of-this-test"
    guard = local_server.Guard(secret=token, is_exact=True)
    pages = local_server.LocalServer(viewer.Pages(Path(), token).answer, 0, guard)
    try:
        listed = fetched(pages, f"/{token}/")
        report = fetched(pages, f"/{token}/run/{RUN}")
        row = fetched(pages, f"/{token}/run/{RUN}/row/0-0-0")
        status = fetched(pages, f"/{token}/run/{RUN}/status")
        compared = fetched(pages, f"/{token}/compare?run={RUN}")
    finally:
        pages.close()
    assert [listed[0], report[0], row[0], status[0]] == [200, 200, 200, 200]
    assert compared[0] in (200, 422)  # a run with one system has nothing to compare
    assert RUN in listed[1]
    check_nothing_happened(at_the_victim, server, before)
    for _, body in (listed, report, row, status, compared):
        assert KEY not in body


NAMED = {
    "a program": "trace; exit 1",
    "a module": "planted:answer",
    "an address and a key": "OPENAI_API_KEY",
    "a judge": "judge",
    "a tier and consent": "executes-model-code",
    "a path": "private.json",
    "an option": "answer-quality",
}


@pytest.mark.parametrize("thing", NAMES)
@pytest.mark.parametrize("command", ACTING)
def test_acting_on_a_foreign_file_lists_what_it_would_do_and_does_nothing(
    thing: str,
    command: str,
    at_the_victim: Path,
    server: Server,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = files_in(Path())
    assert execute(ACTING[command]) == 2
    captured = capsys.readouterr()
    check_nothing_happened(at_the_victim, server, before)
    assert "--trust" in captured.err
    assert KEY not in captured.out + captured.err
    if command == "resume":
        assert NAMED[thing] in captured.err


@pytest.mark.parametrize("thing", ["a program", "a module", "an address and a key"])
def test_a_foreign_file_resumes_with_trust(thing: str, at_the_victim: Path, server: Server) -> None:
    assert execute(["resume", RUN, "--trust"]) in (0, 12)
    assert (at_the_victim / "trace").exists() or server.requests
    assert execute(["resume", RUN]) == 2  # trust is for once


@pytest.mark.parametrize("thing", ["a path"])
def test_a_file_that_is_named_is_read_with_trust_only(
    thing: str, at_the_victim: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(["verify", RUN])
    assert OPENED == []
    assert "names a file" in capsys.readouterr().err
    assert execute(["rescore", RUN, "--force", "--trust"]) == 0
    assert OPENED


def test_no_foreign_file_chooses_a_model_to_download() -> None:
    for component in discover().of_kind("evaluators"):
        model = component.manifest.options.get("model_type")
        if model is not None:
            assert model.needs_trust or "model-download" in component.capabilities, component.id


@pytest.mark.parametrize("thing", ["a program", "a module", "an address and a key"])
def test_an_own_file_resumes_without_a_question(
    thing: str,
    made: dict[str, tuple[Path, Path]],
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, home = made[thing]
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CONTEXT_BENCH_HOME", str(home))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (folder / "trace").unlink(missing_ok=True)
    server.requests.clear()
    assert execute(["resume", RUN]) in (0, 12)
    assert (folder / "trace").exists() or server.requests


def rewritten(path: Path, change: Any) -> None:
    """Change what a run file asks for, as somebody does who has it in hand."""
    with closing(sqlite3.connect(path)) as connection, connection:
        [(text,)] = connection.execute("SELECT config FROM run")
        config = json.loads(text)
        change(config)
        connection.execute("UPDATE run SET config = ?", (json.dumps(config),))


@pytest.mark.parametrize("thing", ["an option"])
def test_a_file_that_was_changed_is_foreign(
    thing: str,
    made: dict[str, tuple[Path, Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, home = made[thing]
    for name in (RUN, "data.jsonl"):
        shutil.copy(folder / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONTEXT_BENCH_HOME", str(home))
    assert execute(["resume", RUN]) == 0
    rewritten(Path(RUN), lambda config: config["allow"].append("executes-model-code"))
    assert execute(["resume", RUN]) == 2


@pytest.mark.skipif(os.name == "nt", reason="modes of files are POSIX")
@pytest.mark.parametrize("thing", ["an option"])
def test_a_key_that_others_can_read_is_not_used(
    thing: str, made: dict[str, tuple[Path, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, home = made[thing]
    key = tmp_path / "home" / "run-file.key"
    key.parent.mkdir()
    shutil.copy(home / "run-file.key", key)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CONTEXT_BENCH_HOME", str(key.parent))
    assert (home / "run-file.key").stat().st_mode & 0o777 == 0o600
    key.chmod(0o600)
    assert execute(["resume", RUN]) == 0
    key.chmod(0o644)
    assert execute(["resume", RUN]) == 2
