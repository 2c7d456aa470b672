"""A Hugging Face Hub on loopback: repositories that tests put there, and the ways in which the real one fails.

    with FakeHub() as hub:
        hub.put("openai/gsm8k", {"main/test-00000-of-00001.parquet": b"..."}, readme)

It answers what ``datasets`` and ``huggingface_hub`` ask: repository and file metadata, trees, and files with byte ranges.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

BRANCHES = "refs/convert/parquet", "refs/pr/1"
_COMMITS = r"(refs/[a-z]+/[^/]+|[^/]+)"
_API = re.compile(
    rf"/api/datasets/([^/]+/[^/]+)(?:/(revision|tree|paths-info)/{_COMMITS}(?:/(.*))?|/(refs))?"
)
_FILE = re.compile(rf"/datasets/([^/]+/[^/]+)/resolve/{_COMMITS}/(.+)")


class FakeHub:
    """The hub.

    Attributes:
        gated: Repositories that need a token; ``tokens`` are those that open them.
        failures: Status codes to give, one after the other, for paths that contain a text.
        cuts: How often to close the connection in the middle of the contents, for paths that contain a text.
        aliases: New name of a repository by its old one.
        asked: Every request, as ``(method, path, status)``.
        sent: Bytes of file contents that were sent.
    """

    def __init__(self) -> None:
        self.repositories: dict[str, dict[str, dict[str, bytes]]] = {}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread: threading.Thread | None = None
        self.reset()

    def reset(self) -> None:
        """Forget repositories, faults and requests."""
        self.repositories.clear()
        _oid.cache_clear()
        self.gated: set[str] = set()
        self.tokens: set[str] = set()
        self.failures: dict[str, list[int]] = {}
        self.cuts: dict[str, int] = {}
        self.aliases: dict[str, str] = {}
        self.asked: list[tuple[str, str, int]] = []
        self.sent = 0

    def put(self, repository: str, files: dict[str, bytes], branch: str = "main") -> str:
        """Commit files as all that a branch holds, and return the commit."""
        versions = self.repositories.setdefault(repository, {})
        if branch != "main":
            versions.setdefault("main", {})
        versions[branch] = dict(files)
        commit = self.commit(repository, branch)
        versions[commit] = dict(files)
        return commit

    def commit(self, repository: str, branch: str) -> str:
        digest = hashlib.sha1(f"{repository} {branch}".encode())
        for path, content in sorted(self.repositories[repository][branch].items()):
            digest.update(f"{path} {_oid(content)}".encode())
        return digest.hexdigest()

    def start(self) -> FakeHub:
        if self.thread is None:
            self.thread = threading.Thread(
                target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
            )
            self.thread.start()
        return self

    def stop(self) -> None:
        if self.thread is not None:
            self.server.shutdown()
        self.server.server_close()

    __enter__ = start

    def __exit__(self, *_: object) -> None:
        self.stop()


def _handler(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except (ConnectionError, BrokenPipeError):
                self.close_connection = True

        def answer(
            self, status: int, body: Any = b"", headers: dict[str, str] | None = None
        ) -> None:
            headers = dict(headers or {})
            if not isinstance(body, bytes):
                body, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
            hub.asked.append((self.command, self.path, status))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def refuse(self, status: int, code: str, text: str) -> None:
            self.answer(status, {"error": text}, {"X-Error-Code": code, "X-Error-Message": text})

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length else b""
            parts = urlsplit(self.path)
            path = unquote(parts.path)
            for text, statuses in hub.failures.items():
                if text in path and statuses:
                    status = statuses.pop(0)
                    return self.answer(
                        status, {"error": f"injected {status}"}, {"Retry-After": "0"}
                    )
            for old, new in hub.aliases.items():
                if re.match(
                    rf"/(api/)?datasets/{re.escape(old)}(/(resolve|revision|tree|paths-info)/|$)",
                    path,
                ):
                    query = f"?{parts.query}" if parts.query else ""
                    return self.answer(307, b"", {"Location": path.replace(old, new, 1) + query})
            if match := _API.fullmatch(path):
                return self.describe(match, parse_qs(parts.query), body)
            if match := _FILE.fullmatch(path):
                return self.give(*match.groups())
            return self.refuse(404, "RepoNotFound", "Repository not found")

        do_HEAD = do_POST = do_GET  # noqa: N815 - names of the standard library

        def version(self, repository: str, revision: str) -> tuple[str, dict[str, bytes]] | None:
            versions = hub.repositories.get(repository)
            if versions is None:
                self.refuse(401, "RepoNotFound", "Repository not found")
                return None
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            if repository in hub.gated and token not in hub.tokens:
                self.refuse(
                    403 if token else 401,
                    "GatedRepo",
                    f"Access to dataset {repository} is restricted.",
                )
                return None
            if revision not in versions:
                self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
                return None
            commit = revision if len(revision) == 40 else hub.commit(repository, revision)
            return commit, versions[revision]

        def describe(self, match: re.Match[str], query: dict[str, list[str]], body: bytes) -> None:
            repository, what, revision, below, refs = match.groups()
            found = self.version(repository, revision or "main")
            if found is None:
                return None
            commit, files = found
            if refs:
                branches = [{"name": "main", "ref": "refs/heads/main", "targetCommit": commit}]
                return self.answer(200, {"branches": branches, "tags": [], "converts": []})
            if what in (None, "revision"):
                siblings = [{"rfilename": path} for path in sorted(files)]
                card = {
                    "id": repository,
                    "sha": commit,
                    "private": False,
                    "gated": repository in hub.gated,
                }
                return self.answer(
                    200, {**card, "_id": "0", "tags": [], "downloads": 0, "siblings": siblings}
                )
            if what == "paths-info":
                sent = (
                    json.loads(body)
                    if "json" in self.headers.get("Content-Type", "")
                    else parse_qs(body.decode())
                )
                wanted = sent.get("paths", [])
                wanted = [wanted] if isinstance(wanted, str) else wanted
                return self.answer(
                    200, [entry for path in wanted for entry in _entries(files, path.strip("/"))]
                )
            below = (below or "").strip("/")
            recursive = query.get("recursive", ["false"])[0].lower() in ("true", "1")
            tree = _tree(files, below, recursive)
            if below and not tree:
                return self.refuse(404, "EntryNotFound", f"{below} does not exist")
            return self.answer(200, tree)

        def give(self, repository: str, revision: str, path: str) -> None:
            found = self.version(repository, revision)
            if found is None:
                return None
            commit, files = found
            if path not in files:
                return self.refuse(404, "EntryNotFound", f"{path} does not exist")
            content = files[path]
            headers = {
                "X-Repo-Commit": commit,
                "ETag": f'"{_oid(content)}"',
                "Accept-Ranges": "bytes",
            }
            status, wanted = (
                200,
                re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""),
            )
            if wanted and content:
                first, last = (
                    int(wanted[1]),
                    min(int(wanted[2] or len(content) - 1), len(content) - 1),
                )
                if first >= len(content):
                    return self.answer(416, b"", {"Content-Range": f"bytes */{len(content)}"})
                headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
                content, status = content[first : last + 1], 206
            if self.command == "GET":
                for text, left in hub.cuts.items():
                    if text in path and left:
                        hub.cuts[text] -= 1
                        headers["Content-Length"] = str(len(content))
                        self.answer(status, content[: len(content) // 2], headers)
                        self.close_connection = True
                        return None
                hub.sent += len(content)
            return self.answer(status, content, headers)

    return Handler


@lru_cache(maxsize=256)
def _oid(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


def _file(path: str, content: bytes) -> dict[str, Any]:
    return {"type": "file", "oid": _oid(content), "size": len(content), "path": path}


def _folder(path: str) -> dict[str, Any]:
    return {"type": "directory", "oid": _oid(path.encode()), "size": 0, "path": path}


def _entries(files: dict[str, bytes], path: str) -> list[dict[str, Any]]:
    if path in files:
        return [_file(path, files[path])]
    return [_folder(path)] if any(each.startswith(f"{path}/") for each in files) else []


def _tree(files: dict[str, bytes], below: str, recursive: bool) -> list[dict[str, Any]]:
    start = f"{below}/" if below else ""
    found: dict[str, dict[str, Any]] = {}
    for path, content in sorted(files.items()):
        if not path.startswith(start):
            continue
        steps = path[len(start) :].split("/")
        for depth in range(1, len(steps)):
            if recursive or depth == 1:
                folder = start + "/".join(steps[:depth])
                found[folder] = _folder(folder)
        if recursive or len(steps) == 1:
            found[path] = _file(path, content)
    return list(found.values())
