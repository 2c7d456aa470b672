"""From records to examples, and what they are scored by."""

from __future__ import annotations

import tracemalloc
from difflib import SequenceMatcher

import pytest

from context_bench_huggingface import Row
from context_bench_long_context import InfiniteBench, LongBench, records
from context_bench_long_context.summary_overlap import rouge_l


@pytest.mark.parametrize(
    ("task", "answers", "response", "score"),
    [
        ("qasper", ["the cat", "a dog"], "dog", 1.0),
        ("trec", ["City"], "City\nState", 1.0),
        ("trec", ["City"], "City or State", 0.5),
        ("passage_retrieval_en", ["Paragraph 3"], "Paragraph 3, not Paragraph 4", 0.5),
        ("passage_count", ["7"], "7", 1.0),
        ("lcc", ["x = 1"], "# comment\nx = 1", 1.0),
        ("gov_report", ["the cat sat."], "zzz", 0.0),
        ("trec_e", ["City"], "City\nState", 1.0),
    ],
)
def test_each_task_of_longbench_has_its_metric(task, answers, response, score):
    example = {"task": task, "answers": answers, "all_classes": ["City", "State"]}
    assert LongBench().score(example, {"response": response}) == {"longbench_score": score}


@pytest.mark.parametrize(
    ("task", "answers", "response", "score"),
    [
        ("passkey", ["123"], "The key is 123.", 1.0),
        ("passkey", ["123"], "1234", 0.0),
        ("kv_retrieval", ["a-b"], 'It is "a-b".', 1.0),
        ("longdialogue_qa_eng", ["ANN"], "Ann!", 1.0),
        ("longbook_choice_eng", ["cat", "B"], "B", 1.0),
        ("longbook_choice_eng", ["cat", "B"], "C. cat", 0.0),
        ("code_run", ["-4"], "The result is -4.", 1.0),
        ("math_find", [88], "88", 1.0),
        ("math_find", [88], "8" * 400, 0.0),
        ("math_find", [0.5], "8" * 400, 0.0),
        ("math_find", [2], "It is 2.", 1.0),
        ("math_find", [2], "2.0", 1.0),
        ("math_find", [2], "2.97", 0.0),
        ("math_find", [2.97], "2", 0.0),
        ("math_find", [9007199254740993], "9007199254740993", 1.0),
        ("math_find", [9007199254740993], "9007199254740992", 0.0),
        ("math_calc", ["1", "2", "3", "4"], "[1, 2, 9, 4]", 0.5),
        ("math_calc", ["5", "12"], "-5\n-012", 1.0),
        ("math_calc", ["-5", "12"], "-5, 12", 1.0),
        ("math_calc", ["-5", "12"], "5, 12", 0.0),
        ("math_calc", ["5"], "５", 0.0),
        ("longbook_choice_eng", ["cat", "B"], "\n cat", 1.0),
        ("longbook_choice_eng", ["cat", "B"], "the CD, and B", 0.0),
        ("longbook_sum_eng", ["京都"], "京都", 0.0),
        ("code_debug", ["parse", "B"], "The answer is: B", 1.0),
        ("code_debug", ["parse", "B"], "It is parse", 0.0),
        ("code_debug", ["parse", "B"], "\nB. parse", 1.0),
    ],
)
def test_each_task_of_infinitebench_has_its_metric(task, answers, response, score):
    assert InfiniteBench().score({"task": task, "answers": answers}, {"response": response}) == {
        "infinitebench_score": score
    }


@pytest.mark.parametrize(
    ("response", "score"),
    [
        ("I looked at A and B.\nNow C.", 1.0),
        ("I looked at B and A.\nNow B.", 0.0),
        ("no letter yet\nC or B", 1.0),
        ("parse", 1.0),
    ],
)
def test_the_later_rule_for_code_debug_reads_the_first_line_with_a_letter(response, score):
    example = {"task": "code_debug", "answers": ["parse", "B"]}
    assert InfiniteBench(code_debug="last-letter").score(example, {"response": response}) == {
        "infinitebench_score": score
    }


def test_an_unknown_task_is_refused_as_an_option_and_unscored_in_a_row():
    for evaluator in (LongBench, InfiniteBench):
        with pytest.raises(ValueError, match="has no task 'x'"):
            evaluator(task="x")
        assert evaluator().score({"task": "x", "answer": "a"}, {"response": "a"}) == {}


def test_options_are_shown_to_the_model():
    options = ["w", "x", "y", "z"]
    record = {"id": 1, "context": "Book.", "input": "Who?", "answer": ["y"], "options": options}
    example = records.infinitebench(record, Row(0, "longbook_choice_eng"))
    assert "C. y" in example["question"]
    assert example["correct_letter"] == "C"


@pytest.mark.parametrize("named", ["qasper", "qasper_e"])
def test_a_record_of_longbench_e_is_of_the_task_that_it_is_taken_from(named):
    record = {
        "_id": "x",
        "dataset": named,
        "context": "c",
        "input": "Who?",
        "answers": ["Ann"],
        "length": 9000,
    }
    example = records.longbench(record, Row(0, "qasper_e"))
    assert (example["task"], example["length"]) == ("qasper", 9000)
    assert example["question"] == "Who?"
    assert "unanswerable" in example["instruction"]
    assert records.longbench({**record, "input": ""})["question"] == example["instruction"]


def test_a_needle_stands_where_the_id_says():
    needle = {
        "id": "1",
        "needle": "{CHAR} lives next to {1}.",
        "questions": {"onehop": "Who has been to {2}?", "twohop": "Who has been to {3}?"},
        "character_set": ["Ann", "Bob", "Cem"],
        "tests": {
            f"T{n}": {"input_args": ["the opera", f"Dresden {n}", "Saxony"]} for n in range(40)
        },
    }
    book = {"0": {"text": "\n".join(f"line {n}" for n in range(100))}}
    examples = list(records.nolima(needle, Row(0, "", "", {"book": book})))
    assert [example["id"] for example in examples] == [
        f"1_T{n}{hops}" for hops in ("", "_twohop") for n in range(40)
    ]
    assert {example["question"] for example in examples[40:]} == {"Who has been to Saxony?"}
    assert {example["question_type"] for example in examples[40:]} == {"twohop"}
    assert {example["answer"] for example in examples} == {"Ann", "Bob", "Cem"}
    assert {example["depth"] for example in examples} == {0.0, 0.25, 0.5, 0.75, 1.0}
    for example in examples:
        assert example["context"].splitlines().index(example["needle"]) == round(
            example["depth"] * 100
        )
    assert examples == list(records.nolima(needle, Row(0, "", "", {"book": book})))


def test_the_book_of_nolima_has_the_length_that_is_asked_for():
    needle = {
        "id": "0401",
        "needle": "{CHAR} lives next to the {1}.",
        "character_set": ["Yuki"],
        "questions": {"onehop": "Who has been to {2}?"},
        "tests": {"T01": {"input_args": ["Semper Opera", "Dresden"]}},
        "reasoning_type": "world",
    }
    book = {"0": {"text": "\n".join(f"line {number:04}" for number in range(500))}}
    found = {}
    for config in ("250", "500", "1K", ""):
        [found[config]] = records.nolima(needle, Row(0, config, "", {"book": book}))
    for config, tokens in (("250", 250), ("500", 500), ("1K", 1000)):
        example = found[config]
        without = (
            example["context"]
            .replace(example["needle"] + "\n", "")
            .replace("\n" + example["needle"], "")
        )
        assert len(without) in (4 * tokens - 1, 4 * tokens)  # a line feed at its end is none
        assert example["length"] == tokens
        assert book["0"]["text"].startswith(without)
    assert len({example["id"] for example in found.values()}) == 4
    assert len({example["depth"] for example in found.values()}) == 1
    assert "length" not in found[""]
    with pytest.raises(ValueError, match="the book has 4999 characters, and 8000 are asked for"):
        list(records.nolima(needle, Row(0, "2K", "", {"book": book})))


@pytest.mark.parametrize(
    ("response", "reference", "score"),
    [  # of the package rouge 1.0.1
        ("the cat sat. it slept.\n", "the cat slept. ", 0.7999999952000001),
        ("the cat sat. it slept.", "the cat slept.", 0.7499999953125),
        ("a b. c", "a b.\n\nc.", 0.999999995),
        ("a b c d e", "b a d c e", 0.5999999950000001),
        ("the cat x dog the mat", "the mat dog. the cat", 0.6666666617283951),
        (
            " \n",
            "the cat. ",
            0.0,
        ),  # the package counts the blank of both; no answer is no summary here
    ],
)
def test_a_summary_of_longbench_counts_as_in_the_authors_package(response, reference, score):
    assert rouge_l(response, reference) == pytest.approx(score, abs=1e-12)


def test_a_long_response_without_a_full_stop_needs_no_table():
    words = [str(number * number % 101) for number in range(20_000)]
    tracemalloc.start()
    try:
        score = rouge_l(" ".join(words), " ".join(words[:1000]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert score == pytest.approx(1.0)
    assert peak < 30_000_000


def test_a_line_of_code_of_a_megabyte_is_judged_by_its_length(monkeypatch):
    monkeypatch.setattr(SequenceMatcher, "ratio", lambda _: pytest.fail("looked through"))
    example = {"task": "lcc", "answer": "a" * 80}
    assert LongBench().score(example, {"response": "a" * 1_000_000}) == {"longbench_score": 0.0}


@pytest.mark.parametrize(
    "evaluator", [LongBench("qasper"), InfiniteBench("longbook_qa_eng")], ids=lambda one: one.name
)
@pytest.mark.parametrize(
    ("example", "response"),
    [
        ({"answers": "Paris"}, "Paris"),
        ({"answers": None, "answer": "Paris"}, "Paris"),
        ({"answers": ["Rome", "Paris"]}, "<think>Rome? No, Berlin.</think>Paris"),
        ({"answer": 1789}, "1789"),
    ],
    ids=repr,
)
def test_answers_and_responses_are_read_as_everywhere(evaluator, example, response):
    assert list(evaluator.score(example, {"response": response}).values()) == [1.0]


@pytest.mark.parametrize("response", [None, b"\xff", ["Paris"]], ids=repr)
def test_what_is_no_text_is_unscored(response):
    assert LongBench("qasper").score({"answer": "Paris"}, {"response": response}) == {}
    assert InfiniteBench("longbook_qa_eng").score({"answer": "Paris"}, {"response": response}) == {}


def test_a_row_whose_answer_is_kept_has_no_gold():
    options = {f"choice_{letter}": letter for letter in "ABCD"}
    for kept in ({"answer": ""}, {"answer": None}, {}):
        example = records.longbench_v2(
            {"question": "?", "context": "c", "sub_domain": "Legal", **options, **kept}
        )
        assert example["sub_domain"] == "Legal"
        assert not {"answer", "correct_letter"} & set(example)
    example = records.longbench({"dataset": "qasper", "input": "?", "context": "c", "answers": []})
    assert not {"answer", "answers"} & set(example)


def test_a_decimal_of_infinitebench_stays_one_and_no_result_is_left_out():
    """A decimal that is whole is held against decimals: 3.5 is not 3.0, and would be 3 as a whole number."""
    record = {
        "id": 1,
        "context": "3.0 1.0",
        "input": "Which is the largest?",
        "answer": 3.0,
        "options": "",
    }
    example = records.infinitebench(record, Row(config="math_find"))
    assert example["answers"] == ["3.0"]
    for response, right in (("3.0", 1.0), ("3.5", 0.0)):
        assert InfiniteBench().score(example, {"response": response}) == {
            "infinitebench_score": right
        }
    with pytest.raises(ValueError, match="an answer is null"):
        records.infinitebench({**record, "answer": [1, None, 3]}, Row(config="math_calc"))


def test_the_results_of_a_calculation_are_one_answer_and_those_of_other_tasks_alternatives():
    record = {"id": 0, "context": "1 + 2 - 9", "input": "", "answer": [1, 3, -6], "options": ""}
    example = records.infinitebench(record, Row(0, "math_calc"))
    assert (example["answer"], example["answers"]) == ("1, 3, -6", ["1, 3, -6"])
    assert InfiniteBench().score(example, {"response": example["answer"]}) == {
        "infinitebench_score": 1.0
    }
    assert InfiniteBench().score(example, {"response": "[1, 3, 6]"})[
        "infinitebench_score"
    ] == pytest.approx(2 / 3)
    assert records.infinitebench(record, Row(0, "longbook_qa_eng"))["answers"] == ["1", "3", "-6"]
    assert records.infinitebench({**record, "answer": [[1, 3, -6]]}, Row(0, "math_calc")) == example
