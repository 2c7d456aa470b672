"""From the records of LongMemEval to examples; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench_huggingface import FIRST, Row
from context_bench_huggingface.columns import text_in, text_of

Record = Mapping[str, Any]
Example = dict[str, Any]

_ABSTAINS = "_abs"
_LISTS = ("haystack_sessions", "haystack_dates", "haystack_session_ids")


def longmemeval(record: Record, row: Row = FIRST) -> Example:
    """Return a LongMemEval example: sessions in order of their dates, each with its date and a number; turns have ids of their places.

    Nothing that tells where the answer is reaches a system: sessions are numbered, since ids of those with the evidence
    begin with ``answer_``; the mark ``has_answer`` of a turn becomes ``evidence``, which is gold; and the id of the question,
    which says whether it can be answered, is ``question_id``, gold too.

    Raises:
        ValueError: Sessions, dates and ids are not equally many.
    """
    sessions, dates, ids = (list(record[name]) for name in _LISTS)
    if not len(sessions) == len(dates) == len(ids):
        raise ValueError(
            f"there are {len(sessions)} sessions, {len(dates)} dates and {len(ids)} ids of sessions"
        )
    order = sorted(range(len(sessions)), key=lambda place: str(dates[place]))
    told: list[Example] = []
    evidence: list[Example] = []
    for number, place in enumerate(order, start=1):
        turns = [
            {
                "id": f"{number}:{at}",
                "role": text_in(turn, "role"),
                "content": text_in(turn, "content", blank=True),
            }
            for at, turn in enumerate(sessions[place], start=1)
        ]
        told.append({"id": str(number), "date": str(dates[place]), "turns": turns})
        evidence += [
            {"session": str(number), "turn": f"{number}:{at}", "text": turn["content"]}
            for at, turn in enumerate(sessions[place], start=1)
            if turn.get("has_answer")
        ]
    question_id = text_in(record, "question_id")
    answer = text_of(record["answer"], "answer")
    return {
        "id": row.number,
        "sessions": told,
        "question": text_in(record, "question"),
        "question_date": text_in(record, "question_date"),
        **({"answer": answer} if answer and answer.strip() else {}),
        "question_id": question_id,
        "question_type": record.get("question_type"),
        "abstention": question_id.endswith(_ABSTAINS),
        "evidence": evidence,
    }
