"""From the records of question answering datasets to examples; every function is pure."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from context_bench.prompts import NONE
from context_bench_huggingface import FIRST, Row
from context_bench_huggingface.choices import choice_example, index_of
from context_bench_huggingface.columns import identity_of, text_in, text_of, texts_in, texts_of
from context_bench_huggingface.layouts import rows_of

Record = Mapping[str, Any]
Example = dict[str, Any]


def hotpotqa(record: Record, row: Row = FIRST) -> Example:
    """Return a HotpotQA example: each paragraph as ``title: sentences`` on a line of the context.

    Both layouts are read: columns of titles and sentences (the hub), and pairs of them (the release).
    """
    rows = _table_in(record, "context")
    paragraphs = [
        (each["title"], each["sentences"]) if isinstance(each, Mapping) else each for each in rows
    ]
    return {
        "id": identity_of(record, row, "id", "_id"),
        "context": "\n".join(
            f"{title}: {' '.join(map(str.strip, texts_of(sentences, 'sentences')))}"
            for title, sentences in paragraphs
        ),
        "question": text_in(record, "question"),
        **_gold([record.get("answer")]),
        "type": record.get("type"),
        "level": record.get("level"),
    }


def natural_questions(record: Record, row: Row = FIRST) -> Example:
    """Return a Natural Questions (open) example with every accepted answer."""
    answer = record.get("answer")
    return _open_question(
        text_in(record, "question"), answer if isinstance(answer, list | tuple) else [answer]
    )


def musique(record: Record, row: Row = FIRST) -> Example:
    """Return a MuSiQue example: the paragraphs as context, the answer with its aliases.

    Of the full edition, each question stands there twice, with one id: once without the paragraphs that it needs. The
    benchmark's script leaves such a row out of answer F1 and exact match, so it has no gold; its id says which it is.
    """
    answerable = record.get("answerable") is not False
    gold = [record.get("answer"), *texts_in(record, "answer_aliases")] if answerable else []
    identity = identity_of(record, row, "id")
    return {
        "id": identity if answerable else f"{identity}_unanswerable",
        "context": "\n".join(
            f"{each['title']}: {text_in(each, 'paragraph_text', blank=True)}"
            for each in _table_in(record, "paragraphs")
        ),
        "question": text_in(record, "question"),
        **_gold(gold),
    }


def narrativeqa(record: Record, row: Row = FIRST) -> Example | None:
    """Return a NarrativeQA example: the summary of the story as context, and both answers.

    A row of the release's ``qaps.csv`` is read with the summary in a column of its own, or in the card's table ``summaries``:
    ``summaries.csv`` by its ``document_id``. The file holds all splits; a row of another one gives no example.
    """
    if "document_id" not in record:
        return {
            "id": row.number,
            "context": text_in(record["document"]["summary"], "text"),
            "question": text_in(record["question"], "text"),
            **_gold(each["text"] for each in rows_of(record["answers"])),
            "document": record["document"]["id"],
        }
    if row.split and record["set"] != {"validation": "valid"}.get(row.split, row.split):
        return None
    story = (
        record
        if "summary" in record
        else row.tables.get("summaries", {}).get(record["document_id"])
    )
    if story is None:
        raise ValueError(
            f"the table summaries has no summary of the document {record['document_id']}"
        )
    return {
        "id": row.number,
        "context": text_in(story, "summary").strip(),
        "question": text_in(record, "question").strip(),
        **_gold([record["answer1"], record["answer2"]]),
        "document": record["document_id"],
    }


def triviaqa(record: Record, row: Row = FIRST) -> Example:
    """Return a TriviaQA example: the retrieved pages as context where the record has them, and every alias.

    The hub's columns are read, and the release's names, whose pages are files of their own. The test split keeps its
    answers; the hub has ``<unk>`` in their place, which is no gold.
    """
    if "Question" in record:
        answer = record.get("Answer") or {}
        answers = [
            answer.get("Value"),
            *texts_in(answer, "Aliases"),
            *texts_in(answer, "HumanAnswers"),
        ]
        return {
            "id": identity_of(record, row, "QuestionId"),
            **_open_question(text_in(record, "Question"), answers),
        }
    pages = [
        *_column(record, "entity_pages", "wiki_context"),
        *_column(record, "search_results", "search_context"),
    ]
    answer = record.get("answer") or {}
    answers = [answer.get("value"), *texts_in(answer, "aliases")]
    example = _open_question(
        text_in(record, "question"), [each for each in answers if each != "<unk>"]
    )
    if any(page.strip() for page in pages):
        example["context"] = "\n\n".join(page for page in pages if page.strip())
        del example["context_role"]
    return {"id": identity_of(record, row, "question_id"), **example}


def frames(record: Record, row: Row = FIRST) -> Example:
    """Return a FRAMES example, with the Wikipedia pages that its answer is in."""
    links = record.get("wiki_links") or "[]"
    example = _open_question(
        text_in(record, "Prompt" if "Prompt" in record else "Question"), [record["Answer"]]
    )
    return {
        "id": row.number,
        **example,
        "reasoning_types": record.get("reasoning_types"),
        "wiki_links": texts_of(
            literal_eval(links) if isinstance(links, str) else links, "wiki_links"
        ),
    }


def quality(record: Record, row: Row = FIRST) -> Example | list[Example]:
    """Return a QuALITY example: the article as context, the four options in the question.

    A record of the release is an article with all its questions: it gives an example for each. ``difficult`` is 1 for those of
    the hard subset, whose accuracy the authors give apart.
    """
    if "questions" in record:
        return [
            _about_an_article(record, asked, f"{identity_of(record, row, 'article_id')}_{number}")
            for number, asked in enumerate(_table_in(record, "questions"))
        ]
    return _about_an_article(record, record, row.number)


def _about_an_article(record: Record, asked: Record, identity: Any) -> Example:
    correct = (
        index_of(asked["gold_label"], first=1)
        if "gold_label" in asked
        else index_of(asked.get("answer"))
    )
    identity = asked.get("question_unique_id") or identity
    article, is_hard = text_in(record, "article"), asked.get("difficult")
    return choice_example(
        asked["question"],
        asked["options"],
        correct,
        context=article,
        id=identity,
        difficult=is_hard,
    )


def qasper(record: Record, row: Row = FIRST) -> Iterator[Example]:
    """Yield an example for each question about a paper of QASPER.

    An annotator's answer is free text, spans of the paper, yes or no, or that the paper does not say: ``Unanswerable``, as
    the benchmark's own script writes it. Sections, questions and answers are read as the lists of objects of the release and
    as the hub's columns. The release has the paper's id as its key, so a record without one is named by its place.
    """
    paper = _paper(record)
    if "qas" not in record:  # one question a record
        yield {
            "id": identity_of(record, row, "question_id"),
            "context": paper,
            "question": text_in(record, "question"),
            **_gold([record.get("answer")]),
        }
        return
    for number, asked in enumerate(_table_in(record, "qas")):
        yield {
            "id": f"{identity_of(record, row, 'id')}_{number}",
            "context": paper,
            "question": text_in(asked, "question"),
            **_gold(_qasper_answer(each["answer"]) for each in rows_of(asked.get("answers"))),
        }


def _qasper_answer(answer: Record) -> str:
    if answer.get("unanswerable"):
        return "Unanswerable"
    if answer.get("extractive_spans"):
        return ", ".join(texts_in(answer, "extractive_spans"))
    if answer.get("free_form_answer"):
        return text_in(answer, "free_form_answer")
    return {True: "Yes", False: "No", None: ""}[answer.get("yes_no")]


def _paper(record: Record) -> str:
    lines = [record.get("title") or "", record.get("abstract") or ""]
    for section in _table_in(record, "full_text"):
        lines += [section["section_name"] or "", *texts_in(section, "paragraphs")]
    return "\n".join(line for line in lines if line and line.strip())


def _table_in(record: Record, name: str) -> list[Any]:
    """Return the rows of a table that a record cannot do without."""
    if record[name] is None:
        raise TypeError(f"{name} is null and no table")
    return rows_of(record[name])


def _open_question(question: str, answers: Iterable[Any]) -> Example:
    return {"context": question, "question": question, "context_role": NONE, **_gold(answers)}


def _gold(answers: Iterable[Any]) -> Example:
    """Return ``answer``, the first one, and ``answers``, all that differ; nothing where there is none."""
    found = (text_of(answer, "an answer") for answer in answers)
    texts = list(dict.fromkeys(text for text in found if text and text.strip()))
    return {"answer": texts[0], "answers": texts} if texts else {}


def _column(record: Record, table: str, column: str) -> list[str]:
    found = record.get(table) or {}
    return (
        texts_in(found, column)
        if isinstance(found, Mapping)
        else [text_in(each, column, blank=True) for each in found]
    )
