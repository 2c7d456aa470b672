from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from context_bench_compress import BM25Passages, Head, Identity, LeadSentences, Tail

BUILDERS: dict[str, Callable[..., Any]] = {
    "head": Head,
    "tail": Tail,
    "lead": LeadSentences,
    "bm25": BM25Passages,
    "bm25-sentence": lambda **options: BM25Passages(passage_sentences=1, **options),
    "bm25-tokens": lambda **options: BM25Passages(passage_tokens=7, **options),
}


@pytest.fixture(params=BUILDERS)
def build(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A compressor that takes a budget, in every variant."""
    return BUILDERS[request.param]


@pytest.fixture(params=["identity", *BUILDERS])
def any_system(request: pytest.FixtureRequest) -> Any:
    return Identity() if request.param == "identity" else BUILDERS[request.param](ratio=0.3)
