"""What an agent sent in each turn, and what a proxy forwarded of it, side by side. A run file is not trusted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from attrs import frozen
from markupsafe import Markup

from context_bench.console import escape_control
from context_bench.errors import StoreError

KEPT, REMOVED, ADDED = "kept", "removed", "added"
_MOST_MESSAGES = 5_000
_MOST_LINES = 4_000
_MOST_WORDS = 1_500
_WORD = re.compile(r"\s*\S+|\s+$")


class Part(NamedTuple):
    """A part of a message.

    Attributes:
        kind: ``kept``, ``removed`` or ``added``.
        text: Its text.
    """

    kind: str
    text: str

    @property
    def shown(self) -> Markup:
        """The text for a page, with its lines, and with other control characters visible."""
        return Markup.escape(escape_control(self.text))


@frozen
class Message:
    """A message of a transcript.

    Attributes:
        role: Who wrote it.
        tokens: Its tokens.
        text: Its text; None where it is not stored.
        length: Its characters.
    """

    role: str
    tokens: int
    text: str | None
    length: int


@frozen
class MarkedMessage:
    """A message with what a proxy did to it.

    Attributes:
        role: Who wrote it.
        kind: ``kept``, ``changed``, ``removed`` or ``added``.
        sent: Its tokens as the agent sent it.
        received: Its tokens as it was forwarded.
        parts: Its text.
        is_new: Whether an earlier request did not have it.
    """

    role: str
    kind: str
    sent: int
    received: int
    parts: Sequence[Part]
    is_new: bool


@frozen(eq=False)
class Request:
    """A request of the agent.

    Attributes:
        number: Its number, from 1.
        is_side: Whether it is a side request, such as one for a title.
        sent: Numbers of the messages that the agent sent.
        received: Numbers of those that were forwarded; None where that is not known.
        sent_tokens, received_tokens: Tokens of these messages.
        changed: How many of the messages were not forwarded as they are.
        is_known: Whether any request of the transcript shows what was forwarded.
    """

    number: int
    is_side: bool
    sent: Sequence[int]
    received: Sequence[int] | None
    sent_tokens: int
    received_tokens: int | None
    changed: int
    is_known: bool


@frozen(eq=False)
class Transcript:
    """The requests of a row.

    Attributes:
        messages: Each message once.
        requests: The requests in their order.
        left_out: How many requests are not stored.
    """

    messages: Sequence[Message]
    requests: Sequence[Request]
    left_out: int

    @classmethod
    def of_output(cls, output: Mapping[str, Any]) -> Transcript | None:
        """Return the transcript that a system stored in its output; None where it stored none.

        Raises:
            StoreError: It is damaged.
        """
        record = output.get("transcript")
        if record is None:
            return None
        try:
            return _read(record)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            raise StoreError(f"The transcript of this row cannot be read: {error!r}") from error

    def marked(self, number: int) -> list[MarkedMessage]:
        """Return the messages of a request, given its number from 1, with what was removed and added."""
        request = self.requests[number - 1]
        earlier = set(self.requests[number - 2].sent) if number > 1 else set()
        return list(self._marked(request, earlier))

    def _marked(self, request: Request, earlier: set[int]) -> Iterator[MarkedMessage]:
        sent = request.sent
        received = sent if request.received is None else request.received
        for is_shared, of_sent, of_received in _blocks(sent, received):
            if is_shared:
                for number in of_sent:
                    yield self._whole(number, KEPT, number not in earlier)
                continue
            for before, after in _pairs(self.messages, of_sent, of_received):
                if after is None and before is not None:
                    yield self._whole(before, REMOVED, before not in earlier)
                elif before is None and after is not None:
                    yield self._whole(after, ADDED, is_new=True)
                elif before is not None and after is not None:
                    yield self._changed(before, after, before not in earlier)

    def _whole(self, number: int, kind: str, is_new: bool) -> MarkedMessage:
        message = self.messages[number]
        part = Part(kind, _shown(message))
        return MarkedMessage(
            role=message.role,
            kind=kind,
            sent=0 if kind == ADDED else message.tokens,
            received=0 if kind == REMOVED else message.tokens,
            parts=[part],
            is_new=is_new,
        )

    def _changed(self, before: int, after: int, is_new: bool) -> MarkedMessage:
        first, second = self.messages[before], self.messages[after]
        role = first.role if first.role == second.role else f"{first.role} as {second.role}"
        if first.text is None or second.text is None:
            parts = [Part(REMOVED, _shown(first)), Part(ADDED, _shown(second))]
        else:
            parts = marked_text(first.text, second.text)
        return MarkedMessage(role, "changed", first.tokens, second.tokens, parts, is_new)


def marked_text(before: str, after: str) -> list[Part]:
    """Return a text with what another one lacks and adds: by lines, and by words in lines that changed.

    >>> marked_text("a b c", "a c d")
    [Part(kind='kept', text='a'), Part(kind='removed', text=' b'), Part(kind='kept', text=' c'), Part(kind='added', text=' d')]
    """
    parts: list[Part] = []
    lines = _compared(
        before.splitlines(keepends=True), after.splitlines(keepends=True), _MOST_LINES
    )
    for kept, removed, added in lines:
        if kept or not removed or not added:
            _extend(parts, kept, removed, added)
            continue
        for words in _compared(_WORD.findall(removed), _WORD.findall(added), _MOST_WORDS):
            _extend(parts, *words)
    return parts


def _extend(parts: list[Part], kept: str, removed: str, added: str) -> None:
    """Append texts; one of the same kind as the last part is joined to it."""
    for kind, text in ((KEPT, kept), (REMOVED, removed), (ADDED, added)):
        if text and parts and parts[-1].kind == kind:
            parts[-1] = Part(kind, parts[-1].text + text)
        elif text:
            parts.append(Part(kind, text))


def _compared(
    left: Sequence[str], right: Sequence[str], most: int
) -> Iterator[tuple[str, str, str]]:
    """Yield what two lists share, what only the left has, and what only the right has, in their order.

    Of lists that are too long to compare, only the beginning and the end are.
    """
    if max(len(left), len(right)) > most:
        begin = _common(left, right)
        end = _common(left[begin:][::-1], right[begin:][::-1])
        yield "".join(left[:begin]), "", ""
        yield (
            "",
            "".join(left[begin : len(left) - end]),
            "".join(right[begin : len(right) - end]),
        )
        yield "".join(left[len(left) - end :]), "", ""
        return
    for is_shared, of_left, of_right in _blocks(left, right):
        if is_shared:
            yield "".join(of_left), "", ""
        else:
            yield "", "".join(of_left), "".join(of_right)


def _blocks(
    left: Sequence[Any], right: Sequence[Any]
) -> Iterator[tuple[bool, Sequence[Any], Sequence[Any]]]:
    """Yield the blocks of two lists in their order: whether both have it, and what the left and the right have there."""
    at_left = at_right = 0
    for same in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        apart = left[at_left : same.a], right[at_right : same.b]
        if any(apart):
            yield False, *apart
        at_left, at_right = same.a + same.size, same.b + same.size
        if same.size:
            yield True, left[same.a : at_left], right[same.b : at_right]


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for first, second in zip(left, right):
        if first != second:
            break
        count += 1
    return count


def _pairs(
    messages: Sequence[Message], sent: Sequence[int], received: Sequence[int]
) -> Iterator[tuple[int | None, int | None]]:
    """Yield which sent message each received one is made of: the next of its role, or of equally many the one at its place."""
    if len(sent) == len(received):
        yield from zip(sent, received)
        return
    left = list(sent)
    for number in received:
        roles = [messages[one].role for one in left]
        role = messages[number].role
        if role not in roles:
            yield None, number
            continue
        place = roles.index(role)
        for one in left[:place]:
            yield one, None
        yield left[place], number
        left = left[place + 1 :]
    for one in left:
        yield one, None


def _shown(message: Message) -> str:
    if message.text is not None:
        return message.text
    return f"({message.length:,} characters, not stored)"


def _read(record: Mapping[str, Any]) -> Transcript:
    messages = [_message(entry) for entry in record["messages"]]
    requests: list[Request] = []
    sent: list[int] = []
    received: list[int] = []
    is_known = any("received" in entry for entry in record["requests"])
    for number, entry in enumerate(record["requests"], 1):
        sent = _numbers(sent, entry["sent"], len(messages))
        arrived: list[int] | None = None
        if "received" in entry:
            arrived = received = _numbers(received, entry["received"], len(messages))
        request = Request(
            number=number,
            is_side=bool(entry.get("side")),
            sent=sent,
            received=arrived,
            sent_tokens=sum(messages[one].tokens for one in sent),
            received_tokens=None
            if arrived is None
            else sum(messages[one].tokens for one in arrived),
            changed=0 if arrived is None else len(sent) - _matching(sent, arrived),
            is_known=is_known,
        )
        requests.append(request)
    return Transcript(messages, requests, int(record.get("left_out") or 0))


def _matching(sent: Sequence[int], received: Sequence[int]) -> int:
    blocks = SequenceMatcher(None, sent, received, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks)


def _message(entry: Mapping[str, Any]) -> Message:
    text = entry.get("text")
    if text is not None and not isinstance(text, str):
        raise ValueError("a text is not a text")
    length = len(text) if text is not None else int(entry["length"])
    return Message(str(entry["role"]), int(entry["tokens"]), text, length)


def _numbers(previous: Sequence[int], entry: Mapping[str, Any], count: int) -> list[int]:
    same = int(entry["same"])
    numbers = [*previous[: max(same, 0)], *(int(number) for number in entry["more"])]
    if len(numbers) > _MOST_MESSAGES or not all(0 <= number < count for number in numbers):
        raise ValueError("a number names no message")
    return numbers
