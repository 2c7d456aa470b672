"""The system of docs/how-to/measure-your-agents-compaction.md that is the user's own code, from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
class Shorten:
    def __init__(self, keep=1):
        self.keep = keep

    def transform(self, messages, tools):
        return [messages[0], *messages[-self.keep:]]


def compress(messages):
    return {"messages": [messages[0], messages[-1]]}
"""
MESSAGES = [
    {"role": "user", "content": "Which port does the server use?"},
    {"role": "assistant", "content": "The old port was 8443 and the new one is 9555."},
    {"role": "user", "content": "Write it down."},
]


@pytest.mark.parametrize("target", ["Shorten", "Shorten,keep=1", "compress"])
def test_own_code_rewrites_the_messages_of_a_run(tmp_path: Path, target: str) -> None:
    (tmp_path / "my_module.py").write_text(CODE, encoding="utf-8")
    row = {
        "id": "s",
        "messages": MESSAGES,
        "region": [0, 3],
        "context": "\n\n".join(message["content"] for message in MESSAGES),
        "future": ["9555"],
    }
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "context_bench", "run", "--dataset", "rows.jsonl"]
    command += ["--system", f"python-transformer:target=my_module:{target},version=1"]
    command += ["--system", "identity", "--evaluators", "survival", "-o", "out.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "out.json").read_text("utf-8"))["rows"]
    scores = [row["scores"]["survival_all"] for row in rows]
    assert scores == [0.0, 1.0]
