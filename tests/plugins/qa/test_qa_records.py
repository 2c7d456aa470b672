"""From records to examples, and what they are scored by."""

from __future__ import annotations

from context_bench_huggingface import Row
from context_bench_qa import records


def test_both_layouts_of_hotpotqa_give_the_same_context():
    release = {
        "_id": "a",
        "question": "Who?",
        "answer": "Ann",
        "context": [["A", ["Ann is. ", "So."]], ["B", ["Bob."]]],
    }
    columns = {"title": ["A", "B"], "sentences": [["Ann is. ", "So."], ["Bob."]]}
    hub = {"id": "a", "question": "Who?", "answer": "Ann", "context": columns}
    assert records.hotpotqa(release) == records.hotpotqa(hub)
    assert records.hotpotqa(hub)["context"] == "A: Ann is. So.\nB: Bob."


def test_every_alias_is_kept():
    answer = {"value": "Ann", "aliases": ["Anna", "Ann"]}
    example = records.triviaqa({"question": "Who?", "question_id": "q", "answer": answer})
    assert (example["answer"], example["answers"], example["context"]) == ("Ann", ["Ann", "Anna"], "Who?")
    assert records.natural_questions({"question": "who", "answer": ["a", "b"]})["answers"] == ["a", "b"]


def test_options_are_shown_and_the_label_counts_from_one():
    record = {"article": "Text.", "question": "What?", "options": ["cat", "dog", "cow", "hen"], "gold_label": 4}
    example = records.quality(record, Row(7))
    assert (example["id"], example["correct_letter"], example["answer"]) == (7, "D", "hen")
    assert "A. cat\nB. dog\nC. cow\nD. hen" in example["question"]
    assert example["context"] == "Text."


def test_a_paper_gives_an_example_for_each_question():
    empty = {"unanswerable": False, "extractive_spans": [], "yes_no": None, "free_form_answer": ""}
    answers = [{"answer": [{**empty, "yes_no": False}]}, {"answer": [{**empty, "unanswerable": True}]}]
    text = {"section_name": ["Intro"], "paragraphs": [["First."]]}
    record = {
        "id": "p",
        "title": "T",
        "abstract": "A",
        "full_text": text,
        "qas": {"question": ["a", "b"], "answers": answers},
    }
    found = list(records.qasper(record))
    assert [(each["id"], each["answer"]) for each in found] == [("p_0", "No"), ("p_1", "Unanswerable")]
    assert found[0]["context"] == "T\nA\nIntro\nFirst."


def test_a_split_that_keeps_its_answers_gives_rows_without_gold():
    answer = {"value": "<unk>", "aliases": [], "normalized_value": ""}
    kept = {
        "triviaqa": {"question": "Who?", "question_id": "q", "answer": answer},
        "triviaqa ": {"question": "Who?", "question_id": "q", "answer": None},
        "natural_questions": {"question": "who", "answer": []},
        "hotpotqa": {"_id": "a", "question": "Who?", "context": [["A", ["Ann is."]]]},
        "musique": {"id": "m", "question": "Who?", "paragraphs": []},
    }
    for name, record in kept.items():
        assert not {"answer", "answers"} & set(getattr(records, name.strip())(record)), name


def test_one_answer_may_be_a_text():
    assert records.natural_questions({"question": "who", "answer": "Ann"})["answers"] == ["Ann"]
