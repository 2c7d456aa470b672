"""Keeping the passages that a ranking puts first: what every compressor that chooses passages has in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench_compress.budget import whole
from context_bench_compress.passages import Passage, by_sentences, by_tokens, joined
from context_bench_compress.sentences import splitter_version
from context_bench_compress.tokens import head_end
from context_bench_compress.transform import Kept

DEFAULT_SENTENCES = 3


class Cutter:
    """Cuts texts into the passages that the options of a compressor ask for.

    Args:
        owner: Name of the compressor, for messages.
        passage_sentences: Sentences of one passage; 3 by default.
        passage_tokens: Tokens of one passage, instead of sentences.
        language: Code of the language, for finding sentences.

    Raises:
        TypeError: An option is no whole number.
        ValueError: Both sizes are given, or one is below 1.
    """

    def __init__(
        self, owner: str, passage_sentences: int | None, passage_tokens: int | None, language: str
    ) -> None:
        if passage_sentences is not None and passage_tokens is not None:
            raise ValueError(
                f"{owner}: both passage_sentences and passage_tokens are given; give one of them."
            )
        if passage_tokens is not None:
            self._size = {"passage_tokens": whole(owner, "passage_tokens", passage_tokens, least=1)}
        else:
            size = DEFAULT_SENTENCES if passage_sentences is None else passage_sentences
            self._size = {"passage_sentences": whole(owner, "passage_sentences", size, least=1)}
        self._language = language

    def cut(self, texts: list[str]) -> list[Passage]:
        """Return the passages of the texts, in document order; together they are the texts."""
        if "passage_tokens" in self._size:
            return by_tokens(texts, self._size["passage_tokens"])
        return by_sentences(texts, self._size["passage_sentences"], self._language)

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change a passage."""
        return {**self._size, "language": self._language, "splitter": splitter_version()}


def text_of(texts: Sequence[str], passage: Passage) -> str:
    """Return the text of a passage."""
    return texts[passage.text][passage.start : passage.end]


def keep_best(
    texts: list[str],
    passages: Sequence[Passage],
    scores: Sequence[float],
    allowed: int,
    remarks: Mapping[str, Any],
) -> Kept:
    """Return the passages with the highest scores, in document order, as long as whole ones fit.

    The best is taken first, then the next, until one does not fit; among equals the earlier one comes first. So a larger
    budget keeps all that a smaller one keeps. Where not even the best one fits, its beginning is kept, and the remarks
    say ``cut``.
    """
    ranked = sorted(range(len(passages)), key=lambda index: (-scores[index], index))
    chosen = []
    for index in ranked:
        if passages[index].tokens > allowed:
            break
        allowed -= passages[index].tokens
        chosen.append(index)
    told = dict(remarks)
    if chosen or not ranked:
        kept = joined(texts, (passages[index] for index in sorted(chosen)))
    else:
        best = passages[ranked[0]]
        text = text_of(texts, best)
        kept = [part] if (part := text[: head_end(text, allowed, best.tokens)]) else []
        told["cut"] = True
    return kept, {**told, "passages": len(passages), "passages_kept": len(chosen)}
