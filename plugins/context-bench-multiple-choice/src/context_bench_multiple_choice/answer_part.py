"""The part of a response that answers: without the reasoning before it, and of bounded length."""

from __future__ import annotations

import re

HEAD = 4_000
TAIL = 20_000

# One bracketed tag of a kind that models use to fence off reasoning: `<think>`, `</reasoning>`, `[THINK]`, `<seed:think>`,
# `◁/think▷`, `<|begin_of_thought|>`. The bare `<answer>` is here because it ends reasoning that was never closed.
_TAG = re.compile(
    r"""
    <(?P<close>/?)(?:seed:|ant)?
        (?P<name>think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|answer)>
    | \[(?P<close2>/?)THINK\]
    | ◁(?P<close3>/?)think▷
    | <\|(?P<edge>begin|end)_of_thought\|>
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_OTHER_CHANNEL = "<|channel|>analysis"


def answer_part(response: str) -> str:
    """What the response says outside its reasoning, shortened to its first and last characters when it is huge.

    Reasoning is a `<think>` block or one of its relatives. A block that never closes runs to the end of the response. A
    closing tag alone ends reasoning whose opening tag stood in the prompt. Of a response with channels the final one counts.

    What is longer than `HEAD + TAIL` characters keeps its first `HEAD` and last `TAIL`: an answer stands at the beginning
    or at the end, and the time spent on a response stays bounded.

    >>> answer_part("<think>A? No, B.</think>The answer is C.")
    'The answer is C.'
    >>> answer_part("It may be A.</think>B")
    'B'
    >>> answer_part("<think>A, and so on")
    ''
    """
    if _OTHER_CHANNEL in response or _FINAL_CHANNEL in response:
        response = response.rpartition(_FINAL_CHANNEL)[2] if _FINAL_CHANNEL in response else ""
    text = _without_reasoning(response).strip()
    if len(text) > HEAD + TAIL:
        return f"{text[:HEAD]}\n\n{text[-TAIL:]}"
    return text


def _without_reasoning(response: str) -> str:
    kept: list[str] = []
    position = 0
    opened: int | None = None
    for tag in _TAG.finditer(response):
        closes = bool(tag["close"] or tag["close2"] or tag["close3"]) or tag["edge"] in ("end", "END")
        is_answer = (tag["name"] or "").lower() == "answer"
        if is_answer and opened is None:
            continue
        if is_answer:
            position, opened = tag.start(), None
        elif not closes:
            if opened is None:
                kept.append(response[position : tag.start()])
                opened = tag.start()
        else:
            if opened is None:
                kept.clear()
            position, opened = tag.end(), None
    if opened is None:
        kept.append(response[position:])
    return " ".join(part for part in kept if part)
