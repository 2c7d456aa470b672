"""Files of judgements: the published layouts, the user's own columns, and what is wrong with a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("context_bench_validation", reason="context-bench-validation is not installed")

from context_bench.errors import ConfigurationError, DatasetError
from context_bench_validation.layouts import layout_of, vote_of
from context_bench_validation.own_columns import Columns, read_columns
from context_bench_validation.records import read_records

Records = list[dict[str, Any]]


def read(records: Records) -> Any:
    reader = layout_of(records)
    assert reader is not None
    return reader(records)


def test_summeval_has_three_experts_and_every_reference(summeval: Records) -> None:
    judgements = read(summeval)
    assert judgements.layout == "SummEval"
    assert judgements.dimensions == ["coherence", "consistency", "fluency", "relevance"]
    first = judgements.ratings[1]
    assert (first.item, first.system) == ("dm-test-0", "M1")
    assert first.ratings["coherence"] == (4.0, 5.0, 4.0)
    assert first.answer.response == summeval[1]["decoded"]
    assert first.answer.example["answers"] == summeval[1]["references"]
    assert first.answer.example["answer"] == summeval[1]["references"][0]
    assert first.answer.example["context"] == summeval[1]["text"]


def test_summeval_without_the_articles_has_no_context(summeval: Records) -> None:
    for record in summeval:
        del record["text"]
    assert "context" not in read(summeval).ratings[0].answer.example


def test_averaged_summeval_has_a_rating_for_each_summary(averaged_summeval: Records) -> None:
    judgements = read(averaged_summeval)
    assert len(judgements.ratings) == 21
    assert judgements.ratings[2].ratings["fluency"] == (1.333,)
    assert judgements.ratings[2].item == judgements.ratings[0].item


def test_llmbar_prefers_the_labelled_output(llmbar: Records) -> None:
    judgements = read(llmbar)
    assert [vote.vote for vote in judgements.preferences[:4]] == ["a", "b", "a", "a"]
    first = judgements.preferences[0]
    assert first.first.response == llmbar[0]["output_1"]
    assert first.first.example == {
        "question": llmbar[0]["input"],
        "other": llmbar[0]["output_2"],
    }
    assert first.second.example["other"] == llmbar[0]["output_1"]


def test_mt_bench_has_the_reply_of_the_turn_and_what_came_before(mt_bench: Records) -> None:
    judgements = read(mt_bench)
    assert [vote.vote for vote in judgements.preferences[:3]] == ["a", "a", "tie"]
    first, second = judgements.preferences[0], judgements.preferences[3]
    assert first.first.example == {"question": "Question 0", "other": "no"}
    assert second.first.response == "a long and careful answer, again"
    assert second.first.example["question"] == "Say more."
    assert second.first.example["context"] == (
        "user: Question 0\n\nassistant: a long and careful answer"
    )
    assert second.second.example["context"] == "user: Question 0\n\nassistant: no"
    assert first.item == second.item
    assert (
        len({vote.label for vote in judgements.preferences}) == 16
    )  # two turns of eight questions


@pytest.mark.parametrize(
    ("word", "vote"),
    [
        ("model_a", "a"),
        ("A", "a"),
        (1, "a"),
        ("model_b", "b"),
        (" 2 ", "b"),
        ("tie (inconsistent)", "tie"),
    ],
)
def test_votes_have_many_words(word: Any, vote: str) -> None:
    assert vote_of(word, "winner") == vote


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("llmbar", {"label": 3}), "label"),
        (("llmbar", {"output_1": None}), "output_1"),
        (("summeval", {"expert_annotations": []}), "expert_annotations"),
        (("summeval", {"expert_annotations": [{"coherence": "good"}]}), "coherence"),
        (("mt_bench", {"winner": "both"}), "both"),
        (("mt_bench", {"turn": 3}), "turn"),
        (("mt_bench", {"conversation_a": [{"role": "assistant", "content": "x"}]}), "turn 1"),
        (("mt_bench", {"conversation_a": ["hello"]}), "message 1"),
        (("averaged_summeval", {"coherence": [1, 2]}), "coherence"),
    ],
    ids=str,
)
def test_a_record_that_cannot_be_read_is_named(
    change: tuple[str, dict[str, Any]], named: str, request: pytest.FixtureRequest
) -> None:
    layout, values = change
    records = request.getfixturevalue(layout)
    records[2] |= values
    if layout == "mt_bench":
        records[0] |= values
    with pytest.raises(DatasetError, match=named):
        read(records)


def test_own_ratings_of_one_response_are_several_raters() -> None:
    records = [
        {"doc": "1", "text": "yes", "good": "4", "clear": "2", "reference": "yes!", "by": "x"},
        {"doc": "1", "text": "yes", "good": "5", "clear": "", "reference": "yes!", "by": "x"},
        {"doc": "1", "text": "no", "good": "1", "clear": "1", "reference": "yes!", "by": "y"},
    ]
    columns = Columns(
        response="text",
        ratings=("good", "clear"),
        item="doc",
        system="by",
        fields={"answer": "reference"},
    )
    judgements = read_columns(records, columns)
    assert [dict(rating.ratings) for rating in judgements.ratings] == [
        {"good": (4.0, 5.0), "clear": (2.0,)},
        {"good": (1.0,), "clear": (1.0,)},
    ]
    assert judgements.ratings[0].answer.example == {"answer": "yes!"}
    assert judgements.ratings[1].label == "1 y"


def test_own_columns_without_another_use_are_fields_of_the_example() -> None:
    records = [
        {"question": "q", "answer": "r", "one": "x", "two": "y", "best": "b", "dataset": "d"}
    ]
    columns = Columns(response_a="one", response_b="two", preferred="best")
    [vote] = read_columns(records, columns).preferences
    assert vote.first.example == {"question": "q", "answer": "r", "other": "y"}
    assert (vote.vote, vote.second.response) == ("b", "y")


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        (Columns(), "--response"),
        (Columns(response="text"), "--rating"),
        (Columns(response="text", ratings=("good",), preferred="best"), "--preferred"),
        (Columns(response="txt", ratings=("good",)), "txt"),
    ],
    ids=str,
)
def test_columns_that_do_not_fit_are_named(columns: Columns, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        read_columns([{"text": "x", "good": 1, "best": "a"}], columns)


@pytest.mark.parametrize("value", ["good", "nan", "inf", [1]])
def test_a_rating_that_is_no_number_is_named(value: Any) -> None:
    columns = Columns(response="text", ratings=("good",))
    with pytest.raises(DatasetError, match="Row 2: good"):
        read_columns([{"text": "x", "good": 1}, {"text": "y", "good": value}], columns)


def test_a_table_keeps_line_ends_in_its_cells(written: Callable[[str, Any], str]) -> None:
    path = written("judged.csv", 'text,good\r\n"two\nlines, with \u2028 and, commas",3\r\n')
    assert read_records(Path(path)) == [
        {"text": "two\nlines, with \u2028 and, commas", "good": "3"}
    ]


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("a.parquet", "", "parquet"),
        ("a.json", "[1]", "record 1"),
        ("a.jsonl", '{"a": 1}\n{"a": ', "line 2"),
        ("a.json", "[]", "no record"),
        ("a.csv", "a,b\n1\n", "row 2"),
        ("a.csv", "a,b\n1,2,3\n", "row 2"),
        ("missing.json", None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    name: str, content: str | None, named: str, written: Callable[[str, Any], str], tmp_path: Path
) -> None:
    path = tmp_path / name if content is None else Path(written(name, content))
    with pytest.raises(DatasetError, match=named):
        read_records(path)
