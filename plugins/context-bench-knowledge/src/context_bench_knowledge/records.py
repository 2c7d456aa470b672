"""From the records of knowledge benchmarks to examples; every function is pure, and every option is shown to the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench_huggingface import FIRST, Row
from context_bench_huggingface.choices import choice_example, shuffled

Record = Mapping[str, Any]
Example = dict[str, Any]


def mmlu(record: Record, row: Row = FIRST) -> Example:
    """Return an MMLU example."""
    more: Example = {"id": row.number, "subject": record.get("subject") or row.config}
    return choice_example(record["question"], record["choices"], int(record["answer"]), **more)


def mmlu_pro(record: Record, row: Row = FIRST) -> Example:
    """Return an MMLU-Pro example, with up to ten options."""
    more: Example = {"id": record["question_id"], "category": record.get("category")}
    return choice_example(record["question"], record["options"], int(record["answer_index"]), **more)


def arc_challenge(record: Record, row: Row = FIRST) -> Example:
    """Return an ARC example; a few of its keys are numbers, and become letters as all options do."""
    labels, key = list(record["choices"]["label"]), record["answerKey"]
    correct = labels.index(key) if key else None
    return choice_example(record["question"], record["choices"]["text"], correct, id=record["id"])


def truthfulqa(record: Record, row: Row = FIRST) -> Example:
    """Return a TruthfulQA example: with options (MC1, one of them true) or, of the other configuration, with free answers.

    The benchmark lists the true option first, so the options are shuffled by the question.
    """
    if "mc1_targets" not in record:
        return {
            "id": row.number,
            "context": record["question"],
            "question": record["question"],
            "answer": record["best_answer"],
            "answers": list(dict.fromkeys([record["best_answer"], *filter(None, record["correct_answers"])])),
            "incorrect_answers": list(filter(None, record["incorrect_answers"])),
            "category": record.get("category"),
        }
    options, labels = _targets(record["mc1_targets"])
    also, truths = _targets(record["mc2_targets"])
    order = shuffled(options, record["question"])
    return {
        **choice_example(
            record["question"], [options[index] for index in order], order.index(labels.index(1)), id=row.number
        ),
        "true_answers": [text for text, label in zip(also, truths, strict=True) if label == 1],
        "incorrect_answers": [text for text, label in zip(also, truths, strict=True) if label == 0],
    }


def gpqa(record: Record, row: Row = FIRST) -> Example:
    """Return a GPQA example; the right answer is a column of its own, so the options are shuffled by the example's id."""
    identity = record.get("Record ID") or record["Question"]
    options = [record["Correct Answer"], *(record[f"Incorrect Answer {number}"] for number in (1, 2, 3))]
    order = shuffled(options, identity)
    return choice_example(
        record["Question"],
        [options[index] for index in order],
        order.index(0),
        id=record.get("Record ID") or row.number,
        domain=record.get("High-level domain"),
    )


def hellaswag(record: Record, row: Row = FIRST) -> Example:
    """Return a HellaSwag example; the test split keeps its labels, and so such a row has no gold."""
    label = str(record.get("label", "")).strip()
    return choice_example(
        f"Which ending continues this text best?\n\n{record['ctx']}",
        record["endings"],
        int(label) if label else None,
        id=record["ind"],
        activity_label=record.get("activity_label"),
    )


def winogrande(record: Record, row: Row = FIRST) -> Example:
    """Return a WinoGrande example; the test split keeps its answers, and so such a row has no gold."""
    answer = str(record.get("answer", "")).strip()
    return choice_example(
        f"Which option belongs in the place of the underscore?\n\n{record['sentence']}",
        [record["option1"], record["option2"]],
        int(answer) - 1 if answer else None,
        id=row.number,
    )


def _targets(targets: Any) -> tuple[list[str], list[int]]:
    """Return texts and labels, in the hub's columns or in the release's table of labels by text."""
    if "choices" in targets and "labels" in targets:
        return list(targets["choices"]), [int(label) for label in targets["labels"]]
    return list(targets), [int(label) for label in targets.values()]
