"""The marks with which models fence off their reasoning and end their turn, and what a text is
without them."""

from __future__ import annotations

import re
from bisect import bisect
from typing import NamedTuple

_NAMES = "think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis|inner_monologue"
_TAG = re.compile(
    rf"""
    <(?P<gap>[ \t]?)(?P<close>/?)[ \t]?(?:seed:|mm:|ant)?(?:(?P<answer>answer)|{_NAMES})
    (?:\s[^<>\n]*?)?(?P<empty>/?)>
    | \[(?P<close2>/?)THINK\]
    | ◁(?P<close3>/?)think▷
    | <\|(?:begin|start|(?P<close4>end))_(?:of_)?(?:thought|thinking)\|>
    | <\|channel>thought\b | <unused94>(?:thought\b)? | (?P<close5><channel\|>|<unused95>)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WRAPPERS = (
    ("<answer>", "</answer>"),
    ("<|begin_of_solution|>", "<|end_of_solution|>"),
    ("<|start_response|>", "<|end_response|>"),
)

_CHANNEL = re.compile(
    r"(?:<\|channel\|>\s*(?P<name>\w+)|\A\s*(?P<first>analysis|commentary|final)\b)[^<\n]{0,200}"
    r"(?:<\|constrain\|>[^<\n]{0,80})?<\|message\|>"
)
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
_LAST_CHANNEL = (
    "assistantfinal"  # what is left of the last header where special tokens were skipped
)

_TURN_NAMES = (
    "endoftext|end_of_text|im_end|im_start|eot_id|eom_id|start_header_id|end_header_id|end|start|return|eos|eot|endofturn"
    "|end_of_turn|end_of_turn_token|start_of_turn_token|user|assistant|system|begin_of_text|startoftext|bos"
    "|end▁of▁sentence|begin▁of▁sentence"
)
_TURN = re.compile(
    rf"<[|｜](?:{_TURN_NAMES})[|｜]>|<(?:end_of_turn|start_of_turn|eos|bos|pad)>|<\|turn>|<turn\|>|</s>(?=\s*(?:\Z|<s>|\[INST\]))",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"\s*(?:assistant|model)\b(?=\s|<)(?:\s*<\|end_header_id\|>)?", re.IGNORECASE)
_SPEAKS = re.compile(
    r"(?:im_start|start_header_id|start_of_turn|start_of_turn_token|turn|start)[|｜]?>\Z",
    re.IGNORECASE,
)

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_LOOKED_AT = 300  # characters before and behind a mark, so that no text takes long
_BLANKS = re.compile(r"\s*")
_BLANK_START = re.compile(r"\A(?:[ \t]*\r?\n)+|\A[ \t]+")


class Step(NamedTuple):
    """What one reading of a text leaves of it, and the reasoning that it took out."""

    rest: str
    reasoning: tuple[str, ...] = ()


def part_once(text: str) -> Step:
    """Take the outermost marks off a text: channels, else the marks of turns, reasoning and
    answer."""
    channels = _channels(text)
    if channels:
        return channels
    answer, reasoning = _without_tags(_turn(text))
    return Step(_unwrapped(answer), reasoning)


def _channels(text: str) -> Step | None:
    """The last message of the final channel up to the end of the turn; what the other channels hold
    is reasoning."""
    headers = list(_CHANNEL.finditer(text))
    if not headers:
        thought, mark, answer = text.partition(_LAST_CHANNEL)
        if mark and thought.lstrip().startswith("analysis"):
            return Step(answer.strip(), (thought.strip().removeprefix("analysis"),))
        return None
    answer = ""
    reasoning: list[str] = []
    for header in headers:
        end = _CHANNEL_END.search(text, header.end())
        content = text[header.end() : end.start() if end else len(text)].strip()
        if (header["name"] or header["first"]) != "final":
            reasoning.append(content)
            continue
        answer = content
        if end and end[0] == "<|return|>":
            break
    return Step(answer, tuple(reasoning))


def _turn(text: str) -> str:
    """A turn without the marks at its beginning, and up to the mark at its end."""
    original = text
    start = 0
    is_sentence = text.rstrip().endswith("</s>")
    while True:
        mark = _TURN.match(text, _after_blanks(text, start))
        if mark:
            start = mark.end()
            speaker = _SPEAKER.match(text, start) if _SPEAKS.search(mark[0]) else None
            if speaker:
                start = speaker.end()
        elif is_sentence and text.startswith("<s>", start):
            start += len("<s>")
        else:
            break
    text = text[start:]
    mentions = _Mentions(text)
    strike = text.find("<s>")
    for mark in _TURN.finditer(text):
        is_strike = mark[0] == "</s>" and 0 <= strike < mark.start()
        if not (is_strike or mentions.is_turn(mark)):
            turn = text[: mark.start()]
            return _trimmed(turn if "<s>" in turn else _without_strikes(turn))
    return _trimmed(text) if start else original


def _without_strikes(text: str) -> str:
    """A text without the ``</s>`` at its end, of which a model that does not stop writes
    thousands."""
    parts = text.split("</s>")
    while len(parts) > 1 and not parts[-1].strip():
        parts.pop()
    return "</s>".join(parts)


def _without_tags(text: str) -> Step:
    answer: list[str] = []
    reasoning: list[str] = []
    position = 0
    is_open = False
    is_marked = False
    mentions = _Mentions(text)
    tags = list(_TAG.finditer(text))
    last_closing = max((tag.start() for tag in tags if _closes(tag)), default=-1)
    for tag in tags:
        closes = _closes(tag)
        if tag["answer"]:
            if is_open and not closes:  # the answer begins, and nothing closed the reasoning
                reasoning.append(text[position : tag.start()])
                position = tag.start()
                is_open = False
        elif closes or (tag["empty"] and is_open):  # some models end their reasoning with <think/>
            if not is_open and mentions.is_closing(tag, position):
                continue
            thought = text[position : tag.start()]
            if not is_open:  # the opening tag was part of the prompt
                thought = "".join([*answer, thought])
                answer.clear()
            reasoning.append(thought)
            position = tag.end()
            is_open = False
        elif not is_open and not mentions.is_opening(tag, position):
            if tag["gap"] and tag.start() > last_closing:
                continue  # `a < think > b` is not a tag where none closes
            answer.append(text[position : tag.start()])
            position = tag.end()
            is_open = not tag["empty"]
            is_marked = True
    if not reasoning and not is_marked:
        return Step(text)
    (reasoning if is_open else answer).append(text[position:])
    return Step(_joined(answer), tuple(thought.strip() for thought in reasoning if thought.strip()))


def _closes(tag: re.Match[str]) -> bool:
    return any(tag[f"close{number}"] for number in ("", *range(2, 6)))


def _unwrapped(text: str) -> str:
    """What stands in the marks of an answer, where they stand around the whole text; the last may
    be missing."""
    stripped = text.strip()
    for begin, end in _WRAPPERS:
        if stripped[: len(begin)].lower() != begin:
            continue
        inner = stripped[len(begin) :]
        lowered = inner.lower()
        if lowered.endswith(end):
            inner = inner[: -len(end)]
        if end not in inner.lower() and begin not in inner.lower():
            return inner.strip()
    return text


class _Mentions:
    """Where the marks of a text are only talked about: in inline code, in quotation marks, in
    fenced code."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._fences = (
            [fence.start() for fence in _FENCE.finditer(text)]
            if "```" in text or "~~~" in text
            else []
        )
        self._until = 0

    def is_turn(self, mark: re.Match[str]) -> bool:
        """Whether the mark of a turn is one."""
        return self._is_quoted(mark) or self._in_fence(mark.start(), 0)

    def is_opening(self, tag: re.Match[str], start: int) -> bool:
        """Whether an opening tag is one; closing tags in the rest of its line, or of the fence, are
        one as well.

        Args:
            tag: The tag.
            start: Where the text begins that no reasoning stands in.
        """
        text = self._text
        if self._in_fence(tag.start(), start):
            self._until = self._fences[bisect(self._fences, tag.start())]
            return True
        if self._is_quoted(tag) or text[max(0, tag.start() - 1) : tag.start()] in ("`", "'", '"'):
            line_end = text.find("\n", tag.end())
            self._until = max(self._until, len(text) if line_end < 0 else line_end)
            return True
        return False

    def is_closing(self, tag: re.Match[str], start: int) -> bool:
        """Whether a closing tag without an opening one is one. In fenced code, one that begins a
        line is none."""
        if tag.start() < self._until or self._is_quoted(tag):
            return True
        return bool(self._line_before(tag.start()).strip()) and self._in_fence(tag.start(), start)

    def _is_quoted(self, mark: re.Match[str]) -> bool:
        line = self._line_before(mark.start())
        after = self._text[mark.end() : mark.end() + _LOOKED_AT].split("\n", 1)[0]
        if line.count("`") % 2 and "`" in after:
            return True
        if line[-1:] not in ("'", '"') or line[-1:] != after[:1]:
            return False
        return len(line) < 2 or not (line[-2].isalnum() or line[-2] in ".!?,;")

    def _line_before(self, place: int) -> str:
        return self._text[max(0, place - _LOOKED_AT) : place].rpartition("\n")[2]

    def _in_fence(self, place: int, start: int) -> bool:
        before = bisect(self._fences, place)
        return before < len(self._fences) and (before - bisect(self._fences, start - 1)) % 2 == 1


def _joined(parts: list[str]) -> str:
    """The parts between which reasoning stood, with white space between any two."""
    joined = ""
    for part in parts:
        glued = joined and part and not joined[-1].isspace() and not part[0].isspace()
        joined += f" {part}" if glued else part
    return _trimmed(joined)


def _trimmed(text: str) -> str:
    """A text without blank lines around it and without blanks before its first word, but with its
    first line's indent."""
    return _BLANK_START.sub("", text).rstrip()


def _after_blanks(text: str, start: int) -> int:
    blanks = _BLANKS.match(text, start)
    return blanks.end() if blanks else start
