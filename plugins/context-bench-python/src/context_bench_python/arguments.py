"""Options on their way into the user's function or class."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from context_bench.errors import ConfigurationError, UnknownNameError

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:api_?key|token|secret|password|credentials?|authorization)$", re.IGNORECASE
)


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
        parameters = list(signature_of(function).parameters.values())
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
    missing = [
        name
        for name, parameter in named.items()
        if parameter.default is parameter.empty and name not in given
    ]
    if missing and not skip:
        raise ConfigurationError(
            f"{target} needs {', '.join(missing)}, which is no option that was given."
        )
    return {
        name: value
        if isinstance(value, str) and name in named and is_text(named[name])
        else read_value(value)
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


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function, annotations that are written as texts read where they can be.

    Raises:
        TypeError, ValueError: It has none, as some that are built in.
    """
    try:
        return inspect.signature(function, eval_str=True)
    except (NameError, AttributeError, SyntaxError, LookupError, TypeError, ValueError):
        return inspect.signature(
            function
        )  # an annotation names what is imported for type checkers alone


def is_text(parameter: inspect.Parameter) -> bool:
    """Whether a parameter is annotated as text: ``str``, ``str | None``, ``Annotated[str, ...]``, or a subclass of ``str``."""
    return _is_text(parameter.annotation)


def may_be_text(parameter: inspect.Parameter) -> bool:
    """Whether a parameter may be text by its annotation: there is none, it is ``Any``, or ``str`` is one of several."""
    annotation = parameter.annotation
    return annotation in (parameter.empty, Any, object) or any(map(_is_text, _among(annotation)))


def _is_text(annotation: Any) -> bool:
    if isinstance(annotation, str):  # it could not be read
        return annotation.strip("'\"") in (
            "str",
            "str | None",
            "None | str",
            "Optional[str]",
            "typing.Optional[str]",
        )
    kinds = [kind for kind in _among(annotation) if kind is not type(None)]
    return bool(kinds) and all(isinstance(kind, type) and issubclass(kind, str) for kind in kinds)


def _among(annotation: Any) -> list[Any]:
    """Return the types that an annotation allows, without what is told of them beside."""
    if get_origin(annotation) is Annotated:
        return _among(get_args(annotation)[0])
    if hasattr(annotation, "__supertype__"):  # NewType
        return _among(annotation.__supertype__)
    if get_origin(annotation) in (Union, UnionType):
        return [kind for each in get_args(annotation) for kind in _among(each)]
    return [annotation]
