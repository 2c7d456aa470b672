"""From records to examples, and what they are scored by."""

from __future__ import annotations

import pytest

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
    assert (example["answer"], example["answers"], example["context"]) == (
        "Ann",
        ["Ann", "Anna"],
        "Who?",
    )
    assert records.natural_questions({"question": "who", "answer": ["a", "b"]})["answers"] == [
        "a",
        "b",
    ]


def test_options_are_shown_and_the_label_counts_from_one():
    record = {
        "article": "Text.",
        "question": "What?",
        "options": ["cat", "dog", "cow", "hen"],
        "gold_label": 4,
    }
    example = records.quality(record, Row(7))
    assert (example["id"], example["correct_letter"], example["answer"]) == (7, "D", "hen")
    assert "A. cat\nB. dog\nC. cow\nD. hen" in example["question"]
    assert example["context"] == "Text."


def test_a_paper_gives_an_example_for_each_question():
    empty = {"unanswerable": False, "extractive_spans": [], "yes_no": None, "free_form_answer": ""}
    answers = [
        {"answer": [{**empty, "yes_no": False}]},
        {"answer": [{**empty, "unanswerable": True}]},
    ]
    text = {"section_name": ["Intro"], "paragraphs": [["First."]]}
    record = {
        "id": "p",
        "title": "T",
        "abstract": "A",
        "full_text": text,
        "qas": {"question": ["a", "b"], "answers": answers},
    }
    found = list(records.qasper(record))
    assert [(each["id"], each["answer"]) for each in found] == [
        ("p_0", "No"),
        ("p_1", "Unanswerable"),
    ]
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


EMPTY = {
    "unanswerable": False,
    "extractive_spans": [],
    "yes_no": None,
    "free_form_answer": "",
    "evidence": [],
}
ANNOTATED = [{**EMPTY, "extractive_spans": ["two", "spans"]}, {**EMPTY, "yes_no": False}]
PAPER = {"title": "T", "abstract": "A"}
SECTIONS = [
    {"section_name": "Intro", "paragraphs": ["First.", "Second."]},
    {"section_name": None, "paragraphs": []},
]
ASKED = [
    {
        "question": "Which?",
        "question_id": "q1",
        "answers": [{"answer": each, "worker_id": "w"} for each in ANNOTATED],
    },
    {
        "question": "Is it?",
        "question_id": "q2",
        "answers": [{"answer": {**EMPTY, "unanswerable": True}, "worker_id": "w"}],
    },
    {"question": "Kept?", "question_id": "q3", "answers": []},
]


def columns(rows):
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


QASPER = {
    "the release": {"full_text": SECTIONS, "qas": ASKED},
    "columns of the hub": {
        "full_text": columns(SECTIONS),
        "qas": columns([{**each, "answers": columns(each["answers"])} for each in ASKED]),
    },
    "rows of questions, columns of answers": {
        "full_text": SECTIONS,
        "qas": [{**each, "answers": columns(each["answers"])} for each in ASKED],
    },
    "columns down to the answer": {
        "full_text": columns(SECTIONS),
        "qas": columns(
            [
                {**a, "answers": {"answer": columns([b["answer"] for b in a["answers"]])}}
                for a in ASKED
            ]
        ),
    },
}


@pytest.mark.parametrize("layout", QASPER)
def test_every_layout_of_qasper_gives_the_same_examples(layout):
    found = list(records.qasper({"id": "p", **PAPER, **QASPER[layout]}))
    assert [each["id"] for each in found] == ["p_0", "p_1", "p_2"]
    assert [each["question"] for each in found] == ["Which?", "Is it?", "Kept?"]
    assert [each.get("answers") for each in found] == [["two, spans", "No"], ["Unanswerable"], None]
    assert {each["context"] for each in found} == {"T\nA\nIntro\nFirst.\nSecond."}


def test_a_paper_without_its_id_is_named_by_its_place():
    found = records.qasper({**PAPER, "full_text": SECTIONS, "qas": ASKED}, Row(4))
    assert [each["id"] for each in found] == ["4_0", "4_1", "4_2"]


def test_an_unanswerable_question_of_musique_has_no_gold_and_an_id_of_its_own():
    record = {
        "id": "m",
        "question": "Who?",
        "paragraphs": [],
        "answer": "Ann",
        "answer_aliases": ["A"],
        "answerable": True,
    }
    twin = records.musique({**record, "answerable": False})
    assert (twin["id"], set(twin) & {"answer", "answers"}) == ("m_unanswerable", set())
    assert (records.musique(record)["id"], records.musique(record)["answers"]) == (
        "m",
        ["Ann", "A"],
    )


def test_the_release_of_triviaqa_has_other_names_and_answers_of_people():
    answer = {
        "Value": "Ann",
        "Aliases": ["Ann", "Anna"],
        "NormalizedAliases": ["ann"],
        "HumanAnswers": ["Annie"],
    }
    release = {
        "Question": "Who?",
        "QuestionId": "tc_1",
        "Answer": answer,
        "EntityPages": [],
        "SearchResults": [],
    }
    example = records.triviaqa(release)
    assert (example["id"], example["context"], example["answers"]) == (
        "tc_1",
        "Who?",
        ["Ann", "Anna", "Annie"],
    )
    assert "answer" not in records.triviaqa({"Question": "Who?", "QuestionId": "tc_1"})


def test_the_release_of_quality_has_an_article_with_all_its_questions():
    options = ["cat", "dog", "cow", "hen"]
    questions = [
        {
            "question": "What?",
            "options": options,
            "gold_label": 2,
            "question_unique_id": "u1",
            "difficult": 1,
        },
        {"question": "And?", "options": options},
    ]
    found = records.quality({"article_id": "7", "article": "Text.", "questions": questions})
    assert [(each["id"], each.get("correct_letter"), each["context"]) for each in found] == [
        ("u1", "B", "Text."),
        ("7_1", None, "Text."),
    ]
    assert [each["difficult"] for each in found] == [1, None]


def test_answers_and_paragraphs_may_be_columns_or_rows():
    told = {"document": {"id": "d", "summary": {"text": "S"}}, "question": {"text": "Who?"}}
    assert records.narrativeqa({**told, "answers": {"text": ["a", "b"], "tokens": [[], []]}})[
        "answers"
    ] == ["a", "b"]
    rows = [{"title": "A", "sentences": ["Ann is. ", "So."]}]
    assert (
        records.hotpotqa({"id": 1, "question": "Who?", "context": rows})["context"]
        == "A: Ann is. So."
    )
    paragraphs = {"idx": [0, 1], "title": ["A", "B"], "paragraph_text": ["Ann.", "Bob."]}
    assert (
        records.musique({"id": 1, "question": "Who?", "paragraphs": paragraphs})["context"]
        == "A: Ann.\nB: Bob."
    )
    pages = {
        "entity_pages": [{"title": "A", "wiki_context": "Ann is."}],
        "search_results": {"search_context": ["So."]},
    }
    assert (
        records.triviaqa({"question": "Who?", "question_id": 1, **pages})["context"]
        == "Ann is.\n\nSo."
    )


QAP = {
    "document_id": "d1",
    "set": "test",
    "question": "Who leaves? ",
    "answer1": "Ann",
    "answer2": "Anna Bell",
    "question_tokenized": "Who leaves ?",
}
SUMMARIES = {"summaries": {"d1": {"document_id": "d1", "set": "test", "summary": " Ann leaves.\n"}}}


@pytest.mark.parametrize(
    ("record", "tables"),
    [(QAP, SUMMARIES), ({**QAP, "summary": " Ann leaves."}, {})],
    ids=["two files", "one table"],
)
def test_the_release_of_narrativeqa_has_stories_apart_from_questions(record, tables):
    hub = {
        "document": {"id": "d1", "summary": {"text": "Ann leaves."}},
        "question": {"text": "Who leaves?"},
        "answers": [{"text": "Ann"}, {"text": "Anna Bell"}],
    }
    assert records.narrativeqa(record, Row(5, tables=tables)) == records.narrativeqa(hub, Row(5))


def test_a_file_of_narrativeqa_holds_all_splits_and_gives_the_one_that_is_asked_for():
    for split, given in (("test", True), ("train", False), ("validation", False), ("", True)):
        assert (records.narrativeqa(QAP, Row(split=split, tables=SUMMARIES)) is not None) is given
    assert (
        records.narrativeqa({**QAP, "set": "valid"}, Row(split="validation", tables=SUMMARIES))
        is not None
    )


def test_a_question_of_narrativeqa_without_its_story_is_refused():
    with pytest.raises(ValueError, match="the table summaries has no summary of the document d1"):
        records.narrativeqa(QAP, Row(split="test"))
