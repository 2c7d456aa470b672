"""Function calls in a response: as Python, as JSON, or as the tool calls that an endpoint returned."""

from __future__ import annotations

import ast
import json
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from context_bench.answers import (
    answer_of,
    call_of_object,
    plain_signs,
    plain_value,
    reply_of,
    tool_calls,
    without_layout,
)
from context_bench_agents.foreign import TYPES, call_in

_LANGUAGE = re.compile(r"\A(?:[\w.+-]*[^\S\n]*\n|[a-zA-Z]+(?=[\s\[{]))")
_OPENS, _CLOSES = (
    re.compile(r"<(?:tool_?(?:call|code)|TOOLCALL)>"),
    re.compile(r"</(?:tool_?(?:call|code)|TOOLCALL)>"),
)
_TYPOGRAPHIC = re.compile("[“”„]")
_PYTHON_TAG = "<|python_tag|>"  # before JSON, or a call in Python
_LONGEST = 100_000
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: lambda base, power: (
        math.pow(base, power) if abs(power) > 64 or abs(base) > 1e9 else base**power
    ),
}


class FunctionCall(NamedTuple):
    """One call: the function's name, with its dots, and its arguments by name.

    ``texts`` are the arguments that native mark-up holds as text, as they are, for parameters that are texts.
    """

    name: str
    arguments: dict[str, Any]
    texts: Mapping[str, str] = {}


def calls_of(
    output: Mapping[str, Any],
    language: str = "python",
    of_text: Callable[[str, str], list[FunctionCall] | None] | None = None,
) -> list[FunctionCall] | None:
    """Return the calls of an output; None where the output is text that holds none.

    In Java and JavaScript the values are source texts, and a text holds one call at most.

    Args:
        output: The output: ``tool_calls``, or else ``response``.
        language: The language of the calls.
        of_text: What reads the calls of a text; `parse_calls` where it is None.

    >>> calls_of({"response": 'get.weather(city="Rome", days=3)'})[0].arguments
    {'city': 'Rome', 'days': 3}
    """
    returned = plain_value(output.get("tool_calls"))
    if returned:
        return [call for each in returned if (call := _of_json(each))] or None
    answer = answer_of(output)
    if answer is None:
        return None
    calls = (of_text or parse_calls)(answer, language)
    # a call may be in a channel that is no answer, where gpt-oss writes it
    return calls or (None if of_text else _native(reply_of(output) or "") or None)


def parse_calls(text: str, language: str = "python") -> list[FunctionCall] | None:
    """Return the calls that a text holds, or None."""
    if len(text) > _LONGEST:
        return None
    text = plain_signs(text)
    found = [call for part in _tagged(text) for call in _read(part, language)]
    found = found or _native(text)
    for candidate in _candidates(text):
        found = found or _read(candidate, language)
    bare = without_layout(text, emphasis=False)
    if not found and bare != text.strip():
        return parse_calls(bare, language)
    if not found and _TYPOGRAPHIC.search(text):
        return parse_calls(_TYPOGRAPHIC.sub('"', text), language)
    return found or None


def _native(text: str) -> list[FunctionCall]:
    return [FunctionCall(call.name, call.arguments, call.texts) for call in tool_calls(text)]


def decoded_calls(text: str, language: str = "python") -> list[FunctionCall] | None:
    """Return the calls of a text as BFCL's ``default_decode_ast_prompting`` does: of a text that is nothing else.

    >>> [call.name for call in decoded_calls("`f(x=1), g(y=2)`")]
    ['f', 'g']
    >>> decoded_calls("```python\\nf(x=1)\\n```")
    """
    bare = text.strip("`\n ")
    listed = f"{'' if bare.startswith('[') else '['}{bare}{'' if bare.endswith(']') else ']'}"
    if len(listed) > _LONGEST:
        return None
    if language in TYPES:
        call = call_in(listed[1:-1], language)
        return [FunctionCall(call[0], {**call[1]})] if call else None
    return _from_python(listed) or None


def _tagged(text: str) -> list[str]:
    """Return what stands in ``<tool_call>`` tags; a tag that nothing closes is none."""
    return [
        _OPENS.split(part)[-1].strip() for part in _CLOSES.split(text)[:-1] if _OPENS.search(part)
    ]


def _read(text: str, language: str) -> list[FunctionCall]:
    if language in TYPES:
        call = call_in(text, language)
        return _from_json(text) or ([FunctionCall(call[0], {**call[1]})] if call else [])
    return _from_json(text) or _from_python(text)


def _candidates(text: str) -> Iterator[str]:
    if _PYTHON_TAG in text:
        yield text.rpartition(_PYTHON_TAG)[2].strip()
    yield text.strip("`*\n ")
    yield from (_LANGUAGE.sub("", fenced).strip() for fenced in text.split("```")[1:-1:2])
    start, end = text.find("["), text.rfind("]")
    if 0 <= start < end:
        yield text[start : end + 1]


def _from_json(text: str) -> list[FunctionCall]:
    value = _loaded(text)
    values = value if isinstance(value, list) else [value]
    found = [_of_json(each) for each in values]
    return [call for call in found if call] if found and all(found) else []


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _of_json(value: Any) -> FunctionCall | None:
    if not isinstance(value, Mapping):
        return None
    inner = value.get("function")
    body = inner if isinstance(inner, Mapping) else value
    name, arguments = body.get("name"), body.get("arguments", body.get("parameters"))
    if isinstance(arguments, str):
        arguments = _loaded(arguments or "{}")
        if arguments is None:
            return None
    if isinstance(name, str) and isinstance(arguments, Mapping | None):
        return FunctionCall(name, dict(arguments or {}))
    if native := call_of_object(value):
        return FunctionCall(native.name, native.arguments)
    if (
        len(value) == 1
    ):  # {"name": {"argument": value}}, or as BFCL keeps it, with the arguments as the text of an object
        [(name, arguments)] = value.items()
        if isinstance(arguments, str):
            arguments = _loaded(arguments)
        if isinstance(arguments, Mapping):
            return FunctionCall(str(name), dict(arguments))
    return None


def _from_python(text: str) -> list[FunctionCall]:
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
        nodes = [statement.value for statement in body if isinstance(statement, ast.Expr)]
        if len(nodes) != len(body):
            return []
    else:
        nodes = list(tree.elts) if isinstance(tree, ast.List | ast.Tuple) else [tree]
    try:
        return [_of_node(node) for node in nodes]
    except (ValueError, RecursionError):
        return []


def _of_node(node: ast.expr) -> FunctionCall:
    """Return a call; arguments without a name are left out, as BFCL does."""
    if not isinstance(node, ast.Call):
        raise ValueError("no call")
    return FunctionCall(
        ast.unparse(node.func), {each.arg or "**": _value(each.value) for each in node.keywords}
    )


def _value(node: ast.expr) -> Any:
    """Return what BFCL reads as the value of an argument: a literal, arithmetic, a call, or a variable's name."""
    if isinstance(node, ast.Name | ast.Subscript) or (
        isinstance(node, ast.Call) and not node.keywords
    ):
        return ast.unparse(node)
    if isinstance(node, ast.Call):
        call = _of_node(node)
        return {call.name: call.arguments}
    if isinstance(node, ast.List):
        return [_value(each) for each in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value(each) for each in node.elts)
    if isinstance(node, ast.Dict) and None not in node.keys:
        try:
            return {
                _value(key): _value(value)
                for key, value in zip(node.keys, node.values, strict=True)
                if key
            }
        except TypeError:
            raise ValueError("a key that cannot be one") from None
    if isinstance(node, ast.BinOp):
        return _result(node)
    return ast.literal_eval(node)


def _result(node: ast.BinOp) -> Any:
    """Return the result of arithmetic with numbers, or of two texts put together."""
    left, right = _value(node.left), _value(node.right)
    both = {type(left), type(right)}
    if type(node.op) in _OPERATORS and (
        both <= {int, float} or (both == {str} and isinstance(node.op, ast.Add))
    ):
        try:
            return _OPERATORS[type(node.op)](left, right)
        except ArithmeticError:
            pass
    raise ValueError("no arithmetic that can be done")
