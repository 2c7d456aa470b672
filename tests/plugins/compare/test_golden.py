"""What `compare` writes, held against files that a person can read: ``tests/plugins/compare/golden``.

``python tests/plugins/compare/test_golden.py`` writes the files anew; look at them before you commit them.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from context_bench import evaluate
from context_bench.cli import execute

GOLDEN = Path(__file__).parent / "golden"
COUNT = 120
WRITTEN = (
    "compare.txt",
    "compare.md",
    "compare.json",
    "compare.csv",
    "compare.xml",
    "verdicts.xml",
)


class Often:
    """Answers right unless the number of the example is in a class of its own."""

    def __init__(self, name: str, wrong: int, broken: int = 0) -> None:
        self.name, self._wrong, self._broken = name, wrong, broken

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if self._broken and example["number"] % self._broken == 1:
            raise ConnectionError("refused")
        is_wrong = example["number"] % self._wrong == 0
        return {
            "response": "=no" if is_wrong else example["answer"],
            "usage": {"cost": 0.001 * self._wrong},
        }


class Right:
    """Scores 1.0 for the right answer."""

    name = "right"
    version = "1"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"right": float(processed["response"] == original["answer"])}


def written(folder: Path) -> dict[str, str]:
    """Return each file that compare writes for one small run, by name."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        examples = [
            {"id": f"q{n}", "number": n, "answer": "yes", "dataset": ("calls", "mail")[n % 2]}
            for n in range(COUNT)
        ]
        systems = [
            Often("direct", 20),
            Often("=gateway|*", 3),
            Often("same", 20),
            Often("flaky", 20, broken=30),
        ]
        evaluate(
            systems,
            examples,
            [Right()],
            progress=False,
            run_file="run.sqlite",
            baseline="direct",
            score_field="right",
            max_failed=1.0,
            keep_going=True,
        )
        command = ["compare", "run.sqlite", "-m", "right", "--by", "dataset"]
        gates = ["--gate", "right:max-drop=5pp"]
        outputs = [
            word for suffix in ("md", "json", "csv", "xml") for word in ("-o", f"compare.{suffix}")
        ]
        assert execute([*command, *gates, *outputs]) == 10
        assert execute([*command, "-o", "verdicts.xml"]) == 0
        return {
            path.name: path.read_text(encoding="utf-8")
            for path in sorted(folder.glob("*.*"))
            if path.name in WRITTEN
        }
    finally:
        os.chdir(before)


def parts(text: str) -> list[Any]:
    """Return a text as words and numbers: the last digits of a number may differ with the version of numpy."""
    found = re.split(r"(?<![\w.])([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w.])", text)
    return [
        part if place % 2 == 0 else pytest.approx(float(part), rel=1e-3, abs=1e-9)
        for place, part in enumerate(found)
    ]


def numbers(text: str) -> list[Any]:
    found = re.split(r"(?<![\w.])([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w.])", text)
    return [part if place % 2 == 0 else float(part) for place, part in enumerate(found)]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return written(tmp_path_factory.mktemp("golden"))


@pytest.fixture
def screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    written(tmp_path)
    return capsys.readouterr().out


@pytest.mark.parametrize("name", [name for name in WRITTEN if name != "compare.txt"])
def test_what_is_written_is_what_a_person_has_read(found: dict[str, str], name: str) -> None:
    assert numbers(found[name]) == parts((GOLDEN / name).read_text(encoding="utf-8"))


def test_the_terminal_shows_what_a_person_has_read(screen: str) -> None:
    assert numbers(screen) == parts((GOLDEN / "compare.txt").read_text(encoding="utf-8"))


def test_json_is_strict_and_junit_is_xml(found: dict[str, str]) -> None:
    json.loads(found["compare.json"], parse_constant=pytest.fail)
    for name in ("compare.xml", "verdicts.xml"):
        assert ElementTree.fromstring(found[name]).tag == "testsuite"


def renew() -> None:
    """Write the files anew."""
    import contextlib
    import io

    GOLDEN.mkdir(exist_ok=True)
    screen = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(screen):
        texts = written(Path(folder))
    for name, text in {**texts, "compare.txt": screen.getvalue()}.items():
        (GOLDEN / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    renew()
