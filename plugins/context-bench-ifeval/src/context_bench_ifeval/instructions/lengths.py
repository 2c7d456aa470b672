"""The group `length_constraints`: how many sentences, words and paragraphs."""

from __future__ import annotations

import re

from context_bench_ifeval.arguments import Arguments
from context_bench_ifeval.instructions.check import Check
from context_bench_ifeval.sentences import count_sentences

_WORD = re.compile(r"\w+")
_DIVIDER = re.compile(r"\s?\*\*\*\s?")
_END_OF_FIRST_WORD = re.compile("[.,?!'\"]")


def number_sentences(arguments: Arguments) -> Check:
    """There are enough or few enough sentences."""
    satisfies = arguments.bound("relation", "num_sentences")
    return lambda response: satisfies(count_sentences(response))


def number_words(arguments: Arguments) -> Check:
    """There are enough or few enough words: runs of letters, digits and underscores."""
    satisfies = arguments.bound("relation", "num_words")
    return lambda response: satisfies(len(_WORD.findall(response)))


def number_paragraphs(arguments: Arguments) -> Check:
    """There are exactly so many paragraphs between `***` dividers, none blank except before the first and after the last one."""
    wanted = arguments.count("num_paragraphs")

    def follows(response: str) -> bool:
        if "***" not in response:
            return wanted == 1
        first, *inner, last = _DIVIDER.split(response)
        if not all(map(str.strip, inner)):
            return False
        return bool(first.strip()) + len(inner) + bool(last.strip()) == wanted

    return follows


def nth_paragraph_first_word(arguments: Arguments) -> Check:
    """There are exactly so many paragraphs between blank lines, and one of them begins with a given word.

    Blank paragraphs are left out of the number but, as in the reference, not of the counting up to the one that is looked at.
    """
    wanted = arguments.count("num_paragraphs")
    number = arguments.count("nth_paragraph", least=1, most=wanted)
    first_word = arguments.text("first_word").lower()

    def follows(response: str) -> bool:
        paragraphs = response.split("\n\n")
        filled = sum(map(bool, map(str.strip, paragraphs)))
        if filled != wanted or number > filled or not paragraphs[number - 1].strip():
            return False
        word = paragraphs[number - 1].split(maxsplit=1)[0].lstrip("'").lstrip('"')
        # Letter by letter: the last sigma of a Greek word would be lowered differently.
        return "".join(map(str.lower, _END_OF_FIRST_WORD.split(word, maxsplit=1)[0])) == first_word

    return follows
