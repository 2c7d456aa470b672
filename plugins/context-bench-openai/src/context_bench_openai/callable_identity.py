"""What makes a Python function the same function tomorrow."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import CodeType
from typing import Any


def callable_identity(function: Callable[..., Any]) -> dict[str, str]:
    """Return a description of a callable that changes when its code, defaults or captured values change.

    Seen are the byte code with its constants, the defaults, the values that a closure holds and the plain values among
    the module's globals that it names. What a called function does further down is not seen: give the callable an
    attribute ``version`` and change it when that matters.
    """
    target = function if hasattr(function, "__code__") else type(function).__call__
    seen = hashlib.sha256()
    code = getattr(target, "__code__", None)
    if isinstance(code, CodeType):
        _add_code(seen, code, getattr(target, "__globals__", {}))
        for cell in getattr(target, "__closure__", None) or ():
            _add_value(seen, _content(cell))
    for values in (getattr(target, "__defaults__", None), getattr(target, "__kwdefaults__", None)):
        _add_value(seen, values)
    if target is not function:
        _add_value(seen, getattr(function, "__dict__", None))
    owner = function if hasattr(function, "__qualname__") else type(function)
    return {
        "name": f"{getattr(owner, '__module__', '')}.{getattr(owner, '__qualname__', '')}",
        "code": seen.hexdigest()[:32],
        "version": str(getattr(function, "version", "")),
    }


def _add_code(seen: Any, code: CodeType, scope: dict[str, Any]) -> None:
    seen.update(code.co_code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(seen, constant, scope)
        else:
            _add_value(seen, constant)
    for name in code.co_names:
        seen.update(name.encode())
        if isinstance(scope.get(name), (str, int, float, bool, tuple)):
            _add_value(seen, scope[name])


def _add_value(seen: Any, value: Any) -> None:
    seen.update(_stable_text(value).encode("utf-8", "surrogatepass") + b"\0")


def _stable_text(value: Any) -> str:
    if value is None or isinstance(value, (str, int, float, bool, bytes)):
        return repr(value)
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(
                sorted(f"{_stable_text(key)}:{_stable_text(item)}" for key, item in value.items())
            )
            + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_stable_text, value)) + "]"
    if isinstance(value, (set, frozenset)):
        return "{" + ",".join(sorted(map(_stable_text, value))) + "}"
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
