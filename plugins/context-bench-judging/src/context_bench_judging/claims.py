"""Claims: what a text says, one statement at a time, and whether another text bears it out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from attrs import frozen

from context_bench_judging.asker import Asker
from context_bench_judging.asking import Request
from context_bench_judging.prompt_book import tagged
from context_bench_judging.unreadable import UnreadableReply, beginning_of
from context_bench_openai import ChatReply

CLAIM_PROMPTS = {
    "claims": (
        "Split the text into the claims of fact that it makes. Each claim says one thing, stands by itself (write names for "
        "pronouns), and adds nothing to the text. Leave out greetings, questions and remarks on the text itself.\n\n"
        "{question}{text}\n\n"
        'Reply with a JSON object of one field: "claims", a list of texts; an empty list when nothing is claimed.'
    ),
    "support": (
        "For each numbered claim say whether the source bears it out: 1 when it follows from the source, 0 when the source "
        "does not say it or says otherwise. What you know besides does not count.\n\n{source}\n\n{claims}\n\n"
        'Reply with a JSON object of two fields: "reasons", a list with one short reason for each claim, then "verdicts", a '
        "list with one 1 or 0 for each claim, both in the order of the claims."
    ),
}
"""The prompts; their version is that of the judge that uses them."""

TEXTS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}
ZEROS_AND_ONES: Mapping[str, Any] = {"type": "array", "items": {"type": "integer", "enum": [0, 1]}}
_YES = {"1", "1.0", "yes", "true", "supported"}
_NO = {"0", "0.0", "no", "false", "unsupported", "not supported", "na", "n/a", "unknown"}
_NUMBERS = ("number", "index", "id", "claim_number", "claim", "statement", "text", "question")
_ARE_TEXTS = (
    "claim",
    "statement",
    "text",
    "question",
)  # where they are texts: "1889" is a claim and no number
Talk = Generator[Request, ChatReply, Any]


@frozen
class Claim:
    """One statement.

    Attributes:
        text: What it says.
        is_supported: Whether the source bears it out.
        reason: Why, in the judge's words.
    """

    text: str
    is_supported: bool
    reason: str = ""


def split_claims(
    asker: Asker, text: str, question: str = ""
) -> Generator[Request, ChatReply, list[str]]:
    """Return the claims of a text; a blank one has none, and nobody is asked.

    Args:
        asker: Who asks; its prompts include `CLAIM_PROMPTS`.
        text: The text.
        question: What it answers: it makes short answers understandable.
    """
    if not text.strip():
        return []
    asked = tagged("question", question) + "\n\n" if question.strip() else ""
    return (
        yield from asker.ask(
            "claims",
            {"claims": TEXTS},
            texts_of("claims"),
            question=asked,
            text=tagged("text", text),
        )
    )


def check_claims(
    asker: Asker, claims: Sequence[str], source: str
) -> Generator[Request, ChatReply, list[Claim]]:
    """Return the claims with whether a source bears them out; without claims, or a source, nobody is asked."""
    if not claims or not source.strip():
        return [Claim(claim, False, "there is no source") for claim in claims]
    numbered = "\n".join(f"{number}. {claim}" for number, claim in enumerate(claims, 1))
    fields = {"reasons": TEXTS, "verdicts": ZEROS_AND_ONES}

    def read(found: Mapping[str, Any]) -> list[Claim]:
        verdicts = verdicts_of("verdicts", len(claims))(found)
        reasons = (
            [str(reason) for reason in found["reasons"]]
            if isinstance(found["reasons"], list)
            else []
        )
        reasons += [""] * (len(claims) - len(reasons))
        return [Claim(*claim) for claim in zip(claims, verdicts, reasons)]

    return (
        yield from asker.ask(
            "support",
            fields,
            read,
            source=tagged("source", source),
            claims=tagged("claims", numbered),
        )
    )


def texts_of(field: str, distinct: bool = True) -> Callable[[Mapping[str, Any]], list[str]]:
    """Return a reader of a list of texts, each on one line: blank ones are left out, and repeated ones unless each counts."""

    def read(found: Mapping[str, Any]) -> list[str]:
        listed = found[field]
        if not isinstance(listed, list) or not all(
            isinstance(text, (str, int, float)) for text in listed
        ):
            raise UnreadableReply(f"{field!r} is no list of texts but {beginning_of(str(listed))}")
        texts = [text for text in (" ".join(str(text).split()) for text in listed) if text]
        return list(dict.fromkeys(texts)) if distinct else texts

    return read


def verdicts_of(field: str, count: int) -> Callable[[Mapping[str, Any]], list[bool]]:
    """Return a reader of exactly so many ones and zeros; each may stand in an object under ``verdict``, and be numbered there."""

    def read(found: Mapping[str, Any]) -> list[bool]:
        listed = found[field]
        if not isinstance(listed, list):
            raise UnreadableReply(f"{field!r} is no list but {beginning_of(str(listed))}")
        if len(listed) != count:
            raise UnreadableReply(f"{field!r} has {len(listed)} values for {count}")
        listed = in_order(field, listed)
        verdicts = [
            is_one(value.get("verdict") if isinstance(value, Mapping) else value)
            for value in listed
        ]
        unclear = [value for value, verdict in zip(listed, verdicts) if verdict is None]
        if unclear:
            raise UnreadableReply(f"{field!r} holds {unclear[0]!r}, which is neither 1 nor 0")
        return [bool(verdict) for verdict in verdicts]

    return read


def in_order(field: str, listed: Sequence[Any]) -> list[Any]:
    """Return the objects of a list by the numbers that they give themselves; what has no numbers stays as it is.

    >>> in_order("verdicts", [{"number": 2, "verdict": 0}, {"number": "1", "verdict": 1}])
    [{'number': '1', 'verdict': 1}, {'number': 2, 'verdict': 0}]

    Raises:
        UnreadableReply: A number is missing or there twice: whose verdict is whose cannot be told.
    """
    objects = [value for value in listed if isinstance(value, Mapping)]
    numbers = next(
        (
            found
            for name in _NUMBERS
            if any(found := [_number(name, value.get(name)) for value in objects])
        ),
        None,
    )
    if numbers is None:
        return list(listed)
    first = 0 if "0" in numbers else 1
    if sorted(map(str, numbers)) != sorted(map(str, range(first, first + len(listed)))):
        raise UnreadableReply(
            f"{field!r} is not numbered from {first} to {first + len(listed) - 1}, each once"
        )
    return [value for _, value in sorted(zip(map(int, numbers), objects), key=lambda pair: pair[0])]


def _number(name: str, value: Any) -> str:
    """Return the number that a field holds, as in 2 or "2."; empty for anything else."""
    if type(value) is int:
        return str(value)
    plain = value.strip().rstrip(".") if isinstance(value, str) and name not in _ARE_TEXTS else ""
    return plain if plain.isascii() and plain.isdigit() and len(plain) < 6 else ""


def is_one(value: Any) -> bool | None:
    """Return whether a value means 1, or None when it means neither 1 nor 0.

    >>> is_one("1."), is_one(" Yes"), is_one(0), is_one("perhaps")
    (True, True, False, None)
    """
    plain = str(value).strip().lower().rstrip(".!")
    return True if plain in _YES else False if plain in _NO else None
