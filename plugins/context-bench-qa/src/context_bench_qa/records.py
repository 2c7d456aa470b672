"""From the records of question answering datasets to examples; every function is pure."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from context_bench_huggingface import FIRST, Row
from context_bench_huggingface.choices import choice_example

Record = Mapping[str, Any]
Example = dict[str, Any]


def hotpotqa(record: Record, row: Row = FIRST) -> Example:
    """Return a HotpotQA example: each paragraph as ``title: sentences`` on a line of the context.

    Both layouts are read: columns of titles and sentences (the hub), and pairs of them (the release).
    """
    context = record["context"]
    if isinstance(context, Mapping):
        paragraphs = list(zip(context["title"], context["sentences"], strict=True))
    else:
        paragraphs = [(title, sentences) for title, sentences in context]
    found = {"id": record.get("id") or record.get("_id") or row.number}
    return {
        **found,
        "context": "\n".join(f"{title}: {' '.join(map(str.strip, sentences))}" for title, sentences in paragraphs),
        "question": record["question"],
        **_gold([record.get("answer")]),
        "type": record.get("type"),
        "level": record.get("level"),
    }


def natural_questions(record: Record, row: Row = FIRST) -> Example:
    """Return a Natural Questions (open) example with every accepted answer."""
    return _open_question(record["question"], _listed(record.get("answer")))


def musique(record: Record, row: Row = FIRST) -> Example:
    """Return a MuSiQue example: the paragraphs as context, the answer with its aliases."""
    return {
        "id": record["id"],
        "context": "\n".join(f"{each['title']}: {each['paragraph_text']}" for each in record["paragraphs"]),
        "question": record["question"],
        **_gold([record.get("answer"), *(record.get("answer_aliases") or [])]),
    }


def narrativeqa(record: Record, row: Row = FIRST) -> Example:
    """Return a NarrativeQA example: the summary of the story as context, and both answers."""
    return {
        "id": row.number,
        "context": record["document"]["summary"]["text"],
        "question": record["question"]["text"],
        **_gold(each["text"] for each in record["answers"]),
        "document": record["document"]["id"],
    }


def triviaqa(record: Record, row: Row = FIRST) -> Example:
    """Return a TriviaQA example: the retrieved pages as context where the record has them, and every alias.

    The test split keeps its answers; the hub has ``<unk>`` in their place, which is no gold.
    """
    pages = [*_column(record, "entity_pages", "wiki_context"), *_column(record, "search_results", "search_context")]
    answer = record.get("answer") or {}
    answers = [answer.get("value"), *(answer.get("aliases") or [])]
    example = _open_question(record["question"], [each for each in answers if each != "<unk>"])
    if any(page.strip() for page in pages):
        example["context"] = "\n\n".join(page for page in pages if page.strip())
    return {"id": record["question_id"], **example}


def frames(record: Record, row: Row = FIRST) -> Example:
    """Return a FRAMES example, with the Wikipedia pages that its answer is in."""
    links = record.get("wiki_links") or "[]"
    example = _open_question(record.get("Prompt") or record["Question"], [record["Answer"]])
    return {
        "id": row.number,
        **example,
        "reasoning_types": record.get("reasoning_types"),
        "wiki_links": literal_eval(links) if isinstance(links, str) else list(links),
    }


def quality(record: Record, row: Row = FIRST) -> Example:
    """Return a QuALITY example: the article as context, the four options in the question."""
    label = record.get("gold_label")
    correct = int(label) - 1 if label is not None else record.get("answer")
    return choice_example(
        record["question"],
        record["options"],
        correct if correct is not None and correct >= 0 else None,
        context=record["article"],
        id=record.get("question_unique_id") or row.number,
    )


def qasper(record: Record, row: Row = FIRST) -> Iterator[Example]:
    """Yield an example for each question about a paper of QASPER.

    An annotator's answer is free text, spans of the paper, yes or no, or that the paper does not say: ``Unanswerable``, as
    the benchmark's own script writes it.
    """
    paper = _paper(record)
    if "qas" not in record:  # one question a record
        yield {
            "id": record.get("question_id", row.number),
            "context": paper,
            "question": record["question"],
            **_gold([record["answer"]]),
        }
        return
    asked = record["qas"]
    for number, (question, answers) in enumerate(zip(asked["question"], asked["answers"], strict=True)):
        yield {
            "id": f"{record['id']}_{number}",
            "context": paper,
            "question": question,
            **_gold(_qasper_answer(each) for each in answers["answer"]),
        }


def _qasper_answer(answer: Record) -> str:
    if answer.get("unanswerable"):
        return "Unanswerable"
    if answer.get("extractive_spans"):
        return ", ".join(answer["extractive_spans"])
    if answer.get("free_form_answer"):
        return str(answer["free_form_answer"])
    return {True: "Yes", False: "No", None: ""}[answer.get("yes_no")]


def _paper(record: Record) -> str:
    text = record["full_text"]
    lines = [record.get("title") or "", record.get("abstract") or ""]
    for name, paragraphs in zip(text["section_name"], text["paragraphs"], strict=True):
        lines += [name or "", *paragraphs]
    return "\n".join(line for line in lines if line and line.strip())


def _listed(answers: Any) -> list[Any]:
    return list(answers) if isinstance(answers, list | tuple) else [answers]


def _open_question(question: str, answers: Iterable[Any]) -> Example:
    return {"context": question, "question": question, **_gold(answers)}


def _gold(answers: Iterable[Any]) -> Example:
    """Return ``answer``, the first one, and ``answers``, all that differ; nothing where there is none."""
    texts = list(dict.fromkeys(str(answer) for answer in answers if answer is not None and str(answer).strip()))
    return {"answer": texts[0], "answers": texts} if texts else {}


def _column(record: Record, table: str, column: str) -> list[str]:
    return list((record.get(table) or {}).get(column) or [])
