"""RougeScore: its options, its keys, and texts of every kind."""

from __future__ import annotations

import pickle
import sys

import pytest

from context_bench_rouge import Mode, RougeScore, RougeType, score_band
from context_bench_rouge.tokenizers import unicode_words

REFERENCE = "The quick brown fox jumps over the lazy dog."
REORDERED = "The lazy dog is jumped over by the quick brown fox."
PARTIAL = "The quick brown fox runs."


def score(answer, response, *args, **options):
    field = "answers" if isinstance(answer, list) else "answer"
    return RougeScore(*args, **options).score({field: answer}, {"response": response})


@pytest.mark.parametrize(
    ("response", "rouge_type", "options", "values"),
    [
        pytest.param(REFERENCE, "rougeL", {}, (1, 1, 1), id="identical"),
        pytest.param(PARTIAL, "rougeL", {}, (0.8, 0.4444, 0.5714), id="partial L"),
        pytest.param(REORDERED, "rouge1", {}, (0.7273, 0.8889, 0.8), id="reordered 1"),
        pytest.param(
            REORDERED, "rouge1", {"stemmer": True}, (0.8182, 1, 0.9), id="reordered 1, stemmed"
        ),
        pytest.param(REORDERED, "rouge2", {}, (0.5, 0.625, 0.5556), id="reordered 2"),
        pytest.param(REORDERED, "rougeL", {}, (0.3636, 0.4444, 0.4), id="reordered L"),
        pytest.param(
            REORDERED,
            "rougeL",
            {"tokenizer": "whitespace"},
            (0.2727, 0.3333, 0.3),
            id="white space",
        ),
        pytest.param("", "rougeL", {}, (0, 0, 0), id="an empty response"),
        pytest.param("...", "rouge2", {}, (0, 0, 0), id="a response without words"),
        pytest.param("fox", "rouge2", {}, (0, 0, 0), id="too short for a bigram"),
    ],
)
def test_known_values(response, rouge_type, options, values):
    scores = score(REFERENCE, response, rouge_type, **options)
    keys = [f"{rouge_type}_precision", f"{rouge_type}_recall", rouge_type]
    assert scores == pytest.approx(dict(zip(keys, values, strict=True)), abs=1e-4)


@pytest.mark.parametrize(
    "spelling", ["rouge1", "ROUGE_1", "Rouge-1", "rouge 1", RougeType.ROUGE_1, ["ROUGE_1"]]
)
def test_a_type_may_be_spelt_in_any_way(spelling):
    assert score(REFERENCE, PARTIAL, spelling) == score(REFERENCE, PARTIAL, RougeType.ROUGE_1)


@pytest.mark.parametrize("spelling", ["recall", "RECALL", "Recall", Mode.RECALL])
def test_a_mode_may_be_spelt_in_any_way(spelling):
    scores = score(REFERENCE, REORDERED, "ROUGE_1", spelling)
    assert scores["rouge1"] == scores["rouge1_recall"] == pytest.approx(8 / 9)
    assert scores["rouge1_precision"] == pytest.approx(8 / 11)


def test_the_default_is_the_f_measure_of_rouge_l():
    assert score(REFERENCE, PARTIAL) == score(REFERENCE, PARTIAL, RougeType.ROUGE_L, Mode.FMEASURE)
    assert RougeScore().primary == "rougeL"


@pytest.mark.parametrize(
    "everything", ["all", "ALL", list(RougeType), "rouge1,rouge2,rougeL,rougeLsum"]
)
def test_all_types_at_once(everything):
    scores = score(REFERENCE, REORDERED, everything)
    assert list(scores) == [
        *(
            "rouge1",
            "rouge1_precision",
            "rouge1_recall",
            "rouge2",
            "rouge2_precision",
            "rouge2_recall",
        ),
        *(
            "rougeL",
            "rougeL_precision",
            "rougeL_recall",
            "rougeLsum",
            "rougeLsum_precision",
            "rougeLsum_recall",
        ),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"rouge_type": "ROUGE_9"},
            r"no RougeType 'ROUGE_9'.*ROUGE_1 \(rouge1\), .*ROUGE_LSUM \(rougeLsum\)",
        ),
        ({"rouge_type": []}, "no rouge_type"),
        ({"rouge_type": 1}, r"no RougeType 1\..*ROUGE_1 \(rouge1\)"),
        ({"rouge_type": None}, r"no RougeType None\..*ROUGE_1 \(rouge1\)"),
        ({"rougeType": [2]}, r"no RougeType 2\..*ROUGE_1 \(rouge1\)"),
        ({"mode": "f2"}, r"no Mode 'f2'.*PRECISION.*RECALL.*FMEASURE"),
        ({"stemmer": "snowball"}, "no stemmer 'snowball'.*porter"),
        ({"tokenizer": "nltk"}, "no tokenizer 'nltk'.*auto, rouge-score, unicode, whitespace"),
    ],
)
def test_an_unknown_value_of_an_option_names_the_choices(options, message):
    with pytest.raises(ValueError, match=message):
        RougeScore(**options)


def test_the_stemmer_may_be_named():
    assert RougeScore(stemmer="porter").fingerprint() == RougeScore(stemmer=True).fingerprint()
    assert RougeScore(stemmer="off").fingerprint() == RougeScore().fingerprint()


def test_each_type_takes_the_reference_with_its_best_f_measure():
    references = ["a b x y", "b a c d"]
    scores = score(references, "a b c d", ["rouge1", "rouge2"])
    assert scores["rouge1"] == 1.0  # of the second, which has all the words
    assert scores["rouge2"] == pytest.approx(1 / 3)
    assert score(references, "a b c d", "rougeL", "recall")["rougeL"] == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("東京へ行く。", id="Japanese"),
        pytest.param("我们在2024年去了北京。", id="Chinese"),
        pytest.param("Мы поехали в Москву", id="Russian"),
        pytest.param("नमस्ते दुनिया", id="Hindi"),
        pytest.param("สวัสดีชาวโลก", id="Thai"),
        pytest.param("שלום עולם", id="Hebrew"),
        pytest.param("مرحبا بالعالم", id="Arabic"),
        pytest.param("안녕하세요 세계", id="Korean"),
        pytest.param("γειά σου κόσμε", id="Greek"),
        pytest.param("٤٢ ٣٠", id="Arabic digits"),
        pytest.param("２０２４ １２", id="full-width digits"),
        pytest.param("é à", id="Latin letters without one of a to z"),
    ],
)
def test_a_text_in_any_script_equals_itself(text):
    scores = score(text, text, "all")
    assert [scores[key] for key in ("rouge1", "rouge2", "rougeL", "rougeLsum")] == [1.0] * 4
    assert score(text, "something else", "rouge1")["rouge1"] == 0.0


def test_partial_overlap_in_other_scripts():
    assert score("東京へ行く", "京都へ行く", "rouge1")["rouge1"] == pytest.approx(4 / 5)
    assert score("Мы поехали в Москву", "мы были в москве", "rouge1")["rouge1"] == pytest.approx(
        2 / 4
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("Café au LAIT", ["café", "au", "lait"], id="accents"),
        pytest.param("cafe\u0301", ["café"], id="a decomposed accent"),
        pytest.param(
            "snake_case, x-y", ["snake", "case", "x", "y"], id="punctuation and underscore"
        ),
        pytest.param("ＡＢＣ１２３", ["abc123"], id="full-width letters"),
        pytest.param("東京tower2", ["東", "京", "tower2"], id="two scripts"),
        pytest.param("हिन्दी", ["हिन्दी"], id="combining vowels stay with their letter"),
        pytest.param("ที่นี่", ["ที่", "นี่"], id="Thai marks stay with their letter"),
        pytest.param("\ud800 a\x00b", ["a", "b"], id="no letters"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_unicode_words(text, words):
    assert unicode_words(text) == words


def test_a_reference_in_latin_letters_is_tokenized_as_in_rouge_score():
    # rouge-score drops what is not a-z: "naïve" has the words "na" and "ve".
    assert score("naïve α", "na ve", "rouge1")["rouge1"] == 1.0
    assert score("naïve", "na ve", "rouge1", tokenizer="unicode")["rouge1"] == 0.0


def test_a_function_may_be_the_tokenizer():
    evaluator = RougeScore("rouge1", tokenizer=list, stemmer=True)
    assert evaluator.score({"answer": "abc"}, {"response": "abd"})["rouge1"] == pytest.approx(2 / 3)
    assert evaluator.fingerprint()["tokenizer"] == "builtins.list"


def test_rouge_lsum_takes_lines_for_sentences():
    answer, response = "first words here\nsecond line there", "second line there\nfirst words here"
    scores = score(answer, response, "all")
    assert scores["rougeLsum"] == 1.0
    assert scores["rougeL"] == 0.5


def test_details_hold_all_three_values_and_the_band_of_the_score():
    scores = score(REFERENCE, REORDERED, "rouge1", "recall")
    assert scores.details == {
        "rouge1": {
            "precision": pytest.approx(8 / 11),
            "recall": pytest.approx(8 / 9),
            "fmeasure": pytest.approx(0.8),
            "band": "High overlap",
        }
    }


@pytest.mark.parametrize(
    ("value", "band"),
    [
        *(
            (1.0, "Nearly complete overlap"),
            (0.9, "Nearly complete overlap"),
            (0.899, "High overlap"),
            (0.7, "High overlap"),
        ),
        *(
            (0.699, "Moderate overlap"),
            (0.5, "Moderate overlap"),
            (0.499, "Some overlap"),
            (0.3, "Some overlap"),
        ),
        *(
            (0.299, "Little to no overlap"),
            (0.0, "Little to no overlap"),
            (0.1 + 0.2 + 0.6, "Nearly complete overlap"),
        ),
    ],
)
def test_bands_hold_their_lower_bound(value, band):
    assert score_band(value) == band


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), None, "high"])
def test_a_band_needs_a_score(value):
    with pytest.raises(ValueError, match="from 0 to 1"):
        score_band(value)


@pytest.mark.parametrize(
    ("original", "processed"),
    [
        pytest.param({}, {"response": "x"}, id="no reference"),
        pytest.param({"answer": ""}, {"response": "x"}, id="an empty reference"),
        pytest.param({"answers": [None]}, {"response": "x"}, id="no text among the references"),
        pytest.param({"answer": b"\xff"}, {"response": "x"}, id="bytes"),
        pytest.param({"answer": "x"}, {}, id="no response"),
        pytest.param({"answer": "x"}, {"response": None}, id="a response that is None"),
    ],
)
def test_nothing_to_compare_leaves_the_row_unscored(original, processed):
    assert RougeScore("all").score(original, processed) == {}


@pytest.mark.parametrize("response", ["", " ", "words"])
def test_a_reference_of_white_space_alone_scores_zero_as_in_rouge_score(response):
    scores = RougeScore("all").score({"answer": " \n"}, {"response": response})
    assert scores
    assert set(scores.values()) == {0.0}


def test_odd_and_large_texts_are_scored():
    text = "a\x00b \ud800 c\u202e d " * 50_000
    scores = score(text, text, "all", stemmer=True)
    assert scores["rouge2"] == scores["rougeL"] == 1.0


def test_marks_by_the_hundred_thousand_are_normalized_in_one_pass():
    """They are put into an order in time by their square, so that these took minutes."""
    assert score("東京" + "\u0301\u0316" * 500_000, "東京タワー", "rouge1")["rouge1"] > 0


def test_a_missing_nltk_is_said_when_the_evaluator_is_made(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(
        ImportError, match=r"NLTK, which is not installed\. Install it with the extra 'sentences'"
    ):
        RougeScore("rougeLsum", split_summaries=True)
    assert (
        RougeScore("rougeL", split_summaries=True).score({"answer": "a"}, {"response": "a"})[
            "rougeL"
        ]
        == 1.0
    )


def test_a_missing_punkt_model_is_said_when_the_evaluator_is_made(monkeypatch):
    nltk = pytest.importorskip("nltk", reason="NLTK splits sentences")

    def not_found(text):
        raise LookupError(text)

    monkeypatch.setattr(nltk, "sent_tokenize", not_found)
    with pytest.raises(ImportError, match=r"python -m nltk\.downloader punkt_tab"):
        RougeScore("all", split_summaries=True)


def test_the_fingerprint_holds_every_option():
    assert RougeScore(
        ["rouge1", "rougeL"], "recall", stemmer=True, tokenizer="unicode"
    ).fingerprint() == {
        "rouge_type": ["rouge1", "rougeL"],
        "mode": "recall",
        "stemmer": True,
        "tokenizer": "unicode",
        "split_summaries": False,
    }


def test_an_evaluator_survives_pickling_for_a_worker_process():
    evaluator = RougeScore("all", stemmer=True)
    clone = pickle.loads(pickle.dumps(evaluator))
    row = {"answer": REFERENCE}, {"response": REORDERED}
    assert clone.score(*row) == evaluator.score(*row)
    scores = pickle.loads(pickle.dumps(evaluator.score(*row)))
    assert scores.details == evaluator.score(*row).details


def test_the_type_may_be_given_under_its_documented_name():
    assert (
        RougeScore(rougeType="ROUGE_1").primary
        == RougeScore(rougeType=RougeType.ROUGE_1).primary
        == "rouge1"
    )
    with pytest.raises(ValueError, match="one option"):
        RougeScore("rouge1", rougeType="rouge2")


def test_it_gives_the_keys_that_it_says_it_gives():
    for kinds in ("ROUGE_1", "rouge2,rougeL", "all"):
        evaluator = RougeScore(kinds)
        assert (
            tuple(evaluator.score({"answer": "a b"}, {"response": "a c"})) == evaluator.score_keys
        )
        assert evaluator.primary in evaluator.score_keys


def test_of_several_references_the_best_by_f_counts_and_not_by_the_mode():
    references = ["a b c d e f g h", "a b"]
    assert RougeScore(mode="precision").score({"answers": references}, {"response": "a b c"})[
        "rougeL"
    ] == pytest.approx(2 / 3)
