"""A model of the Hugging Face Hub, by the real client against as much of a hub as one download asks for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from context_bench_llama import Llama
from context_bench_llama.model_file import on_the_hub


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("acme/tiny-GGUF:tiny.Q4_K_M.gguf", ("acme/tiny-GGUF", "tiny.Q4_K_M.gguf")),
        ("acme/tiny:folder/tiny.GGUF", ("acme/tiny", "folder/tiny.GGUF")),
        ("acme/tiny", None),
        ("tiny.gguf", None),
        ("models/tiny.gguf", None),
        ("C:/models/tiny.gguf", None),
        ("./a/b:tiny.gguf", None),
    ],
)
def test_a_model_of_the_hub_names_its_file(model: str, found: tuple[str, str] | None) -> None:
    assert on_the_hub(model) == found


class Hub(BaseHTTPRequestHandler):
    model = b""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self.wfile.write(self._answer())

    def _answer(self) -> bytes:
        body = (
            self.model
            if self.path in ("/acme/tiny/resolve/main/tiny.gguf", "/acme/tiny/resolve/v2/tiny.gguf")
            else None
        )
        self.send_response(200 if body is not None else 404)
        if body is None:
            self.send_header(
                "X-Error-Code",
                "EntryNotFound" if self.path.startswith("/acme/tiny/") else "RepoNotFound",
            )
        else:
            self.send_header("ETag", f'"{sha1(body).hexdigest()}"')
            self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        return body or b""

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def download(tmp_path: Path, gguf: Callable[..., Path]) -> Iterator[Callable[[str], str]]:
    """Downloads a model in a process of its own, since the client reads its settings at import; returns what it said."""
    pytest.importorskip("huggingface_hub", reason="the extra `hub`")
    Hub.model = gguf().read_bytes()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    code = """
import sys
from context_bench_llama import Llama, llama
llama._library = lambda: "xllamacpp 1"
system = Llama(sys.argv[1], revision=sys.argv[2] or None)
print(system.name)
try:
    print(system.fingerprint()["model"])
except OSError as error:
    print(type(error).__name__, error)
"""

    def call(model: str, revision: str = "") -> str:
        environ = {
            **os.environ,
            "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "HF_HOME": str(tmp_path / "hub"),
            "HF_HUB_DISABLE_XET": "1",
        }
        return subprocess.run(
            [sys.executable, "-c", code, model, revision],
            env=environ,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    yield call
    server.shutdown()
    server.server_close()
    thread.join()


def test_it_is_downloaded_and_known_by_its_content(
    download: Callable[..., str], gguf: Callable[..., Path]
) -> None:
    expected = Llama(str(gguf())).fingerprint()["model"]
    assert download("acme/tiny:tiny.gguf").splitlines() == ["tiny", expected]
    assert download("acme/tiny:tiny.gguf", "v2").splitlines() == ["tiny", expected]


@pytest.mark.parametrize("model", ["acme/tiny:other.gguf", "acme/nowhere:tiny.gguf"])
def test_one_that_is_not_there_is_one_line(download: Callable[..., str], model: str) -> None:
    told = download(model).splitlines()
    assert len(told) == 2
    assert f"llama: the model {model} cannot be had from the Hugging Face Hub: " in told[1]


def test_without_the_client_the_message_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(
        ImportError, match=r"not installed: .*install .*context.bench.llama\S*\[hub\]"
    ):
        Llama("acme/tiny:tiny.gguf").fingerprint()
