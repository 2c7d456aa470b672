"""AnswerQuality: documented values, options, and what is no answer at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from context_bench.catalog import open_catalog
from context_bench_answer_quality import AnswerQuality, normalize_answer

suites = pytest.importorskip(
    "context_bench_testing.suites", reason="context-bench-testing is not installed"
)
KEYS = ["f1", "exact_match", "recall", "contains"]
ZERO = dict.fromkeys(KEYS, 0.0)
ONE = dict.fromkeys(KEYS, 1.0)


def score(answer, response, **options):
    field = "answers" if isinstance(answer, (list, tuple, dict)) else "answer"
    return AnswerQuality(**options).score({field: answer}, {"response": response})


@pytest.mark.parametrize(
    ("answer", "response", "expected"),
    [
        pytest.param("Paris", "The capital is Paris.", [0.5, 0, 1, 1], id="the documented example"),
        pytest.param("Paris", "Paris", [1, 1, 1, 1], id="the same text"),
        pytest.param(
            "Paris", "the paris!", [1, 1, 1, 1], id="case, article and punctuation do not count"
        ),
        pytest.param("Paris", "London", [0, 0, 0, 0], id="another word"),
        pytest.param("U.S.A.", "USA", [1, 1, 1, 0], id="punctuation goes before articles"),
        pytest.param("1,000", "1000", [1, 1, 1, 0], id="thousands separator"),
        pytest.param(
            "well-known", "well known", [0, 0, 0, 0], id="a deleted hyphen joins two words"
        ),
        pytest.param(
            "a b b c",
            "b b b d",
            [4 / 7, 0, 2 / 3, 0],
            id="repeated tokens count as often as in both",
        ),
        pytest.param("no", "I do not know", [0, 0, 0, 1], id="a substring inside a word"),
        pytest.param("‘Paris’", "Paris", [0, 0, 0, 0], id="curly quotes stay"),
        pytest.param("New York", "new\n\tyork", [1, 1, 1, 0], id="any white space separates"),
        pytest.param(
            "the", "an", [0, 1, 0, 0], id="version 1.1 has no f1 for two texts of articles"
        ),
        pytest.param(
            " Paris \n",
            "in Paris",
            [2 / 3, 0, 1, 1],
            id="white space around a reference is ignored",
        ),
        pytest.param("the’s", "’s", [1, 1, 1, 0], id="an article ends at a curly quote"),
        pytest.param(
            ["NYC", "New York City"],
            "New York City",
            [1, 1, 1, 1],
            id="the best of several references",
        ),
        pytest.param(
            ["x y", "y z w", "y q"],
            "y",
            [2 / 3, 0, 0.5, 0],
            id="partial overlap with each reference",
        ),
        pytest.param([42, "forty-two"], "42", [1, 1, 1, 1], id="a number stands for its digits"),
        pytest.param([3.5], "3.5", [1, 1, 1, 1], id="a decimal number"),
        pytest.param(
            [None, "", "Paris"], "Paris", [1, 1, 1, 1], id="blanks among references are passed over"
        ),
        pytest.param(
            {"text": ["Paris"], "answer_start": [3]},
            "Paris",
            [1, 1, 1, 1],
            id="the layout of SQuAD tables",
        ),
        pytest.param("42", 42, [1, 1, 1, 1], id="a response that is a number"),
        pytest.param("Paris", "", [0, 0, 0, 0], id="an empty response"),
        pytest.param("Paris", " \n", [0, 0, 0, 0], id="a blank response"),
        pytest.param(
            "The", "", [0, 0, 0, 0], id="an empty response against a reference of articles"
        ),
        pytest.param("x " * 20, "x " * 10, [2 / 3, 0, 0.5, 0], id="a long reference"),
    ],
)
def test_scores_follow_squad(answer, response, expected):
    assert score(answer, response) == pytest.approx(dict(zip(KEYS, expected, strict=True)))


def test_each_score_takes_its_own_best_reference():
    # "b c d e f" has the better recall-free f1 with one reference and the whole recall with the other.
    scores = score(["b c d e x y z w", "b"], "b c d e f")
    assert scores["f1"] == pytest.approx(2 * (4 / 5) * (4 / 8) / (4 / 5 + 4 / 8))
    assert scores["recall"] == 1.0
    assert scores["contains"] == 1.0


def test_a_single_text_in_answers_is_one_reference():
    assert AnswerQuality().score({"answers": "Paris"}, {"response": "Paris"}) == ONE


def test_answers_come_before_answer_and_answer_fills_in_for_empty_answers():
    both = {"answers": ["Rome"], "answer": "Paris"}
    assert AnswerQuality().score(both, {"response": "Paris"}) == ZERO
    assert AnswerQuality().score({**both, "answers": []}, {"response": "Paris"}) == ONE


@pytest.mark.parametrize(
    "original",
    [
        pytest.param({}, id="no field"),
        pytest.param({"answer": None}, id="None"),
        pytest.param({"answer": ""}, id="an empty text"),
        pytest.param({"answer": " \t\n"}, id="a blank text"),
        pytest.param({"answer": float("nan")}, id="the NaN of a data frame"),
        pytest.param({"answer": b"\xff"}, id="bytes"),
        pytest.param({"answer": [["Paris"]]}, id="a list of lists"),
        pytest.param({"answers": []}, id="no alternatives"),
        pytest.param({"answers": ["", None]}, id="empty alternatives"),
        pytest.param({"answers": [["nested"]]}, id="nested alternatives"),
        pytest.param({"answers": {"start": 3}}, id="a table without texts"),
        pytest.param({"answer": 10**5000}, id="an integer that cannot be printed"),
    ],
)
def test_without_a_reference_the_row_is_unscored(original):
    scores = AnswerQuality().score(original, {"response": "garbage"})
    assert scores == {}
    assert scores.details["unscored"].startswith("the example")


@pytest.mark.parametrize(
    "processed", [{}, {"response": None}, {"response": b"\xff"}, {"response": ["x"]}]
)
def test_without_a_response_the_row_is_unscored(processed):
    assert AnswerQuality().score({"answer": "Paris"}, processed) == {}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a\x00the\x00b", id="NUL"),
        pytest.param("\ud800 lone", id="lone surrogate"),
        pytest.param("שלום עולם", id="right to left"),
        pytest.param("İstanbul ﬃ", id="letters that grow in lower case"),
        pytest.param("word, " * 400_000, id="megabytes"),
    ],
)
@pytest.mark.parametrize("tokens", ["words", "characters"])
def test_any_text_equals_itself(text, tokens):
    assert score(text, text, tokens=tokens, contains="word") == ONE


@pytest.mark.parametrize(
    ("answer", "response", "expected"),
    [
        pytest.param("no", "I do not know", 0, id="inside a word"),
        pytest.param("no", "I know: no.", 1, id="inside a word first, then on its own"),
        pytest.param("no", "NO", 1, id="the whole text"),
        pytest.param("no", "no_one", 0, id="an underscore joins"),
        pytest.param("$5", "it costs $5.", 1, id="a sign needs no boundary"),
        pytest.param("$5", "US$50", 0, id="but a digit does"),
        pytest.param("C++", "I write C++17", 1, id="after a sign anything may follow"),
        pytest.param(
            "東京", "私は東京に住む", 1, id="scripts without spaces have no word boundaries"
        ),
        pytest.param("été", "à l'été", 1, id="accents are letters"),
        pytest.param("et", "été", 0, id="and join words"),
    ],
)
def test_contains_on_word_boundaries(answer, response, expected):
    assert score(answer, response, contains="word")["contains"] == expected


@pytest.mark.parametrize(
    ("answer", "response", "f1"),
    [
        pytest.param("東京", "東京です", 2 * 0.5 / 1.5, id="Japanese"),
        pytest.param("北京大学。", "北京大学", 1.0, id="full-width punctuation goes"),
        pytest.param("GPT-4模型", "模型 gpt4", 1.0, id="Latin words stay whole"),
        pytest.param("ก ข", "กข", 1.0, id="Thai"),
        pytest.param("New York", "York", 2 / 3, id="English as ever"),
        pytest.param("नमस्ते", "नमक", 0.0, id="Devanagari has spaces"),
    ],
)
def test_characters_are_tokens_of_scripts_without_spaces(answer, response, f1):
    assert score(answer, response, tokens="characters")["f1"] == pytest.approx(f1)


def test_squad_2_reads_an_empty_reference_as_unanswerable():
    assert score("", "", rules="squad-2.0") == ONE
    assert score([], "", rules="squad-2.0") == ONE
    assert score("", "Paris", rules="squad-2.0") == ZERO
    assert score({"text": [], "answer_start": []}, "", rules="squad-2.0") == ONE
    assert score(None, "", rules="squad-2.0") == {}


def test_squad_2_gives_f1_to_two_texts_of_which_nothing_is_left():
    assert score("the", "a!", rules="squad-2.0") == ONE
    assert score("the", "Paris", rules="squad-2.0") == ZERO


@pytest.mark.parametrize(
    ("rules", "answers", "response", "f1", "exact_match"),
    [  # of the benchmarks' own scripts
        pytest.param("squad-2.0", ["-"], "", 1.0, 1.0, id="a reference of marks alone is none"),
        pytest.param("squad-2.0", [""], "The.", 1.0, 1.0, id="nor is such a response an answer"),
        pytest.param(
            "squad-2.0",
            ["the", "cat"],
            "the",
            0.0,
            0.0,
            id="beside a reference with words it does not count",
        ),
        pytest.param(
            "squad-2.0", ["the", "cat"], "a cat", 1.0, 1.0, id="a reference with words counts"
        ),
        pytest.param("hotpotqa", ["yes"], "Yes, both of them", 0.0, 0.0, id="more than yes"),
        pytest.param("hotpotqa", ["yes"], "Yes.", 1.0, 1.0, id="yes"),
        pytest.param("hotpotqa", ["No Doubt"], "no", 0.0, 0.0, id="no, where a name is right"),
        pytest.param("hotpotqa", ["No Doubt"], "band No Doubt", 0.8, 0.0, id="a part of a name"),
        pytest.param(
            "hotpotqa", ["no", "No Doubt"], "doubt no", 1.0, 0.0, id="each reference for itself"
        ),
        pytest.param("triviaqa", ["well-known"], "well_known", 1.0, 1.0, id="marks are spaces"),
        pytest.param("triviaqa", ["USA"], "U.S.A.", 0.0, 0.0, id="which parts letters"),
        pytest.param("triviaqa", ["dont"], "don\u2019t", 0.0, 0.0, id="as single curly quotes do"),
        pytest.param(
            "triviaqa", ["rock n roll"], "Rock \u2018n\u2019 Roll", 1.0, 1.0, id="on both sides"
        ),
        pytest.param(
            "triviaqa", ["\u201crock\u201d"], "rock", 0.0, 0.0, id="and double ones do not"
        ),
    ],
)
def test_the_rules_are_those_of_the_benchmark_s_script(rules, answers, response, f1, exact_match):
    scores = score(answers, response, rules=rules)
    assert (scores["f1"], scores["exact_match"]) == (pytest.approx(f1), exact_match)


@pytest.mark.parametrize("option", ["contains", "tokens", "rules"])
def test_an_unknown_value_of_an_option_names_the_choices(option):
    with pytest.raises(ValueError, match=rf"no {option}='nonsense'\. Choose one of: \w"):
        AnswerQuality(**{option: "nonsense"})


def test_the_fingerprint_holds_every_option():
    assert AnswerQuality(contains="word").fingerprint() == {
        "contains": "word",
        "tokens": "words",
        "rules": "squad-1.1",
    }


def test_normalize_answer_is_the_text_that_is_compared():
    assert normalize_answer("  The U.S.A.,\n an  Answer") == "usa answer"


class TestPackage(suites.PackageSuite):
    distribution = "context-bench-answer-quality"
    readme = (
        Path(__file__).resolve().parents[3]
        / "plugins"
        / "context-bench-answer-quality"
        / "README.md"
    )


class TestAnswerQuality(suites.EvaluatorSuite):
    component = "answer-quality"
    expected = (({"answer": "東京"}, {"response": "東京"}, ONE),)


def test_it_is_wired_to_everything():
    manifest = open_catalog((), {}).find("evaluators", "answer-quality").manifest
    assert [rule.always for rule in manifest.wire] == [True]
    assert list(manifest.scores) == KEYS
