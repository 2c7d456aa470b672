"""Sentences for ROUGE-Lsum, which compares summaries sentence by sentence."""

from __future__ import annotations

from collections.abc import Callable

Splitter = Callable[[str], list[str]]


def lines(text: str) -> list[str]:
    """The lines of a text, which rouge-score takes for its sentences unless told to find them."""
    return text.split("\n")


def punkt_sentences(text: str) -> list[str]:
    """The sentences that NLTK's Punkt model for English finds."""
    import nltk  # type: ignore[import-untyped, import-not-found, unused-ignore]

    return [str(sentence) for sentence in nltk.sent_tokenize(text)]


def punkt_splitter() -> Splitter:
    """NLTK's sentence splitter for English, which rouge-score uses under `split_summaries`.

    Raises:
        ImportError: NLTK or its Punkt model is not installed.
    """
    try:
        punkt_sentences("One. Two.")
    except ImportError as error:
        raise ImportError(
            "split_summaries=True finds sentences with NLTK, which is not installed. Install it with the extra "
            "'sentences' of context-bench-rouge, or put one sentence on each line and leave split_summaries off."
        ) from error
    except LookupError as error:
        raise ImportError(
            "split_summaries=True finds sentences with NLTK's Punkt model, which is not on NLTK's data path. Fetch it "
            "once with `python -m nltk.downloader punkt_tab`, or point NLTK_DATA at a folder that has it."
        ) from error
    return punkt_sentences
