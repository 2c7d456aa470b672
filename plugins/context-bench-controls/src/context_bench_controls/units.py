"""Units: the lines of a region that controls keep or drop, and which literals stand in each. No text is built for a control."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, repeat
from threading import Lock
from typing import Any, NamedTuple

from attrs import evolve, field, frozen

from context_bench.tokens import WordTokenizer
from context_bench_survival import Probe, content_key
from context_bench_survival.literals import literals, places_of, unescaped

LONGEST = 400
"""Letters of a unit; longer lines - JSON on one line, prose without line ends - are parted between sentences or values."""

REMEMBERED = 4
"""Regions that are kept ready."""

_TOKENIZER = WordTokenizer()
_PLACES = (
    re.compile(r"(?<=[.!?;,])\s+|(?<=[}\]]),|(?<=[\w\"]),(?=[\"{\[])"),
    re.compile(r"\s+|(?<!\\)(?=\\n)"),
    re.compile(r"(?<=\W)|(?=\W)"),
)
"""Where a long line is parted: behind a sentence or a value of JSON; where there is none near, between words or lines of a text
in JSON, or between any two tokens. No token is parted, so that units have as many as their line."""
_SIGN = re.compile(r"\W")


class Unit(NamedTuple):
    """A line of the region, or the arguments of a call.

    Attributes:
        message: Index of its message.
        tokens: Its tokens.
        needs: Index of the unit with the call that its result answers; None for what answers no call in the region.
        is_result: Whether it is part of a tool's result.
        text: What it says.
        call: Id of the call whose arguments it is; None for a line.
    """

    message: int
    tokens: int
    needs: int | None
    is_result: bool
    text: str
    call: str | None = None


@frozen(eq=False)
class Region:
    """What controls choose from.

    Attributes:
        units: In order.
        tokens: Tokens of all of them.
        holders: For each probe the indexes of the units that hold its answer.
        needed: For each probe whether the recorded agent used it.
        sizes: Tokens of each unit.
        calls: For each unit that with the call that it needs; -1 for none.
        call_tokens: Tokens of all units that another needs.
        achieved: The tokens that outputs of systems were found to keep of it, by their content.
    """

    units: Sequence[Unit]
    tokens: int
    holders: Sequence[frozenset[int]]
    needed: Sequence[bool]
    sizes: Sequence[int] = field(init=False)
    calls: Sequence[int] = field(init=False)
    call_tokens: int = field(init=False)
    achieved: dict[bytes | str, int | None] = field(init=False, factory=dict)

    @sizes.default
    def _sizes(self) -> list[int]:
        return [unit.tokens for unit in self.units]

    @calls.default
    def _calls(self) -> list[int]:
        return [-1 if unit.needs is None else unit.needs for unit in self.units]

    @call_tokens.default
    def _call_tokens(self) -> int:
        return sum(self.sizes[number] for number in set(self.calls) - {-1})


def region_of(
    messages: Sequence[Mapping[str, Any]], region: tuple[int, int], asked: Sequence[Probe]
) -> Region:
    """Return the units of a region, with the probes that each of them holds.

    Args:
        messages: The messages in the canonical form.
        region: The first of the region, and the one behind its last.
        asked: The probes of the row.
    """
    key = content_key([messages, region])
    with _lock:
        found = _regions[key] = _regions.pop(key) if key in _regions else _read(messages, region)
        while len(_regions) > REMEMBERED:
            _regions.popitem(last=False)
    if not asked:
        return found
    return evolve(found, holders=_holders(found.units, asked), needed=[one.needed for one in asked])


_regions: OrderedDict[bytes | str, Region] = OrderedDict()
"""The last few regions: the systems and the controls of an example come one after the other."""

_lock = Lock()


def _read(messages: Sequence[Mapping[str, Any]], region: tuple[int, int]) -> Region:
    units: list[Unit] = []
    calls: dict[str, int] = {}
    for number in range(*region):
        message = messages[number]
        for call in message.get("tool_calls") or ():
            calls[call["id"]] = len(units)
            arguments = str(call["arguments"])
            units.append(Unit(number, tokens_of(arguments), None, False, arguments, call["id"]))
        is_result = message["role"] == "tool"
        needs = calls.get(message.get("tool_call_id", "")) if is_result else None
        content = list(pieces(str(message["content"])))
        sizes = _TOKENIZER.counts(content)
        units += map(Unit, repeat(number), sizes, repeat(needs), repeat(is_result), content)
    return Region(units, sum(unit.tokens for unit in units), (), ())


def kept_messages(
    messages: Sequence[Mapping[str, Any]],
    region: tuple[int, int],
    found: Region,
    kept: frozenset[int],
) -> list[dict[str, Any]]:
    """Return what a set of units leaves of the messages of a region; a call that stays keeps its result, if an empty one.

    Args:
        messages: The messages in the canonical form.
        region: The first of the region, and the one behind its last.
        found: The units of the region.
        kept: Those that stay.
    """
    lines: dict[int, list[str]] = {}
    chosen: set[tuple[int, str]] = set()
    for number, unit in enumerate(found.units):
        if number in kept and unit.call is None:
            lines.setdefault(unit.message, []).append(unit.text)
        elif number in kept and unit.call is not None:
            chosen.add((unit.message, unit.call))
    stays = {
        one["id"]: True
        for message in messages[: region[0]]
        for one in message.get("tool_calls") or ()
    }
    left = []
    for number in range(*region):
        message = {**messages[number], "content": "\n".join(lines.get(number, ()))}
        asked = message.pop("tool_calls", None) or ()
        stays.update(
            (one["id"], (number, one["id"]) in chosen) for one in asked
        )  # an id may come again
        made = [one for one in asked if stays[one["id"]]]
        if made:
            message["tool_calls"] = made
        if (
            message["content"]
            or made
            or (message["role"] == "tool" and stays.get(message.get("tool_call_id", "")))
        ):
            left.append(message)
    return left


def pieces(text: str) -> Iterable[str]:
    """Yield the lines of a text, long ones parted where a sentence or a value ends, or a word.

    >>> list(pieces("one\\n\\ntwo"))
    ['one', 'two']
    >>> [len(piece) for piece in pieces("word" * 90 + "+" + "word" * 90)]
    [360, 361]
    """
    for line in text.splitlines():
        start = 0
        while len(line) - start > LONGEST or (start and len(line) > start):
            end = _end_of_piece(line, start)
            if end is None:
                break
            if line[start:end].strip():
                yield line[start:end]
            start = end
        if line[start:].strip():
            yield line[start:]


def _end_of_piece(line: str, start: int) -> int | None:
    """Return where a piece of a long line ends; None where the rest is one."""
    soonest, last = start + LONGEST // 4, start + LONGEST
    for places in _PLACES if len(line) > last else _PLACES[:1]:
        found = places.search(line, soonest, last + 1)
        if found is not None and found.end() <= last:
            return found.end()
    found = _SIGN.search(line, last) if len(line) > last else None
    return None if found is None else found.start()


def tokens_of(text: str) -> int:
    r"""Return the matches of ``\w+|[^\w\s]`` in a text: the rule of a run's own tokenizer."""
    return _TOKENIZER.count(text)


def _holders(units: Sequence[Unit], asked: Sequence[Probe]) -> list[frozenset[int]]:
    """Return for each probe the units that hold it, as the evaluator finds it: alone, and as a part of a longer literal."""
    index: dict[str, set[int]] = {}
    whole = [text + "\n" + unescaped(text) if "\\" in text else text for *_, text, _ in units]
    wanted = {probe.answer for probe in asked}
    for number, text in enumerate(whole):
        for line in text.splitlines():
            for one in literals(line):
                if one.text in wanted:
                    index.setdefault(one.text, set()).add(number)
    joined, starts = (
        "\n".join(whole),
        list(accumulate((len(text) + 1 for text in whole), initial=0)),
    )
    for answer in wanted:
        places = places_of(joined, answer)
        index.setdefault(answer, set()).update(bisect_right(starts, place) - 1 for place in places)
    return [frozenset(index[probe.answer]) for probe in asked]
