"""What turns texts into a vector for each token."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from context_bench_scorers import UserTypeError

Vectors = NDArray[np.float32]

PACKAGED_MINILM = "packaged/all-MiniLM-L6-v2-int8"
"""The model that comes with this package's dependencies; nothing is downloaded for it."""


@frozen
class TokenVectors:
    """The tokens of one text.

    Attributes:
        vectors: One unit vector a token, shape (tokens, dimensions).
        counts: Whether a token is one of the text: those that only begin and end it are not.
        lengths: How long each vector was before it was made a unit vector, shape (tokens,): a mean of tokens weighs them by
            it. None where only unit vectors are known.
    """

    vectors: Vectors = field(eq=False)
    counts: NDArray[np.bool_] = field(eq=False)
    lengths: NDArray[np.float64] | None = field(default=None, eq=False)

    @classmethod
    def of(cls, vectors: Any, counts: Any) -> TokenVectors:
        """Return vectors of any length as unit vectors."""
        rows = np.asarray(
            vectors, dtype=np.float64
        )  # the square of a small number of 32 bits is 0 in as many
        lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
        unit: Vectors = (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)
        return cls(unit, np.asarray(counts, dtype=bool), lengths[..., 0])


class Embedder(Protocol):
    """Anything that gives a vector for each token."""

    @property
    def model(self) -> str:
        """Name of the model: it stands in details and score keys."""
        ...

    def embed(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the tokens of each text."""
        ...


class HashedEmbedder:
    """Vectors of the letters of each word, by hashing: no model, for tests and plumbing.

    Words that share three letters in a row are near each other; meaning does not count.

    Args:
        dimensions: Length of a vector.
    """

    def __init__(self, dimensions: int = 256) -> None:
        self.dimensions = dimensions
        self.model = f"hashed-trigrams-{dimensions}"

    def embed(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the words of each text."""
        return [self._embed(re.findall(r"\w+|[^\w\s]", text.lower())) for text in texts]

    def _embed(self, words: list[str]) -> TokenVectors:
        rows = np.zeros((len(words), self.dimensions), dtype=np.float32)
        for place, word in enumerate(words):
            padded = f"<{word}>"
            for start in range(len(padded) - 2):
                digest = hashlib.blake2b(
                    padded[start : start + 3].encode("utf-8", "surrogatepass"), digest_size=8
                ).digest()
                number = int.from_bytes(digest, "big")
                rows[place, number % self.dimensions] += 1 if number >> 63 else -1
        return TokenVectors.of(rows, np.ones(len(words), dtype=bool))


def embedder_for(model_type: str) -> Embedder:
    """Return what embeds with a model, one for each model and process.

    Args:
        model_type: `PACKAGED_MINILM`, or the name or folder of a model for the library transformers.

    Raises:
        UserTypeError: It is no name.
    """
    if not str(model_type or "").strip():
        raise UserTypeError(
            f"model_type is the name of a model such as {PACKAGED_MINILM!r}, not {model_type!r}."
        )
    return _embedder_for(model_type.strip())


@lru_cache(maxsize=4)
def _embedder_for(model_type: str) -> Embedder:
    if model_type == PACKAGED_MINILM:
        from context_bench_scorers_embedding.minilm import PackagedMiniLM

        return PackagedMiniLM()
    from context_bench_scorers_embedding.transformer import TransformerEmbedder

    return TransformerEmbedder(model_type)
