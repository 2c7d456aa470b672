"""Calls and values in Java and JavaScript, as BFCL reads them: by the type that a parameter is described with.

After the parsers and type converters of bfcl-eval. A value is its source text until its type is known; one that does not have
the form of its type stays that text, and is then the name of a variable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

TYPES: dict[str, dict[str, type]] = {
    "java": {
        **dict.fromkeys(("byte", "short", "integer", "long"), int),
        **dict.fromkeys(("float", "double"), float),
        **dict.fromkeys(("char", "String", "any"), str),
        **dict.fromkeys(("Array", "ArrayList"), list),
        "boolean": bool,
        "HashMap": dict,
    },
    "javascript": {
        **dict.fromkeys(("integer", "Bigint"), int),
        **dict.fromkeys(("String", "any"), str),
        "float": float,
        "Boolean": bool,
        "dict": dict,
        "array": list,
    },
}
"""What the types of parameters are in Python, by language."""

_WHOLE = re.compile(r"-?\d+")
_REAL = r"-?\d+(?:\.\d+)?"
_NUMBERS = {
    "java": {
        **dict.fromkeys(("byte", "short", "integer"), _WHOLE),
        "long": re.compile(r"(-?\d+)[lL]"),
        "float": re.compile(rf"({_REAL}(?:[eE][+-]?\d+)?)[fF]"),
        "double": re.compile(rf"{_REAL}(?:[eE][+-]?\d+)?"),
    },
    "javascript": {
        "integer": _WHOLE,
        "float": re.compile(_REAL),
        "Bigint": re.compile(r"(-?\d+)n"),
    },
}
_CALL = re.compile(r"\s*([\w$.]+)\s*\(")
_ARGUMENT = re.compile(r"([A-Za-z_$][\w$]*)\s*=(?![=>])\s*(?=\S)")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_GENERIC = re.compile(r"<[\w\s,<>?.&\[\]]{0,200}>")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`(?:[^`\\]|\\.)*`', re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_LONGEST = 5_000
"""Letters of a list or table that is read; a longer one stays text."""
_LONGEST_NUMBER = 1_000
"""Digits of a number that is read."""


def call_in(text: str, language: str) -> tuple[str, dict[str, str]] | None:
    """Return the name and the arguments of the one call that a text is, each argument as its source; None where it is none.

    >>> call_in('[a.b(names=new String[]{"x", "y"}, text="x, y", n=5L)]', "java")
    ('a.b', {'names': 'new String[]{"x", "y"}', 'text': 'x, y', 'n': '5L'})
    """
    body = text.strip().removeprefix("[").removesuffix("]").strip().rstrip(";").rstrip()
    opening = _CALL.match(body)
    if opening is None or not body.endswith(")"):
        return None
    parts = list(_parts(body[opening.end() : -1]))
    arguments = dict[str, str]()
    for part in parts:
        if part is None or not part:
            if part is None or len(parts) > 1:
                return None
            continue
        named = _ARGUMENT.match(part)
        if named is None:
            if _NAME.fullmatch(part):
                arguments["*"] = part  # an argument without a name, which no function has
            continue
        if named[1] in arguments:
            return None
        arguments[named[1]] = _bare(part[named.end() :], language)
    return opening[1], arguments


def converted(source: str, kind: str, inner: str | None, language: str) -> Any:
    """Return the value that a source text is by a type, or the text itself.

    >>> converted("5L", "long", None, "java"), converted("5", "long", None, "java")
    (5, '5')
    >>> converted("[1, 2]", "array", "integer", "javascript")
    [1, 2]
    """
    if number := _NUMBERS[language].get(kind):
        found = number.fullmatch(source) if len(source) <= _LONGEST_NUMBER else None
        return TYPES[language][kind](found[number.groups]) if found else source
    if TYPES[language][kind] is bool:
        return {"true": True, "false": False}.get(source, source)
    if TYPES[language][kind] is str:
        return _unquoted(source) if language == "javascript" and kind == "String" else source
    if len(source) > _LONGEST:
        return source
    if language == "java":
        return _java_table(source) if kind == "HashMap" else _java_list(source, kind, inner)
    return _script_table(source) if kind == "dict" else _script_list(source, inner)


def written_in(language: str, value: Any, parameter: Mapping[str, Any]) -> str:
    """Return the source of a value by the type of its parameter.

    >>> written_in("java", 5, {"type": "long"}), written_in("javascript", ["a", True], {"type": "array"})
    ('5L', '["a", true]')
    """
    kind = parameter["type"]
    if language == "javascript":
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, list):
        inner = str((parameter.get("items") or {}).get("type"))
        items = ", ".join(written_in(language, item, {"type": inner}) for item in value)
        if kind == "Array":
            return f"new {inner}[]{{{items}}}"
        return f"new ArrayList<{inner}>({f'Arrays.asList({items})' if value else ''})"
    if isinstance(value, str):
        return f'"{value}"'
    suffix = {"long": "L", "float": "f"}.get(kind, "")
    return f"{value}{suffix}"


def _parts(text: str) -> Iterator[str | None]:
    """Yield what commas part, outside of quotes and brackets; None where a bracket or quote is not closed."""
    start = at = 0
    open_: list[str] = []
    while at < len(text):
        sign = text[at]
        if sign in "\"'`":
            quoted = _QUOTED.match(text, at)
            if quoted is None:
                yield None
                return
            at = quoted.end()
            continue
        if sign == "<" and text[at - 1 : at].isalnum() and (generic := _GENERIC.match(text, at)):
            at = generic.end()
            continue
        if sign in _CLOSING:
            open_.append(_CLOSING[sign])
        elif sign in ")]}":
            if not open_ or open_.pop() != sign:
                yield None
                return
        elif sign == "," and not open_:
            yield text[start:at].strip()
            start = at + 1
        at += 1
    yield None if open_ else text[start:].strip()


def _bare(source: str, language: str) -> str:
    """Return a source text without the quotes around it, and in Java without the body of a class behind ``new X()``."""
    if language == "javascript":
        return _unquoted(source)
    if (quoted := _QUOTED.match(source)) and quoted.end() == len(source):
        return source[1:-1]
    if (
        source.startswith("new ")
        and source.endswith("}")
        and (body := re.search(r"\)\s*\{\s*\{", source))
    ):
        return source[: body.start() + 1]
    return source


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _java_list(source: str, kind: str, inner: str | None) -> Any:
    line = " ".join(source.split())
    if kind == "Array":
        found = re.search(r"new\s+\w+\[\]\s*\{(.*?)\}", line)
        items = [item.strip() for item in found[1].split(",") if item.strip()] if found else None
        return source if items is None else [_java_item(item, inner) for item in items]
    if found := re.search(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)", line):
        items = [item.strip() for item in found[1].split(",")]
        return [
            item[1:-1] if inner in ("char", "String") else _java_item(item, inner) for item in items
        ]
    return [] if re.search(r"new\s+ArrayList<\w*>\(\)", line) else source


def _java_item(item: str, inner: str | None) -> Any:
    return converted(item, inner, None, "java") if inner in TYPES["java"] else _java_value(item)


def _java_value(item: str) -> Any:
    if item[:1] == item[-1:] == '"':
        return item[1:-1]
    for kind in ("long", "float"):
        if not isinstance(value := converted(item, kind, None, "java"), str):
            return value
    return _plain(item)


def _java_table(source: str) -> Any:
    return {} if re.search(r"new\s+HashMap<[^()]*>\s*\(\)", source) else source


def _script_list(source: str, inner: str | None) -> Any:
    code = source.strip()
    lists = re.match(r"(?:\[|new\s+Array\()\s*\[", code)
    closed = lists and re.compile(r"\]\s*\]" if code[0] == "[" else r"\]\s*\)").search(
        code, lists.end()
    )
    if closed:
        found = [one.strip() for one in re.findall(r"\[([^\]]*)\]", code[: closed.end()])]
        found[0] = found[0].removeprefix("[")
        return [[_script_value(item) for item in one.split(",")] for one in found]
    found_list = re.match(r"\[([^\]\n]*)\]|new\s+Array\(([^)\n]*)\)", code)
    if found_list is None:
        return code
    inside = (found_list[1] if found_list[1] is not None else found_list[2]).strip()
    items = [item.strip() for item in inside.split(",")] if inside else []
    if inner in TYPES["javascript"]:
        return [converted(item, inner, None, "javascript") for item in items]
    return [_script_value(item) for item in items]


def _script_table(source: str) -> Any:
    code = source.strip()
    if code == "{}":
        return {}
    found = re.match(r"\{([^}\n]*)\}", code)
    if found is None:
        return code
    table = dict[str, Any]()
    for key, value in re.findall(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)", found[1]):
        text = value.strip()
        if text[:1] + text[-1:] == "[]":
            item = _script_list(text, None)
        elif text[:1] + text[-1:] == "{}":
            item = _script_table(text)
        else:
            item = _script_value(text.strip("'\""))
        table[key.strip().strip("'\"")] = item
    return table


def _script_value(item: str) -> Any:
    text = item.strip()
    return (
        text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else _plain(text)
    )


def _plain(text: str) -> Any:
    """Return a truth value or a number, or the text itself."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
