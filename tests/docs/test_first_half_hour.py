"""The first half hour with own questions: a function, two prompts, the report, and every command that is printed on the way.

Installing and the first result are tested with the README.
"""

from __future__ import annotations

import html
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

QUESTIONS = "id,question,answer\nq1,What is two and two?,4\nq2,What is three and three?,6\n"
ANSWERS = {"two and two": "4", "three and three": "6"}


class _Endpoint(BaseHTTPRequestHandler):
    """A model that is right in one word, and wrong when it explains."""

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = " ".join(str(message["content"]) for message in sent["messages"])
        right = next(answer for words, answer in ANSWERS.items() if words in prompt)
        content = right if "one word, please." in prompt else "Let me see: it is seven."
        reply = {
            "id": "1",
            "object": "chat.completion",
            "model": "small",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": content},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": len(prompt.split()), "completion_tokens": 1},
        }
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def place(tmp_path: Path, plugins: None) -> Path:
    (tmp_path / "questions.csv").write_text(QUESTIONS, encoding="utf-8")
    (tmp_path / "mine.py").write_text(
        "def short(example):\n    return '4'\n\n\ndef peek(example):\n    return example['answer']\n"
    )
    return tmp_path


def run(command: str, place: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line as a person would, with the program of this environment."""
    words = shlex.split(command.replace("\\\n", " "))
    assert words[0] == "context-bench"
    program = [sys.executable, "-m", "context_bench", *words[1:]]
    return subprocess.run(program, cwd=place, capture_output=True, text=True, check=False)


def test_own_questions_are_scored_reported_and_looked_at_again(place: Path) -> None:
    done = run(
        "context-bench run --system python:target=mine:short --dataset questions.csv -o report.html",
        place,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"score +0\.5000|0\.5000 +50\.0 %", done.stdout), done.stdout
    page = (place / "report.html").read_text(encoding="utf-8")
    assert "What is three and three?" in page
    [path] = re.findall(r"^Run file: (.*)$", done.stdout + done.stderr, flags=re.MULTILINE)
    again = run(f"context-bench report {path} -o again.html", place)
    assert again.returncode == 0, again.stderr
    assert (place / "again.html").is_file()


def test_the_command_that_a_failed_run_prints_explains_the_row(place: Path) -> None:
    done = run("context-bench run --system python:target=mine:peek --dataset questions.csv", place)
    assert done.returncode == 12
    assert "KeyError: 'answer', a gold field, which systems do not receive" in done.stderr
    [command] = re.findall(r"\((explain row .*?)\)$", done.stderr, flags=re.MULTILINE)
    explained = run(f"context-bench {command}", place)
    assert explained.returncode == 0, explained.stderr
    assert "KeyError" in explained.stdout


def test_two_prompts_are_compared_by_the_command_of_the_page(
    place: Path, endpoint: str, root: Path
) -> None:
    page = (root / "docs" / "how-to" / "come-from-another-tool.md").read_text(encoding="utf-8")
    [command] = re.findall(
        r"^```bash\n(context-bench run .*?)^```$", page, re.DOTALL | re.MULTILINE
    )
    assert command.count("http://127.0.0.1:8080") == 2
    done = run(command.replace("http://127.0.0.1:8080", endpoint), place)
    assert done.returncode == 0, done.stderr
    verdict = done.stdout.splitlines()[0]
    assert re.fullmatch(
        r"long loses 100 % of short's score at \d+ % of the tokens \(2 rows\)\.", verdict
    )
    report = (place / "report.html").read_text(encoding="utf-8")
    assert html.escape(verdict).replace("&#x27;", "&#39;") in report
    assert "Let me see: it is seven." in report
