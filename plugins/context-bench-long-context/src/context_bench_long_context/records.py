"""From the records of long-context benchmarks to examples; every function is pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import product
from typing import Any

from context_bench_huggingface import FIRST, Row
from context_bench_huggingface.choices import LETTERS, choice_example, index_of
from context_bench_huggingface.columns import identity_of, text_in, text_of, texts_in, texts_of

Record = Mapping[str, Any]
Example = dict[str, Any]
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Where in the book a needle of NoLiMa stands, as fractions; each example takes one, by its id."""

LENGTHS = {
    "250": 250,
    "500": 500,
    "1K": 1000,
    "2K": 2000,
    "4K": 4000,
    "8K": 8000,
    "16K": 16000,
    "32K": 32000,
}
"""Tokens of the book by the configuration of NoLiMa that is named for them."""

CHARACTERS_OF_TOKEN = 4
"""What a token is taken to have, as no tokenizer is part of the records."""

_SHORT = "Answer from the text, in as few words as possible."
_YES_NO = "Answer from the text, with yes or no or in as few words as possible."
_SUMMARY = "Summarise the text in about a page."
_ASKS = {
    "qasper": "Answer from the paper in as few words as possible, with yes or no, or with unanswerable if it does not say.",
    "hotpotqa": _YES_NO,
    "2wikimqa": _YES_NO,
    "multifieldqa_zh": "Answer from the text in Chinese, in as few words as possible.",
    "dureader": "Answer the question from the passages, in Chinese.",
    "gov_report": _SUMMARY,
    "multi_news": "Write one summary of these news articles.",
    "qmsum": "Answer the query about the meeting in a few sentences.",
    "vcsum": "Summarise this meeting in Chinese.",
    "trec": "Name the type of the last question, as the examples do.",
    "lsht": "Name the category of the last news item in Chinese, as the examples do.",
    "triviaqa": "Answer the question from the passage, as the examples do: with the answer alone.",
    "samsum": "Summarise the last conversation, as the examples do.",
    "passage_retrieval_en": "Which paragraph is this the summary of? Answer with its name alone, such as Paragraph 1.",
    "passage_retrieval_zh": "Which paragraph is this the summary of? Answer with its name alone, such as 段落1.",
    "passage_count": "How many different paragraphs are there, leaving out repetitions? Answer with the number alone.",
    "lcc": "Write the next line of code, and nothing else.",
    "repobench-p": "Write the next line of code, and nothing else.",
}
_INFINITE = {
    "passkey": "Answer with the pass key alone.",
    "number_string": "Answer with the sequence of digits alone.",
    "kv_retrieval": "Answer with the value alone.",
    "longbook_sum_eng": "Summarise the book.",
    "longbook_qa_eng": "Answer as briefly as possible.",
    "longbook_qa_chn": "Answer in Chinese, as briefly as possible.",
    "longdialogue_qa_eng": "One name is hidden behind $$MASK$$. Answer with the name alone.",
    "math_find": "Answer with the number alone.",
    "math_calc": "Give the result after each step, separated by commas.",
    "code_run": "Answer with the value that is returned, a whole number.",
}


def longbench(record: Record, row: Row = FIRST) -> Example:
    """Return a LongBench example; its task decides the metric. A task of LongBench-E is that of LongBench.

    A task without an input asks nothing but what its instruction says.
    """
    task = text_in(record, "dataset").removesuffix("_e")
    input_text = text_of(record.get("input"), "input") or ""
    answers = [answer for answer in texts_of(record["answers"], "answers") if answer.strip()]
    return {
        "id": identity_of(record, row, "_id"),
        "context": text_in(record, "context", blank=True),
        **_question(input_text, _ASKS.get(task, _SHORT)),
        **({"answer": answers[0], "answers": answers} if answers else {}),
        "task": task,
        **({"all_classes": texts_in(record, "all_classes")} if record.get("all_classes") else {}),
        "length": record.get("length"),
        "language": record.get("language"),
    }


def longbench_v2(record: Record, row: Row = FIRST) -> Example:
    """Return a LongBench v2 example: four options in the question."""
    return choice_example(
        record["question"],
        [record[f"choice_{letter}"] for letter in "ABCD"],
        index_of(record.get("answer")),
        context=text_in(record, "context"),
        id=identity_of(record, row, "_id"),
        domain=record.get("domain"),
        sub_domain=record.get("sub_domain"),
        difficulty=record.get("difficulty"),
        length=record.get("length"),
    )


def infinitebench(record: Record, row: Row = FIRST) -> Example:
    """Return an InfiniteBench example; its task is the configuration, and options stand in its question.

    The results of a calculation are one answer; other answers in a list are alternatives.
    """
    found = record["answer"]
    listed = list(found) if isinstance(found, list | tuple) else [] if found is None else [found]
    if len(listed) == 1 and isinstance(
        listed[0], list
    ):  # as the authors' script expects Math.Calc, too
        listed = listed[0]
    if any(text_of(answer, "an answer") is None for answer in listed):
        raise ValueError("an answer is null")
    answers = [
        str(answer) for answer in listed if str(answer).strip()
    ]  # 3.0 stays so: decimals have a rule of their own
    if row.config == "math_calc" and answers:
        answers = [", ".join(answers)]
    options = texts_in(record, "options")
    if len(options) != len(record.get("options") or ()):
        raise ValueError("an option is null")
    more = {"id": identity_of(record, row, "id"), "task": row.config}
    context = text_in(record, "context", blank=True)
    gold = {"answer": answers[0], "answers": answers} if answers else {}
    if options:
        correct = _option_of(answers, options)
        if answers and correct is None:
            raise ValueError(f"the answer {answers[0]!r:.60} is none of the options")
        asked = choice_example(record["input"], options, correct, context=context, **more)
        return {**gold, **asked}
    question = _question(text_in(record, "input", blank=True), _INFINITE.get(row.config, ""))
    return {**more, "context": context, **question, **gold}


def _question(input_text: str, instruction: str) -> Example:
    """Return question and instruction; the instruction is the question where nothing else is asked."""
    question = input_text.strip()
    if not question:
        return {"question": instruction}
    return {"question": question, **({"instruction": instruction} if instruction else {})}


def nolima(record: Record, row: Row = FIRST) -> Iterator[Example]:
    """Yield the examples of a needle set of NoLiMa: each question with each test, in a book of the table ``book``.

    Questions of one hop come first. Character and depth follow from the example's id, the same in every process; the needle
    stands between two lines of the book, or of its beginning where the configuration is a length.
    """
    lines = [line for record in row.tables["book"].values() for line in record["text"].splitlines()]
    length = LENGTHS.get(row.config)
    if length is not None:
        lines = _beginning(lines, length * CHARACTERS_OF_TOKEN)
    characters = texts_of(record["character_set"], "character_set")
    asked = sorted((kind, question) for kind, question in record["questions"].items() if question)
    tests = [(test, settings) for test, settings in record["tests"].items() if settings]
    for (kind, question), (test, settings) in product(asked, tests):
        identity = f"{identity_of(record, row, 'id')}_{test}" + (
            "" if kind == "onehop" else f"_{kind}"
        )
        digest = sha256(identity.encode()).digest()
        character = characters[digest[0] % len(characters)]
        depth = DEPTHS[digest[1] % len(DEPTHS)]
        arguments = list(settings["input_args"])
        needle = _filled(record["needle"], arguments).replace("{CHAR}", character)
        place = round(depth * len(lines))
        yield {
            "id": identity if length is None else f"{identity}_{row.config}",
            "context": "\n".join([*lines[:place], needle, *lines[place:]]),
            "question": _filled(question, arguments).replace("{CHAR}", character),
            "instruction": "Answer with the name alone.",
            "answer": character,
            "cluster": identity_of(record, row, "id"),
            "question_type": kind,
            "depth": depth,
            "needle": needle,
            "reasoning_type": record.get("reasoning_type"),
            **({} if length is None else {"length": length}),
        }


def _beginning(lines: list[str], characters: int) -> list[str]:
    """Return the first lines that have so many characters together, the last of them cut.

    Raises:
        ValueError: The book has fewer.
    """
    text = "\n".join(lines)
    if len(text) < characters:
        raise ValueError(f"the book has {len(text)} characters, and {characters} are asked for")
    return text[:characters].splitlines()


def _filled(template: str, arguments: list[str]) -> str:
    """Return a template of NoLiMa, whose places are counted from 1; a place without an argument stays, as with its authors."""
    given = {f"{{{place}}}": str(argument) for place, argument in enumerate(arguments, 1)}
    return re.sub(r"\{\d+\}", lambda match: given.get(match[0], match[0]), template)


def _option_of(answers: list[str], options: list[str]) -> int | None:
    for answer in answers:
        if answer in options:
            return options.index(answer)
        if len(answer) == 1 and answer in LETTERS[: len(options)]:
            return LETTERS.index(answer)
    return None
