"""From records to examples, and what they are scored by."""

from __future__ import annotations

import subprocess
import sys

import pytest

from context_bench_knowledge import records


def test_gpqa_options_are_shuffled_by_the_id_and_the_same_in_every_process():
    def record(number):
        wrong = {f"Incorrect Answer {k}": f"wrong {k}" for k in (1, 2, 3)}
        return {"Record ID": f"rec{number}", "Question": "Q", "Correct Answer": "right", **wrong}

    examples = [records.gpqa(record(number)) for number in range(40)]
    letters = [example["correct_letter"] for example in examples]
    assert all(letters.count(letter) >= 4 for letter in "ABCD")
    assert all(
        example["choices"]["ABCD".index(example["correct_letter"])] == "right"
        for example in examples
    )
    code = (
        "from context_bench_huggingface.choices import shuffled\n"
        "print([shuffled('abcd', f'rec{n}').index(0) for n in range(40)])"
    )
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        assert done.stdout.strip() == str(["ABCD".index(letter) for letter in letters])


def test_numeric_keys_of_arc_become_letters():
    choices = {"text": ["w", "x", "y"], "label": ["1", "2", "3"]}
    example = records.arc_challenge(
        {"id": "a", "question": "Q", "choices": choices, "answerKey": "3"}
    )
    assert (example["correct_letter"], example["answer"]) == ("C", "y")


def test_a_blank_label_is_no_gold():
    row = {"ind": 1, "ctx": "A man", "endings": ["a.", "b.", "c.", "d."], "label": ""}
    assert not {"answer", "correct_letter"} & set(records.hellaswag(row))
    assert records.hellaswag({**row, "label": "0"})["correct_letter"] == "A"
    row = {"sentence": "_ left.", "option1": "Ann", "option2": "Bob", "answer": ""}
    assert not {"answer", "correct_letter"} & set(records.winogrande(row))


def test_truthfulqa_does_not_show_the_true_option_first_always():
    targets = {"choices": ["true", "false", "maybe"], "labels": [1, 0, 0]}
    rows = [
        {"question": f"Q{n}?", "mc1_targets": targets, "mc2_targets": targets} for n in range(30)
    ]
    examples = [records.truthfulqa(row) for row in rows]
    assert {example["correct_letter"] for example in examples} == {"A", "B", "C"}
    assert {example["answer"] for example in examples} == {"true"}


def test_a_label_of_minus_one_is_no_gold_and_one_beyond_the_options_is_told():
    row = {"ind": 1, "ctx": "A man", "endings": ["a.", "b.", "c.", "d."], "label": -1}
    assert not {"answer", "correct_letter"} & set(records.hellaswag(row))
    mmlu = {"question": "Q", "choices": ["a", "b"], "answer": -1}
    assert not {"answer", "correct_letter"} & set(records.mmlu(mmlu))
    assert not {"answer", "correct_letter"} & set(records.winogrande({**WINO, "answer": "0"}))
    with pytest.raises(ValueError, match="right option is number 3, and there are 2"):
        records.mmlu({**mmlu, "answer": 2})


WINO = {"sentence": "_ left.", "option1": "Ann", "option2": "Bob"}


def test_the_release_of_arc_holds_the_options_in_the_question():
    options = [{"text": "w", "label": "1"}, {"text": "x", "label": "2"}]
    release = {"id": "a", "question": {"stem": "Q", "choices": options}, "answerKey": "2"}
    columns = {"text": ["w", "x"], "label": ["1", "2"]}
    hub = {"id": "a", "question": "Q", "choices": columns, "answerKey": "2"}
    assert records.arc_challenge(release) == records.arc_challenge(hub)
    assert records.arc_challenge(release)["correct_letter"] == "B"


def test_the_release_of_mmlu_has_a_column_for_each_option_and_letters():
    release = {"question": "Q", "A": "a", "B": "b", "C": "c", "D": "d", "answer": "C"}
    assert records.mmlu(release) == records.mmlu(
        {"question": "Q", "choices": list("abcd"), "answer": 2}
    )


def test_the_table_of_truthfulqa_parts_answers_by_semicolons():
    table = {
        "Type": "Adversarial",
        "Category": "Myths",
        "Question": "Q?",
        "Best Answer": "No",
        "Correct Answers": "No; Never ;",
        "Incorrect Answers": "Yes;Always",
    }
    columns = {
        "correct_answers": ["No", "Never"],
        "incorrect_answers": ["Yes", "Always"],
        "category": "Myths",
    }
    assert records.truthfulqa(table) == records.truthfulqa(
        {"question": "Q?", "best_answer": "No", **columns}
    )


@pytest.mark.parametrize("label", [None, "", " ", -1, "-1", "-1.0", float("nan")], ids=repr)
def test_a_label_that_is_kept_is_no_gold_in_any_writing(label):
    assert not {"answer", "correct_letter"} & set(records.winogrande({**WINO, "answer": label}))


@pytest.mark.parametrize(
    ("label", "letter"), [(2, "B"), ("2", "B"), (1.0, "A"), ("A", "A")], ids=repr
)
def test_a_label_may_be_a_number_a_text_or_a_letter(label, letter):
    assert records.winogrande({**WINO, "answer": label})["correct_letter"] == letter


@pytest.mark.parametrize("label", ["Ann", 1.5, "1e3", "AB"], ids=repr)
def test_what_names_no_option_is_told(label):
    with pytest.raises(ValueError, match="names no option"):
        records.winogrande({**WINO, "answer": label})


@pytest.mark.parametrize(
    ("told", "letter"),
    [
        ({"answer": "C", "answer_index": 1}, "C"),  # as in question 3983 of the test split
        ({"answer_index": 1}, "B"),
        ({"answer": "", "answer_index": 1}, "B"),
        ({"answer": "C"}, "C"),
        ({"answer": "C", "answer_index": -1}, "C"),
        ({"answer": None, "answer_index": None}, None),
    ],
)
def test_the_letter_of_mmlu_pro_counts_before_its_index(told, letter):
    record = {"question_id": 3983, "question": "Which?", "options": ["a", "b", "c", "d"], **told}
    assert records.mmlu_pro(record).get("correct_letter") == letter


def test_a_blank_option_is_right_by_its_letter_alone():
    example = records.mmlu({"question": "Which?", "choices": ["a", " ", "c", "d"], "answer": 1})
    assert (example["correct_letter"], example["choices"][1], "answer" in example) == (
        "B",
        "",
        False,
    )
