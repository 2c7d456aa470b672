"""Literal probes: questions about a session that have one exact answer, made without a model.

A probe masks a literal in its line: "Result of read(path=...): total ___ rows, 3 skipped". It is kept only when the answer
stands in the region and nowhere else that stays, when the masked line has one answer in all of the prefix, and when the question
does not give it away. ``needed`` are those that the recorded continuation really used; they are the primary score set.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from attrs import frozen

from context_bench.messages import whole_text
from context_bench_survival.literals import REMEMBERED_LENGTH, Literal, holds, literals, unescaped

MASK = "___"

SAME_TEMPLATE = 3
"""Lines of one shape from which probes are taken; a table of a thousand rows is one fact, not a thousand."""

CONTEXT_WORDS = 3
"""Words that a line of prose or output must have beside its answer."""

ENUM_VALUES = 5
"""A key with fewer distinct values than this is an enumeration: its values can be guessed."""

LONGEST_LINE = 600
"""Letters of a line that are asked about; longer ones are cut around the answer in the question."""

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+")
_DIGITS = re.compile(r"\d+")
_CODE = re.compile(
    r"[{};]\s*$|^\s*(?:import|from|def|class|return|const|let|var|if|for|while|fn|func|#include|//|/\*|\*)\b|=>|\)\s*:\s*$"
)
_IN_CODE = ("path", "url", "hash", "version")
_COMMON_FLAGS = frozenset(
    {
        "--help",
        "--version",
        "--verbose",
        "--quiet",
        "--force",
        "--all",
        "--no-pager",
        "--oneline",
        "--stat",
    }
)
_LISTING = re.compile(r"^\s*[-dlbcps][-rwxsStT]{9}[@+.]?\s+\d")
"""A line of ``ls -l``: its sizes and times are facts that no agent needs."""

_NUMBERED = re.compile(r"^\s*\d+(?:→|\t|:|\||-)")


@frozen
class Probe:
    """One question.

    Attributes:
        kind: Class of the literal.
        answer: The literal.
        question: Where it stands, with the answer masked.
        message: Index of its message.
        needed: Whether the recorded continuation used it.
        role: Role of its message.
    """

    kind: str
    answer: str
    question: str
    message: int
    needed: bool
    role: str


@frozen(eq=False)
class _Line:
    """A line of a message, with the words that say where it comes from."""

    anchor: str
    text: str
    message: int
    role: str
    is_json: bool


def probes(
    messages: Sequence[Mapping[str, Any]],
    region: tuple[int, int],
    future: Iterable[str] = (),
    most: int | None = 40,
    seed: int = 0,
) -> list[Probe]:
    """Return the probes of a session's prefix.

    Args:
        messages: The prefix in the canonical form.
        region: First message of the region, and the one behind its last.
        future: Texts of the agent after the cut.
        most: At most so many, those that are needed first; None keeps all.
        seed: Seed of the choice: the same seed chooses the same probes.
    """
    anchors = _anchors(messages)
    lines = [
        line
        for number, message in enumerate(messages)
        for line in _lines(number, message, anchors[number])
    ]
    outside = "\n".join(
        told(message)
        for number, message in enumerate(messages)
        if not region[0] <= number < region[1]
    )
    stays = {one.text for line in outside.splitlines() for one in literals(line)}
    later = "\n".join(text + "\n" + unescaped(text) for text in future)
    names = _names(messages)
    answers, templates, values = _index(lines)
    found: dict[str, Probe] = {}
    for line in lines:
        if not region[0] <= line.message < region[1]:
            continue
        for literal in _literals_of(line):
            question = _question(line, literal)
            template = _template(line, literal)
            if literal.text in found or literal.text in names or len(answers[question]) > 1:
                continue
            if templates[template] > SAME_TEMPLATE or not _is_telling(line, literal, values):
                continue
            if (
                literal.text in stays
                or _is_given_away(literal.text, question)
                or holds(outside, literal.text)
            ):
                continue
            needed = holds(later, literal.text)
            found[literal.text] = Probe(
                literal.kind, literal.text, question, line.message, needed, line.role
            )
    return _chosen(list(found.values()), most, seed)


def _literals_of(line: _Line) -> list[Literal]:
    """Return the literals of a line's beginning; one that goes on behind it is none of its, nor is what a cut leaves of it."""
    seen = line.text[: LONGEST_LINE + REMEMBERED_LENGTH + 1]
    found = [literal for literal in literals(seen) if literal.end <= LONGEST_LINE]
    if not line.is_json:
        return found
    places = [
        place.span() for place in _PLACE.finditer(seen.partition(": ")[0])
    ]  # told by us, and nowhere in the session
    return [
        one
        for one in found
        if not any(start < one.start and one.end < end for start, end in places)
    ]


_PLACE = re.compile(r"\[\d+\]")


def _chosen(found: list[Probe], most: int | None, seed: int) -> list[Probe]:
    if most is None or len(found) <= most:
        return found

    def rank(probe: Probe) -> tuple[bool, bytes]:
        return not probe.needed, hashlib.sha256(
            f"{seed}\0{probe.question}\0{probe.answer}".encode("utf-8", "surrogatepass")
        ).digest()

    chosen = set(map(id, sorted(found, key=rank)[:most]))
    return [probe for probe in found if id(probe) in chosen]


def _anchors(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return for each message the words that say where its lines come from; ids of calls may come again."""
    calls: dict[str, Mapping[str, Any]] = {}
    found = []
    for message in messages:
        calls.update((one["id"], one) for one in message.get("tool_calls", ()))
        if message["role"] == "tool":
            made = calls.get(str(message.get("tool_call_id")))
            found.append(
                f"Result of {made['name']}({_short(made['arguments'])})"
                if made
                else "Result of a tool"
            )
        else:
            found.append(
                {"assistant": "The agent wrote", "system": "The system prompt says"}.get(
                    message["role"], "The user wrote"
                )
            )
    return found


def _short(arguments: str) -> str:
    try:
        table = json.loads(arguments)
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, Mapping):
        return arguments[:80]
    shown = [
        f"{key}={str(value).splitlines()[0][:80]}"
        for key, value in table.items()
        if str(value).strip()
    ]
    return ", ".join(shown)[:160]


def _lines(number: int, message: Mapping[str, Any], anchor: str) -> Iterator[_Line]:
    content, role = str(message["content"]), str(message["role"])
    flattened = _flattened(content) if role == "tool" else None
    if flattened is not None:
        for text in flattened:
            yield _Line(anchor, text, number, role, True)
    else:
        for text in content.splitlines():
            if text.strip():
                yield _Line(anchor, _NUMBERED.sub("", text).strip(), number, role, False)
    for made in message.get("tool_calls", ()):
        for text in _flattened(str(made["arguments"])) or str(made["arguments"]).splitlines():
            yield _Line(f"The agent called {made['name']} with", text, number, role, True)


def _flattened(text: str, has_places: bool = True) -> list[str] | None:
    """Return a JSON text as lines ``key.path: value``; None when it is no JSON object or array.

    Args:
        text: The text.
        has_places: Whether paths tell places in lists, which stand nowhere in the text.
    """
    start = text.lstrip()[:1]
    if start not in ("{", "["):
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found: list[str] = []
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [
                (f"{path}.{key}" if path else str(key), one)
                for key, one in reversed(list(value.items()))
            ]
        elif isinstance(value, list):
            waiting += [
                (f"{path}[{place if has_places else ''}]", value[place])
                for place in range(len(value) - 1, -1, -1)
            ]
        else:
            shown = value if isinstance(value, str) else json.dumps(value)
            found += [f"{path}: {line}" for line in shown.splitlines() if line.strip()]
    return found


def _index(lines: Sequence[_Line]) -> tuple[dict[str, set[str]], Counter[str], dict[str, set[str]]]:
    """Return the answers of each masked line, how often each template comes, and the values of each JSON key."""
    answers: dict[str, set[str]] = defaultdict(set)
    templates: Counter[str] = Counter()
    values: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        if line.is_json:
            key, _, value = line.text.partition(": ")
            values[_key(key)].add(value)
        for literal in _literals_of(line):
            answers[_question(line, literal)].add(literal.text)
            templates[_template(line, literal)] += 1
    return answers, templates, values


def _question(line: _Line, literal: Literal) -> str:
    text = line.text
    return f"{line.anchor}: {text[max(0, literal.start - 200) : literal.start]}{MASK}{text[literal.end : literal.end + 200]}"


def _template(line: _Line, literal: Literal) -> str:
    """Return the shape of a line: digits are alike, so that the rows of a table are."""
    return f"{literal.kind}\0{_DIGITS.sub('0', line.text[: literal.start])}\0{_DIGITS.sub('0', line.text[literal.end :])}"


def _is_telling(line: _Line, literal: Literal, values: Mapping[str, set[str]]) -> bool:
    """Whether a line gives enough to be asked about, and its answer is more than a common word of programs."""
    if literal.kind == "flag" and literal.text in _COMMON_FLAGS:
        return False
    if literal.kind in ("number", "date") and _LISTING.match(line.text):
        return False
    if line.is_json:
        key, _, _ = line.text.partition(": ")
        of_key = values[_key(key)]
        return "[" not in key or len(of_key) >= ENUM_VALUES or len(of_key) == 1
    if _CODE.search(line.text):
        return literal.kind in _IN_CODE
    rest = line.text[: literal.start] + " " + line.text[literal.end :]
    return len(_WORD.findall(rest)) >= CONTEXT_WORDS


def _key(path: str) -> str:
    return _PLACE.sub("[]", path)


def _is_given_away(answer: str, question: str) -> bool:
    """Whether the question holds the answer or a word of it."""
    lowered = question.lower()
    parts = [part.lower() for part in re.split(r"[^A-Za-z0-9]+", answer) if len(part) >= 3]
    return holds(question.replace(MASK, " "), answer) or any(part in lowered for part in parts)


def _names(messages: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names of tools and of their arguments, which are no facts of the session."""
    names: set[str] = set()
    for message in messages:
        for made in message.get("tool_calls", ()):
            names.add(made["name"])
            try:
                arguments = json.loads(made["arguments"])
            except (ValueError, RecursionError):
                continue
            if isinstance(arguments, Mapping):
                names.update(map(str, arguments))
    return names


def told(message: Mapping[str, Any]) -> str:
    """Return all that a message tells, as probes read it: its text, its calls, and JSON by its keys."""
    return "\n".join([whole_text(message), *keyed(message)])


def keyed(message: Mapping[str, Any]) -> list[str]:
    r"""Return the lines that a message tells beside its text: its JSON by keys, and lines without their numbers.

    What is no JSON (any more) tells its lines without JSON's escapes, too: of a result that was cut off, ``\n8443`` is a number.
    """
    content = str(message["content"])
    flattened = _flattened(content, has_places=False) if message["role"] == "tool" else None
    if flattened is None:
        flattened = [
            _NUMBERED.sub("", line) for line in content.splitlines() if _NUMBERED.match(line)
        ]
        flattened += _resolved(content)
    for made in message.get("tool_calls", ()):
        flattened += _of_call(str(made["arguments"]))
    return flattened


def _resolved(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if "\\" in line] if "\\" in text else []
    return [plain for line in lines if (plain := unescaped(line)) != line]


@lru_cache(maxsize=1 << 12)
def _of_short_call(arguments: str) -> tuple[str, ...]:
    return tuple(_of_arguments(arguments))


def _of_call(arguments: str) -> Sequence[str]:
    """Return the arguments of a call by their keys; short ones are read once for all systems of an example."""
    return (
        _of_short_call(arguments)
        if len(arguments) <= REMEMBERED_LENGTH
        else _of_arguments(arguments)
    )


def _of_arguments(arguments: str) -> list[str]:
    found = _flattened(arguments, has_places=False)
    return _resolved(arguments) if found is None else found
