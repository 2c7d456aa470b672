"""Records in the published layouts, made up for the tests, and the command run on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str, Any], str]:
    """Return a function that writes text, or records as JSON or JSON lines, and returns the path."""

    def write(name: str, content: Any) -> str:
        path = tmp_path / name
        if not isinstance(content, str):
            lines = [json.dumps(record) for record in content]
            content = "\n".join(lines) if name.endswith("l") else json.dumps(content)
        path.write_text(content, encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def validated(capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that runs the command and returns what it wrote as JSON."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Any:
        code = execute(["evaluators", "validate", *arguments, "--json"])
        told = capsys.readouterr()
        assert code == 0, told.err
        return json.loads(told.out)

    return run


@pytest.fixture
def refused(capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that runs the command, which fails with exit code 2, and returns its message."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        code = execute(["evaluators", "validate", *arguments])
        told = capsys.readouterr()
        assert code == 2, told.out
        return " ".join(told.err.split())

    return run


TEXT = "The council met on Monday and agreed to build a bridge over the river near the old mill"


def summeval_records(documents: int = 8, systems: int = 5) -> list[dict[str, Any]]:
    """Return summaries that lose a word of the text with each system; the experts like long ones."""
    words = TEXT.split()
    records = []
    for document in range(documents):
        for system in range(systems):
            rated = 5 - system * 4 // max(systems - 1, 1)
            moved = min(5, rated + (document + system) % 2)
            expert = {
                "coherence": rated,
                "consistency": rated,
                "fluency": 3,
                "relevance": moved,
            }
            records.append(
                {
                    "id": f"dm-test-{document}",
                    "model_id": f"M{system}",
                    "filepath": "cnndm/dailymail/stories/x.story",
                    "decoded": " ".join(words[document % 3 : len(words) - 2 * system]),
                    "expert_annotations": [expert, {**expert, "coherence": moved}, expert],
                    "turker_annotations": [],
                    "references": [TEXT, " ".join(words[:12])],
                    "text": f"{TEXT}. Work begins in May.",
                }
            )
    return records


def averaged_summeval_records() -> list[dict[str, Any]]:
    """Return an article a record, with the mean rating of each of its summaries."""
    summaries = [TEXT, "The council met", "A dog barked at the moon"]
    means = [4.667, 3.0, 1.333]
    dimensions = ("coherence", "consistency", "fluency", "relevance")
    return [
        {
            "id": f"cnn-{number}",
            "text": TEXT,
            "human_summaries": [TEXT],
            "machine_summaries": summaries,
            **dict.fromkeys(dimensions, means),
        }
        for number in range(7)
    ]


def llmbar_records(rows: int = 12) -> list[dict[str, Any]]:
    """Return pairs of which the longer output follows the instruction, but for every fourth."""
    records = []
    for number in range(rows):
        long_one = f"Number {number} is written out in full words here"
        short_one = f"It is {number}"
        is_first = number % 2 == 0
        right_is_long = number % 4 != 3
        records.append(
            {
                "input": f"Write the number {number}.",
                "output_1": long_one if is_first else short_one,
                "output_2": short_one if is_first else long_one,
                "label": 1 if is_first == right_is_long else 2,
            }
        )
    return records


def mt_bench_records(questions: int = 8) -> list[dict[str, Any]]:
    """Return three votes on two conversations for each question, of both turns; a third is a tie."""
    records = []
    for question in range(questions):
        for turn in (1, 2):
            for judge, winner in enumerate(("model_a", "model_a", "tie")):
                records.append(
                    {
                        "question_id": 81 + question,
                        "model_a": "gpt-4",
                        "model_b": "llama-13b",
                        "winner": winner,
                        "judge": f"expert_{judge}",
                        "conversation_a": conversation("a long and careful answer", question),
                        "conversation_b": conversation("no", question),
                        "turn": turn,
                    }
                )
    return records


def conversation(answer: str, question: int) -> list[dict[str, str]]:
    return [
        {"role": "user", "content": f"Question {question}"},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": "Say more."},
        {"role": "assistant", "content": f"{answer}, again"},
    ]


@pytest.fixture
def summeval() -> list[dict[str, Any]]:
    return summeval_records()


@pytest.fixture
def averaged_summeval() -> list[dict[str, Any]]:
    return averaged_summeval_records()


@pytest.fixture
def llmbar() -> list[dict[str, Any]]:
    return llmbar_records()


@pytest.fixture
def mt_bench() -> list[dict[str, Any]]:
    return mt_bench_records()
