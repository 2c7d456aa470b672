"""Published layouts of human judgements: SummEval, LLMBar and MT-bench.

Each reader takes the records of a file as they are published. :func:`layout_of` finds the reader by the fields of the first
record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from context_bench.errors import DatasetError
from context_bench_validation.judgements import TIE, A, Answer, B, Judgements, Preference, Rating
from context_bench_validation.records import Record

DIMENSIONS = ("coherence", "consistency", "fluency", "relevance")
"""What SummEval's annotators rated from 1 to 5."""

SUMMARIZE = "Summarize the text."
"""The question of a SummEval example, which the data does not have."""


def read_summeval(records: Sequence[Record]) -> Judgements:
    """Return the expert ratings of SummEval (Fabbri et al., TACL 2021, https://arxiv.org/abs/2007.12626).

    A record is a summary, with ``decoded``, ``expert_annotations`` and ``references``; the ``text`` is there where the file
    was paired with the articles. The ratings of crowd workers are not used, as the paper advises.
    """
    ratings = []
    for number, record in enumerate(records, start=1):
        annotations = _list_in(record, "expert_annotations", number)
        answer = Answer(
            _summary_example(record.get("text"), _references(record)),
            _text_in(record, "decoded", number),
        )
        item = str(record.get("id", number))
        system = record.get("model_id")
        by_dimension = {
            name: tuple(_number(one, name, number) for one in annotations) for name in DIMENSIONS
        }
        label = f"{item} {system}" if system is not None else item
        ratings.append(
            Rating(item, label, None if system is None else str(system), answer, by_dimension)
        )
    return Judgements("SummEval", tuple(ratings))


def read_averaged_summeval(records: Sequence[Record]) -> Judgements:
    """Return the expert ratings of SummEval from the layout with one record an article.

    A record has ``machine_summaries``, and for each dimension a list with the mean rating of each summary.
    """
    ratings = []
    for number, record in enumerate(records, start=1):
        summaries = _list_in(record, "machine_summaries", number)
        example = _summary_example(record.get("text"), list(record.get("human_summaries") or ()))
        item = str(record.get("id", number))
        for place, summary in enumerate(summaries):
            by_dimension = {}
            for name in DIMENSIONS:
                values = _list_in(record, name, number)
                if len(values) != len(summaries):
                    raise DatasetError(
                        f"Record {number}: {name} has {len(values)} ratings for {len(summaries)} summaries."
                    )
                by_dimension[name] = (_number({name: values[place]}, name, number),)
            answer = Answer(example, str(summary))
            ratings.append(Rating(item, f"{item} {place}", str(place), answer, by_dimension))
    return Judgements("SummEval, averaged", tuple(ratings))


def read_llmbar(records: Sequence[Record]) -> Judgements:
    """Return the preferences of LLMBar (Zeng et al., ICLR 2024, https://arxiv.org/abs/2310.07641).

    A record has ``input``, ``output_1``, ``output_2``, and the ``label`` 1 or 2 of the output that follows the instruction.
    """
    preferences = []
    for number, record in enumerate(records, start=1):
        question = _text_in(record, "input", number)
        first = _text_in(record, "output_1", number)
        second = _text_in(record, "output_2", number)
        label = str(record.get("label"))
        if label not in ("1", "2"):
            raise DatasetError(f"Record {number}: label must be 1 or 2, got {label}.")
        preferences.append(
            Preference(
                item=str(number),
                label=str(number),
                first=Answer({"question": question, "other": second}, first),
                second=Answer({"question": question, "other": first}, second),
                vote=A if label == "1" else B,
            )
        )
    return Judgements("LLMBar", preferences=tuple(preferences))


def read_mt_bench(records: Sequence[Record]) -> Judgements:
    """Return the votes on MT-bench (Zheng et al., NeurIPS 2023, https://arxiv.org/abs/2306.05685).

    A record has ``conversation_a``, ``conversation_b``, ``turn`` and ``winner``: ``model_a``, ``model_b`` or ``tie``. The
    response is the reply of that turn; for the second turn, the context of each response is its conversation before it.
    """
    preferences = []
    for number, record in enumerate(records, start=1):
        turn = record.get("turn", 1)
        if turn not in (1, 2):
            raise DatasetError(f"Record {number}: turn must be 1 or 2, got {turn}.")
        first = _reply(_list_in(record, "conversation_a", number), turn, number)
        second = _reply(_list_in(record, "conversation_b", number), turn, number)
        question = str(record.get("question_id", number))
        preferences.append(
            Preference(
                item=question,
                label=f"{question} turn {turn}: {record.get('model_a', 'a')}, {record.get('model_b', 'b')}",
                first=Answer({**first.example, "other": second.response}, first.response),
                second=Answer({**second.example, "other": first.response}, second.response),
                vote=vote_of(record.get("winner"), f"Record {number}: winner"),
            )
        )
    return Judgements("MT-bench", preferences=tuple(preferences))


def vote_of(value: Any, place: str) -> str:
    """Return a vote, given any of the words that published data have for it.

    Raises:
        DatasetError: It is none of them.
    """
    word = str(value).strip().lower()
    if word.startswith(TIE):  # such as "tie (inconsistent)"
        return TIE
    for vote, words in ((A, ("a", "1", "model_a")), (B, ("b", "2", "model_b"))):
        if word in words:
            return vote
    raise DatasetError(f"{place} must be a, b or tie, got {value!r}.")


Reader = Callable[[Sequence[Record]], Judgements]

LAYOUTS: tuple[tuple[frozenset[str], Reader], ...] = (
    (frozenset({"decoded", "expert_annotations"}), read_summeval),
    (frozenset({"machine_summaries", "coherence"}), read_averaged_summeval),
    (frozenset({"input", "output_1", "output_2", "label"}), read_llmbar),
    (frozenset({"conversation_a", "conversation_b", "winner"}), read_mt_bench),
)
"""The fields by which a layout is known, with its reader."""


def layout_of(records: Sequence[Record]) -> Reader | None:
    """Return the reader of published records; None if they are in no published layout."""
    for fields, reader in LAYOUTS:
        if fields <= set(records[0]):
            return reader
    return None


def _summary_example(text: Any, references: list[Any]) -> dict[str, Any]:
    example: dict[str, Any] = {"question": SUMMARIZE}
    if text:
        example["context"] = str(text)
    if references:
        example["answer"] = str(references[0])
        example["answers"] = [str(reference) for reference in references]
    return example


def _references(record: Record) -> list[Any]:
    return list(
        record.get("references") or ([record["reference"]] if record.get("reference") else [])
    )


def _reply(conversation: Sequence[Any], turn: int, number: int) -> Answer:
    """Return the reply of a turn, with the user's message as its question and what came before as its context."""
    for place, message in enumerate(conversation):
        if not isinstance(message, dict) or "role" not in message or "content" not in message:
            raise DatasetError(
                f"Record {number}: message {place + 1} of a conversation has no role or content."
            )
    replies = [
        place for place, message in enumerate(conversation) if message["role"] == "assistant"
    ]
    if len(replies) < turn or replies[turn - 1] == 0:
        raise DatasetError(
            f"Record {number}: a conversation has no reply of turn {turn} after a question."
        )
    place = replies[turn - 1]
    example = {"question": str(conversation[place - 1]["content"])}
    before = conversation[: place - 1]
    if before:
        example["context"] = "\n\n".join(
            f"{message['role']}: {message['content']}" for message in before
        )
    return Answer(example, str(conversation[place]["content"]))


def _list_in(record: Record, name: str, number: int) -> list[Any]:
    value = record.get(name)
    if not isinstance(value, list) or not value:
        raise DatasetError(f"Record {number}: {name} must be a list with at least one entry.")
    return value


def _text_in(record: Record, name: str, number: int) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise DatasetError(f"Record {number}: {name} must be text.")
    return value


def _number(values: Any, name: str, number: int) -> float:
    value = values.get(name) if isinstance(values, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DatasetError(f"Record {number}: a rating of {name} must be a number, got {value!r}.")
    return float(value)
