"""What a page, a mail, a protocol or an editor puts around the code of a whole reply, taken off.

Marks that belong to Markdown or to a model are in `blocks`; what stands here changes the text itself.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from context_bench_code.inside.fitting import UNREADABLE, outdented, parse

_TAG = re.compile(r"<(/?)(pre|code|answer|solution|python|completion)\b([^<>]*)>", re.IGNORECASE)
_PAGE = re.compile(r"^[ \t]*<pre\b", re.IGNORECASE | re.MULTILINE)
_TAG_LANGUAGE = re.compile(r"\b(?:lang|language|brush)[-:= \"']+(\w+)")
_ENTITY = re.compile(r"&(?:#\d+|#x[0-9a-f]+|lt|gt|amp|quot|apos|nbsp);", re.IGNORECASE)
_NOT_ESCAPED = re.compile(rf"<|&(?!{_ENTITY.pattern[1:]})", re.IGNORECASE)
_QUOTED = re.compile(r"^[ \t]*>(?!>)[ ]?", re.MULTILINE)
_CODE = re.compile(r"^[ \t]*(?:async +def|def|class|import|from|return)\b", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_FIELDS = (
    "code",
    "solution",
    "completion",
    "program",
    "implementation",
    "function",
    "python",
    "answer",
    "response",
    "output",
    "arguments",
    "input",
)
_BLANKS = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_BREAKS = "\u0085\u2028\u2029"
_UNSEEN = "\u00ad\u200b-\u200f\u2060\ufeff"
_INVISIBLE = re.compile(f"[{_BLANKS}{_BREAKS}{_UNSEEN}]")
_STRING_OR_INVISIBLE = re.compile(
    r'"""(?:\\.|[^\\])*?"""|'
    + r"'''(?:\\.|[^\\])*?'''|"
    + r'"(?:\\.|[^"\\\n])*"|'
    + r"'(?:\\.|[^'\\\n])*'|#[^\n]*|"
    rf"(?P<blank>[{_BLANKS}])|(?P<break>[{_BREAKS}])|(?P<unseen>[{_UNSEEN}])",
    re.DOTALL,
)
_CDATA = re.compile(r"^\s*<!\[CDATA\[(.*?)(?:\]\]>\s*)?$", re.DOTALL)
_INDENTED = re.compile(
    r"(?:\A|\n[ \t]*\n|\|[ \t]*\n)(?:[ ]{2,}|\t)(?:(?:async +def|def|class|import|from)\b|@\w)"
)
_AT_MARGIN = re.compile(r"^\S.*$", re.MULTILINE)
_DEEPEST, _MOST = 3, 24


def readings(text: str) -> Iterator[str]:
    """The texts in which code is looked for, in their order: the reply itself, and the reply without what is wrapped around it.

    The reply comes first, unless it is an object of JSON with a field for code, or a page: neither is a program, and half of a
    line of one may be read as one. One wrapping may lie in another.

    >>> list(readings("x = 1")), list(readings('{"code": "x = 1"}'))
    (['x = 1'], ['x = 1', '{"code": "x = 1"}'])
    """
    seen: set[str] = set()
    for reading in islice(_readings(text, 0), _MOST):
        if reading not in seen:
            seen.add(reading)
            yield reading


def _readings(text: str, depth: int) -> Iterator[str]:
    if depth < _DEEPEST:
        for inner in (*_fields(text), *_pages(text)):
            yield from _readings(inner, depth + 1)
    yield text
    if depth < _DEEPEST:
        for inner in _changed(text):
            yield from _readings(inner, depth + 1)


def _fields(text: str) -> Iterator[str]:
    """The fields for code of an object of JSON, or of a dict of Python, with no other code around it."""
    start, end = text.find("{"), text.rfind("}") + 1
    if start < 0 or end <= start or _CODE.search(text[:start]) or _CODE.search(text[end:]):
        return
    left = [_object(text[start:end])]
    while left:  # the arguments of a call lie in an object of their own
        found = left.pop()
        left += [each for each in found.values() if isinstance(each, dict)]
        yield from (
            found[name]
            for name in _FIELDS
            if isinstance(found.get(name), str) and found[name].strip()
        )


def _object(text: str) -> dict[str, Any]:
    if not any(f'"{name}"' in text or f"'{name}'" in text for name in _FIELDS):
        return {}
    try:
        found = json.loads(text, strict=False)
    except UNREADABLE:
        try:
            found = ast.literal_eval(text)
        except (*UNREADABLE, TypeError):
            return {}
    return found if isinstance(found, dict) else {}


def _pages(text: str) -> Iterator[str]:
    """The blocks of a page that `<pre>` marks at the beginning of a line, where no fence marks code."""
    if _PAGE.search(text) and not _FENCE.search(text) and not parse(text):
        yield from _tagged(text, is_page=True)


def _changed(text: str) -> Iterator[str]:
    if _TAG.search(text):
        yield from _tagged(text, is_page=True)
        yield from _tagged(text, is_page=False)
    if _INDENTED.search(text) and not any(map(_CODE.match, _AT_MARGIN.findall(text))):
        yield _AT_MARGIN.sub("", text)
    if _ENTITY.search(text):
        yield html.unescape(text)
    if _QUOTED.search(text):
        yield _QUOTED.sub("", text)
    if _INVISIBLE.search(text):
        yield _STRING_OR_INVISIBLE.sub(_visible, text)


def _tagged(text: str, is_page: bool) -> Iterator[str]:
    """What stands between tags, as fenced blocks: of a page that in `<pre>`, else that in any other."""
    blocks = []
    opening, begin, language = "", 0, ""
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if not opening and not tag[1] and (name == "pre") == is_page:
            opening, begin, language = name, tag.end(), ""
        if opening and not tag[1]:
            named = _TAG_LANGUAGE.search(tag[3].lower())
            language = language or (named[1] if named else "")
        elif opening == name:
            blocks.append((language, _unescaped(_TAG.sub("", text[begin : tag.start()]))))
            opening = ""
    if blocks:
        yield "\n\n".join(
            f"````{language}\n{block.strip(chr(10))}\n````" for language, block in blocks
        )


def _unescaped(code: str) -> str:
    if data := _CDATA.match(code):
        return data[1]
    is_escaped = _ENTITY.search(code) and (
        not _NOT_ESCAPED.search(code) or not parse(outdented(code))
    )
    return html.unescape(code) if is_escaped else code


def _visible(match: re.Match[str]) -> str:
    """A space for what looks like one, nothing for what is not seen; strings and comments keep theirs."""
    kinds = {None: match[0], "blank": " ", "break": "\n", "unseen": ""}
    return kinds[match.lastgroup]
