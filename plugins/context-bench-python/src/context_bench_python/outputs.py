"""What an object returned, as the output of a system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import isasyncgen, isgenerator
from typing import Any

_ANSWERS = ("answer", "result", "output", "output_text")
_DOCUMENTS = ("source_documents", "documents", "context")
_ATTRIBUTES = ("response", "context", "retrieved_contexts", "usage", "finish_reason", "model")
_USAGE = {"input_tokens": "input_tokens", "output_tokens": "output_tokens"}
_USAGE_DETAILS = (
    ("input_token_details", "cache_read", "cache_read_tokens"),
    ("input_token_details", "cache_creation", "cache_write_tokens"),
    ("output_token_details", "reasoning", "reasoning_tokens"),
)


def output_of(found: Any, text_is: str = "response", given: Iterable[str] = ()) -> dict[str, Any]:
    """Return the output that a returned value stands for.

    Understood are text; a mapping with ``response``, or for a transformer ``context``; a pair of text and documents; a
    message with ``content``; an answer with ``response`` and ``source_nodes``; an object with such attributes; and what
    LangChain's retrieval chains return (``answer`` or ``result``, and ``context`` or ``source_documents``).
    ``retrieved_contexts`` becomes a list of texts, whatever kind of document was returned.

    >>> output_of(("Italy", ["Rome is in Italy."]))
    {'response': 'Italy', 'retrieved_contexts': ['Rome is in Italy.']}

    Args:
        found: What was returned.
        text_is: What a plain text is: ``response``, or ``context`` for a transformer.
        given: Names of the input's fields; one that comes back is no answer.

    Raises:
        TypeError: The value is no output; the message says what to return.
        ValueError: A part of it is missing.
    """
    if isinstance(found, str):
        return {text_is: found}
    if isinstance(found, Mapping):
        return _checked(_of_mapping(found, text_is, frozenset(given)), text_is)
    if (
        isinstance(found, tuple)
        and len(found) == 2
        and isinstance(found[0], str)
        and _is_list(found[1])
    ):
        return {text_is: found[0], "retrieved_contexts": texts_of(found[1])}
    if isgenerator(found) or isasyncgen(found):
        raise TypeError("it returned a generator: return the whole text, or {'response': ...}")
    is_named = isinstance(found, tuple) and hasattr(
        found, "_fields"
    )  # a named tuple has attributes, as other objects do
    plain = found is None or isinstance(
        found, bytes | bytearray | int | float | list | tuple | set | frozenset
    )
    if plain and not is_named:
        raise TypeError(
            f"it returned {_kind(found)}: return the {text_is} as text, or {{{text_is!r}: ...}}"
        )
    return _checked(_of_object(found, text_is), text_is)


def texts_of(documents: Any) -> list[str]:
    """Return documents as texts.

    Raises:
        TypeError: One of them holds no text.
    """
    return [_text_of_document(document, number) for number, document in enumerate(documents)]


def _of_mapping(found: Mapping[Any, Any], text_is: str, given: frozenset[str]) -> dict[str, Any]:
    output = {str(name): value for name, value in found.items()}
    if (
        text_is == "response"
        and "response" not in output
        and not isinstance(output.get("context"), str)
    ):
        answer = next(
            (
                name
                for name in _ANSWERS
                if name not in given and _text_of_message(output.get(name)) is not None
            ),
            None,
        )
        if answer is not None:
            output["response"] = _text_of_message(output.pop(answer))
    message = output.get(text_is)
    if (
        message is not None
        and not isinstance(message, str)
        and _text_of_message(message) is not None
    ):
        output = {
            **_of_object(message, text_is),
            **{name: value for name, value in output.items() if name != text_is},
        }
    if "retrieved_contexts" not in output:
        documents = next(
            (
                name
                for name in _DOCUMENTS
                if _is_list(output.get(name)) and _are_documents(output[name])
            ),
            None,
        )
        if documents is not None and not (documents == "context" and text_is == "context"):
            output["retrieved_contexts"] = output.pop(documents)
    return output


def _of_object(found: Any, text_is: str) -> dict[str, Any]:
    output = {
        name: getattr(found, name) for name in _ATTRIBUTES if getattr(found, name, None) is not None
    }
    output = {name: value for name, value in output.items() if not callable(value)}
    message = _text_of_message(found)
    if not isinstance(output.get(text_is), str) and message is not None:
        output[text_is] = message
    nodes = getattr(found, "source_nodes", None)
    if _is_list(nodes):
        output["retrieved_contexts"] = nodes
        if output.get(text_is) is None:
            output[text_is] = str(found)
    if text_is not in output and "context" not in output:
        raise TypeError(
            f"it returned {_kind(found)}, which has neither an attribute {text_is} nor content: return the {text_is} as text, "
            f"or {{{text_is!r}: ...}}"
        )
    usage = _usage_of_message(found)
    if usage:
        output["usage"] = usage
    reason = getattr(found, "response_metadata", None)
    if isinstance(reason, Mapping):
        named = {
            "finish_reason": reason.get("finish_reason") or reason.get("stop_reason"),
            "model": reason.get("model_name"),
        }
        output.update((name, value) for name, value in named.items() if isinstance(value, str))
    return output


def _checked(output: dict[str, Any], text_is: str) -> dict[str, Any]:
    if text_is not in output and "context" not in output:
        names = ", ".join(output) or "nothing"
        raise ValueError(
            f"it returned a mapping with {names}, and no {text_is!r}: name the text {text_is!r}"
        )
    for name in ("response", "context") if text_is == "response" else ("context",):
        if (
            name in output
            and not isinstance(output[name], str)
            and not (name == "context" and "response" in output)
        ):
            raise TypeError(f"{name!r} of what it returned is {_kind(output[name])}, not text")
    if output.get("retrieved_contexts") is not None:
        if not _is_list(output["retrieved_contexts"]):
            raise TypeError(
                f"'retrieved_contexts' of what it returned is {_kind(output['retrieved_contexts'])}, not a list"
            )
        output["retrieved_contexts"] = texts_of(output["retrieved_contexts"])
    return output


def _text_of_document(document: Any, number: int) -> str:
    if isinstance(document, str):
        return document
    inner = getattr(document, "node", document)
    for holder in (inner, document):
        for name in ("page_content", "text", "content"):
            value = holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
            if isinstance(value, str):
                return value
        method = getattr(holder, "get_content", None)
        if callable(method) and isinstance(text := method(), str):
            return text
    raise TypeError(f"retrieved context {number + 1} is {_kind(document)}, which holds no text")


def _are_documents(found: Sequence[Any]) -> bool:
    return all(
        isinstance(one, str | Mapping) or hasattr(one, "page_content") or hasattr(one, "node")
        for one in found
    )


def _text_of_message(found: Any) -> str | None:
    """Return the text of a text, or of a message whose content is text or a list of parts; None when it is neither."""
    if isinstance(found, str):
        return found
    content = getattr(found, "content", None)
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "".join(part for part in parts if isinstance(part, str))
    return None


def _usage_of_message(found: Any) -> dict[str, Any]:
    """Return the usage that a LangChain message carries; its input tokens are the whole prompt, cached part included."""
    told = getattr(found, "usage_metadata", None)
    if not isinstance(told, Mapping):
        return {}
    usage = {
        ours: told[theirs] for theirs, ours in _USAGE.items() if isinstance(told.get(theirs), int)
    }
    for group, theirs, ours in _USAGE_DETAILS:
        details = told.get(group)
        if isinstance(details, Mapping) and isinstance(details.get(theirs), int):
            usage[ours] = details[theirs]
    return usage


def _is_list(found: Any) -> bool:
    return isinstance(found, Sequence) and not isinstance(found, str | bytes | bytearray)


def _kind(found: Any) -> str:
    return "None" if found is None else type(found).__name__
