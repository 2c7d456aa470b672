"""What of a context is left after a compressor, scored without a model.

Every value is about the *region*: what a compressor may take away. Head and tail stay, and a literal that stands there too is not
asked for. An example without messages has its ``context`` for a region, so plain datasets get the same scores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.answers import references
from context_bench.messages import whole_text
from context_bench_sessions.formats.chat import session_of
from context_bench_sessions.messages import Message, count_pairs, text_of
from context_bench_survival.literals import CLASSES, holds, literals, unescaped
from context_bench_survival.probes import MASK, Probe, probes, told

NEAR = 200
"""Letters between an answer and the words that say what it means, for it to be bound."""

_MARKER = re.compile(
    r"(?i)\b(?:omitted|elided|truncated|compressed|removed|retrieve|collapsed|hidden|summari[sz]ed|ccr)\b|<<|\[\.\.\.|…"
)
_TOKEN = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+")


class Survival:
    """Which literals of the region a compressor kept, and whether what it left is sound.

    Scores: ``survival_needed``, the share of the literals that the recorded agent used afterwards - for plain datasets, of those
    in the gold answers; ``survival_all``, the share of all; ``survival_CLASS`` by class; ``bound``, the share that still stands
    beside the words that say what it means; ``invented``, literals for 1,000 tokens that the original lacks; ``pair_faults``, how
    many calls and results do not fit together that did before; ``kept_ratio``, the tokens left for each token given.

    Args:
        most: Literals of a row that are looked at.
        seed: Seed of their choice.
    """

    def __init__(self, most: int = 400, seed: int = 0) -> None:
        self.name = "survival"
        self._most, self._seed = most, seed

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Return the scores; nothing when the example has no context, or the output has none."""
        before, _ = given(original)
        after = left(original, processed)
        if before is None or after is None:
            return {}
        asked = asked_of(original, self._most, self._seed)
        texts = _texts(original, processed, after)
        kept = {id(probe): is_kept for probe, is_kept in zip(asked, _kept(texts, asked), strict=True)}
        found = {
            **_shares(asked, kept),
            "bound": _share([kept[id(probe)] and is_bound(probe, texts) for probe in asked]),
            "invented": invented(before, after),
            "kept_ratio": _tokens(after) / max(1, _tokens(before)),
        }
        if any(message.get("tool_calls") for message in before):
            found["pair_faults"] = float(pair_faults(before, after))
        return {key: value for key, value in found.items() if value is not None}


def asked_of(original: Mapping[str, Any], most: int = 400, seed: int = 0) -> list[Probe]:
    """Return the probes of an example: those of a session's region, or of a plain context."""
    before, region = given(original)
    if before is None:
        return []
    return probes(before, region, original.get("future") or references(original), most, seed)


def kept_probes(original: Mapping[str, Any], processed: Mapping[str, Any], asked: Sequence[Probe]) -> list[bool]:
    """Return of each probe whether its answer is in what a system left; none is where it left nothing that can be read."""
    after = left(original, processed)
    return [False] * len(asked) if after is None else _kept(_texts(original, processed, after), asked)


def _kept(texts: Sequence[str], asked: Sequence[Probe]) -> list[bool]:
    whole = "\n".join(texts)
    seen = {one.text for line in whole.splitlines() for one in literals(line)}
    return [probe.answer in seen or holds(whole, probe.answer) for probe in asked]


def _texts(original: Mapping[str, Any], processed: Mapping[str, Any], after: Sequence[Message]) -> list[str]:
    texts = [told(message) for message in after]
    before, region = given(original)
    if processed.get("messages") is None and before is not None:
        texts += standing(before[slice(*region)], text_of(processed["context"]))
    return texts


def given(original: Mapping[str, Any]) -> tuple[list[Message] | None, tuple[int, int]]:
    """Return what a system was given in the canonical form, and its region; None when there is no context."""
    messages = original.get("messages")
    if messages:
        start, end = original.get("region") or (0, len(messages))
        return canonical(messages), (int(start), int(end))
    context = original.get("context")
    if not context:
        return None, (0, 0)
    return [{"role": "user", "content": text_of(context)}], (0, 1)


def left(original: Mapping[str, Any], processed: Mapping[str, Any]) -> list[Message] | None:
    """Return what a system left, in the canonical form: the messages, or the context, that it put out."""
    if processed.get("messages") is not None and original.get("messages"):
        return canonical(processed["messages"])
    context = processed.get("context")
    if context is None:
        return None
    if original.get("messages"):  # the region as one text, between head and tail as they were
        start, end = original.get("region") or (0, len(original["messages"]))
        before = canonical(original["messages"])
        return [*before[:start], {"role": "user", "content": text_of(context)}, *before[end:]]
    return [{"role": "user", "content": text_of(context)}]


def standing(region: Sequence[Message], text: str) -> list[str]:
    """Return what is told by those messages of a region that still stand whole in a text that took its place.

    A message of JSON is read by its keys, which a text that holds many messages cannot be.
    """
    return [told(message) for message in region if (whole := whole_text(message)).strip() and whole in text]


def canonical(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return messages of either provider, or canonical ones, in the canonical form."""
    if all("function" not in one for message in messages for one in message.get("tool_calls") or ()) and all(
        isinstance(message.get("content"), str) for message in messages
    ):
        return [dict(message) for message in messages]
    return list(session_of("", messages, {}).messages)


def is_bound(probe: Probe, texts: Sequence[str]) -> bool:
    """Whether an answer still stands near half of the words of its question, in the text of one message."""
    _, _, asked = probe.question.partition(": ")
    words = {word.lower() for word in _WORD.findall(asked.replace(MASK, " "))}
    if not words:
        return True
    for whole in texts:
        start = whole.find(probe.answer)
        while start >= 0:
            near = whole[max(0, start - NEAR) : start + len(probe.answer) + NEAR].lower()
            if 2 * sum(word in near for word in words) >= len(words):
                return True
            start = whole.find(probe.answer, start + 1)
    return False


def invented(before: Sequence[Message], after: Sequence[Message]) -> float:
    """Return how many literals for 1,000 tokens are left that the original lacks; marks of omission may have theirs."""
    original = "\n".join(map(told, before))
    original += "\n" + unescaped(original) if "\\" in original else ""
    known = {one.text for line in original.splitlines() for one in literals(line)}
    new: set[str] = set()
    for message in after:
        for line in whole_text(message).splitlines():
            if not _MARKER.search(line):
                new |= {one.text for one in literals(line) if one.text not in known and one.text not in original}
    return 1000 * len(new) / max(1, _tokens(after))


def pair_faults(before: Sequence[Message], after: Sequence[Message]) -> int:
    """Return the new faults of calls and results, those of the recording taken off.

    Counted are calls without a result, results without a call or in front of it, ids that were not there, and changed arguments.
    """
    return max(0, _faults(after, before) - _faults(before, before))


def _faults(messages: Sequence[Message], before: Sequence[Message]) -> int:
    _, _, unanswered, orphans = count_pairs(messages)
    recorded = {one["id"]: one["arguments"] for message in before for one in message.get("tool_calls", ())}
    early, seen, changed = 0, set(), 0
    for message in messages:
        for one in message.get("tool_calls", ()):
            seen.add(one["id"])
            changed += one["id"] not in recorded or _plain(recorded[one["id"]]) != _plain(one["arguments"])
        if message["role"] == "tool" and message["tool_call_id"] not in seen:
            early += 1
    return unanswered + max(orphans, early) + changed


def _plain(arguments: str) -> str:
    return "".join(arguments.split())


def _shares(asked: Sequence[Probe], kept: Mapping[int, bool]) -> dict[str, float | None]:
    shares: dict[str, float | None] = {
        "survival_needed": _share([kept[id(probe)] for probe in asked if probe.needed]),
        "survival_all": _share([kept[id(probe)] for probe in asked]),
    }
    for kind in (*CLASSES, "error"):
        shares[f"survival_{kind}"] = _share([kept[id(probe)] for probe in asked if probe.kind == kind])
    return shares


def _share(found: Sequence[bool]) -> float | None:
    return sum(found) / len(found) if found else None


def _tokens(messages: Sequence[Message]) -> int:
    return sum(len(_TOKEN.findall(whole_text(message))) for message in messages)
