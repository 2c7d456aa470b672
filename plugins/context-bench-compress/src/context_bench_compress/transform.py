"""What the compressors have in common: reading a context, keeping to the budget, saying what was done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from context_bench_compress.budget import Budget
from context_bench_compress.tokens import count_tokens

Kept = tuple[list[str], dict[str, Any]]
"""The texts that stay, and remarks for the user."""


def transform(
    owner: str,
    example: Mapping[str, Any],
    budget: Budget,
    keep: Callable[[list[str], list[int], int], Kept],
    *,
    always: bool = False,
) -> dict[str, Any]:
    """Return the example's context, made to fit the budget by ``keep``, and what that did.

    A text stays a text and a list of passages stays a list. A missing context counts as an empty text.

    Args:
        owner: Name of the compressor, for messages.
        example: The row; it is not changed.
        budget: How much may stay.
        keep: Called with the texts, their numbers of tokens and the tokens allowed, if those are fewer.
        always: Call it even if all of the tokens are allowed.
    """
    context = example.get("context")
    texts = texts_of(owner, context)
    sizes = [count_tokens(text) for text in texts]
    before = sum(sizes)
    allowed = budget.allowed(before)
    kept, remarks = (texts, {}) if allowed >= before and not always else keep(texts, sizes, allowed)
    after = sum(map(count_tokens, kept)) if kept is not texts else before
    return {
        "context": kept if isinstance(context, (list, tuple)) else "".join(kept),
        "compression": {
            "tokens_before": before,
            "tokens_after": after,
            "budget": allowed,
            **remarks,
        },
    }


def texts_of(owner: str, context: object) -> list[str]:
    """Return a context as a list of texts.

    Raises:
        TypeError: It is neither a text nor a list of texts.
    """
    if context is None:
        return []
    texts: list[str] = []
    for item in context if isinstance(context, (list, tuple)) else [context]:
        if not isinstance(item, str):
            where = (
                "an item of the context list"
                if isinstance(context, (list, tuple))
                else "the context"
            )
            raise TypeError(
                f"{owner}: {where} is of type {type(item).__name__}, and a text or a list of texts is needed; "
                "turn it into one of these when loading the data set."
            )
        texts.append(item)
    return texts
