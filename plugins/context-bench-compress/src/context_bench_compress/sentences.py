"""Where sentences end, in about 300 languages, by sentencex (Wikimedia Foundation, MIT licence)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version

from context_bench_compress.tokens import splits_token

_WINDOW = 2_000
"""Characters given to sentencex at once: its time grows with the square of them where many are not ASCII."""

_STRANGE = re.compile("[\ud800-\udfff]|[^\\S\\x00-\\x7f]")


def sentence_spans(text: str, language: str = "en") -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence; one begins where the one before it ends.

    White space between two sentences belongs to the first one, a paragraph break to the second. No sentence begins
    inside a token, and none but the last is without one.
    """
    start = 0
    for end in _ends(text, language):
        if end == len(text) or not (splits_token(text, end) or text[start:end].isspace()):
            yield start, end
            start = end


def _ends(text: str, language: str) -> Iterator[int]:
    plain = _STRANGE.sub(_stand_in, text)
    start = 0
    while start < len(plain):
        end = start + _WINDOW
        sentences = _sentences(plain[start:end], language)
        while len(sentences) < 2 and end < len(plain):
            end += end - start
            sentences = _sentences(plain[start:end], language)
        if end < len(plain):
            sentences.pop()  # it may go on behind the window
        for sentence in sentences:
            start += len(sentence)
            yield start


def _stand_in(match: re.Match[str]) -> str:
    """Return a character in the place of one that sentencex cannot take.

    Lone halves of surrogate pairs cannot leave Python, and white space beyond ASCII makes sentencex 1.0 panic at times.
    """
    return " " if match[0].isspace() else "\ufffd"


def _sentences(text: str, language: str) -> list[str]:
    """Return sentences that make up the text; the text itself where the library fails on it."""
    from sentencex import segment  # type: ignore[import-untyped, import-not-found, unused-ignore]

    try:
        sentences = [sentence for sentence in segment(language, text) if sentence]
    except BaseException as error:
        if (
            type(error).__name__ != "PanicException"
        ):  # of its Rust code: no Exception, it would end the run
            raise
        return [text]
    return sentences if "".join(sentences) == text else [text]


@cache
def splitter_version() -> str:
    """Return the name and version of the library that finds the sentences."""
    return f"sentencex {version('sentencex')}"
