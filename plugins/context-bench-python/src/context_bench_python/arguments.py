"""Options on their way into the user's function or class."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from context_bench.errors import ConfigurationError, UnknownNameError

_SECRET_NAME = re.compile(r"(?:^|_)(?:api_?key|token|secret|password|credentials?|authorization)$", re.IGNORECASE)


def read_arguments(
    function: Callable[..., Any], given: Mapping[str, Any], target: str, skip: int = 0
) -> dict[str, Any]:
    """Return the keyword arguments for a function or class.

    Text that reads as a number, ``true``, ``false`` or ``null`` becomes that, because a command line knows only text; text
    for a parameter annotated ``str`` stays text.

    Args:
        function: What will be called.
        given: Values by name.
        target: What it is called in messages.
        skip: Leading parameters that are not options: the example's.

    Raises:
        ConfigurationError: An argument is not taken, or one without a default is missing.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # built in: it says itself what it takes
        return {name: read_value(value) for name, value in given.items()}
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = {
        parameter.name: parameter
        for parameter in parameters
        if parameter not in positional[:skip]
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    for name in given:
        if name not in named and not takes_all:
            takes = f"It takes {', '.join(named)}." if named else "It takes no options."
            raise UnknownNameError(f"option of {target}", name, named, takes)
    missing = [name for name, parameter in named.items() if parameter.default is parameter.empty and name not in given]
    if missing and not skip:
        raise ConfigurationError(f"{target} needs {', '.join(missing)}, which is no option that was given.")
    return {
        name: value if isinstance(value, str) and _is_text(named.get(name)) else read_value(value)
        for name, value in given.items()
    }


def read_value(value: Any) -> Any:
    """Return a value; text that is a JSON number, ``true``, ``false`` or ``null`` as that.

    >>> read_value("0.5"), read_value("true"), read_value("top"), read_value("007")
    (0.5, True, 'top', '007')
    """
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(value, parse_constant=str)
    except (ValueError, RecursionError):
        return value
    return read if read is None or isinstance(read, int | float) else value


def without_secrets(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments for a fingerprint.

    Those that are called like a secret hold no value, and an object that has no written form stands as its type: whoever
    gives one says with the version what it is.
    """
    return {
        str(name): None if _SECRET_NAME.search(str(name).replace("-", "_")) else _written(value)
        for name, value in arguments.items()
    }


def _written(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return without_secrets(value)
    if isinstance(value, list | tuple):
        return [_written(inner) for inner in value]
    return {"type": f"{type(value).__module__}.{type(value).__qualname__}"}


def _is_text(parameter: inspect.Parameter | None) -> bool:
    return parameter is not None and parameter.annotation in (str, "str", "str | None", "Optional[str]", str | None)
