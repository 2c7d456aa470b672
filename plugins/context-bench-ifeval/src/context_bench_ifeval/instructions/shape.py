"""The groups `combination`, `startend` and `punctuation`: what a response is made of, begins with, ends with and goes without."""

from __future__ import annotations

from context_bench_ifeval.arguments import Arguments
from context_bench_ifeval.instructions.check import Check


def two_responses(arguments: Arguments) -> Check:
    """Exactly two different responses with `******` between them."""

    def follows(response: str) -> bool:
        parts = list(map(str.strip, response.split("******")))
        filled = list(filter(None, parts))
        return all(parts[1:-1]) and len(filled) == 2 and filled[0] != filled[1]

    return follows


def repeat_prompt(arguments: Arguments) -> Check:
    """It begins with the text to repeat, in any case: the one the row names, else the row's prompt."""
    use_prompt = "prompt_to_repeat" not in arguments and arguments.prompt.strip()
    opening = (
        (arguments.prompt if use_prompt else arguments.text("prompt_to_repeat")).strip().lower()
    )
    return lambda response: response.strip().lower().startswith(opening)


def end_checker(arguments: Arguments) -> Check:
    """It ends with the phrase, in any case and perhaps with a quotation mark behind it."""
    phrase = arguments.text("end_phrase").strip().lower()
    return lambda response: response.strip().strip('"').lower().endswith(phrase)


def quotation(arguments: Arguments) -> Check:
    """It is enclosed in double quotation marks."""

    def follows(response: str) -> bool:
        text = response.strip()
        return len(text) > 1 and text[0] == text[-1] == '"'

    return follows


def no_comma(arguments: Arguments) -> Check:
    """There is no comma."""
    return lambda response: "," not in response
