"""Replies that choose one of a few words: bare, in talk, or in a JSON object."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from typing import Any

from context_bench.answers import nfkc, part_answer
from context_bench_judging import Asker, Request, UnreadableReply
from context_bench_judging.json_reply import json_objects, values_of
from context_bench_judging.unreadable import beginning_of
from context_bench_openai import ChatReply

_WORD = re.compile(r"[\w/]+")
_WHOLE = re.compile(r"(?<![\w.,-])(\d)\.0(?!\w|[.,]\d)")
_WRAPS = "*\"'`“”‘’()[] "
_NAMES = ("verdict", "answer", "choice", "winner", "label", "result")
_LABEL = re.compile(
    r"[*_\"'\s]*(?:verdict|answer|choice|winner|label|result)[*_\"']*\s*[:=]\s*", re.IGNORECASE
)
_BETTER = r"\b[^.\n]{{0,40}}\b(?:better|best|wins|winner|preferred|superior|stronger)\b"
_OF_OTHERS = (  # "0 is long, 1 is better"; "0 and 1 are alike"; "Correct would be Paris. 0"; "True or false? False"
    rf"\b(?:{{0}}){_BETTER}|\A\W{{{{0,3}}}}(?:(?:and|or|&)\s+)(?:{{0}})(?![\w/])|(?:[:?.!\n]|\bso\b)\W{{{{0,3}}}}(?:{{0}})\W*\Z"
)
_TAKEN_BACK = re.compile(
    r"[^.;,\n]{0,60}\b(?:worse|worst|inferior|weaker|loses|not (?:the )?(?:better|best))\b|\s*[:=?]\W*(?:no|not|false|0)\b"
)


def ask_choice(
    asker: Asker, prompt: str, choices: Mapping[str, str], /, **texts: str
) -> Generator[Request, ChatReply, str]:
    """Yield a question until the reply chooses; return the choice.

    Args:
        asker: Who asks.
        prompt: Name of the prompt.
        choices: What a reply may say, in lower case, and the choice that it means.
        texts: What the placeholders become.

    Raises:
        UnreadableReply: The model refused, or chose nothing.
    """
    names = list(dict.fromkeys(choices.values()))
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": names}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    form = {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": schema},
    }
    first: list[dict[str, str]] = [
        dict(message) for message in asker.book.messages(prompt, **texts)
    ]
    messages = first
    for rounds_left in range(asker.repairs, -1, -1):
        wanted = {**asker.parameters, "response_format": form}
        reply = asker.transcript.add(
            (yield from asker.client_policy.exchange(_always(messages), wanted))
        )
        if reply.refusal or reply.finish_reason == "content_filter":
            raise UnreadableReply(
                f"the judge refused: {beginning_of(reply.refusal or reply.text or 'no words')}"
            )
        try:
            return read_choice(reply.text, choices)
        except UnreadableReply as reason:
            if not rounds_left:
                raise
            repair = f"That cannot be read: {reason}. Reply with one of {', '.join(names)} and nothing else."
            answered = {"role": "assistant", "content": reply.text or "(nothing)"}
            messages = [*first, answered, {"role": "user", "content": repair}]
    raise AssertionError("unreachable")


def read_choice(reply: str, choices: Mapping[str, str]) -> str:
    """Return what a reply chooses: the value of a JSON object, the whole reply, or the word that it begins with.

    A reply of nothing but choices that are not the same, such as ``1, 0``, chooses nothing.

    >>> read_choice(" 1.", {"0": "no", "1": "yes"}), read_choice('{"verdict": 0}', {"0": "no", "1": "yes"})
    ('yes', 'no')

    Raises:
        UnreadableReply: It chooses nothing.
    """
    text = nfkc(part_answer(reply).answer).strip()
    for fields in json_objects(text):
        for value in values_of(fields, _NAMES):
            chosen = choices.get(_plain(f"{value:g}" if isinstance(value, float) else str(value)))
            if chosen is not None:
                return chosen
    text = _LABEL.sub("", text, count=1) if _LABEL.match(text) else text
    text = _WHOLE.sub(r"\1", text)
    if not _is_divided(text, choices):
        first = "" if text.startswith(("{", "[", "`")) else _first(text, choices)
        for candidate in (_plain(text), first):
            if candidate in choices:
                return choices[candidate]
    raise UnreadableReply(
        f"it is none of {', '.join(dict.fromkeys(choices.values()))}: {beginning_of(reply)}"
    )


def _first(text: str, choices: Mapping[str, str]) -> str:
    """Return the choice that a text begins with, when what follows is no part of another word or number.

    What follows may take it back, too: "Summary 0 is worse", "0 is long, 1 is better", "Correct: no".
    """
    lowered = text.lower().lstrip("*\"'( ")
    found = [
        choice
        for choice in choices
        if re.match(rf"{re.escape(choice)}(?![\w/]|[.,]\d|\s*(?:-|to|or)\s*\d)", lowered)
    ]
    first = max(found, key=len, default="")
    rest = lowered[len(first) :]
    others = "|".join(
        re.escape(other) for other in choices if first and choices[other] != choices[first]
    )
    is_taken_back = _TAKEN_BACK.match(rest) or (
        others and re.search(_OF_OTHERS.format(others), rest)
    )
    return "" if is_taken_back else first


def _is_divided(text: str, choices: Mapping[str, str]) -> bool:
    """Whether a text is nothing but choices, and more than one of them."""
    chosen = {choices.get(word) for word in _WORD.findall(text.lower())}
    return None not in chosen and len(chosen) > 1


def _plain(text: str) -> str:
    return text.strip().strip(_WRAPS).rstrip(".!,;: ").strip(_WRAPS).replace("_", " ").lower()


def _always(messages: list[dict[str, str]]) -> Callable[[bool], list[dict[str, Any]]]:
    return lambda _: messages
