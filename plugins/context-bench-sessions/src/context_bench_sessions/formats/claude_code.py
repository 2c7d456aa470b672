"""Claude Code's session files: an event a line.

One assistant message is split over several lines with one ``message.id``. Branches hang together by ``parentUuid``: what was
rewound stays in the file and is left out. Lines with ``isMeta`` and those that tell of local commands are not the user speaking.
The summary of a compaction is no message: it stands in place of those before it, which stay as they were said. What was kept
beside it hangs where it always did; the mark of the compaction names it. What the user said while the agent worked is an
attachment (``queued_command``), and no line of the user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_bench_sessions.formats.chat import anthropic_messages
from context_bench_sessions.messages import (
    Compaction,
    Message,
    Session,
    UnknownPartError,
    account,
    text_of,
)

_NOT_SPOKEN = (
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<local-command-stderr>",
)
_SPOKEN = ("user", "assistant", "system", "attachment")
_SYNTHETIC = "<synthetic>"
"""The model of what Claude Code writes itself in the agent's name: errors of the provider, for the user alone."""


def read(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield the session of the file, and one for each chain of a sub-agent that it holds besides.

    Args:
        documents: Line number and parsed event, in order.
    """
    known: set[str] = set()
    events: list[Mapping[str, Any]] = []
    for _, document in documents:
        if isinstance(document, Mapping):
            if document.get("type") not in _SPOKEN and isinstance(document.get("message"), Mapping):
                raise UnknownPartError(
                    f"a message of the type {document.get('type')!r} is not known"
                )
            event = _spoken(document)
            if event.get("uuid") and str(event["uuid"]) in known:
                continue  # a line that was written twice
            known.add(str(event.get("uuid")))
            events.append(event)
    chains: dict[tuple[bool, str], list[Mapping[str, Any]]] = {}
    begun_by: dict[str, str] = {}
    for event in events:
        is_side = bool(event.get("isSidechain"))
        chains.setdefault((is_side, _agent(event, begun_by) if is_side else ""), []).append(event)
    for (is_side, agent), chain in sorted(chains.items(), key=lambda item: item[0]):
        if any(event.get("type") in ("user", "assistant") for event in chain):
            name = next((str(event["sessionId"]) for event in chain if event.get("sessionId")), "1")
            yield _session(f"{name}-{agent}" if is_side and agent else name, chain)


def _spoken(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an event; what the user said while the agent worked as a line of the user."""
    attachment = event.get("attachment")
    if event.get("type") != "attachment" or not isinstance(attachment, Mapping):
        return event
    prompt = attachment.get("prompt")
    if attachment.get("type") != "queued_command" or not prompt:
        return event
    return {**event, "type": "user", "message": {"role": "user", "content": prompt}}


def _agent(event: Mapping[str, Any], begun_by: dict[str, str]) -> str:
    """Return whose sub-agent's an event is: its ``agentId``, in older files the first event of its chain."""
    own = str(event.get("uuid", ""))
    begun_by[own] = str(event.get("agentId") or begun_by.get(str(event.get("parentUuid")), own))
    return begun_by[own]


def _session(identity: str, events: Sequence[Mapping[str, Any]]) -> Session:
    preserved = _preserved(events)
    dropped = _abandoned(events, preserved)
    notes: Counter[str] = Counter()
    messages: list[Message] = []
    raw: list[dict[str, Any]] = []
    origins: list[int] = []
    compactions: list[Compaction] = []
    places: dict[str, tuple[int, int]] = {}
    begins: dict[str, int] = {}
    for event in events:
        begins[str(event.get("uuid"))] = len(messages)
        body = event.get("message")
        if event.get("type") not in ("user", "assistant") or not isinstance(body, Mapping):
            notes[f"records of the type {event.get('type')}"] += 1
            continue
        if str(event.get("uuid")) in dropped:
            notes["lines on abandoned branches"] += 1
            continue
        if event.get("isMeta") or _is_command(body):
            notes["lines that are not the user speaking"] += 1
            continue
        if event.get("isApiErrorMessage") and body.get("model") == _SYNTHETIC:
            notes["errors of the provider that the model was not shown"] += 1
            continue
        if event.get("isCompactSummary") and messages:
            head = preserved.get(str(event.get("uuid")))
            kept = len(messages) if head is None else begins[head]
            compactions.append(Compaction(len(messages), text_of(body.get("content")), kept))
            continue
        notes += account(body.get("content"))
        written = body.get("id") if event["type"] == "assistant" else None
        if written is not None and str(written) in places:
            at, at_raw = places[str(written)]
            begins[str(event.get("uuid"))] = at
            _merge(messages[at], body)
            raw[at_raw]["content"] = [
                *_blocks(raw[at_raw]["content"]),
                *_blocks(body.get("content")),
            ]
            continue
        if written is not None:
            places[str(written)] = (len(messages), len(raw))
        told = list(anthropic_messages(str(body.get("role", event["type"])), body.get("content")))
        messages += told
        origins += [len(raw)] * len(told)
        raw.append({"role": body.get("role", event["type"]), "content": body.get("content")})
    return Session(
        identity, messages, "anthropic", raw, origins, compactions=compactions, notes=notes
    )


def _merge(message: Message, body: Mapping[str, Any]) -> None:
    [more] = anthropic_messages("assistant", body.get("content"))
    message["content"] = "\n".join(part for part in (message["content"], more["content"]) if part)
    if "tool_calls" in more:
        message["tool_calls"] = [*message.get("tool_calls", ()), *more["tool_calls"]]


def _blocks(content: object) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": text_of(content)}]


def _is_command(body: Mapping[str, Any]) -> bool:
    return body.get("role") == "user" and text_of(body.get("content")).lstrip().startswith(
        _NOT_SPOKEN
    )


def _preserved(events: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return for each summary beside whose compaction messages were kept the first of these, both by their ids."""
    found: dict[str, str] = {}
    known: set[str] = set()
    for event in events:
        metadata = event.get("compactMetadata")
        if isinstance(metadata, Mapping):
            segment, kept = metadata.get("preservedSegment"), metadata.get("preservedMessages")
            if isinstance(segment, Mapping):
                anchor, head = segment.get("anchorUuid"), segment.get("headUuid")
            elif (
                isinstance(kept, Mapping) and isinstance(kept.get("uuids"), list) and kept["uuids"]
            ):
                anchor, head = kept.get("anchorUuid"), kept["uuids"][0]
            else:
                anchor = head = None
            if str(head) in known and str(anchor) != str(event.get("uuid")):
                found[str(anchor)] = str(head)
        known.add(str(event.get("uuid")))
    return found


def _abandoned(events: Sequence[Mapping[str, Any]], preserved: Mapping[str, str]) -> set[str]:
    """Return the ids of events on branches that were rewound.

    The live branch ends with the last message. An event that leaves that branch is abandoned, unless it belongs to a message
    on it: a further line of one answer, or the result of one of its calls, both of which hang from their own line.
    """
    parents = {str(event["uuid"]): _parent(event) for event in events if event.get("uuid")}
    spoken = [
        event
        for event in events
        if event.get("type") in ("user", "assistant") and event.get("uuid")
    ]
    named = {parents.get(str(event["uuid"])) for event in spoken} - {None}
    if (
        not spoken or len(named) == 1 < len(spoken) - 1
    ):  # all hang from one line: nothing tells branches
        return set()
    live: set[str] = set()
    place: Any = spoken[-1]["uuid"]
    while place is not None and str(place) not in live:
        live.add(str(place))
        place = parents.get(str(place))
    live |= {summary for summary, head in preserved.items() if head in live}
    changed = True
    while changed:  # answers and results that hang beside the branch, and what hangs from those
        answers = {_id_of(event) for event in spoken if str(event["uuid"]) in live} - {None}
        called = {
            call for event in spoken if str(event["uuid"]) in live for call in _calls_of(event)
        }
        more = {
            str(event["uuid"])
            for event in spoken
            if str(event["uuid"]) not in live
            and (_id_of(event) in answers or _results_of(event) & called)
        }
        live |= more
        changed = bool(more)
    return {
        identity
        for event in spoken
        if (identity := str(event["uuid"])) not in live and _leaves(identity, parents, live)
    }


def _parent(event: Mapping[str, Any]) -> Any:
    """Return what an event hangs from; the mark of a compaction begins anew, and names what stood before it apart."""
    return event.get("parentUuid") or event.get("logicalParentUuid")


def _leaves(identity: str, parents: Mapping[str, Any], live: set[str]) -> bool:
    """Whether an event hangs from the live branch; one whose chain is broken is kept in the order of lines."""
    seen: set[str] = set()
    place: Any = identity
    while place is not None and str(place) not in seen:
        if str(place) in live:
            return True
        seen.add(str(place))
        place = parents.get(str(place))
    return False


def _id_of(event: Mapping[str, Any]) -> str | None:
    body = event.get("message")
    found = (
        body.get("id") if isinstance(body, Mapping) and event.get("type") == "assistant" else None
    )
    return None if found is None else str(found)


def _calls_of(event: Mapping[str, Any]) -> set[str]:
    return {str(block.get("id")) for block in _content(event) if block.get("type") == "tool_use"}


def _results_of(event: Mapping[str, Any]) -> set[str]:
    return {
        str(block.get("tool_use_id"))
        for block in _content(event)
        if block.get("type") == "tool_result"
    }


def _content(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    body = event.get("message")
    content = body.get("content") if isinstance(body, Mapping) else None
    return (
        [block for block in content if isinstance(block, Mapping)]
        if isinstance(content, list)
        else []
    )
