from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from context_bench_compress import (
    BM25Passages,
    EmbeddingPassages,
    Head,
    Identity,
    LeadSentences,
    LexRankSummary,
    LSASummary,
    LuhnSummary,
    Tail,
    TfidfPassages,
)

TINY_MODEL = Path(__file__).parent / "tiny-embedder"
BUILDERS: dict[str, Callable[..., Any]] = {
    "head": Head,
    "tail": Tail,
    "lead": LeadSentences,
    "bm25": BM25Passages,
    "bm25-sentence": lambda **options: BM25Passages(passage_sentences=1, **options),
    "bm25-tokens": lambda **options: BM25Passages(passage_tokens=7, **options),
    "tfidf": TfidfPassages,
    "lsa": LSASummary,
    "lexrank": LexRankSummary,
    "luhn": LuhnSummary,
    "embeddings": lambda **options: EmbeddingPassages(
        model=str(TINY_MODEL), passage_sentences=1, **options
    ),
}
NEEDED = {"lsa": "sumy", "lexrank": "sumy", "luhn": "sumy", "embeddings": "onnxruntime"}


def params(names: list[str]) -> list[Any]:
    """Return the builders of these names; those whose extra is not installed are skipped."""
    return [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                name in NEEDED and find_spec(NEEDED[name]) is None,
                reason=f"{name} needs {NEEDED.get(name)}",
            ),
        )
        for name in names
    ]


@pytest.fixture(params=params(list(BUILDERS)))
def build(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A compressor that takes a budget, in every variant."""
    return BUILDERS[request.param]


@pytest.fixture(params=params(["identity", *BUILDERS]))
def any_system(request: pytest.FixtureRequest) -> Any:
    return Identity() if request.param == "identity" else BUILDERS[request.param](ratio=0.3)
