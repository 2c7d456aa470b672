"""The published responses and verdicts, for the tests that need them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
MODELS = (
    "ifeval.gpt4-20231107",
    "ifeval-en.gpt-4o-mini-2024-07-18",
    "ifeval-en.mistral-7b-instruct-v0.3",
    "ifeval-en.qwen2.5-0.5b-instruct-gptq-int4",
)


def records(path):
    if not path.exists():
        pytest.skip(f"the shared records are not beside this checkout: {path.name}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="session")
def published():
    """For a model, its rows: the row of the benchmark, the response, and the published strict and loose records."""

    def read(model):
        rows = records(DATA / "ifeval.raw.jsonl.gz")
        strict, loose = (
            records(DATA / "outputs" / f"{model}.{name}.jsonl.gz") for name in ("strict", "loose")
        )
        by_prompt = {row["prompt"]: row for row in rows}
        # One prompt of M-IFEval was edited: it asks for one placeholder instead of three.
        edited = {"kwargs": [{"num_highlights": 3}, {"num_placeholders": 1}]}
        asked = [
            by_prompt.get(record["prompt"]) or {**rows[place], **edited}
            for place, record in enumerate(strict)
        ]
        return [
            (row, record["response"], record, relaxed)
            for row, record, relaxed in zip(asked, strict, loose)
        ]

    return read


@pytest.fixture(scope="session")
def responses(published):
    """All published responses, 2,163 of four models."""
    return [response for model in MODELS for _, response, _, _ in published(model)]
