"""The group `keywords`: what must and what must not be said, and how often."""

from __future__ import annotations

import re

from context_bench_ifeval.arguments import Arguments
from context_bench_ifeval.instructions.check import Check


def existence(arguments: Arguments) -> Check:
    """Every keyword occurs, in any case, inside longer words as well."""
    patterns = [
        arguments.pattern("keywords", keyword, re.IGNORECASE)
        for keyword in arguments.texts("keywords")
    ]
    return lambda response: all(pattern.search(response) for pattern in patterns)


def frequency(arguments: Arguments) -> Check:
    """The keyword occurs often or seldom enough, in any case, inside longer words as well."""
    pattern = arguments.pattern("keyword", arguments.text("keyword").strip(), re.IGNORECASE)
    satisfies = arguments.bound("relation", "frequency")
    return lambda response: satisfies(len(pattern.findall(response)))


def forbidden_words(arguments: Arguments) -> Check:
    """None of the words occurs, in any case, as a whole word."""
    patterns = [
        arguments.pattern("forbidden_words", rf"\b{word}\b", re.IGNORECASE)
        for word in arguments.texts("forbidden_words")
    ]
    return lambda response: not any(pattern.search(response) for pattern in patterns)


def letter_frequency(arguments: Arguments) -> Check:
    """The letter, or any other single sign, occurs often or seldom enough, in any case."""
    letter = arguments.sign("letter").lower()
    satisfies = arguments.bound("let_relation", "let_frequency")
    return lambda response: satisfies(response.lower().count(letter))
