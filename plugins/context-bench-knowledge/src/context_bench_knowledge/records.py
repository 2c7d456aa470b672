"""From the records of knowledge benchmarks to examples; every function is pure, and every option is shown to the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench_huggingface import FIRST, Row
from context_bench_huggingface.choices import choice_example, index_of, shuffled
from context_bench_huggingface.columns import identity_of, text_in, texts_of
from context_bench_huggingface.layouts import rows_of

Record = Mapping[str, Any]
Example = dict[str, Any]


def mmlu(record: Record, row: Row = FIRST) -> Example:
    """Return an MMLU example; the release has a column for each option, and letters as answers."""
    more: Example = {"id": row.number, "subject": record.get("subject") or row.config}
    options = record["choices"] if "choices" in record else [record[letter] for letter in "ABCD"]
    return choice_example(record["question"], options, index_of(record["answer"]), **more)


def mmlu_pro(record: Record, row: Row = FIRST) -> Example:
    """Return an MMLU-Pro example, with up to ten options.

    The letter is the answer, as in the benchmark's own script, and the index where there is none: of one question of the test
    split (3983) they tell two options.
    """
    more: Example = {
        "id": identity_of(record, row, "question_id"),
        "category": record.get("category"),
    }
    correct = index_of(record["answer"] if "answer" in record else record["answer_index"])
    if correct is None:
        correct = index_of(record.get("answer_index"))
    return choice_example(record["question"], record["options"], correct, **more)


def arc_challenge(record: Record, row: Row = FIRST) -> Example:
    """Return an ARC example; a few of its keys are numbers, and become letters as all options do.

    The hub has question and options in columns of their own; in the release the question holds both.
    """
    asked = record["question"] if isinstance(record["question"], Mapping) else record
    options, key = rows_of(asked["choices"]), record.get("answerKey")
    correct = [str(option["label"]) for option in options].index(str(key)) if key else None
    question = asked["stem"] if "stem" in asked else asked["question"]
    return choice_example(
        question, [option["text"] for option in options], correct, id=identity_of(record, row, "id")
    )


def truthfulqa(record: Record, row: Row = FIRST) -> Example:
    """Return a TruthfulQA example: with options (MC1, one of them true) or, of the other configuration, with free answers.

    The benchmark lists the true option first, so the options are shuffled by the question. The release is a table whose
    cells hold several answers, parted by semicolons.
    """
    if "mc1_targets" not in record:
        free = _of_the_table(record) if "Question" in record else record
        right = texts_of(free["correct_answers"], "correct_answers")
        return {
            "id": row.number,
            "context": text_in(free, "question"),
            "question": text_in(free, "question"),
            "answer": text_in(free, "best_answer"),
            "answers": list(dict.fromkeys(filter(None, [free["best_answer"], *right]))),
            "incorrect_answers": list(
                filter(None, texts_of(free["incorrect_answers"], "incorrect_answers"))
            ),
            "category": free.get("category"),
        }
    options, labels = _targets(record["mc1_targets"])
    also, truths = _targets(record["mc2_targets"])
    if sorted(labels) != [0] * (len(options) - 1) + [1]:
        raise ValueError(f"one option of mc1_targets is true, and the labels are {labels}")
    order = shuffled(options, record["question"])
    return {
        **choice_example(
            record["question"],
            [options[index] for index in order],
            order.index(labels.index(1)),
            id=row.number,
        ),
        "true_answers": [text for text, label in zip(also, truths, strict=True) if label == 1],
        "incorrect_answers": [text for text, label in zip(also, truths, strict=True) if label == 0],
    }


def gpqa(record: Record, row: Row = FIRST) -> Example:
    """Return a GPQA example; the right answer is a column of its own, so the options are shuffled by the example's id."""
    identity = identity_of(record, row, "Record ID")
    options = [
        record["Correct Answer"],
        *(record[f"Incorrect Answer {number}"] for number in (1, 2, 3)),
    ]
    order = shuffled(options, record.get("Record ID") or record["Question"])
    return choice_example(
        record["Question"],
        [options[index] for index in order],
        order.index(0),
        id=identity,
        domain=record.get("High-level domain"),
    )


def hellaswag(record: Record, row: Row = FIRST) -> Example:
    """Return a HellaSwag example; the test split keeps its labels, and so such a row has no gold."""
    return choice_example(
        f"Which ending continues this text best?\n\n{text_in(record, 'ctx')}",
        record["endings"],
        index_of(record.get("label")),
        id=identity_of(record, row, "ind"),
        activity_label=record.get("activity_label"),
    )


def winogrande(record: Record, row: Row = FIRST) -> Example:
    """Return a WinoGrande example; the test split keeps its answers, and so such a row has no gold."""
    return choice_example(
        f"Which option belongs in the place of the underscore?\n\n{text_in(record, 'sentence')}",
        [record["option1"], record["option2"]],
        index_of(record.get("answer"), first=1),
        id=row.number,
    )


def _of_the_table(record: Record) -> Record:
    """Return a row of TruthfulQA's table under the hub's names, each cell of several answers as a list."""
    return {
        "question": record["Question"],
        "best_answer": record["Best Answer"].strip(),
        "correct_answers": [answer.strip() for answer in record["Correct Answers"].split(";")],
        "incorrect_answers": [answer.strip() for answer in record["Incorrect Answers"].split(";")],
        "category": record.get("Category"),
    }


def _targets(targets: Any) -> tuple[list[str], list[int]]:
    """Return texts and labels, in the hub's columns or in the release's table of labels by text."""
    if "choices" in targets and "labels" in targets:
        return texts_of(targets["choices"], "choices"), [int(label) for label in targets["labels"]]
    return list(targets), [int(label) for label in targets.values()]
