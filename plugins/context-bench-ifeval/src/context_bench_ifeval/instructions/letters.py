"""The groups `change_case` and `language`: capitals, small letters, and the language they spell."""

from __future__ import annotations

from context_bench_ifeval.arguments import Arguments
from context_bench_ifeval.instructions.check import Check
from context_bench_ifeval.language import detect_language, is_english
from context_bench_ifeval.language_profiles import language_profiles
from context_bench_ifeval.words import count_capital_words


def capital_word_frequency(arguments: Arguments) -> Check:
    """Enough or few enough words are written in capitals; hyphenated words are one."""
    satisfies = arguments.bound("capital_relation", "capital_frequency")
    return lambda response: satisfies(count_capital_words(response))


def english_capital(arguments: Arguments) -> Check:
    """It is in English and in capitals."""
    return lambda response: response.isupper() and is_english(response)


def english_lowercase(arguments: Arguments) -> Check:
    """It is in English and in small letters."""
    return lambda response: response.islower() and is_english(response)


def response_language(arguments: Arguments) -> Check:
    """It is in the language; a response with nothing to go by counts as being so."""
    language = arguments.choice("language", language_profiles().languages)
    return lambda response: detect_language(response) in (language, None)
