"""What of a response is the answer, and what is the reasoning that the model wrote out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from context_bench.answers.values import text_of

_MAY_PART = re.compile(r"<[ \t]?[/|｜\w]|\[/?THINK\]|◁/?think▷", re.IGNORECASE)
_MOST_READINGS = 50
"""Layers of marks that may lie in each other: a text with more of them has no answer, and is not
read once for each."""
_SPOKEN_MARK = "assistantfinal"
"""The one mark that begins with a letter: looked for by itself, so that the search for the others
skips from mark to mark."""

NO_ANSWER = "the output has no text under 'response'"
"""Why an evaluator of answers leaves a row unscored whose response is no text."""

UNREADABLE = "unreadable: "
"""How the reason begins when a row is unscored because a judge's reply could not be read: the share
of such rows is shown."""

REPLY = "context_bench.reply"
"""Key of an output under which evaluators find the reply as the system returned it, with its
reasoning."""

REASONING = "context_bench.reasoning"
"""Key of an output under which evaluators find what was parted from the answer; absent where
nothing was."""


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

    Reasoning is what stands in ``<think>``, ``<thinking>``, ``<thought>``, ``<reasoning>``,
    ``<scratchpad>``, ``[THINK]`` and their like; before a closing tag whose opening tag was part of
    the prompt; behind an opening tag that nothing closes; and in every channel but ``final`` of a
    response with channels. The marks that end a turn (``<|endoftext|>``, ``<|im_end|>``, ``</s>``)
    go with all that follows them, and ``<answer>`` around all the rest goes. A mark in quotes or in
    fenced code is talked about and parts nothing. A text without any mark is its own answer.

    The answer of an answer is itself: ``part_answer(part_answer(text).answer).answer ==
    part_answer(text).answer``.

    >>> part_answer("It may be Rome.</think>Paris")
    Parted(answer='Paris', reasoning='It may be Rome.')
    >>> reasoning = "<|channel|>analysis<|message|>Hm.<|end|>"
    >>> part_answer(reasoning + "<|start|>assistant<|channel|>final<|message|>Paris<|return|>")
    Parted(answer='Paris', reasoning='Hm.')
    """
    if _is_unmarked(text):
        return Parted(text)
    answer = text
    readings = 0
    reasoning: list[str] = []
    while _SPOKEN_MARK in answer or _MAY_PART.search(answer):
        # Most answers have no mark, and do not need the expressions of this module.
        from context_bench.answers.marks import part_once

        remainder, thoughts = part_once(answer)
        reasoning += thoughts
        if remainder == answer:
            break
        answer = remainder
        readings += 1
        if readings == _MOST_READINGS:
            return Parted("", "\n".join([*reasoning, answer]))
    return Parted(answer, "\n".join(reasoning))


def _is_unmarked(text: str) -> bool:
    """Whether a text has no mark that could part it; faster than a regular expression."""
    return "<" not in text and "[" not in text and "◁" not in text and _SPOKEN_MARK not in text


def answer_of(processed: Mapping[str, Any]) -> str | None:
    """Return the answer part of an output's ``response``; None where that is no text."""
    response = text_of(processed.get("response"))
    return None if response is None else part_answer(response).answer


def reply_of(processed: Mapping[str, Any]) -> str | None:
    """Return an output's reply as the system returned it; None where that is no text."""
    return text_of(processed.get(REPLY, processed.get("response")))


def parted_output(output: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an output as evaluators get it: ``response`` is the answer, ``REPLY`` the reply,
    ``REASONING`` the rest.

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
