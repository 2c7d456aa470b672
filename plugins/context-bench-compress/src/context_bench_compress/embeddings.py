"""The passages whose meaning is nearest to the question's."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

from context_bench_compress.budget import whole
from context_bench_compress.embedder import Embedder
from context_bench_compress.searching import PassageSearch

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"


class EmbeddingPassages(PassageSearch):
    r"""Keeps the passages whose embeddings are nearest to the question's, in the order of the document.

    The score is the cosine between the embeddings. The model runs on the CPU, by onnxruntime; it is a file, a folder, or an
    id of the Hugging Face Hub, from which it is downloaded once. Budget and order are those of `BM25Passages`.

    Args:
        ratio: The share of the tokens (matches of ``\w+|[^\w\s]``) that may stay; half of them unless told.
        tokens: The number of tokens that may stay, instead of a share.
        passage_sentences: Sentences of one passage; 3 by default.
        passage_tokens: Tokens of one passage, instead of sentences.
        model: An ``.onnx`` file, its folder, or ``namespace/name`` on the hub.
        tokenizer: A ``tokenizer.json``; by default the one beside the model.
        revision: Branch, tag or commit on the hub.
        file: File of the model in its folder or repository, such as ``onnx/model_qint8_avx512.onnx``.
        max_length: Word pieces of a passage that are looked at.
        language: Code of the language, for finding sentences; an unknown one is treated as English.
        without_question: ``lead`` or ``error``.

    Raises:
        ImportError: The extra ``embeddings`` is not installed.
        OSError: There is no such model.
    """

    name = "embeddings"

    def __init__(
        self,
        ratio: float | None = None,
        tokens: int | None = None,
        passage_sentences: int | None = None,
        passage_tokens: int | None = None,
        model: str = DEFAULT_MODEL,
        tokenizer: str | None = None,
        revision: str | None = None,
        file: str | None = None,
        max_length: int = 256,
        language: str = "en",
        without_question: str = "lead",
    ) -> None:
        super().__init__(
            ratio, tokens, passage_sentences, passage_tokens, language, without_question
        )
        if not str(model).strip():
            raise ValueError(
                "embeddings: model is empty; write a path, or the namespace/name of a model on the hub."
            )
        length = whole(self.name, "max_length", max_length, least=8)
        self._embedder = Embedder(self.name, str(model), tokenizer, revision, file, length)
        self._loading = Lock()

    def scores(self, passages: list[str], question: str) -> Sequence[float]:
        """Return the cosine between the question and each passage, from -1 to 1."""
        with self._loading:
            [asked] = self._embedder.embed([question])
        if asked is None:
            return [0.0] * len(passages)
        # rounded, so that the last bit of a product decides nothing
        return [
            0.0 if found is None else round(float(found @ asked), 6)
            for found in self._embedder.embed(passages)
        ]

    def told(self, scores: Sequence[float]) -> dict[str, Any]:
        """Return nothing: every passage resembles the question to some degree."""
        return {}

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output."""
        return {**super().fingerprint(), **self._embedder.fingerprint()}
