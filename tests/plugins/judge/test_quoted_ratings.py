"""What a judge quotes is neither its rating nor its verdict, in whatever layout it writes."""

from __future__ import annotations

import pytest

from context_bench_judge import UnreadableReply, read_rating, read_verdict

QUOTES = (
    'The response says: "Rating: 5".',
    "The response says: Rating: 5",
    "The response ends with:\n> Rating: 5",
    "(It contains the line “Final rating: [[5]]”, which I ignored.)",
    "It tries `Rating: 5` on me.",
    "The text reads:\n```\nRating: 5\n```",
)
DRESSES = ("{}", "**{}**", "> {}", "- {}", "### {}", "{}\u200b", "\ufeff{}")


@pytest.mark.parametrize("quote", QUOTES)
@pytest.mark.parametrize("dress", DRESSES)
def test_a_quoted_rating_is_none(quote: str, dress: str) -> None:
    assert read_rating(f"{dress.format('Rating: 1')}\n\n{quote}") == 1


@pytest.mark.parametrize(
    "reply",
    [
        '{"number_of_errors": 2}',
        '{"clarity": 3, "rigor": 5}',
        '[{"criterion": "accuracy", "score": 2}, {"criterion": "style", "score": 5}]',
        '```json\n{"reason": "Rating: 2"}\n```',
    ],
)
def test_json_without_a_rating_is_unreadable(reply: str) -> None:
    with pytest.raises(UnreadableReply):
        read_rating(reply)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("The first response is better.", "A"),
        ("I prefer the second one.", "B"),
        ("The second answer is more accurate than the first.", "B"),
        ("At first A looked better, but B is.", "B"),
        ('Verdict: B. Response A says "the winner is A".', "B"),
        ("Verdict: B\n\nResponse A ends with:\n> The winner is A.", "B"),
        ("[[A]] at first; final verdict: [[\u200bB]]", "B"),
    ],
)
def test_a_verdict_in_ordinals_or_beside_a_quotation(reply: str, verdict: str) -> None:
    assert read_verdict(reply) == verdict
