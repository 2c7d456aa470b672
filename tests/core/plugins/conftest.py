"""Fake distributions: a package, its manifest and its metadata, as an installer would leave them in a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent

import pytest
from attrs import define, field, frozen

from context_bench.cli import execute

EVALUATOR = """
    class Evaluator:
        name = "{name}"

        def score(self, original, processed):
            return {{"{key}": 1.0}}
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [evaluators.{name}]
    summary = "Scores {key}"
    class = "Evaluator"
    primary = "{key}"
    version = "1"
    wire = {wire}
    scores.{key} = {{}}
"""
BASICS_CODE = """
    import os

    class Echo:
        name = "echo"

        def process(self, example):
            with open(os.environ["ECHO_LOG"], "a") as log:
                log.write("asked\\n")
            return {"response": example["question"]}

    def toy(limit=None, config=None, split=None):
        yield {"id": "1", "question": "one", "answer": "one"}
        yield {"id": "2", "question": "two", "answer": "two"}

    def labelled(path, limit=None, config=None, split=None):
        with open(path) as file:
            labels = file.read().split()
        for number, label in enumerate(labels):
            yield {"id": str(number), "question": "q", "answer": "a", "dataset": label}

    class Exact:
        name = "exact"

        def score(self, original, processed):
            return {"exact": float(processed["response"] == original["answer"])}
"""
BASICS_MANIFEST = """
    schema = 1
    api = "1.0"

    [systems.echo]
    summary = "Answers with the question"
    class = "Echo"
    kind = "system"

    [datasets.toy]
    summary = "Two examples"
    class = "toy"

    [datasets.labelled]
    summary = "An example for each label in a file"
    class = "labelled"
    files = [".labels"]
    options.path = { type = "path", required = true, help = "The file" }

    [evaluators.exact]
    summary = "Whether the response is the answer"
    class = "Exact"
    primary = "exact"
    version = "1"
    wire = [{ always = true }]
    scores.exact = {}
"""
BASICS_ENTRY_POINTS = {
    "systems": {"echo": "bench_basics:Echo"},
    "datasets": {"toy": "bench_basics:toy", "labelled": "bench_basics:labelled"},
    "evaluators": {"exact": "bench_basics:Exact"},
}


TOOLS = {
    "wiring": "context-bench-kit",
    "check": "context-bench-kit",
    "new": "context-bench-kit",
    "validate": "context-bench-kit",
    "diff": "context-bench-kit",
    "enable": "context-bench-kit",
    "disable": "context-bench-kit",
    "preflight": "context-bench-preflight",
    "doctor": "context-bench-preflight",
    "verify": "context-bench-audit",
}
"""The package of each command that is not core's own: only who calls it needs it."""

UNNAMED = ("context-bench-conversations", "context-bench-reports")
"""What asks conversations, and the reports for files."""


@frozen
class Done:
    """What a command left: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """Everything that was written, without line breaks and indentation."""
        return " ".join((self.out + " " + self.err).split())


@define
class Site:
    """A folder that packages are installed into, found by this process and its children."""

    folder: Path
    names: list[str] = field(factory=list)

    def add(
        self,
        name: str,
        *,
        code: str = "",
        manifest: str | None = None,
        entry_points: Mapping[str, Mapping[str, str]] | None = None,
        version: str = "1.0",
        requires: tuple[str, ...] = (),
        package: str | None = None,
        folder: Path | None = None,
        editable: bool = False,
    ) -> Path:
        """Install a distribution and return the folder of its package.

        Args:
            name: Name of the distribution.
            code: Its ``__init__.py``.
            manifest: Its manifest; None ships none.
            entry_points: Values by name, by group without ``context_bench.``.
            version: Its version.
            requires: Its requirements.
            package: Name of its package, where that is not made from its own.
            folder: Where to install it; None takes the site.
            editable: Whether the package lies elsewhere and a ``.pth`` file leads there.
        """
        folder = folder or self.folder
        folder.mkdir(exist_ok=True)
        stem = name.replace("-", "_")
        package = package or stem
        place = folder
        if editable:
            place = folder.parent / f"{stem}_source"
            (folder / f"_{stem}.pth").write_text(f"{place}\n")
        body = place / package
        body.mkdir(parents=True, exist_ok=True)
        (body / "__init__.py").write_text(dedent(code))
        if manifest is not None:
            (body / "context_bench_plugin.toml").write_text(dedent(manifest))
        info = folder / f"{stem}-{version}.dist-info"
        info.mkdir()
        requirements = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requirements}\n"
        )
        groups = [
            f"[context_bench.{group}]\n"
            + "".join(f"{short} = {value}\n" for short, value in points.items())
            for group, points in (entry_points or {}).items()
        ]
        (info / "entry_points.txt").write_text("\n".join(groups))
        shipped = (
            [] if editable else [f"{package}/{file.name},,\n" for file in sorted(body.iterdir())]
        )
        (info / "RECORD").write_text(
            "".join([f"{info.name}/METADATA,,\n{info.name}/RECORD,,\n", *shipped])
        )
        if editable:
            url = {"url": place.as_uri(), "dir_info": {"editable": True}}
            (info / "direct_url.json").write_text(json.dumps(url))
        self.names.append(name)
        return body

    def evaluator(
        self,
        name: str,
        short: str,
        *,
        key: str | None = None,
        wire: str = "[]",
        code: str | None = None,
        **more: object,
    ) -> Path:
        """Install a distribution with one evaluator that gives every row 1.0 under ``key``."""
        package = name.replace("-", "_")
        key = key or short.replace("-", "_")
        settings: dict[str, object] = {
            "code": EVALUATOR.format(name=short, key=key) if code is None else code,
            "manifest": MANIFEST.format(name=short, key=key, wire=wire),
            "entry_points": {"evaluators": {short: f"{package}:Evaluator"}},
            **more,
        }
        return self.add(name, **settings)  # type: ignore[arg-type]

    def basics(self) -> None:
        """Install a system, two datasets and an evaluator that is wired to everything, all in good order."""
        self.add(
            "bench-basics",
            code=BASICS_CODE,
            manifest=BASICS_MANIFEST,
            entry_points=BASICS_ENTRY_POINTS,
        )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    for variable in (
        "CONTEXT_BENCH_PLUGINS",
        "CONTEXT_BENCH_DISABLE_PLUGINS",
        "CONTEXT_BENCH_ALLOW_CURRENT_DIRECTORY",
    ):
        monkeypatch.delenv(variable, raising=False)
    before = set(sys.modules)
    yield Site(folder)
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often the echo system was asked."""
    log = tmp_path / "echo.log"
    monkeypatch.setenv("ECHO_LOG", str(log))
    return lambda: len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture
def process(site: Site, workplace: Path, asked: Callable[[], int]) -> Callable[..., Done]:
    """Run the command line in a process of its own; plugins that no test installed are out of the way."""

    def call(*arguments: str, columns: int = 200, path: str | None = None, **environ: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "context_bench", *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            cwd=workplace,
            env={
                **os.environ,
                "PYTHONPATH": str(site.folder) if path is None else path,
                "COLUMNS": str(columns),
                "CONTEXT_BENCH_PLUGINS": ",".join(_allowed(site, arguments)),
                **environ,
            },
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def context_bench(
    site: Site,
    workplace: Path,
    asked: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Done]:
    """Run the command line in this process; plugins that no test installed are out of the way."""

    def call(*arguments: str, columns: int = 200, alone: bool = True) -> Done:
        monkeypatch.setenv("COLUMNS", str(columns))
        if alone:
            monkeypatch.setenv("CONTEXT_BENCH_PLUGINS", ",".join(_allowed(site, arguments)))
        code = execute([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err, captured.err
        return Done(code, captured.out, captured.err)

    return call


def _allowed(site: Site, arguments: tuple[str, ...]) -> list[str]:
    """Return what may be used: what a test installed, the package of the command that it calls, and what no user names."""
    return [
        *site.names,
        *(TOOLS[str(word)] for word in arguments[:2] if str(word) in TOOLS),
        *UNNAMED,
    ]
