"""What of an example an object is given.

    example    the example, as a dict
    question   the question as text, its instruction behind it; the context where there is no question
    context    the context as text
    prompt     context, blank line and question with its instruction as one text
    fields     an argument for each parameter, by name
    NAME       the field of this name, as it is

``auto`` is ``example`` for a system and ``question`` for a query engine. A Runnable is given what its prompt asks for, by
name, where it tells, else the question. A function is given what its parameters ask for: a single one gets the example, or,
when it is annotated as text (``str``, ``str | None``) or called ``question``, ``query`` or ``prompt``, the text that its name
says; several get the fields of their names, the instruction behind the question where no parameter is called ``instruction``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench.prompts import AROUND_QUESTIONS, prompt_texts, text_of_field
from context_bench_python.arguments import is_text, may_be_text, signature_of
from context_bench_python.ways import Way

Input = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments."""

_QUESTIONS = ("question", "query", "input", "user_input", "message")
_CONTEXTS = ("context", "contexts", "text", "document", "source")
_PROMPTS = ("prompt",)
_RETRIEVAL = ("input", "question")
_PLAINLY_TEXT = ("question", "query", "prompt")


def input_of(
    choice: str, way: Way, thing: Any, bound: Iterable[str], target: str
) -> Callable[[Mapping[str, Any]], Input]:
    """Return what makes the arguments of an example.

    Args:
        choice: The option ``input``.
        way: How the object is asked.
        thing: The object.
        bound: Arguments that the user's options give already.
        target: What it is called in messages.

    Raises:
        ConfigurationError: It takes nothing that an example could be.
    """
    if choice == "auto" and way.kind == "runnable":
        variables = _variables(thing)
        if variables:
            return lambda example: (({name: _field(example, name) for name in variables},), {})
    if choice == "auto":
        if way.kind == "function":
            return _by_parameters(way.function, frozenset(bound), target)
        choice = "example" if way.kind == "system" else "question"
    if choice == "fields":
        return _by_names(_parameters(way.function, frozenset(bound)))
    if choice == "example":
        return lambda example: ((dict(example),), {})
    if choice in _TEXTS:
        return lambda example: ((_TEXTS[choice](example),), {})
    return lambda example: ((_named(example, choice),), {})


def _by_parameters(
    function: Callable[..., Any], bound: frozenset[str], target: str
) -> Callable[[Mapping[str, Any]], Input]:
    try:
        parameters = _parameters(function, bound)
    except (TypeError, ValueError):  # built in: nobody knows
        return lambda example: ((dict(example),), {})
    required = [parameter for parameter in parameters if parameter.default is parameter.empty]
    needed = [parameter for parameter in required if parameter.kind is not parameter.VAR_POSITIONAL]
    if len(needed) > 1 or any(parameter.kind is parameter.KEYWORD_ONLY for parameter in needed):
        return _by_names(parameters)
    only = next(
        iter(
            needed
            or [
                parameter
                for parameter in parameters
                if parameter.kind is not parameter.KEYWORD_ONLY
            ]
        ),
        None,
    )
    if only is None:
        raise ConfigurationError(
            f"{target} takes no example: give the function a parameter, such as {target}(example)."
        )
    if only.kind is not only.VAR_POSITIONAL and (
        is_text(only) or (only.name in _PLAINLY_TEXT and may_be_text(only))
    ):
        text = _text_for(only.name)
        return lambda example: ((text(example),), {})
    return lambda example: ((dict(example),), {})


def _parameters(function: Callable[..., Any], bound: frozenset[str]) -> list[inspect.Parameter]:
    return [
        parameter
        for parameter in signature_of(function).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD and parameter.name not in bound
    ]


def _by_names(parameters: list[inspect.Parameter]) -> Callable[[Mapping[str, Any]], Input]:
    positional = [
        parameter for parameter in parameters if parameter.kind is parameter.POSITIONAL_ONLY
    ]
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    own_places = {parameter.name for parameter in parameters}.intersection(AROUND_QUESTIONS)

    def arguments(example: Mapping[str, Any]) -> Input:
        joined = {name: value for name, value in example.items() if name not in own_places}
        if any(joined.get(name) for name in AROUND_QUESTIONS):
            example = {**example, "question": _question(joined)}
        given = {
            parameter.name: _field(example, parameter.name)
            for parameter in named
            if parameter.default is parameter.empty or parameter.name in example
        }
        return tuple(_field(example, parameter.name) for parameter in positional), given

    return arguments


def _text_for(name: str) -> Callable[[Mapping[str, Any]], str]:
    if name in _PROMPTS:
        return _prompt
    return _context if name in _CONTEXTS else _question


def _field(example: Mapping[str, Any], name: str) -> Any:
    """Return the field that a parameter's name stands for; the example's own names go first."""
    if name in example:
        return example[name]
    if name in _QUESTIONS:
        return _question(example)
    return _context(example) if name in _CONTEXTS else _named(example, name)


def _named(example: Mapping[str, Any], name: str) -> Any:
    try:
        return example[name]
    except KeyError:
        raise ValueError(
            f"the example has no field {name!r}; it has {', '.join(map(str, example)) or 'none'}"
        ) from None


def _question(example: Mapping[str, Any]) -> str:
    found = prompt_texts(example).question
    if not found:
        raise ValueError(
            f"the example has neither a question nor a context; it has {', '.join(map(str, example))}"
        )
    return found


def _context(example: Mapping[str, Any]) -> str:
    return text_of_field(_named(example, "context"))


def _prompt(example: Mapping[str, Any]) -> str:
    return "\n\n".join(prompt_texts(example).present) or _question(example)


_TEXTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "question": _question,
    "context": _context,
    "prompt": _prompt,
}


def _variables(thing: Any) -> list[str]:
    """Return the names that a Runnable's input is made of, where it tells.

    Prompts and chains do, and what begins with one of them.
    """
    for attribute in ("input_keys", "input_variables"):
        found = getattr(thing, attribute, None)
        if (
            isinstance(found, list | tuple | set)
            and found
            and all(isinstance(name, str) for name in found)
        ):
            return sorted(found)
    if hasattr(
        thing, "mapper"
    ):  # RunnablePassthrough.assign, with which retrieval chains begin, wants a mapping
        return list(_RETRIEVAL)
    for attribute in ("bound", "first"):
        inner = getattr(thing, attribute, None)
        if inner is not None and inner is not thing and hasattr(inner, "invoke"):
            return _variables(inner)
    return []
