"""What of a response is the answer, and what of an example is the reference: one rule of each for every evaluator.

The runner parts each response before evaluators see it, and an evaluator that parts it again changes nothing. So an
evaluator gives the same score in a run and when it is called with what a model wrote.

>>> part_answer("<think>Rome? No.</think>Paris<|im_end|>").answer
'Paris'
>>> references({"answer": "Paris", "answer_aliases": ["Paname"]})
('Paris', 'Paname')
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

_MAY_PART = re.compile(r"<[ \t]?[/|｜\w]|\[/?THINK\]|◁/?think▷", re.IGNORECASE)
_MOST_READINGS = 50
"""Layers of marks that may lie in each other: a text with more of them has no answer, and is not read once for each."""
_SPOKEN_MARK = "assistantfinal"
"""The one mark that begins with a letter: looked for by itself, so that the search for the others skips from mark to mark."""

REFERENCE_FIELDS = ("answers", "answer", "answer_aliases", "aliases")
"""Fields of an example that :func:`references` reads."""

NO_ANSWER = "the output has no text under 'response'"
"""Why an evaluator of answers leaves a row unscored whose response is no text."""

UNREADABLE = "unreadable: "
"""How the reason begins when a row is unscored because a judge's reply could not be read: the share of such rows is shown."""

REPLY = "context_bench.reply"
"""Key of an output under which evaluators find the reply as the system returned it, with its reasoning."""

REASONING = "context_bench.reasoning"
"""Key of an output under which evaluators find what was parted from the answer; absent where nothing was."""


_CROWD = re.compile(r"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f]){32,}")
"""Many signs in a row that may be marks on one letter; all that begin with a mark when they are taken apart are among them."""


class Parted(NamedTuple):
    """A response in two parts.

    Attributes:
        answer: What counts as the answer.
        reasoning: What the model wrote to itself before, without the marks around it.
    """

    answer: str
    reasoning: str = ""


def part_answer(text: str) -> Parted:
    """Part a response into its answer and the reasoning that the model wrote out.

    Reasoning is what stands in ``<think>``, ``<thinking>``, ``<thought>``, ``<reasoning>``, ``<scratchpad>``, ``[THINK]``
    and their like; before a closing tag whose opening tag was part of the prompt; behind an opening tag that nothing
    closes; and in every channel but ``final`` of a response with channels. The marks that end a turn
    (``<|endoftext|>``, ``<|im_end|>``, ``</s>``) go with all that follows them, and ``<answer>`` around all the rest goes.
    A mark in quotes or in fenced code is talked about and parts nothing. A text without any mark is its own answer.

    The answer of an answer is itself: ``part_answer(part_answer(text).answer).answer == part_answer(text).answer``.

    >>> part_answer("It may be Rome.</think>Paris")
    Parted(answer='Paris', reasoning='It may be Rome.')
    >>> part_answer("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Paris<|return|>")
    Parted(answer='Paris', reasoning='Hm.')
    """
    if _is_unmarked(text):
        return Parted(text)
    answer, readings = text, 0
    reasoning: list[str] = []
    while _SPOKEN_MARK in answer or _MAY_PART.search(answer):
        from context_bench.reasoning import (
            part_once,
        )  # most answers have no mark, and do without its expressions

        rest, thoughts = part_once(answer)
        reasoning += thoughts
        if rest == answer:
            break
        answer, readings = rest, readings + 1
        if readings == _MOST_READINGS:
            return Parted("", "\n".join([*reasoning, rest]))
    return Parted(answer, "\n".join(reasoning))


def _is_unmarked(text: str) -> bool:
    """Whether a text has no mark that could part it: told sooner than by an expression, which looks at each character."""
    return "<" not in text and "[" not in text and "◁" not in text and _SPOKEN_MARK not in text


def answer_of(processed: Mapping[str, Any]) -> str | None:
    """Return the answer part of an output's ``response``; None where that is no text."""
    response = text_of(processed.get("response"))
    return None if response is None else part_answer(response).answer


def reply_of(processed: Mapping[str, Any]) -> str | None:
    """Return an output's reply as the system returned it; None where that is no text."""
    return text_of(processed.get(REPLY, processed.get("response")))


def parted_output(output: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an output as evaluators get it: ``response`` is the answer, ``REPLY`` the reply, ``REASONING`` the rest.

    Every other key is as it was. An output without a text under ``response`` is returned as it is.
    """
    reply = output.get("response")
    if not isinstance(reply, str):
        return output
    answer, reasoning = (reply, "") if _is_unmarked(reply) else part_answer(reply)
    parted = {**output, "response": answer, REPLY: output.get(REPLY, reply)}
    if reasoning:
        parted[REASONING] = reasoning
    return parted


class Gold(NamedTuple):
    """What an example offers to hold an answer against.

    Attributes:
        values: All alternatives as the example has them, blank ones too: texts, numbers.
        texts: Those that are texts or numbers and are not blank, as texts, each once.
        reason: Why there is no such text; empty where there is one.
    """

    values: tuple[Any, ...]
    texts: tuple[str, ...]
    reason: str = ""


def references(example: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reference answers of an example, any of which is right; none of them is blank.

    They are those of ``answers``, or else of ``answer``, and those of ``answer_aliases`` and ``aliases``. Each field may
    hold a text, a number, a list of them, or a mapping with ``text`` (SQuAD) or ``value`` and ``aliases`` (TriviaQA).

    >>> references({"answer": ["Paris", 7]}), references({"answers": {"text": ["Paris"]}}), references({"answer": " "})
    (('Paris', '7'), ('Paris',), ())
    """
    return gold(example).texts


def gold(example: Mapping[str, Any]) -> Gold:
    """Return what an example offers to hold an answer against, and where that is nothing why.

    >>> gold({"answer": [["Paris"]]}).reason
    "the example's answer holds a list, which is no text"
    """
    only = example.get("answers")
    if (
        type(only) is list
        and len(only) == 1
        and type(only[0]) is str
        and only[0].strip()
        and not _has_aliases(example)
    ):
        return Gold((only[0],), (only[0],))  # one reference, as most examples have
    for field in ("answers", "answer"):
        values = tuple(_alternatives(example.get(field)))
        texts = _texts(values)
        if texts or (field == "answer" and values):
            break
    else:
        field, values = "answers", tuple(_alternatives(only))
    for alias in _ALIASES:
        values += tuple(_alternatives(example.get(alias)))
    texts = _texts(values)
    return Gold(values, texts, "" if texts else _why_none(field, values))


def text_of(value: object) -> str | None:
    """Return a text, or a number as a text; None for what is neither, such as None, bytes, a list or NaN."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else str(value)
    # Python refuses to print an integer of more than 4,300 digits.
    return str(value) if isinstance(value, int) and value.bit_length() < 14_000 else None


_ALIASES = REFERENCE_FIELDS[2:]


def _has_aliases(example: Mapping[str, Any]) -> bool:
    return any(example.get(alias) for alias in _ALIASES)


def _alternatives(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for name in ("text", "value", "aliases"):
            yield from _alternatives(value.get(name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _alternatives(item) if isinstance(item, Mapping) else (item,)
    elif value is not None:
        yield value


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    texts = [value if type(value) is str else text_of(value) for value in values]
    return tuple(dict.fromkeys([text for text in texts if text and not text.isspace()]))


def _why_none(field: str, values: Sequence[Any]) -> str:
    strange = [
        value
        for value in values
        if text_of(value) is None and not (isinstance(value, float) or value is None)
    ]
    if strange:
        return f"the example's {field} holds a {type(strange[0]).__name__}, which is no text"
    return f"the example's {field} is blank" if values else "the example has no answer or answers"


def nfkc(text: str) -> str:
    """Return ``unicodedata.normalize("NFKC", text)``, for any number of marks on a letter in time by the length of the text.

    Python puts the marks of a letter in order one by one, each behind those that are in order already, in time by the square of
    their number. Here many of them are in order before: the normal form of a text whose marks are ordered is the same.
    """
    return unicodedata.normalize("NFKC", _CROWD.sub(_in_order, text))


def _in_order(crowd: re.Match[str]) -> str:
    signs = chain.from_iterable(unicodedata.normalize("NFKD", sign) for sign in crowd[0])
    groups = groupby(signs, key=lambda sign: unicodedata.combining(sign) > 0)
    return "".join(
        "".join(sorted(group, key=unicodedata.combining) if marks else group)
        for marks, group in groups
    )
