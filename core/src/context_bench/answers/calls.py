"""Native tool-call mark-up: the tokens and tags with which models write a call where no endpoint
decodes it.

Read are tags (``<tool_call>``, ``<function=...>`` with ``<parameter=...>``, ``<arg_key>``), tokens
(``<|python_tag|>``, ``[TOOL_CALLS]``, ``<|tool_calls_begin|>`` and their like) and the objects of
interfaces (``tool_calls``, ``tool_use``, ``functionCall``); closed or not.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import zip_longest
from typing import Any, NamedTuple

_MARKS = re.compile(
    r"<\s?(?:tool_?calls?|function_?calls?|invoke|antml:invoke|antml:function_calls)\b[^<>\n]*>"
    r"|<function=|<\|python_tag\|>|\[TOOL_CALLS\]"
    r"|<[|｜]tool[▁_]calls?(?:[▁_]section)?[▁_]begin[|｜]>"
    r"|<\|tool_call>|\bto=functions\.|\[Calling tool:|^Action Input:",
    re.IGNORECASE | re.MULTILINE,
)
_OBJECT_MARKS = re.compile(r"\"(?:functionCall|function_call|tool_use|tool_calls)\"")
_BLOCK = re.compile(
    r"<\s?(?P<tag>tool_?calls?|function_?calls?|antml:function_calls)\b[^<>\n]*>|<\|python_tag\|>|\[TOOL_CALLS\]",
    re.IGNORECASE,
)
_BLOCK_END = re.compile(
    r"</\s?(?:tool_?calls?|function_?calls?|antml:function_calls)\s?>|<\|e(?:om|ot)_id\|>|<\|im_end\|>|</s>|\[/TOOL_CALLS\]",
    re.IGNORECASE,
)
_FUNCTION = re.compile(
    r"<function=(?P<name>[^<>\s]+)>(?P<body>.*?)(?:</function>|(?=<function=)|\Z)", re.DOTALL
)
_INVOKE = re.compile(
    r"<(?:antml:)?invoke name=\"(?P<name>[^\"]+)\">(?P<body>.*?)"
    r"(?:</(?:antml:)?invoke>|(?=<(?:antml:)?invoke )|\Z)",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<(?:antml:)?parameter(?:=(?P<key>[^<>]+)| name=\"(?P<name>[^\"]+)\"[^<>]*)>(?P<value>.*?)"
    r"(?:</(?:antml:)?parameter>|(?=<(?:antml:)?parameter[= ])|(?=</function>)|\Z)",
    re.DOTALL,
)
_PAIR = re.compile(
    r"<arg_key>(?P<key>[^<>]*)</arg_key>\s*<arg_value>(?P<value>.*?)(?:</arg_value>|(?=<arg_key>)|\Z)",
    re.DOTALL,
)
_DEEPSEEK = re.compile(
    r"<[|｜]tool[▁_]call[▁_]begin[|｜]>(?:function<[|｜]tool[▁_]sep[|｜]>)?(?:functions\.)?(?P<name>[\w.-]+?)(?::\d+)?\s*"
    r"(?:<[|｜]tool[▁_]sep[|｜]>|<\|tool_call_argument_begin\|>|\n)\s*(?P<body>.*?)(?:<[|｜]tool[▁_]call[▁_]end[|｜]>|\Z)",
    re.DOTALL,
)
_GEMMA = re.compile(
    r"<\|tool_call>call:(?P<name>[\w.-]+)\{(?P<body>.*?)\}(?:<tool_call\|>|\Z)", re.DOTALL
)
_GEMMA_KEY = re.compile(r"(?P<lead>[{,]\s*|\A\s*)(?P<key>[A-Za-z_]\w*)\s*:")
_CHANNEL = re.compile(
    r"\bto=functions\.(?P<name>[\w.-]+).{0,80}?<\|message\|>(?P<body>.*?)(?:<\|call\|>|<\|end\|>|\Z)",
    re.DOTALL,
)
_CALLING = re.compile(r"\[Calling tool:\s*(?P<name>[\w.-]+)\((?P<body>\{.*?\})\)\]", re.DOTALL)
_REACT = re.compile(r"^Action:[ \t]*(?P<name>[\w.-]+)[ \t]*\nAction Input:\s*(?=\{)", re.MULTILINE)
_NAMED = re.compile(
    r"\s*(?:functions\.)?(?P<name>[A-Za-z_][\w.-]*)\s*(?:\[(?:ARGS|CALL_ID)\]\S*?)?\s*(?=\{)"
)
_NAME_LINE = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?=<arg_key>|\Z)")
_FENCE = re.compile(r"\A\s*```\w*\s*|\s*```\s*\Z")
_BEFORE_OBJECT = re.compile(r"[\s;,]*(?=[\[{])")
_LONGEST = 500_000


class ToolCall(NamedTuple):
    """A call that a reply writes in native mark-up.

    Attributes:
        name: The function's name.
        arguments: Its arguments by name. A value that the mark-up holds as text is what JSON makes
            of it, or that text.
        texts: The arguments that the mark-up holds as text, as they are, for parameters that are
            texts.
    """

    name: str
    arguments: dict[str, Any]
    texts: Mapping[str, str] = {}


def marks_calls(text: str) -> bool:
    """Whether a text has the mark-up of a call, one that can be read or not.

    >>> marks_calls('<tool_call>{"name": "f", "argum'), marks_calls("No call is needed.")
    (True, False)
    """
    return _MARKS.search(text) is not None or (
        _OBJECT_MARKS.search(text) is not None and bool(_objects_with_calls(text))
    )


def tool_calls(text: str) -> list[ToolCall]:
    """Return the calls that a text makes in native mark-up, in order; none where it has no mark-up,
    or none that can be read.

    >>> tool_calls("<function=area>{\\"base\\": 3}</function>")
    [ToolCall(name='area', arguments={'base': 3}, texts={})]
    """
    if len(text) > _LONGEST:
        return []
    if _MARKS.search(text) is None:
        return _objects_with_calls(text)
    for read in (_in_tokens, _in_functions, _in_blocks):
        calls = list(read(text))
        if calls:
            return calls
    return []


def call_of_object(value: Any) -> ToolCall | None:
    """Return the call that an object of some interface is, or None.

    >>> call_of_object({"functionCall": {"name": "f", "args": {"x": 1}}})
    ToolCall(name='f', arguments={'x': 1}, texts={})
    """
    if not isinstance(value, Mapping):
        return None
    for key in ("functionCall", "function_call", "function"):
        if isinstance(value.get(key), Mapping):
            return call_of_object(value[key])
    name = value.get("name", value.get("tool_name"))
    arguments = next(
        (value[key] for key in ("arguments", "parameters", "args", "input") if key in value), None
    )
    if isinstance(arguments, str):
        arguments = _json(arguments or "{}")
    if not isinstance(name, str) or not isinstance(arguments, (Mapping, type(None))):
        return None
    return ToolCall(name.removeprefix("functions."), dict(arguments or {}))


def _in_tokens(text: str) -> Iterator[ToolCall]:
    """Calls between the tokens of DeepSeek, Kimi, Gemma and gpt-oss."""
    for pattern in (_DEEPSEEK, _CHANNEL, _CALLING):
        for match in pattern.finditer(text):
            arguments = _json(_FENCE.sub("", match["body"].strip()))
            if isinstance(arguments, Mapping):
                yield ToolCall(match["name"], dict(arguments))
    for match in _REACT.finditer(text):
        with suppress(ValueError, RecursionError):
            arguments, _ = json.JSONDecoder(strict=False).raw_decode(text, match.end())
            if isinstance(arguments, Mapping):
                yield ToolCall(match["name"], dict(arguments))
    for match in _GEMMA.finditer(text):
        body = _GEMMA_KEY.sub(r'\g<lead>"\g<key>":', match["body"].replace('<|"|>', '"'))
        arguments = _json(f"{{{body}}}")
        if isinstance(arguments, Mapping):
            yield ToolCall(match["name"], dict(arguments))


def _in_functions(text: str) -> Iterator[ToolCall]:
    """Calls in tags that name the function."""
    for pattern in (_FUNCTION, _INVOKE):
        for match in pattern.finditer(text):
            arguments = _json(match["body"].strip() or "{}")
            if isinstance(arguments, Mapping):
                yield ToolCall(match["name"], dict(arguments))
                continue
            texts = {
                (parameter["key"] or parameter["name"]).strip(): parameter["value"].strip("\n")
                for parameter in _PARAMETER.finditer(match["body"])
            }
            yield _of_texts(match["name"], texts)


def _in_blocks(text: str) -> Iterator[ToolCall]:
    """Calls in a block of JSON, or of a name before JSON or pairs."""
    blocks = list(_BLOCK.finditer(text))
    ends = [end.start() for end in _BLOCK_END.finditer(text)]
    for block, following in zip_longest(blocks, blocks[1:]):
        index = bisect_left(ends, block.end())
        stops = ends[index : index + 1]
        if following:
            stops.append(following.start())
        yield from _of_block(text[block.end() : min(stops, default=len(text))].strip())


def _of_block(body: str) -> Iterator[ToolCall]:
    body = _FENCE.sub("", body)
    name = _NAME_LINE.match(body)
    pairs = {match["key"].strip(): match["value"].strip("\n") for match in _PAIR.finditer(body)}
    if name and pairs:
        yield _of_texts(name["name"], pairs)
        return
    decoder = json.JSONDecoder(strict=False)
    position = 0
    while position < len(body):
        named = _NAMED.match(body, position)
        start = named.end() if named else _next_object(body, position)
        if start < 0:
            return
        try:
            value, position = decoder.raw_decode(body, start)
        except (ValueError, RecursionError):
            return
        if named and isinstance(value, Mapping):
            yield ToolCall(named["name"], dict(value))
            continue
        for item in value if isinstance(value, list) else [value]:
            call = call_of_object(item)
            if call:
                yield call


def _next_object(text: str, start: int) -> int:
    match = _BEFORE_OBJECT.match(text, start)
    return match.end() if match else -1


def _of_texts(name: str, texts: Mapping[str, str]) -> ToolCall:
    values = {key: _value(text) for key, text in texts.items()}
    return ToolCall(name, values, dict(texts))


def _value(text: str) -> Any:
    """The value of a text as JSON or as a constant of Python, or else the text."""
    stripped = text.strip()
    words = {"True": True, "False": False, "None": None}
    if stripped in words:
        return words[stripped]
    value = _json(stripped)
    return text if value is None and stripped != "null" else value


def _objects_with_calls(text: str) -> list[ToolCall]:
    """The calls of objects that are marked as calls."""
    if not _OBJECT_MARKS.search(text):
        return []
    start = min((text.find(sign) for sign in "[{" if sign in text), default=-1)
    end = max(text.rfind("]"), text.rfind("}"))
    value = _json(text[start : end + 1]) if 0 <= start < end else None
    calls = map(call_of_object, _calls_in(value))
    return [call for call in calls if call]


def _calls_in(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _calls_in(item)
    elif isinstance(value, Mapping):
        if "functionCall" in value or "function_call" in value or value.get("type") == "tool_use":
            yield value
            return
        for key in ("tool_calls", "content", "parts", "candidates"):
            inner = value.get(key)
            if key == "tool_calls" and isinstance(inner, list):
                yield from inner
            elif isinstance(inner, (list, Mapping)):
                yield from _calls_in(inner)


def _json(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
