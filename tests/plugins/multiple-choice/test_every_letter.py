"""The rules hold for every letter: A is also an article, I a pronoun, and none is a special case."""

from __future__ import annotations

import pytest

from context_bench_multiple_choice import find_letter

ALONE = (
    "{L}",
    "({L})",
    "{L}.",
    "{L})",
    "**{L}**",
    "Answer: {L}",
    "Answer: ({L})",
    "answer: {l}",
    "The answer is {L}.",
    "The answer is {L}",
    "The answer is ({L}).",
    "the answer is {l}.",
    "The correct answer is {L}",
    "The correct option is {L}.",
    "I choose {L}",
    "I think it's {L}.",
    "I'd go with {L}.",
    "So {L}.",
    "Therefore, {L}",
    "Therefore, the answer is {L}.",
    "definitely {L}",
    "\\boxed{{{L}}}",
    "$\\boxed{{\\text{{{L}}}}}$",
    '{{"answer": "{L}"}}',
    "Antwort: {L}",
    "答案是{L}",
    "La respuesta es {L}",
    "{L} is correct.",
    "Option {L}",
    "Option {L} is correct.",
    "The answer is {L} because the others fail.",
    "Answer: {L}\n\nExplanation: it fits.",
    "{L}\n\nThe others do not fit.",
    "<answer>{L}</answer>",
    "**Final Answer: {L}**",
    "## Answer\n{L}",
    "It must be {L}.",
    "My answer is {L}, since it fits.",
    "Only {L} remains.",
    "{L} it is.",
    "{L}: option text",
    "A careful look gives {L}.",
    "As I see it, the answer is {L}",
    "I would say {L}.",
)
AMONG_OTHERS = (
    "Answer: {L}, not {O}.",
    "Not {O}, so {L}.",
    "I think {O} is wrong so {L}",
    "Answer: {O}? No. Final answer: {L}",
    "{O}... wait, actually {L}",
    "Answer: {O}. Wait, no. Answer: {L}",
    "The answer is {L} rather than {O}.",
    "({L}) is the best answer, ({O}) is not.",
    "Answer: {L}. {O} is wrong because it is not.",
    "Between {L} and {O}, I pick {L}.",
    "If {O} were true, it would rain. Hence {L}.",
)
SIZES = (2, 4, 5, 10, 26)


def letters(size):
    return [chr(ord("A") + place) for place in range(size)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("template", ALONE)
def test_a_statement_names_any_letter(template, size):
    choices = [f"choice text {place}" for place in range(size)]
    found = [
        find_letter(template.format(L=letter, l=letter.lower()), choices).letter
        for letter in letters(size)
    ]
    assert found == letters(size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("template", AMONG_OTHERS)
def test_a_statement_names_any_letter_among_others(template, size):
    choices = [f"choice text {place}" for place in range(size)]
    for letter in letters(size):
        for other in set(letters(size)) - {letter}:
            assert find_letter(template.format(L=letter, O=other), choices).letter == letter


@pytest.mark.parametrize("size", [2, 4, 5, 9])
def test_a_letter_beyond_the_options_is_none(size):
    beyond = chr(ord("A") + size)
    found = find_letter(
        f"The answer is {beyond}.", [f"choice text {place}" for place in range(size)]
    )
    assert found.letter is None
    assert found.reason == f"letter {beyond} is beyond the options"
