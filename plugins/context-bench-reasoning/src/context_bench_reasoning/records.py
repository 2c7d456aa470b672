"""From the records of reasoning benchmarks to examples; every function is pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from context_bench_huggingface import FIRST, Row

Record = Mapping[str, Any]
Example = dict[str, Any]


def gsm8k(record: Record, row: Row = FIRST) -> Example:
    """Return a GSM8K example: the number behind ``####`` is the answer, what stands before it the reasoning."""
    reasoning, mark, answer = record["answer"].rpartition("####")
    if not mark:
        raise ValueError("the answer has no ####")
    return {
        "id": row.number,
        "context": record["question"],
        "question": record["question"],
        "answer": answer.strip().replace(",", ""),
        "reasoning": reasoning.strip(),
    }


def mgsm(record: Record, row: Row = FIRST) -> Example:
    """Return an MGSM example; its language is the configuration."""
    return {
        "id": row.number,
        "context": record["question"],
        "question": record["question"],
        "answer": str(record["answer_number"]).replace(",", ""),
        "language": row.config,
    }


def math(record: Record, row: Row = FIRST) -> Example:
    r"""Return a MATH example: the answer is what the solution's last ``\boxed`` holds."""
    answer = record.get("answer") or last_boxed(record["solution"])
    return {
        "id": record.get("unique_id") or row.number,
        "context": record["problem"],
        "question": record["problem"],
        **({} if answer is None else {"answer": answer}),
        "solution": record["solution"],
        "subject": record.get("type") or record.get("subject"),
        "level": str(record.get("level", "")).removeprefix("Level "),
    }


def bbh(record: Record, row: Row = FIRST) -> Example:
    """Return a BIG-Bench Hard example; its task is the configuration."""
    return {
        "id": row.number,
        "context": record["input"],
        "question": record["input"],
        "answer": record["target"],
        "task": row.config,
    }


def drop(record: Record, row: Row = FIRST) -> Example:
    """Return a DROP example: ``answer_spans`` holds each accepted answer as its spans, ``answers`` the same as texts.

    Read are the release's layout (``answer`` and ``validated_answers`` with number, date and spans), lists of spans, and the
    flattened ``answers_spans`` of the hub's own conversion, where each span counts as an answer.
    """
    if "answers" in record:
        answers = [list(map(str, spans)) for spans in record["answers"]]
    elif "answers_spans" in record:
        answers = [[str(span)] for span in record["answers_spans"]["spans"]]
    else:
        answers = [_drop_spans(answer) for answer in (record["answer"], *_validated(record.get("validated_answers")))]
    unique = list(dict.fromkeys(tuple(spans) for spans in answers if spans))
    texts = [", ".join(spans) for spans in unique]
    return {
        "id": record["query_id"],
        "context": record["passage"],
        "question": record["question"],
        **({"answer": texts[0], "answers": texts, "answer_spans": [list(spans) for spans in unique]} if texts else {}),
    }


def last_boxed(solution: str) -> str | None:
    r"""Return what the last ``\boxed`` or ``\fbox`` of a solution holds; None where there is none.

    >>> last_boxed(r"First \boxed{1}, then $\boxed{\frac{1}{2}}$.")
    '\\frac{1}{2}'
    >>> last_boxed(r"So $\boxed 7$.")
    '7'
    """
    start = max(solution.rfind("\\boxed"), solution.rfind("\\fbox"))
    if start < 0:
        return None
    rest = solution[start:].partition("{")
    head = rest[0].removeprefix("\\boxed").removeprefix("\\fbox")
    if head.strip() or not rest[1]:
        return solution[start:].partition(" ")[2].partition("$")[0].strip() or None
    depth = 1
    for end, letter in enumerate(rest[2]):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth == 0:
            return rest[2][:end].strip()
    return None


def _drop_spans(answer: Record) -> list[str]:
    if str(answer.get("number") or "").strip():
        return [str(answer["number"])]
    if answer.get("spans"):
        return [str(span) for span in answer["spans"]]
    date = answer.get("date") or {}
    written = " ".join(str(date.get(part) or "") for part in ("day", "month", "year")).split()
    return [" ".join(written)] if written else []


def _validated(answers: Any) -> Iterable[Record]:
    """Yield answers that other annotators gave, from a list of them or from columns of their parts."""
    if not answers:
        return
    if not isinstance(answers, Mapping):
        yield from answers
        return
    parts = {name: answers[name] for name in ("number", "date", "spans") if name in answers}
    for values in zip(*parts.values(), strict=True):
        yield dict(zip(parts, values, strict=True))
