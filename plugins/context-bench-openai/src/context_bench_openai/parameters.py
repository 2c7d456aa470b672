"""The fields of a request besides what is asked: sampling, limits, log probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def request_parameters(
    endpoint: str,
    options: Mapping[str, Any],
    logprobs: bool,
    top_logprobs: int | None,
    extra_body: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the fields that every request of a system has; options that are None are left to the server.

    Args:
        endpoint: ``chat`` or ``completions``, which write log probabilities differently.
        options: Named options under their names on the wire.
        logprobs: Whether log probabilities are asked for.
        top_logprobs: Alternatives of each token.
        extra_body: Further fields as the user wrote them.

    Raises:
        ValueError: Two options contradict each other.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if "max_tokens" in given and "max_completion_tokens" in given:
        raise ValueError(
            "Give max_tokens or max_completion_tokens, not both: the model knows one of them."
        )
    if endpoint == "completions" and "max_completion_tokens" in given:
        raise ValueError("endpoint='completions' knows max_tokens, not max_completion_tokens.")
    if "stop" in given:
        given["stop"] = _texts(given["stop"])
    given |= _logprobs(endpoint, logprobs, top_logprobs)
    for name in extra_body:
        if name in given:
            raise ValueError(
                f"{name!r} is given twice: in extra_body and as an option. Leave one out."
            )
    return {**given, **extra_body}


def _texts(stop: Any) -> list[str]:
    texts = [stop] if isinstance(stop, str) else [str(text) for text in stop]
    if not texts or not all(texts):
        raise ValueError("stop must be one or more texts that are not empty.")
    return texts


def _logprobs(endpoint: str, logprobs: bool, top_logprobs: int | None) -> dict[str, Any]:
    if top_logprobs is not None and (type(top_logprobs) is not int or top_logprobs < 0):
        raise ValueError(f"top_logprobs must be a whole number from 0 up, not {top_logprobs!r}.")
    if not logprobs and not top_logprobs:
        return {}
    if endpoint == "completions":
        return {"logprobs": top_logprobs or 1}
    return {
        "logprobs": True,
        **({"top_logprobs": top_logprobs} if top_logprobs is not None else {}),
    }
