"""From the records of reasoning benchmarks to examples; every function is pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from context_bench_huggingface import FIRST, Row
from context_bench_huggingface.columns import identity_of, text_in, text_of, texts_in, texts_of
from context_bench_huggingface.layouts import rows_of

Record = Mapping[str, Any]
Example = dict[str, Any]

_IN_LANGUAGE = {
    "en": "Think step by step. End with a line that says #### and the number.",
    "bn": "ধাপে ধাপে ভাবুন। শেষ লাইনে #### এবং সংখ্যাটি লিখুন।",
    "de": "Denke Schritt für Schritt. Schreibe in die letzte Zeile #### und die Zahl.",
    "es": "Piensa paso a paso. Termina con una línea que diga #### y el número.",
    "fr": "Réfléchis étape par étape. Termine par une ligne qui dit #### et le nombre.",
    "ja": "順を追って考えてください。最後の行に #### と数を書いてください。",
    "ru": "Рассуждай шаг за шагом. В последней строке напиши #### и число.",
    "sw": "Fikiri hatua kwa hatua. Malizia kwa mstari unaosema #### na nambari.",
    "te": "దశలవారీగా ఆలోచించండి. చివరి పంక్తిలో #### మరియు సంఖ్యను రాయండి.",
    "th": "คิดทีละขั้นตอน บรรทัดสุดท้ายให้เขียน #### และตัวเลข",
    "zh": "请逐步思考。最后一行写 #### 和数字。",
}
_LETTER = "Answer with the letter of the right option in brackets, such as (A)."
_YES_NO = "Answer with Yes or No."
_NUMBER = "Answer with the number alone."
_OF_TASK = {
    "boolean_expressions": "Answer with True or False.",
    "causal_judgement": _YES_NO,
    "dyck_languages": "Answer with the missing closing brackets alone, separated by spaces.",
    "formal_fallacies": "Answer with valid or invalid.",
    "multistep_arithmetic_two": _NUMBER,
    "navigate": _YES_NO,
    "object_counting": _NUMBER,
    "sports_understanding": "Answer with yes or no.",
    "web_of_lies": _YES_NO,
    "word_sorting": "Answer with the sorted words alone, separated by spaces.",
    **dict.fromkeys(
        (
            "date_understanding",
            "disambiguation_qa",
            "geometric_shapes",
            "hyperbaton",
            "logical_deduction_five_objects",
            "logical_deduction_seven_objects",
            "logical_deduction_three_objects",
            "movie_recommendation",
            "penguins_in_a_table",
            "reasoning_about_colored_objects",
            "ruin_names",
            "salient_translation_error_detection",
            "snarks",
            "temporal_sequences",
            "tracking_shuffled_objects_five_objects",
            "tracking_shuffled_objects_seven_objects",
            "tracking_shuffled_objects_three_objects",
        ),
        _LETTER,
    ),
}
"""In which form each task of BIG-Bench Hard has its answers."""


def gsm8k(record: Record, row: Row = FIRST) -> Example:
    """Return a GSM8K example: the number behind ``####`` is the answer, what stands before it the reasoning."""
    asked = {
        "id": row.number,
        "context": text_in(record, "question"),
        "question": record["question"],
    }
    solution = text_of(record["answer"], "answer")
    if solution is None or not solution.strip():
        return asked
    reasoning, mark, answer = solution.rpartition("####")
    if not mark or not answer.strip():
        raise ValueError(f"the answer has {'nothing behind' if mark else 'no'} ####")
    return {**asked, "answer": answer.strip().replace(",", ""), "reasoning": reasoning.strip()}


def mgsm(record: Record, row: Row = FIRST) -> Example:
    """Return an MGSM example; its language is the configuration. The release has the number as the answer itself.

    All languages have the same problems in one order, so the problem is the cluster.
    """
    number = text_of(
        record["answer_number"] if "answer_number" in record else record["answer"], "the answer"
    )
    number = number.strip().replace(",", "") if number else None
    if number and not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", number):
        raise ValueError(f"the answer {number!r:.60} is no number")
    return {
        "id": row.number,
        "context": text_in(record, "question"),
        "question": record["question"],
        **({"instruction": _IN_LANGUAGE[row.config]} if row.config in _IN_LANGUAGE else {}),
        **_gold(number),
        **_worked_solution(record),
        "language": row.config,
        "cluster": f"problem {row.number}",
    }


def _worked_solution(record: Record) -> Example:
    """Return the solution of an MGSM record; the eight of the split ``train`` have one beside their number."""
    solution = record.get("answer") if "answer_number" in record else None
    return {"reasoning": solution} if isinstance(solution, str) and solution.strip() else {}


def math(record: Record, row: Row = FIRST) -> Example:
    r"""Return a MATH example: the answer is what the solution's last ``\boxed`` holds."""
    solution, level = text_of(record["solution"], "solution"), record.get("level")
    answer = text_of(record.get("answer"), "answer")
    if answer is None or not answer.strip():
        answer = last_boxed(solution or "")
    return {
        "id": identity_of(record, row, "unique_id"),
        "context": text_in(record, "problem"),
        "question": record["problem"],
        **_gold(answer),
        **({} if solution is None else {"solution": solution}),
        "subject": record.get("type") or record.get("subject"),
        "level": "" if level is None else str(level).removeprefix("Level "),
    }


def bbh(record: Record, row: Row = FIRST) -> Example:
    """Return a BIG-Bench Hard example; its task is the configuration."""
    return {
        "id": row.number,
        "context": text_in(record, "input"),
        "question": record["input"],
        **({"instruction": _OF_TASK[row.config]} if row.config in _OF_TASK else {}),
        **_gold(record["target"]),
        "task": row.config,
    }


def drop(record: Record, row: Row = FIRST) -> Example | list[Example]:
    """Return a DROP example: ``answer_spans`` holds each accepted answer as its spans, ``answers`` the same as texts.

    Read are the release's layout (``answer`` and ``validated_answers`` with number, date and spans), lists of spans, and the
    flattened ``answers_spans`` of the hub's own conversion, where each span counts as an answer. A record of the release is
    a passage with all its questions: it gives an example for each.
    """
    if "qa_pairs" in record:
        return [
            _about_a_passage(
                {"passage": record["passage"], **asked},
                asked.get("query_id") or f"{row.number}_{number}",
            )
            for number, asked in enumerate(rows_of(record["qa_pairs"]))
        ]
    return _about_a_passage(record, identity_of(record, row, "query_id"))


def _about_a_passage(record: Record, identity: Any) -> Example:
    if "answers" in record:
        listed = rows_of(record["answers"])
        answers = [
            [spans] if isinstance(spans, str) else texts_of(spans, "an answer") for spans in listed
        ]
    elif "answers_spans" in record:
        answers = [[text_in(each, "spans")] for each in rows_of(record["answers_spans"])]
    else:
        given = [record.get("answer") or {}, *_validated(record.get("validated_answers"))]
        answers = [_drop_spans(answer) for answer in given]
    unique = list(dict.fromkeys(tuple(spans) for spans in answers if spans))
    texts = [", ".join(spans) for spans in unique]
    return {
        "id": identity,
        "context": text_in(record, "passage", blank=True),
        "question": text_in(record, "question"),
        **(
            {
                "answer": texts[0],
                "answers": texts,
                "answer_spans": [list(spans) for spans in unique],
            }
            if texts
            else {}
        ),
    }


def last_boxed(solution: str) -> str | None:
    r"""Return what the last ``\boxed`` or ``\fbox`` of a solution holds; None where there is none.

    >>> last_boxed(r"First \boxed{1}, then $\boxed{\frac{1}{2}}$.")
    '\\frac{1}{2}'
    >>> last_boxed(r"So $\boxed 7$."), last_boxed(r"So $\boxed7$, as was said.")
    ('7', '7')
    """
    start = max(solution.rfind("\\boxed"), solution.rfind("\\fbox"))
    if start < 0:
        return None
    rest = re.sub(r"^\\(boxed|fbox)\s*", "", solution[start:])
    if not rest.startswith("{"):
        line = rest.partition("\n")[0]
        return re.split(r"[$]" if "$" in line else r"\s", line)[0].strip().rstrip(".,;") or None
    depth = 0
    for end, letter in enumerate(rest):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth == 0:
            return rest[1:end].strip()
    return None


def _drop_spans(answer: Record) -> list[str]:
    number = text_of(answer.get("number"), "number")
    if number and number.strip():
        return [number]
    if answer.get("spans"):
        return texts_in(answer, "spans")
    date = answer.get("date") or {}
    written = " ".join(
        text_of(date.get(part), part) or "" for part in ("day", "month", "year")
    ).split()
    return [" ".join(written)] if written else []


def _validated(answers: Any) -> list[Record]:
    """Return the answers that other annotators gave, from a list of them or from columns of their parts."""
    if isinstance(
        answers, Mapping
    ):  # beside them the hub has columns about the annotators, as long or not
        answers = {name: answers[name] for name in ("number", "date", "spans") if name in answers}
    return rows_of(answers)


def _gold(answer: Any) -> Example:
    """Return the answer as a text; nothing where the benchmark keeps it."""
    text = text_of(answer, "the answer")
    return {"answer": text} if text and text.strip() else {}
