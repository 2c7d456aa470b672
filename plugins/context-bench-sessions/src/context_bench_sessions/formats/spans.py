"""OpenTelemetry spans of agents, by the GenAI conventions or by OpenInference's.

Each call of a model carries its whole history, so the call with the most messages is the session of its trace; the others are
its beginnings, and sub-agents. Where a span gives the results of tools apart, they are put behind their calls.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from context_bench_sessions.formats.chat import recorded_session
from context_bench_sessions.formats.messages_in import form_of, session_of_list
from context_bench_sessions.formats.tools import mappings, output_text
from context_bench_sessions.messages import (
    Message,
    Session,
    UnknownPartError,
    account,
    assistant,
    call,
    result,
    text_of,
)

_DETAILS = "gen_ai.client.inference.operation.details"


def read(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield the session of each trace.

    Args:
        documents: Line number and a span or a list of spans, in order.
    """
    traces: dict[str, list[Mapping[str, Any]]] = {}
    for _, document in documents:
        for span in _spans(document):
            traces.setdefault(_trace_of(span), []).append(span)
    for identity, spans in traces.items():
        results = _results(spans)
        notes: Counter[str] = Counter()
        conversations: list[tuple[list[Message], Counter[str]]] = []
        for span in spans:
            notes_of_span: Counter[str] = Counter()
            messages = _messages(span, notes_of_span)
            if any(message["role"] == "assistant" for message in messages):
                conversations.append((_with_results(messages, results), notes_of_span))
            else:
                notes["spans without a conversation"] += 1
        if conversations:
            messages, notes_of_span = max(
                conversations, key=lambda conversation: len(conversation[0])
            )
            notes["shorter conversations of the same trace"] += len(conversations) - 1
            notes += notes_of_span
            yield Session(identity, messages, "openai", tools=_tools(spans), notes=+notes)


def _spans(document: object) -> Iterator[Mapping[str, Any]]:
    """Yield the spans of a document, their attributes as a mapping.

    Raises:
        UnknownPartError: It is no span and holds none.
    """
    if isinstance(document, list):
        for item in document:
            yield from _spans(item)
    elif isinstance(document, Mapping) and "resourceSpans" in document:
        for resource in mappings(document["resourceSpans"]):
            for scope in mappings(
                resource.get("scopeSpans", resource.get("instrumentationLibrarySpans"))
            ):
                yield from _spans(list(mappings(scope.get("spans"))))
    elif isinstance(document, Mapping) and isinstance(document.get("attributes"), (Mapping, list)):
        events = document.get("span_events") or document.get("events") or ()
        plain = [
            {**event, "attributes": _attributes(event.get("attributes"))}
            for event in mappings(events)
        ]
        yield {**document, "attributes": _attributes(document["attributes"]), "events": plain}
    else:
        raise UnknownPartError("a record that is no span is not known")


def _trace_of(span: Mapping[str, Any]) -> str:
    context = span.get("context")
    inner = context if isinstance(context, Mapping) else {}
    return str(span.get("trace_id", span.get("traceId", inner.get("trace_id", ""))))


def _attributes(value: object) -> Mapping[str, Any]:
    """Return attributes as a mapping: OTLP writes a list of keys and typed values."""
    if isinstance(value, list):
        return {
            str(attribute.get("key")): _value(attribute.get("value"))
            for attribute in mappings(value)
        }
    return value if isinstance(value, Mapping) else {}


def _value(value: object) -> Any:
    """Return an OTLP value without its type."""
    if not isinstance(value, Mapping):
        return value
    if "arrayValue" in value:
        return [_value(item) for item in (value["arrayValue"] or {}).get("values", ())]
    if "kvlistValue" in value:
        return _attributes((value["kvlistValue"] or {}).get("values", []))
    if "intValue" in value:
        return int(value["intValue"])
    return next(iter(value.values()), None)


def read_langfuse(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield the session of each trace that Langfuse exported: its longest generation."""
    for line, document in documents:
        trace = document.get("trace") or {}
        generations = [
            observation
            for observation in mappings(document.get("observations"))
            if observation.get("type") == "GENERATION"
        ]
        candidates = []
        for observation in generations:
            messages = observation.get("input")
            if isinstance(messages, Mapping):
                messages = messages.get("messages")
            if (form := form_of(messages)) is not None and isinstance(messages, list):
                output = observation.get("output")
                answer = [output] if isinstance(output, Mapping) and "role" in output else []
                candidates.append((form, [*messages, *answer]))
        if not candidates:
            raise UnknownPartError("a trace without a generation of messages is not known")
        form, raw = max(candidates, key=lambda observation: len(observation[1]))
        session = session_of_list(str(trace.get("id", line)), raw, {}, form)
        others = len(list(mappings(document.get("observations")))) - 1
        yield evolve(session, format="langfuse", notes={**session.notes, _OTHER_RUNS: others})


def read_langsmith(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield the session of each trace of LangSmith's runs: its longest run of a model."""
    traces: dict[str, list[list[Mapping[str, Any]]]] = {}
    others: Counter[str] = Counter()
    for line, run in documents:
        trace = str(run.get("trace_id", run.get("id", line)))
        raw = _run_messages(run) if run.get("run_type") in ("llm", "chat_model") else []
        if raw:
            traces.setdefault(trace, []).append(raw)
        else:
            others[trace] += 1
    for trace, message_lists in traces.items():
        session = session_of_list(trace, max(message_lists, key=len), {}, "langchain")
        skipped = others[trace] + len(message_lists) - 1
        yield evolve(session, format="langsmith", notes={**session.notes, _OTHER_RUNS: skipped})


def _run_messages(run: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = run["inputs"].get("messages") or ()
    batch = messages[0] if messages and isinstance(messages[0], list) else messages
    outputs = run.get("outputs") or {}
    generations = outputs.get("generations") or ()
    first = generations[0] if generations else []
    answers = [
        generation["message"]
        for generation in mappings(first if isinstance(first, list) else [first])
        if isinstance(generation.get("message"), Mapping)
    ]
    return [*mappings(batch), *answers[:1]]


_OTHER_RUNS = "other runs of the same trace"


def _messages(span: Mapping[str, Any], notes: Counter[str]) -> list[Message]:
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
                    for message in _genai(one, notes)
                ]
            )
        if isinstance(attributes.get("llm"), Mapping):
            attributes = {**attributes, **dict(_flat("llm", attributes["llm"]))}
        if any(
            key.startswith(("llm.input_messages.", "llm.output_messages.")) for key in attributes
        ):
            return _openinference(attributes)
    return []


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield nested attributes under the flat names of OpenInference: ``llm.input_messages.0.message.role``."""
    if isinstance(value, Mapping):
        items: Any = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        yield prefix, value
        return
    for key, inner in items:
        yield from _flat(f"{prefix}.{key}", inner)


def _details(span: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        event["attributes"]
        for event in span["events"]
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


def _genai(message: Mapping[str, Any], notes: Counter[str]) -> Iterator[Message]:
    if "role" not in message:  # a part of the system's instructions
        notes += account(message)
        yield {"role": "system", "content": text_of(message)}
        return
    if "parts" not in message:  # in the form of the provider's interface
        session = recorded_session("", [message], {}, "openai")
        notes += Counter(session.notes)
        yield from session.messages
        return
    role = message["role"]
    parts = list(mappings(message.get("parts")))
    spoken = [part for part in parts if part.get("type") not in ("tool_call", "tool_call_response")]
    notes += account(spoken)
    text = text_of(spoken)
    calls = [
        call(p.get("id"), p.get("name"), p.get("arguments", {}))
        for p in parts
        if p.get("type") == "tool_call"
    ]
    for part in parts:
        if part.get("type") == "tool_call_response":
            output = part.get("response", part.get("result"))
            yield result(part.get("id"), output_text(output))
    if role == "assistant":
        yield assistant(text, calls)
    elif role == "tool":
        if text:  # of a tool, though the part does not say so
            yield result(message.get("tool_call_id", message.get("id")), text)
    elif text or role in ("user", "system"):
        yield {"role": "system" if role in ("system", "developer") else "user", "content": text}


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
