"""Objects and functions that rewrite a list of messages: ``transform(messages, tools)``, ``compress(messages)``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, isawaitable, isclass, isfunction
from typing import Any

from context_bench.messages import MessageTransformer
from context_bench_python.arguments import signature_of

_METHODS = ("transform", "compress")
_MESSAGES = ("messages", "msgs", "history", "conversation")
_TOOLS = ("tools", "functions")
_OTHER_WAYS = ("process", "aprocess", "invoke", "query")


def message_function_of(thing: Any) -> Callable[..., Any] | None:
    """Return what rewrites the messages of a session: a method ``transform`` or ``compress``, the one public method that takes
    messages, or a function of ``messages``.

    An object that can be called in another way is not looked at: that way is its own.
    """
    if isclass(thing) or any(callable(getattr(thing, name, None)) for name in _OTHER_WAYS):
        return None
    for name in _METHODS:
        method = getattr(thing, name, None)
        if callable(method) and (name == "transform" or _takes_messages(method)):
            return method  # type: ignore[no-any-return]
    methods = [getattr(thing, name) for name in dir(type(thing)) if _is_method(thing, name)]
    if len(methods) == 1:
        return methods[0]  # type: ignore[no-any-return]
    return thing if callable(thing) and _takes_messages(thing) else None


def message_system(
    owner: Any, function: Callable[..., Any], arguments: Mapping[str, Any]
) -> MessageTransformer:
    """Return the system that rewrites the messages of a session.

    Args:
        owner: The object or the function that the user named.
        function: What rewrites the messages, as :func:`message_function_of` returned it.
        arguments: Further arguments by name.
    """
    return MessageTransformer(_MessageFunction(owner, function, arguments))


class _MessageFunction:
    """What rewrites messages, as an object with ``transform(messages, tools)``."""

    def __init__(
        self, owner: Any, function: Callable[..., Any], arguments: Mapping[str, Any]
    ) -> None:
        self._function = function
        self._arguments = arguments
        self._parameters = _parameters(function)
        self.name = str(getattr(owner, "name", getattr(owner, "__name__", type(owner).__name__)))
        for ability in ("fingerprint", "version", "reads", "resources", "close", "redeem"):
            if hasattr(owner, ability):
                setattr(self, ability, getattr(owner, ability))

    def transform(self, messages: list[dict[str, Any]], tools: list[Any]) -> list[Any]:
        """Return the messages that the function returns.

        Raises:
            TypeError: It returned no messages.
        """
        positional, named = self._given(messages, tools)
        result = self._function(*positional, **named, **self._arguments)
        if isawaitable(result):
            result = asyncio.run(_awaited(result))
        return _messages_in(result, self.name)

    def _given(
        self, messages: list[dict[str, Any]], tools: list[Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments: the messages first, and the tools where there is a parameter for them."""
        free = [
            parameter for parameter in self._parameters[1:] if parameter.name not in self._arguments
        ]
        for parameter in free:
            if parameter.name in _TOOLS:
                return [messages], {parameter.name: tools}
        takes_more = any(
            parameter.default is parameter.empty
            and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            for parameter in free
        )
        return ([messages, tools] if takes_more else [messages]), {}


async def _awaited(found: Any) -> Any:
    return await found


def _messages_in(result: Any, name: str) -> list[Any]:
    """Return the messages in a result: a list, its first member, its key or its attribute ``messages``."""
    found = result
    if isinstance(result, Mapping):
        found = result.get("messages")
    elif isinstance(result, tuple) and result and _are_messages(result[0]):
        found = result[0]
    elif not isinstance(result, list | tuple):
        found = getattr(result, "messages", None)
    if not _are_messages(found):
        kind = "None" if result is None else type(result).__name__
        raise TypeError(f"{name} returned {kind}: return the list of messages")
    return list(found)


def _are_messages(found: Any) -> bool:
    return (
        isinstance(found, Sequence)
        and not isinstance(found, str | bytes)
        and all(isinstance(message, Mapping) and "role" in message for message in found)
    )


def _takes_messages(function: Any) -> bool:
    parameters = _parameters(function)
    return bool(parameters) and parameters[0].name in _MESSAGES


def _is_method(thing: Any, name: str) -> bool:
    """Tell whether a public method of an object takes messages."""
    is_public_function = not name.startswith("_") and isfunction(getattr(type(thing), name, None))
    return is_public_function and _takes_messages(getattr(thing, name))


def _parameters(function: Any) -> list[Parameter]:
    try:
        return list(signature_of(function).parameters.values())
    except (TypeError, ValueError):  # built in: its parameters are not known
        return []
