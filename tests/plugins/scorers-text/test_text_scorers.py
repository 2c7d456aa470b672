"""The scorers that need no model, against worked figures and near misses."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest

import context_bench_scorers
from context_bench_scorers import (
    ScoreResult,
    ScoringMethodType,
    UserTypeError,
    UserValueError,
    scorer_from_string,
)
from context_bench_scorers_text import (
    ExactMatch,
    ExactMatchEvaluator,
    Readability,
    ReadabilityEvaluator,
    Specificity,
    SpecificityEvaluator,
    WordCountMatch,
    WordCountMatchEvaluator,
    syllables,
)
from context_bench_scorers_text.words import sentences_of


def scores(found: list[ScoreResult]) -> list[float | None]:
    return [result.score for result in found]


@pytest.mark.parametrize(
    "scorer", [ExactMatch(), WordCountMatch()], ids=["exact-match", "word-count-match"]
)
@pytest.mark.parametrize("count", [1, 3])
def test_a_batch_with_more_or_fewer_references_is_refused(scorer: Any, count: int) -> None:
    for run in (scorer.run_batch, lambda *lists: asyncio.run(scorer.arun_batch(*lists))):
        with pytest.raises(
            UserValueError, match=f"There are 2 candidate_outputs and {count} reference_outputs"
        ):
            run(["a", "b"], ["a"] * count)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 0.0),
        ({"case_sensitive": False}, 1.0),
        ({"parity": "arthur"}, 1.0),
        ({"case_sensitive": False, "parity": "arthur"}, 0.0),
    ],
)
def test_case_counts_as_the_flag_says(options: dict[str, Any], expected: float) -> None:
    result = ExactMatch(**options).run(["Abc"], ["abc"])[0]
    assert result.score == expected
    assert result.category is not None
    assert result.category.name == ("match" if expected else "non match")


def test_exact_match_trims_nothing_and_lists_its_categories() -> None:
    assert scores(ExactMatch().run(["a", "a ", ""], ["a", "a", ""])) == [1.0, 0.0, 1.0]
    assert [category.name for category in ExactMatch.categories()] == ["non match", "match"]
    with pytest.raises(UserTypeError):
        ExactMatch().run(["a"])


@pytest.mark.parametrize(
    ("candidate", "reference", "expected"),
    [
        ("two words", "some words", 1.0),
        ("one", "some words", 0.5),
        ("here we have five words", "some words", 0.0),
        ("it's - fine.", "so-so, really", 1.0),
        ("", "", 1.0),
        ("...", "", 1.0),
        ("word", "", 0.0),
        ("", "word", 0.0),
        ("fill in the ___ here", "one two three four five", 1.0),
    ],
)
def test_word_counts_match(candidate: str, reference: str, expected: float) -> None:
    assert scores(WordCountMatch().run([candidate], [reference])) == [expected]


@pytest.mark.parametrize(
    ("text", "ease"),
    [
        ("The cat sat on the mat.", 116.145),
        ("Hello world.", 77.905),
        ("", None),
        ("...", None),
        (
            "The U.S. cat sat on the mat with the dog and the fox and the hen",
            206.835 - 1.015 * 17 - 84.6,
        ),
        ("One. Two. The cat sat on the mat.", 206.835 - 1.015 * 8 / 3 - 84.6),
    ],
)
def test_the_reading_ease_is_flesch_s(text: str, ease: float | None) -> None:
    assert scores(Readability().run([text])) == [
        ease if ease is None else pytest.approx(ease, abs=1e-9)
    ]


def test_there_is_no_lower_limit_of_readability() -> None:
    hard = "Incomprehensibilities characteristically institutionalize counterrevolutionary internationalization."
    found = scores(Readability().run([hard]))[0]
    assert found is not None
    assert found < -62


SYLLABLES = (Path(__file__).parent / "syllables.txt").read_text("utf-8").split()


def test_syllables_are_those_of_a_dictionary() -> None:
    """A list of words with their syllables by CMU's dictionary; at most one in forty may be missed."""
    pairs = [(entry[:-1], int(entry[-1])) for entry in SYLLABLES]
    missed = [(word, right, syllables(word)) for word, right in pairs if syllables(word) != right]
    assert len(pairs) >= 200
    assert len(missed) <= len(pairs) // 40, missed


def test_sentences_end_where_sentences_end() -> None:
    assert sentences_of("Dr. Rao paid 3.50 e.g. today. Why? J. Doe left ... No") == [
        "Dr. Rao paid 3.50 e.g. today.", "Why?", "J. Doe left ...", "No",
    ]  # fmt: skip


def test_specificity_is_the_mean_of_its_parts() -> None:
    scorer = Specificity()
    specific = "In 1998 Larry Page and Sergey Brin rented two rooms in Menlo Park."
    vague = "Some people usually do many different things, or maybe something like that, most of the time."
    high, low, empty = scorer.run([specific, vague, ""], batch_size=3)
    assert high.score == pytest.approx(1.0)
    assert high.score > (low.score or 0.0)
    for result in (high, low):
        assert all(0 <= part <= 1 for part in result.details.values())
        assert result.score == pytest.approx(sum(result.details.values()) / 3)
    assert low.details["vagueness"] == 0.0
    assert empty.score is None
    assert scores(Specificity(parity="arthur").run([specific])) == [pytest.approx(0.99)]


def test_the_predecessor_s_specificity_cuts_words_as_it_did() -> None:
    """0.33 times the sum of its three parts, by its code and wordfreq; there are no names and numbers to find."""
    from wordfreq import word_frequency

    [result] = Specificity(parity="arthur").run(["Zebras/quaggas well-known _ graze"])
    frequencies = [
        word_frequency(word, "en") for word in ("Zebras", "quaggas", "wellknown", "_", "graze")
    ]
    rarity = min(1.0, max(0.0, 2.0 - sum(min(0.001, each) for each in frequencies) / 5 / 0.0004))
    assert result.details["vagueness"] == pytest.approx(1.0)
    assert result.details["rarity"] == pytest.approx(rarity)
    [result] = Specificity(parity="arthur").run(
        ["The ___ cats graze on some wide plains by old rivers"]
    )
    assert result.details["vagueness"] == pytest.approx((11 - 1) / 11 / 0.2 - 4)


@pytest.mark.parametrize(
    ("text", "ours", "arthur"),
    [
        ("awesome", 0, 1),
        ("Some", 1, 1),
        ("most", 1, 2),
        ("a kind of magic, sort of", 2, 0),
        ("mankind of old", 0, 0),
        ("It is almost sure, I may add.", 2, 5),  # "most" is in its list twice
        ("Leastways dislike badgers", 0, 3),
        ("Perhaps several possibly various", 4, 0),
        ("", 0, 0),
    ],
)
def test_a_vague_word_is_a_word(text: str, ours: int, arthur: int) -> None:
    assert Specificity().get_num_vague_words(text) == ours
    assert Specificity(parity="arthur").get_num_vague_words(text) == arthur


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Larry Page paid 3,000 dollars on the 2nd of May", 5),
        ("The cat saw I was there", 0),
        ("Two of them left", 1),
        ("THIS IS ALL IN CAPITALS", 0),
        ("Kowalczyk left", 1),
        ("", 0),
    ],
)
def test_names_and_numbers_are_counted(text: str, count: int) -> None:
    assert Specificity().get_pn_and_num(text) == count


def test_frequencies_are_those_of_english() -> None:
    scorer = Specificity()
    assert scorer.get_mean_word_freq("the") == 0.001
    assert scorer.get_mean_word_freq("") == 0.001
    assert 0 < scorer.get_mean_word_freq("zygote") < 1e-5
    assert scorer.get_mean_word_freq("the zygote") == pytest.approx(
        (0.001 + scorer.get_mean_word_freq("zygote")) / 2
    )


@pytest.mark.parametrize(
    "scorer",
    [
        ExactMatch(False),
        ExactMatch(parity="arthur"),
        WordCountMatch(),
        Readability(),
        Specificity(),
    ],
    ids=repr,
)
def test_each_is_made_again_from_json_and_runs_asynchronously(scorer: Any) -> None:
    again = type(scorer).from_dict(json.loads(json.dumps(scorer.to_dict())))
    assert again == scorer
    assert scorer_from_string(scorer.name()) is type(scorer)
    assert getattr(context_bench_scorers, type(scorer).__name__) is type(scorer)
    assert scorer.to_metadata().type is ScoringMethodType.BuiltIn
    texts, wanted = ["The cat sat.", "A dog ran away."], ["The cat sat.", "No."]
    assert asyncio.run(scorer.arun(texts, wanted)) == again.run(texts, wanted, batch_size=2)


@pytest.mark.parametrize("scorer", [ExactMatch, Specificity])
def test_an_unknown_parity_is_refused(scorer: Any) -> None:
    with pytest.raises(UserValueError, match="parity must be 'arthur' or None, not 'old'"):
        scorer(parity="old")


def test_the_evaluators_score_rows() -> None:
    row, output = {"answers": ["Rome", "Roma"], "question": "q"}, {"response": "Roma"}
    assert ExactMatchEvaluator().score(row, output) == {"scorer_exact_match": 1.0}
    assert ExactMatchEvaluator().score(row, output).details == {"category": "match"}
    assert WordCountMatchEvaluator().score(row, output) == {"word_count_match": 1.0}
    assert set(ReadabilityEvaluator().score(row, output)) == {"readability"}
    assert set(SpecificityEvaluator().score(row, output)) == {"specificity"}
    assert ReadabilityEvaluator().score({}, {"response": ""}) == {}


def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    for scorer in (ExactMatch(), WordCountMatch(), Readability(), Specificity()):
        assert len(scorer.run(["An unusual text, xyzzy."], ["a"])) == 1


def test_the_blocks_of_the_readme_run(run_readme: Any) -> None:
    run_readme()


@pytest.mark.parametrize("unit", ["A.\n", "U.S. ", "p.s. ", "a", "e", "1,", "Mr. ", ".", "?)", "…"])
@pytest.mark.parametrize(
    "scorer", [Readability(), Specificity()], ids=["readability", "specificity"]
)
def test_a_huge_text_is_read_in_one_pass(scorer: Any, unit: str) -> None:
    """Where each abbreviation looked at everything before it, these took minutes."""
    text = "a " + unit * (200_000 // len(unit)) + "x"
    assert scorer.run([text])[0].score is not None
