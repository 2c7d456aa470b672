"""No control sequence that a model, server, dataset or package fills in reaches a terminal or a report.

Each of the sequences is put into every field that somebody else fills, and every output is read for what a terminal obeys.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.run.progress import Progress
from context_bench.run.progress_bars import Bars
from context_bench.run.systems import RunSystem

pytestmark = pytest.mark.one_python

SEQUENCES = {
    "set the title": "\x1b]0;title\x07",
    "write the clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "a link": "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "clear the screen": "\x1b[2J",
    "clear the line": "\x1b[2K",
    "cursor home": "\x1b[H",
    "cursor up": "\x1b[5A",
    "save the cursor": "\x1b7",
    "restore the cursor": "\x1b8",
    "color": "\x1b[31m",
    "hidden text": "\x1b[8m",
    "alternate screen": "\x1b[?1049h",
    "mouse reports": "\x1b[?1000h",
    "report the cursor": "\x1b[6n",
    "report the device": "\x1b[c",
    "answer back": "\x05",
    "reset": "\x1bc",
    "device control": "\x1bP$q\x1b\\",
    "application command": "\x1b_x\x1b\\",
    "privacy message": "\x1b^x\x1b\\",
    "C1 sequence": "\x9b2J",
    "C1 command": "\x9d52;c;eA==\x9c",
    "next line": "\x85",
    "backspace": "\x08\x08",
    "bell": "\x07",
    "vertical tab": "\x0b",
    "form feed": "\x0c",
    "shift out": "\x0e",
    "delete": "\x7f",
    "carriage return": "safe\revil",
    "right to left": "\u202egpj.exe",
    "isolate": "\u2066x\u2069",
    "no width": "\u200b",
    "line separator": "\u2028",
    "tags": "\U000e0041",
}
EVERY = "".join(f"<{name}{sequence}>" for name, sequence in SEQUENCES.items())
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\U000e0000-\U000e007f]|\r(?!\n)"
)


class Answers:
    """Answers with every sequence in every field, and fails a row with them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if example["number"] == 3:
            raise ValueError(f"refused {EVERY}")
        return {
            "response": EVERY,
            "model": EVERY,
            "finish_reason": EVERY,
            "headers": {f"x-{EVERY}": EVERY},
            "tool_calls": [{"name": EVERY, "arguments": EVERY}],
        }


class Scores:
    """Scores with a key of every sequence, and fails a row with them."""

    name = f"scores {EVERY}"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        if original["number"] == 2:
            raise RuntimeError(f"broke {EVERY}")
        return {"score": float(original["number"]), f"key {EVERY}": 1.0}


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "run.sqlite"
    examples = [
        {
            "id": f"{number} {EVERY}",
            "dataset": f"set {EVERY}",
            "context": EVERY,
            "question": EVERY,
            "answer": EVERY,
            "number": number,
        }
        for number in range(4)
    ]
    systems = [Answers(f"one {EVERY}"), Answers(f"two {EVERY}")]
    evaluate(
        systems,
        examples,
        [Scores()],
        progress=False,
        run_file=path,
        max_failed=1.0,
        keep_going=True,
        on_warning=lambda line: None,
    )
    return path


def outputs(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a command writes to both streams."""
    code = execute(arguments)
    captured = capsys.readouterr()
    assert code in (0, 2, 3, 10, 11, 12), captured.err
    assert "Traceback" not in captured.err
    return captured.out + captured.err


ID = f"0 {EVERY}"
COMMANDS = {
    **{
        f"report as {name}": ["report", "RUN", "--format", name]
        for name in ("table", "markdown", "json", "csv", "html")
    },
    "export": ["export", "RUN"],
    "export canonical": ["export", "RUN", "--canonical"],
    "compare": ["compare", "RUN"],
    "cite": ["cite", "RUN"],
    "compare as JSON": ["compare", "RUN", "--json"],
    "verify": ["verify", "RUN"],
    "verify as JSON": ["verify", "RUN", "--json"],
    "explain row": ["explain", "row", "RUN", ID],
    "explain row as JSON": ["explain", "row", "RUN", ID, "--json"],
    "explain key": ["explain", "key", "RUN", ID],
    "an unknown id": ["explain", "row", "RUN", f"none {EVERY}"],
    "an unknown system": ["report", "RUN", "--baseline", EVERY],
    "an unknown score": ["report", "RUN", "--score-field", EVERY],
    "a missing file": ["report", f"missing {EVERY}"],
    "resume": ["resume", "RUN"],
    "an unknown command": [f"none {EVERY}"],
}
FILES = {
    **{
        f"report{suffix}": ["report", "RUN"] for suffix in (".md", ".json", ".csv", ".txt", ".html")
    },
    **{f"compare{suffix}": ["compare", "RUN"] for suffix in (".md", ".json", ".csv", ".xml")},
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_sequence_reaches_the_terminal(
    name: str, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(run_file) if word == "RUN" else word for word in COMMANDS[name]]
    written = outputs(arguments, capsys)
    assert written.strip()
    assert OBEYED.findall(written) == []


@pytest.mark.parametrize("name", FILES)
def test_no_sequence_reaches_a_report(
    name: str, run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(run_file) if word == "RUN" else word for word in FILES[name]]
    target = tmp_path / name
    outputs([*arguments, "-o", str(target)], capsys)
    written = target.read_bytes().decode("utf-8")
    assert written.strip()
    assert OBEYED.findall(written) == []


def state(slot: int) -> dict[str, Any]:
    return {"done": 1, "total": 3, "eta": None}


def drawn() -> Iterator[str]:
    """Yield what progress writes: bars on a terminal, lines of text and lines of JSON."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    bars = Bars(terminal, {0: f"label {EVERY}"}, state, lambda _: f"latest failure: {EVERY}")
    bars.start()
    bars.say(EVERY)
    bars.stop()
    for attack in ("\x1b]", "\x1b[2J", "\x1b[5A", "\x1bc", "\x1b[8m", "\x1b[?1049h"):
        assert attack not in terminal.getvalue()
    yield re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue()).replace("\r", "")
    for log_format in ("text", "json"):
        stream = io.StringIO()
        slot = RunSystem(number=0, label=EVERY, system=None, key=b"", shared=False)
        progress = Progress([slot], 3, stream, log_format)
        progress.say(EVERY)
        progress.close()
        yield stream.getvalue()


def test_no_sequence_reaches_the_progress() -> None:
    for written in drawn():
        assert written.strip()
        assert OBEYED.findall(written) == []
