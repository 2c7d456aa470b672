"""Words and sentences."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_END = re.compile(
    r"(?<![.!?…。！？])[.!?…。！？]+[\"'”’)\]]*(?=\s|$)"
)  # a run is tried once, from its first mark
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|no|fig|inc|ltd|jr|sr)|\b[A-Z])$", re.IGNORECASE
)

_LONGEST_ABBREVIATION = 8  # with what stands before it


def words_of(text: str) -> list[str]:
    """Return the words of a text; the apostrophe of a contraction stays, all other punctuation goes.

    >>> words_of("Don't stop - it's 9.30!")
    ["Don't", 'stop', "it's", '9', '30']
    """
    return _WORD.findall(text)


def counted_words(text: str) -> list[str]:
    """Return what stands between white space, without punctuation but for the apostrophe of contractions and underscores.

    They are as many as textstat's ``lexicon_count`` counts.

    >>> counted_words("It's 9.30 - well ...")
    ["It's", '930', 'well']
    """
    plain = re.sub(r"[^\w\s'’]", "", text)
    plain = re.sub(r"(?<![^\W_])['’]|['’](?![^\W_])", "", plain)
    return plain.split()


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text; a text without an end is one.

    >>> sentences_of("Dr. Rao came. She left!")
    ['Dr. Rao came.', 'She left!']
    """
    found, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        if (
            end.group().startswith(".")
            and len(end.group().rstrip("\"'”’)]")) == 1
            and _ABBREVIATION.search(
                text[max(start, end.start() - _LONGEST_ABBREVIATION) : end.start()]
            )
        ):
            continue
        found.append(text[start : end.end()].strip())
        start = end.end()
    return [sentence for sentence in [*found, text[start:].strip()] if words_of(sentence)]
