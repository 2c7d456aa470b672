"""The layouts in which benchmarks are published: what a release has in other words than the hub, and splits without labels."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("context_bench_huggingface")

from hub_records import RECORDS, TABLES

from context_bench.errors import DatasetError
from context_bench.plugins.discovery import discover
from context_bench_huggingface import Row
from context_bench_huggingface.examples import maker
from context_bench_huggingface.row import together
from context_bench_huggingface.wanted import from_definition

CATALOG = discover()
GOLD = {
    "answer",
    "answers",
    "correct_letter",
    "answer_spans",
    "ground_truth",
    "reasoning",
    "true_answers",
}
"""Fields by which an evaluator would score a row."""

LABELS: dict[str, tuple[str, ...]] = {
    "hotpotqa": ("answer",),
    "natural-questions": ("answer",),
    "musique": ("answer", "answer_aliases"),
    "narrativeqa": ("answers",),
    "triviaqa": ("answer",),
    "frames": ("Answer",),
    "quality": ("gold_label",),
    "qasper": ("qas.answers",),
    "mmlu": ("answer",),
    "mmlu-pro": ("answer", "answer_index"),
    "arc-challenge": ("answerKey",),
    "hellaswag": ("label",),
    "winogrande": ("answer",),
    "gsm8k": ("answer",),
    "drop": ("answer", "validated_answers"),
    "math": ("solution",),
    "mgsm": ("answer", "answer_number"),
    "bbh": ("target",),
    "multi-news": ("summary",),
    "dialogsum": ("summary",),
    "qmsum": ("output",),
    "summscreenfd": ("output",),
    "meetingbank": ("summary",),
    "govreport": ("summary",),
    "contract-nli": ("output",),
    "scifact": ("evidence_label", "evidence_doc_id", "cited_doc_ids"),
    "alpaca-eval": ("output",),
    "mt-bench": ("reference",),
    "longbench": ("answers",),
    "longbench-v2": ("answer",),
    "infinitebench": ("answer",),
    "swebench": ("patch",),
    "longmemeval": ("answer",),
}
"""The columns that tell the right answer, by dataset; those of datasets whose questions hold it are not here."""

MAY_BE_ABSENT = {
    *(
        "hotpotqa",
        "natural-questions",
        "musique",
        "triviaqa",
        "quality",
        "qasper",
        "arc-challenge",
        "hellaswag",
        "winogrande",
    ),
    *(
        "drop",
        "dialogsum",
        "qmsum",
        "summscreenfd",
        "contract-nli",
        "scifact",
        "mt-bench",
        "longbench-v2",
    ),
}
"""Datasets of which some edition leaves the column out; without it, a record of any other is told."""

NUMBERED = {"quality", "mmlu", "mmlu-pro", "hellaswag", "winogrande"}
"""Datasets whose label is a number, -1 where it is kept."""


def kept(name: str) -> list[Any]:
    """What stands in a split in the place of what is not told: ``...`` for no such column."""
    lists = {"narrativeqa", "longbench", "natural-questions", "infinitebench", "mt-bench"}
    blank: list[Any] = (
        [[]] if name in lists else [] if name in ("triviaqa", "drop", "qasper") else [""]
    )
    return [
        *([...] if name in MAY_BE_ABSENT else []),
        None,
        *blank,
        *([-1, "-1", float("nan")] if name in NUMBERED else []),
    ]


def examples(
    name: str, records: list[dict[str, Any]], config: str | None = None
) -> Iterator[dict[str, Any]]:
    facts = CATALOG.find("datasets", name).dataset
    assert facts.definition is not None
    config = config or facts.default_config
    wanted = from_definition(
        name, {"default_config": facts.default_config, **facts.definition.to_dict()}, config, None
    )
    make = maker(wanted)
    tables = {
        table: {
            str(each.get("doc_id", each.get("id", number))): each
            for number, each in enumerate(rows)
        }
        for table, rows in TABLES.get(name, {}).items()
    }
    for number, found in enumerate(together(records, wanted.group_by)):
        yield from make(
            found[0], Row(number, config or "", "test", tables, found if wanted.group_by else ())
        )


def without(record: dict[str, Any], column: str, value: Any) -> None:
    inner, _, last = column.rpartition(".")
    place = record[inner] if inner else record
    if value is ...:
        place.pop(last, None)
    else:
        place[last] = value


@pytest.mark.parametrize(
    ("name", "value"),
    [pytest.param(name, value, id=f"{name}, {value!r}") for name in LABELS for value in kept(name)],
)
def test_a_record_whose_label_is_kept_is_a_question_without_gold(name: str, value: Any) -> None:
    records = copy.deepcopy(RECORDS[name])
    for record in records:
        for column in LABELS[name]:
            without(
                record,
                column,
                "" if (name, column) == ("mmlu-pro", "answer") and value is not ... else value,
            )
    found = list(examples(name, records))
    assert len(found) == len(list(examples(name, RECORDS[name])))
    for example in found:
        assert example["question"].strip()
        assert not GOLD & set(example), GOLD & set(example)


@pytest.mark.parametrize("name", sorted(set(LABELS) - MAY_BE_ABSENT))
def test_a_column_of_labels_that_is_not_there_is_told(name: str) -> None:
    [record] = copy.deepcopy(RECORDS[name][:1])
    for column in LABELS[name]:
        without(record, column, ...)
    with pytest.raises(
        DatasetError, match=f"Record 0 of {name} .* is not laid out as expected: KeyError"
    ):
        list(examples(name, [record]))


def test_every_dataset_with_labels_is_in_the_table() -> None:
    told_by_the_question = {
        "truthfulqa",
        "gpqa",
        "humaneval",
        "mbpp",
        "ifeval",
        "nolima",
        "bfcl",
        "apigen",
    }
    assert set(LABELS) | told_by_the_question | {"swebench-lite", "swebench-verified"} == set(
        RECORDS
    )


def test_a_record_that_cannot_be_read_is_told_with_its_number_whenever_its_function_finds_out() -> (
    None
):
    """Functions that yield fail at the first example that is asked for, and not when they are called."""
    for name, told in (
        ("qasper", "full_text"),
        ("scifact", "claim"),
        ("nolima", "character_set"),
        ("mmlu-pro", "answer_index"),
    ):
        with pytest.raises(
            DatasetError,
            match=rf"Record 1 of {name} .* is not laid out as expected: KeyError: '{told}'",
        ):
            list(examples(name, [RECORDS[name][0], {"other": 1}]))


WRONG: dict[str, Any] = {
    "null": None,
    "a number": 7,
    "a float": 2.5,
    "no number": float("nan"),
    "no end": float("inf"),
    "a truth value": True,
    "a text": "Zq",
    "nothing but blanks": " \n",
    "bytes": b"Zq",
    "a list of texts": ["x", "y"],
    "an empty list": [],
    "an object": {"k": "v"},
}
"""What a column may hold that holds something else, or nothing."""

MAY_BE_BLANK = {"bfcl", "apigen"}
"""Datasets of which no call is an answer, too."""


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_column_that_holds_something_else_is_told_or_gives_no_other_kind_of_example(
    name: str, wrong: str
) -> None:
    """Letters of a text were alternatives, options and tests; null was the text None, and an object an answer."""
    record, told = RECORDS[name][0], list[str]()
    for column in record:
        changed = copy.deepcopy(record)
        changed[column] = WRONG[wrong]
        try:
            found = list(examples(name, [changed]))
        except DatasetError as error:
            told.append(str(error))
            continue
        for example in found:
            assert isinstance(example["id"], str | int), column
            assert isinstance(example["question"], str), column
            assert example["question"].strip(), column
            context = example.get("context", "")  # sessions stand in its place in LongMemEval
            assert isinstance(context, str), column
            assert isinstance(example.get("answer", ""), str), column
            assert "answer" not in example or example["answer"].strip() or name in MAY_BE_BLANK, (
                column
            )
            for texts in (
                "answers",
                "choices",
                "true_answers",
                "test_list",
                "instruction_id_list",
                "FAIL_TO_PASS",
            ):
                given = example.get(texts, [])
                assert all(isinstance(each, str) for each in given), (column, texts)
                assert not {"Z", "q", "k", "None", "nan", "inf"} & set(given), (column, texts)
            assert "None" not in example["question"].split(), column
            assert not {"None", "nan"} & set(context.split()), column
            if "correct_letter" in example:
                assert example["choices"][
                    "ABCDEFGHIJ".index(example["correct_letter"])
                ] == example.get("answer", ""), column
    assert all(f"Record 0 of {name} " in each for each in told)


DISAGREEING = {
    "two true options": ("truthfulqa", {"mc1_targets": {"choices": ["a", "b"], "labels": [1, 1]}}),
    "no true option": ("truthfulqa", {"mc1_targets": {"choices": ["a", "b"], "labels": [0, 0]}}),
    "more labels than options": (
        "truthfulqa",
        {"mc1_targets": {"choices": ["a", "b"], "labels": [1, 0, 0]}},
    ),
    "a null option": ("mmlu", {"choices": ["a", None, "c", "d"], "answer": 2}),
    "a label beyond the options": ("hellaswag", {"label": "4"}),
    "a label that is none": ("winogrande", {"answer": "Bob"}),
    "an answer beside the options": ("infinitebench", {"options": ["a", "b"], "answer": ["c"]}),
    "nothing behind the mark": ("gsm8k", {"answer": "Add.\n#### "}),
    "a sentence for a number": ("mgsm", {"answer_number": "It is 7."}),
    "more instructions than arguments": ("ifeval", {"kwargs": []}),
    "evidence without a label": ("scifact", {"evidence_label": ""}),
    "a label of no set": ("contract-nli", {"output": "2"}),
    "a query without a text": ("qmsum", {"input": "What was decided?"}),
    "spans that are a text": ("drop", {"answer": {"number": "", "date": {}, "spans": "Ravens"}}),
    "spans of a paper that are a text": (
        "qasper",
        {"qas": {"question": ["a"], "answers": [{"answer": [{"extractive_spans": "two"}]}]}},
    ),
}


@pytest.mark.parametrize("fault", DISAGREEING)
def test_a_record_that_contradicts_itself_is_told_and_has_no_gold(fault: str) -> None:
    name, changes = DISAGREEING[fault]
    with pytest.raises(DatasetError, match=f"Record 0 of {name} .* is not laid out as expected: "):
        list(examples(name, [{**RECORDS[name][0], **changes}]))


NUMBERS = {
    "natural-questions": {"answer": [1990.0, None]},
    "hotpotqa": {"answer": 1990.0},
    "frames": {"Answer": 1990},
    "bbh": {"target": 1990.0},
    "mgsm": {"answer_number": "1,990"},
    "drop": {"answer": {"number": 1990.0}, "validated_answers": None},
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_gold_as_it_is_written(name: str) -> None:
    """A column with gaps holds floats: 1990.0 was the answer."""
    [example] = examples(name, [{**RECORDS[name][0], **NUMBERS[name]}])
    assert example["answer"] == "1990"
    assert example.get("answers", ["1990"]) == ["1990"]
