"""The README's first screen: its two commands, its doors, its numbers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from context_bench.plugins.first_party import NEEDS


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def blocks(readme: str, pages: Any) -> list[Any]:
    return list(pages.blocks(readme))


def parts(block: Any) -> list[str]:
    """Return the commands of a chain."""
    return [" ".join(part.split()) for part in block.text.replace("\\\n", " ").split(" && ")]


def standard_set(root: Path) -> list[str]:
    """Return the folders of the standard set, which the first command installs."""
    lines = (root / "plugins" / "standard.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def distributions(root: Path) -> str:
    """Return the names of the standard set, as the allow-list of plugins takes them."""
    return ",".join(Path(folder).name for folder in standard_set(root))


def test_the_first_command_makes_an_environment_installs_and_runs(
    blocks: list[Any], root: Path
) -> None:
    venv, install, run = parts(blocks[0])
    assert venv == "python3 -m venv .venv"
    assert install == ".venv/bin/pip install --quiet -r plugins/standard.txt"
    for folder in standard_set(root):
        assert (root / folder / "pyproject.toml").is_file(), folder
    assert run.startswith(".venv/bin/context-bench run ")


def test_the_first_command_prints_the_table_below_it_with_the_packages_that_it_installs(
    blocks: list[Any], pages: Any, plugins: None, root: Path, tmp_path: Path
) -> None:
    reader = pages.Reader(tmp_path)
    reader.environ["CONTEXT_BENCH_PLUGINS"] = distributions(root)
    actual = reader.run(parts(blocks[0])[2].removeprefix(".venv/bin/"))
    assert blocks[1].language == "text"
    kept = [
        line
        for line in actual
        if not line.startswith(("Run file:", "Report:", "Warning:")) or " answers of " in line
    ]
    assert pages.agrees(blocks[1].text.splitlines(), kept), "\n".join(actual)


class _Endpoint(BaseHTTPRequestHandler):
    """A model that says the same to everybody."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "No idea."}
        reply = {
            "id": "1",
            "object": "chat.completion",
            "model": "m",
            "choices": [{"index": 0, "message": message}],
        }
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_two_proxies_are_compared_with_the_packages_that_the_page_installs(
    blocks: list[Any], pages: Any, plugins: None, endpoint: str, root: Path, tmp_path: Path
) -> None:
    pytest.importorskip(
        "context_bench_openai", reason="proxies are called through context-bench-openai"
    )
    [command] = [part for block in blocks for part in parts(block) if part.count("--proxy") == 2]
    reader = pages.Reader(tmp_path)
    reader.environ |= {
        "CONTEXT_BENCH_PLUGINS": distributions(root),
        "OPENAI_API_KEY": "none",
    }
    command = re.sub(r"https?://(?:localhost:\d+|api\.openai\.com)", endpoint, command).replace(
        " -n 50", " -n 3"
    )
    actual = "\n".join(reader.run(f"{command} --run-file proxies.sqlite"))
    labels = re.findall(r"--name (\S+)", command)
    assert len(labels) == 2
    assert "direct" in actual
    assert all(label in actual for label in labels), actual
    assert reader.run("echo $?") == ["0"], actual


def test_the_second_example_is_the_offline_suite_as_its_page_measured_it(
    blocks: list[Any], readme: str, root: Path
) -> None:
    install, run = parts(blocks[2])
    assert "suite run compressor-offline" in run
    named = re.findall(r"plugins/(context-bench-[\w-]+)", install)
    installed = {*named, *(Path(folder).name for folder in standard_set(root))}
    for package in named:
        assert (root / "plugins" / package / "pyproject.toml").is_file(), package
        assert {*NEEDS.get(package, "").split()} <= installed, package
    page = (root / "docs" / "how-to" / "run-a-suite.md").read_text(encoding="utf-8").splitlines()
    for system in re.findall(r"--system (\w+)", run):
        [row] = [line for line in readme.splitlines() if line.startswith(f"| `{system}` |")]
        assert row in page


def test_ci_runs_the_test_command_of_the_readme(blocks: list[Any], root: Path) -> None:
    [chain] = [parts(block) for block in blocks if "nox" in block.text]
    lines = (root / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line in chain] == chain
    assert (root / "tests" / "constraints.txt").is_file()


def test_every_reproduced_number_stands_in_the_test_that_shows_it(readme: str, root: Path) -> None:
    page = (root / "docs" / "reference" / "published-numbers.md").read_text(encoding="utf-8")
    rows = page.replace("](../../tests/", "](tests/").splitlines()
    shown = [line for line in readme.splitlines() if "](tests/" in line]
    assert len(shown) >= 5
    assert set(shown) <= set(rows)
    lines = [line.split("|")[1:-1] for line in rows if "](tests/" in line]
    assert len(lines) >= 9
    for outputs, _, published, here, shown_by in lines:
        [path] = re.findall(r"\]\(([^)]+)\)", shown_by)
        numbers = re.findall(r"\d*\.\d+", published if "the same" in here else here)
        assert numbers, outputs
        for number in numbers:
            assert number in (root / path).read_text(encoding="utf-8"), f"{outputs}: {number}"


def test_the_table_of_packages_names_what_can_be_installed(readme: str, root: Path) -> None:
    table = readme.partition("<!-- packages:")[2].partition("<!-- /packages -->")[0]
    named = re.findall(r"\]\(plugins/([\w-]+)/README\.md\)", table)
    assert {
        "context-bench-answer-quality",
        "context-bench-needle",
        "context-bench-compress",
    } <= set(named)
    for name in named:
        folder = root / "plugins" / name
        assert (folder / "pyproject.toml").is_file()
        assert f"./plugins/{name}" in (folder / "README.md").read_text(encoding="utf-8")


def test_the_version_of_the_changelog_is_that_of_core(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "context_bench", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    version = done.stdout.split()[-1]
    assert f"## {version}" in (root / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_readme_is_short_and_has_a_picture(readme: str) -> None:
    assert len(readme.splitlines()) < 120
    assert "![" in readme
