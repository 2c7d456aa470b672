"""What a reply concludes with: right in any wording, denied nowhere, and no better for a list of guesses."""

from __future__ import annotations

import pytest

from context_bench_answer_quality import ShortAnswer
from context_bench_answer_quality.short_answer import short_answer

RIGHT = [
    ("Paris", "Paris"),
    ("PARIS 🙂", "paris"),
    ("The answer is Paris.", "Paris"),
    ("Answer: **Paris**", "Paris"),
    ("### Answer\nParis", "Paris"),
    ("Answer:\n\nParis", "Paris"),
    ("Answer = Paris", "Paris"),
    ('The correct answer is: "Paris"', "Paris"),
    ('{"answer": "Paris"}', "Paris"),
    (r"\[\boxed{Paris}\]", "Paris"),
    (r"\(\text{Paris}\)", "Paris"),
    ("1. Paris", "Paris"),
    ("> Paris", "Paris"),
    ("#### 42", "42"),
    ("答案是巴黎。", "巴黎"),
    ("巴黎是法国的首都。", "巴黎"),
    ("答えはParisです。", "Paris"),
    ("정답은 Paris입니다.", "Paris"),
    ("Die Antwort lautet Paris.", "Paris"),
    ("Réponse : Paris", "Paris"),
    ("Ответ: Paris", "Paris"),
    ("So, the answer is Paris, which is the capital of France.", "Paris"),
    ("It was written by Jane Austen in 1813, in England.", "Jane Austen"),
    ("The film stars Tom Hanks and Meg Ryan.", "Tom Hanks"),
    ("Terry Richardson is older than Annie Morton.", "Terry Richardson"),
    ("It was neither Rome nor Bern; it was Paris.", "Paris"),
    ("The capital isn't Lyon but Paris.", "Paris"),
    ("Paris, France", "Paris"),
    ("The answer is 1,234.5 km", "1234.5"),
    ("It's $3.50.", "$3.50"),
    ("Yes, both are American.", "yes"),
    ("The answer is no.", "no"),
    ("J. K. Rowling", "J.K. Rowling"),
    ("The Seine is a river in France. " * 20 + "Therefore, the city is Paris.", "Paris"),
]
CITIES = ["Paris", "London", "Rome", "Berlin", "Madrid", "Oslo", "Bern", "Wien", "Prag", "Kiev"]
LITTLE = [
    (", ".join(CITIES), "Rome"),
    ("\n".join(f"{number}. {city}" for number, city in enumerate(CITIES, 1)), "Rome"),
    ("\n".join(f"- {city}" for city in CITIES), "Rome"),
    (" or ".join(CITIES), "Rome"),
    (" ".join(CITIES), "Rome"),
    (f"It could be {', '.join(CITIES)}.", "Rome"),
    (f"The answer is one of these: {'; '.join(CITIES)}", "Rome"),
    (" / ".join(CITIES), "Rome"),
    ("、".join(CITIES), "Rome"),
    ("It is not Paris.", "Paris"),
    ("The answer is London, not Paris.", "Paris"),
    ("London", "Paris"),
    ("Parisian", "Paris"),
    ("I don't know", "no"),
    ("There is no way to know.", "no"),
    ("", "Paris"),
    (" \n", "Paris"),
    ("...", "Paris"),
]


@pytest.mark.parametrize(("reply", "reference"), RIGHT)
def test_a_right_answer_is_right_in_any_wording(reply: str, reference: str) -> None:
    assert short_answer(reply, [reference]) == 1.0
    assert short_answer(reply, ["nothing of the kind", reference]) == 1.0


@pytest.mark.parametrize(("reply", "reference"), LITTLE)
def test_guesses_denials_and_nothing_are_worth_little(reply: str, reference: str) -> None:
    assert short_answer(reply, [reference]) <= 0.2


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_a_list_is_worth_what_drawing_from_it_gives(count: int) -> None:
    total = sum(short_answer(" or ".join(CITIES[:count]), [city]) for city in CITIES[:count])
    assert total == pytest.approx(1.0)


def test_what_is_unscored_says_why_and_what_was_read_is_shown() -> None:
    evaluator = ShortAnswer()
    scores = evaluator.score({"answer": "Paris"}, {"response": "<think>Rome?</think>It is Paris."})
    assert (scores, scores.details) == ({"short_answer": 1.0}, {"concluded": "It is Paris."})  # type: ignore[attr-defined]
    assert evaluator.score({}, {"response": "Paris"}) == {}
    assert evaluator.score({"answer": "Paris"}, {}) == {}


def test_a_list_of_thousands_of_guesses_is_read() -> None:
    guesses = ", ".join(f"City{number}" for number in range(20_000))
    assert short_answer(f"Rome, {guesses}", ["Rome"]) == pytest.approx(1 / 20_001)
    for piece in ("Paris, ", "the answer ", "\\boxed{", "or ", "a. "):
        assert short_answer(piece * 20_000, ["Rome"]) == 0.0
