"""The 25 instructions of IFEval, by their ids.

Source: Jeffrey Zhou et al., Instruction-Following Evaluation for Large Language Models (2023), and the checker that
its authors published (google-research, `instruction_following_eval`).
"""

from __future__ import annotations

from collections.abc import Callable

from context_bench_ifeval.arguments import Arguments
from context_bench_ifeval.instructions import content, keywords, lengths, letters, shape
from context_bench_ifeval.instructions.check import Check

INSTRUCTIONS: dict[str, Callable[[Arguments], Check]] = {
    "keywords:existence": keywords.existence,
    "keywords:frequency": keywords.frequency,
    "keywords:forbidden_words": keywords.forbidden_words,
    "keywords:letter_frequency": keywords.letter_frequency,
    "language:response_language": letters.response_language,
    "length_constraints:number_sentences": lengths.number_sentences,
    "length_constraints:number_paragraphs": lengths.number_paragraphs,
    "length_constraints:number_words": lengths.number_words,
    "length_constraints:nth_paragraph_first_word": lengths.nth_paragraph_first_word,
    "detectable_content:number_placeholders": content.number_placeholders,
    "detectable_content:postscript": content.postscript,
    "detectable_format:number_bullet_lists": content.number_bullet_lists,
    "detectable_format:constrained_response": content.constrained_response,
    "detectable_format:number_highlighted_sections": content.number_highlighted_sections,
    "detectable_format:multiple_sections": content.multiple_sections,
    "detectable_format:json_format": content.json_format,
    "detectable_format:title": content.title,
    "combination:two_responses": shape.two_responses,
    "combination:repeat_prompt": shape.repeat_prompt,
    "startend:end_checker": shape.end_checker,
    "startend:quotation": shape.quotation,
    "change_case:capital_word_frequency": letters.capital_word_frequency,
    "change_case:english_capital": letters.english_capital,
    "change_case:english_lowercase": letters.english_lowercase,
    "punctuation:no_comma": shape.no_comma,
}
"""What makes the check of an instruction from the arguments of a row."""

__all__ = ["INSTRUCTIONS", "Check"]
