"""What the model is told at each step."""

from __future__ import annotations

PROMPTS_VERSION = "1"
PROMPTS = {
    "keyphrases": (
        "List the phrases of the text that a summary of it must not lose: who, what, where, when, how much, and what follows "
        "from it. Take them from the text as they stand, the most important first.\n\n{text}\n\n"
        'Reply with a JSON object of one field: "keyphrases", a list of texts.'
    ),
    "questions": (
        "Write closed questions about the text, each answered with yes by the text itself, so that somebody who has read only a "
        "good summary could answer them too. Ask about the phrases, one fact a question; without phrases ask about what matters "
        "most.\n\n{text}\n\n{keyphrases}\n\n"
        'Reply with a JSON object of one field: "questions", a list of texts.'
    ),
    "answers": (
        "Answer each numbered question from the text alone: 1 when the text says yes, 0 when it says no or does not say."
        "\n\n{text}\n\n{questions}\n\n"
        'Reply with a JSON object of one field: "answers", a list of 1s and 0s in the order of the questions.'
    ),
}
"""The three steps; ``answers`` is asked of the summary, and of the source when questions are verified."""
