"""OpenTelemetry spans of agents, by the GenAI conventions or by OpenInference's.

Each call of a model carries its whole history, so the call with the most messages is the session of its trace; the others are
its beginnings, and sub-agents. Where a span gives the results of tools apart, they are put behind their calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_bench_sessions.messages import Message, Session, assistant, call, result, text_of

_DETAILS = "gen_ai.client.inference.operation.details"


def read(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield the session of each trace.

    Args:
        documents: Line number and a span or a list of spans, in order.
    """
    traces: dict[str, list[Mapping[str, Any]]] = {}
    for _, document in documents:
        for span in document if isinstance(document, list) else [document]:
            if isinstance(span, Mapping) and isinstance(span.get("attributes"), Mapping):
                traces.setdefault(str(span.get("trace_id", span.get("traceId", ""))), []).append(
                    span
                )
    for identity, spans in traces.items():
        results = _results(spans)
        told = [_with_results(messages, results) for span in spans if (messages := _messages(span))]
        told = [
            messages
            for messages in told
            if any(message["role"] == "assistant" for message in messages)
        ]
        if told:
            yield Session(identity, max(told, key=len), "openai", tools=_tools(spans))


def _messages(span: Mapping[str, Any]) -> list[Message]:
    for attributes in (span["attributes"], *_details(span)):
        if "gen_ai.input.messages" in attributes or "gen_ai.output.messages" in attributes:
            return _paired(
                [
                    message
                    for key in (
                        "gen_ai.system_instructions",
                        "gen_ai.input.messages",
                        "gen_ai.output.messages",
                    )
                    for one in _parsed(attributes.get(key))
                    for message in _genai(one)
                ]
            )
        if any(
            key.startswith(("llm.input_messages.", "llm.output_messages.")) for key in attributes
        ):
            return _openinference(attributes)
    return []


def _details(span: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    events = span.get("span_events") or span.get("events") or ()
    return [
        event["attributes"]
        for event in events
        if _DETAILS in (event.get("event_name"), event.get("name"))
        and isinstance(event.get("attributes"), Mapping)
    ]


def _parsed(value: object) -> list[Mapping[str, Any]]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _genai(message: Mapping[str, Any]) -> Iterator[Message]:
    if "role" not in message:  # a part of the system's instructions
        yield {"role": "system", "content": text_of(message)}
        return
    parts = [part for part in message.get("parts") or () if isinstance(part, Mapping)]
    text = text_of(
        [part for part in parts if part.get("type") not in ("tool_call", "tool_call_response")]
    )
    calls = [
        call(p.get("id"), p.get("name"), p.get("arguments", {}))
        for p in parts
        if p.get("type") == "tool_call"
    ]
    for part in parts:
        if part.get("type") == "tool_call_response":
            yield result(part.get("id"), text_of(part.get("response", part.get("result"))))
    if message["role"] == "assistant":
        yield assistant(text, calls)
    elif text or message["role"] in ("user", "system"):
        yield {"role": "system" if message["role"] == "system" else "user", "content": text}


def _paired(messages: list[Message]) -> list[Message]:
    """Give results the ids of the calls that they follow, where an instrumentation wrote other ids on the two sides."""
    known = {one["id"] for message in messages for one in message.get("tool_calls", ())}
    answered = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
    waiting: list[str] = []
    for message in messages:
        waiting += [one["id"] for one in message.get("tool_calls", ()) if one["id"] not in answered]
        if message["role"] == "tool" and message["tool_call_id"] not in known and waiting:
            message["tool_call_id"] = waiting.pop(0)
    return messages


def _openinference(attributes: Mapping[str, Any]) -> list[Message]:
    found: list[Message] = []
    for side in ("llm.input_messages", "llm.output_messages"):
        table = _nested(attributes, side)
        if side == "llm.input_messages" and not table and attributes.get("input.value"):
            found.append({"role": "user", "content": text_of(attributes["input.value"])})
        found += [
            _openinference_message(table[number].get("message", {}))
            for number in sorted(table, key=int)
        ]
    return found


def _openinference_message(message: Mapping[str, Any]) -> Message:
    contents = message.get("contents", {})
    text = (
        text_of(message.get("content")) if not isinstance(message.get("content"), Mapping) else ""
    )
    if isinstance(message.get("content"), Mapping):  # content.0, content.1
        text = "\n".join(
            str(part)
            for _, part in sorted(message["content"].items(), key=lambda item: int(item[0]))
        )
    for number in sorted(contents, key=int):
        text += ("\n" if text else "") + str(
            contents[number].get("message_content", {}).get("text", "")
        )
    calls = []
    for _, entry in sorted(message.get("tool_calls", {}).items(), key=lambda item: int(item[0])):
        made = entry.get("tool_call", {})
        function = made.get("function", {})
        calls.append(call(made.get("id"), function.get("name"), function.get("arguments", "")))
    role = message.get("role")
    if role == "tool":
        return result(message.get("tool_call_id"), text)
    if role == "assistant":
        return assistant(text, calls)
    return {"role": "system" if role == "system" else "user", "content": text}


def _nested(attributes: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return flattened attributes below a prefix as nested tables."""
    table: dict[str, Any] = {}
    for key, value in attributes.items():
        if key.startswith(prefix + "."):
            place = table
            *parts, last = key.removeprefix(prefix + ".").split(".")
            for part in parts:
                place = place.setdefault(part, {})
                if not isinstance(place, dict):
                    break
            else:
                place[last] = value
    return table


def _results(spans: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what tools gave, by the id of their call."""
    found: dict[str, str] = {}
    for span in spans:
        attributes = span["attributes"]
        identity = attributes.get("gen_ai.tool.call.id", attributes.get("tool.id"))
        output = attributes.get("gen_ai.tool.call.result", attributes.get("output.value"))
        if identity is not None and output is not None:
            found[str(identity)] = str(output)
    return found


def _with_results(messages: list[Message], results: Mapping[str, str]) -> list[Message]:
    """Return messages with the results put in that the span itself does not tell."""
    told = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
    whole: list[Message] = []
    for message in messages:
        whole.append(message)
        missing = [
            one["id"]
            for one in message.get("tool_calls", ())
            if one["id"] not in told and one["id"] in results
        ]
        whole += [result(identity, results[identity]) for identity in missing]
    return whole


def _tools(spans: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    for span in spans:
        found = _parsed(span["attributes"].get("gen_ai.tool.definitions"))
        if found:
            return found
    return []
