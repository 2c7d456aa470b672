"""One sample of a log as an example of context-bench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ATTACHMENT = "attachment://"


def example_of(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return the example of a sample: what the model was asked, the target, its response, and the recorded scores.

    Raises:
        LookupError: The sample has no id, input or target.
    """
    attachments = sample.get("attachments") or {}
    epoch = sample.get("epoch") or 1
    target = sample["target"]
    example: dict[str, Any] = {
        "id": f"{sample['id']}" if epoch == 1 else f"{sample['id']}~{epoch}",
        "epoch": epoch,
        "question": _question(_resolved(sample["input"], attachments)),
        "sample_metadata": sample.get("metadata") or {},
        "recorded_scores": _values(sample.get("scores") or {}),
    }
    if isinstance(target, list):
        example["answers"] = [str(value) for value in target]
    else:
        example["answer"] = str(target)
    choices = sample.get("choices")
    if choices:
        letters = target if isinstance(target, list) else [target]
        example["choices"] = list(choices)
        example["target_letters"] = [str(letter) for letter in letters]
        if len(letters) == 1 and letters[0] in _LETTERS[: len(choices)]:
            example["correct_letter"] = letters[0]
    return example | _response(sample, attachments)


def _response(sample: Mapping[str, Any], attachments: Mapping[str, str]) -> dict[str, Any]:
    """Return what the model answered; for a sample that failed, why."""
    error = sample.get("error")
    if error:
        message = error.get("message") if isinstance(error, Mapping) else error
        return {"error": str(message)}
    output = sample.get("output") or {}
    response: dict[str, Any] = {}
    replies = output.get("choices") or []
    if replies:
        content = _resolved(replies[0]["message"]["content"], attachments)
        response["response"] = _text(content)
        response["finish_reason"] = replies[0].get("stop_reason")
    usage = output.get("usage")
    if usage:
        response["usage"] = _usage(usage)
    seconds = output.get("time")
    if isinstance(seconds, (int, float)):
        response["latency"] = float(seconds)
    return response


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of a call by the names of context-bench; inspect_ai counts cached tokens apart from the input."""
    names = {
        "input_tokens": "input_tokens",
        "output_tokens": "output_tokens",
        "input_tokens_cache_read": "cache_read_tokens",
        "input_tokens_cache_write": "cache_write_tokens",
        "reasoning_tokens": "reasoning_tokens",
    }
    counts = {}
    for theirs, name in names.items():
        if usage.get(theirs) is not None:
            counts[name] = usage[theirs]
    cached = counts.get("cache_read_tokens", 0) + counts.get("cache_write_tokens", 0)
    if cached and "input_tokens" in counts:
        counts["input_tokens"] += cached
    return counts


def _values(scores: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): score["value"] for name, score in scores.items()}


def _question(value: Any) -> str:
    """Return the text of an input; of messages the last one of the user."""
    if isinstance(value, str):
        return value
    asked = [message for message in value if message.get("role") == "user"]
    return _text((asked or value)[-1]["content"])


def _text(content: Any) -> str:
    """Return the text of a message's content, without its reasoning, as inspect_ai's ``completion`` is."""
    if isinstance(content, str):
        return content
    texts = [str(part["text"]) for part in content if part.get("type") == "text"]
    return "\n".join(texts)


def _resolved(value: Any, attachments: Mapping[str, str]) -> Any:
    """Put long texts back, which a log stores once and names ``attachment://HASH`` elsewhere."""
    if isinstance(value, str):
        if value.startswith(_ATTACHMENT):
            return attachments.get(value.removeprefix(_ATTACHMENT), value)
        return value
    if isinstance(value, Mapping):
        return {key: _resolved(entry, attachments) for key, entry in value.items()}
    if isinstance(value, list):
        return [_resolved(entry, attachments) for entry in value]
    return value
