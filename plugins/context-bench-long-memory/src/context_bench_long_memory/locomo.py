"""From the file of LoCoMo to examples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from context_bench.errors import ConfigurationError, DatasetError

Record = Mapping[str, Any]
Example = dict[str, Any]

ADVERSARIAL = 5
"""Code of the questions whose answer is not in the conversation."""

TEMPORAL = 2

_ASK = "Answer with a short phrase, in the words of the conversation where you can. Say that it is not mentioned if it is not."
_ASK_DATE = "Work out dates from those of the sessions."
_TURN = re.compile(r"D:?(\d+):0*(\d+)")
_SESSION = re.compile(r"session_(\d+)")


def locomo(
    limit: int | None = None,
    config: str | None = None,
    split: str | None = None,
    *,
    path: str,
) -> Iterator[Example]:
    """Return the questions of LoCoMo, conversation by conversation.

    Sessions are in order of their numbers, each with its date; a turn has its speaker as role, and the caption of a picture
    behind its text. What nobody said - the words that a picture was searched with, summaries, annotated events - is left out.
    Questions of code 5 have ``abstention``: right is to say that the answer is not there.

    Args:
        limit: Most examples; None for all.
        config: There is none.
        split: There is none.
        path: The file ``locomo10.json`` of the authors' repository: a list of conversations with their questions.

    Raises:
        ConfigurationError: A configuration or split is asked for.
        DatasetError: The file cannot be read, or is laid out in another way.
    """
    if config or split not in (None, "test"):
        raise ConfigurationError("LoCoMo has no configurations, and one split only.")
    return islice(_examples(path), limit)


def _examples(path: str) -> Iterator[Example]:
    try:
        samples = json.loads(Path(path).expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetError(
            f"LoCoMo cannot be read from {path}: {error}. It is data/locomo10.json of the authors' repository."
        ) from error
    if not isinstance(samples, list):
        raise DatasetError(f"{path} is no list of conversations, as LoCoMo's file is.")
    for sample in samples:
        try:
            yield from _of_sample(sample)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise DatasetError(
                f"A conversation in {path} is not laid out as LoCoMo's: {type(error).__name__}: {error}."
            ) from error


def _of_sample(sample: Record) -> Iterator[Example]:
    """Yield the questions about a conversation."""
    name = str(sample["sample_id"])
    conversation = sample["conversation"]
    numbers = sorted(int(found[1]) for key in conversation if (found := _SESSION.fullmatch(key)))
    sessions: list[Example] = []
    said: dict[tuple[int, int], Example] = {}
    for number in numbers:
        turns = []
        for turn in conversation[f"session_{number}"]:
            text = _text(turn)
            dia_id = str(turn["dia_id"])
            turns.append({"id": dia_id, "role": str(turn["speaker"]), "content": text})
            place = _TURN.fullmatch(dia_id)
            if place is not None:
                said[int(place[1]), int(place[2])] = {
                    "session": str(number),
                    "turn": dia_id,
                    "text": text,
                }
        date = conversation.get(f"session_{number}_date_time")
        sessions.append({"id": str(number), "date": date, "turns": turns})
    for number, asked in enumerate(sample["qa"]):
        yield _question(name, number, asked, sessions, said)


def _question(
    name: str,
    number: int,
    asked: Record,
    sessions: list[Example],
    said: Mapping[tuple[int, int], Example],
) -> Example:
    category = int(asked["category"])
    evidence, unresolved = _evidence(asked.get("evidence") or [], said)
    answer = asked.get("answer")
    misleading = asked.get("adversarial_answer")
    instruction = f"{_ASK} {_ASK_DATE}" if category == TEMPORAL else _ASK
    return {
        "id": f"{name}-{number}",
        "sessions": sessions,
        "question": str(asked["question"]),
        "instruction": instruction,
        "cluster": name,
        **({} if answer is None else {"answer": str(answer)}),
        "category": category,
        "abstention": category == ADVERSARIAL,
        "evidence": evidence,
        **({"evidence_unresolved": unresolved} if unresolved else {}),
        **({} if misleading is None else {"misleading_answer": str(misleading)}),
    }


def _text(turn: Record) -> str:
    caption = turn.get("blip_caption")
    text = str(turn["text"])
    return f"{text} [shares {caption}]".strip() if caption else text


def _evidence(listed: Any, said: Mapping[tuple[int, int], Example]) -> tuple[list[Example], int]:
    """Return the turns that a question's evidence names, and how many of its names are of no turn.

    Four strings of the data hold several names; ``D:11:26`` and ``D30:05`` are ``D11:26`` and ``D30:5``.
    """
    evidence: list[Example] = []
    unresolved = 0
    for entry in listed:
        for one in re.split(r"[;\s]+", str(entry).strip()):
            place = _TURN.fullmatch(one)
            found = None if place is None else said.get((int(place[1]), int(place[2])))
            if found is None:
                unresolved += 1
            else:
                evidence.append(dict(found))
    return evidence, unresolved
