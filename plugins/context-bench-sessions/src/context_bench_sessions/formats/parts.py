"""Messages whose content is blocks or parts in a tool's own form: Goose, Amp, Vercel's AI SDK, opencode, Bedrock, Gemini.

Each reader knows the blocks of its tool. A block that it does not know is an error: nothing is lost without a word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from context_bench_sessions.formats.tools import Pairing, Turn, mappings, output_text
from context_bench_sessions.messages import (
    IMAGE,
    MARKS,
    REASONING,
    SHOWN_AS_IMAGE,
    Message,
    UnknownPartError,
    account,
    call,
    result,
    spoken,
    text_of,
)

Raw = Sequence[Mapping[str, Any]]
Read = tuple[list[Message], Counter[str]]

_OWN_WORDS = "messages of the tool to its user"


def goose(raw: Raw) -> Read:
    """Return the messages of Goose: ``toolRequest`` and ``toolResponse`` blocks."""
    return _blocks(raw, _goose_block)


def _goose_block(block: Mapping[str, Any], reading: _Reading) -> None:
    kind = block.get("type")
    if kind in ("toolRequest", "frontendToolRequest"):
        tool_call = block.get("toolCall") or {}
        value = tool_call.get("value") or {}
        if "error" in tool_call and not value:
            reading.call(block.get("id"), "", str(tool_call["error"]))
        else:
            reading.call(block.get("id"), value.get("name"), value.get("arguments", {}))
    elif kind == "toolResponse":
        answer = block.get("toolResult") or {}
        value = answer.get("value")
        if isinstance(value, Mapping):  # newer versions: a CallToolResult
            value = value.get("content", value)
        shown = (
            str(answer["error"]) if value is None and "error" in answer else _shown(value, reading)
        )
        reading.result(block.get("id"), shown)
    elif kind in (
        *("toolConfirmationRequest", "actionRequired", "contextLengthExceeded"),
        *("summarizationRequested", "conversationCompacted", "systemNotification"),
    ):
        reading.notes[_OWN_WORDS] += 1
    else:
        reading.plain(block)


def amp(raw: Raw) -> Read:
    """Return the messages of a thread of Amp: ``toolUseID`` and ``run``."""
    return _blocks(raw, _amp_block)


def _amp_block(block: Mapping[str, Any], reading: _Reading) -> None:
    kind = block.get("type")
    if kind == "tool_use":
        reading.call(block.get("id"), block.get("name"), block.get("input", {}))
    elif kind == "tool_result":
        run = block.get("run") or {}
        answer = run.get("result", run.get("error", run.get("reason", block.get("content"))))
        if isinstance(answer, Mapping):
            answer = answer.get("output", answer.get("message", answer))
        reading.result(block.get("toolUseID"), _shown(answer, reading))
    else:
        reading.plain(block)


def bedrock(raw: Raw) -> Read:
    """Return the messages of Bedrock's Converse: blocks that are named by their one key."""
    return _blocks(raw, _bedrock_block)


def _bedrock_block(block: Mapping[str, Any], reading: _Reading) -> None:
    if "toolUse" in block:
        tool_call = block["toolUse"]
        reading.call(tool_call.get("toolUseId"), tool_call.get("name"), tool_call.get("input", {}))
    elif "toolResult" in block:
        answer = block["toolResult"]
        texts = [
            item["text"]
            if "text" in item
            else output_text(item["json"])
            if "json" in item
            else IMAGE
            for item in mappings(answer.get("content"))
        ]
        reading.notes[SHOWN_AS_IMAGE] += texts.count(IMAGE)
        reading.result(answer.get("toolUseId"), "\n".join(texts))
    elif "reasoningContent" in block:
        reading.notes[REASONING] += 1
    elif "cachePoint" in block:
        reading.notes[MARKS] += 1
    elif {"image", "document", "video"} & block.keys():
        reading.say(IMAGE)
        reading.notes[SHOWN_AS_IMAGE] += 1
    elif "guardContent" in block:
        reading.say(text_of((block["guardContent"].get("text") or {}).get("text")))
    else:
        reading.plain(block)


def ai_sdk(raw: Raw) -> Read:
    """Return the messages of Vercel's AI SDK: the model's (``content``) and the page's (``parts``)."""
    return _blocks(raw, _ai_sdk_block)


def _ai_sdk_block(block: Mapping[str, Any], reading: _Reading) -> None:
    kind = str(block.get("type"))
    if kind == "tool-invocation":  # versions before 5
        block = {"type": "dynamic-tool", **(block.get("toolInvocation") or {})}
        kind = "dynamic-tool"
    if kind == "tool-call":
        answer = block.get("input", block.get("args", {}))
        reading.call(block.get("toolCallId"), block.get("toolName"), answer)
    elif kind == "tool-result":
        output = block.get("output", block.get("result"))
        if isinstance(output, Mapping) and "value" in output and "type" in output:
            output = output["value"]
        reading.result(block.get("toolCallId"), _shown(output, reading))
    elif kind == "dynamic-tool" or (kind.startswith("tool-") and "toolCallId" in block):
        name = block.get("toolName") or kind.removeprefix("tool-")
        output = block.get("errorText", block.get("output", block.get("result")))
        tool_call = call(block.get("toolCallId"), name, block.get("input", block.get("args", {})))
        reading.turn.call(tool_call, None if output is None else _shown(output, reading))
    elif kind == "step-start":
        reading.turn.step()
    elif kind in ("source-url", "source-document", "source") or kind.startswith("data-"):
        reading.notes["sources and data of the page"] += 1
    elif kind in ("tool-approval-request", "tool-approval-response"):
        reading.notes[_OWN_WORDS] += 1
    else:
        reading.plain(block)


def opencode(raw: Raw) -> Read:
    """Return the messages of an export of opencode: ``info`` beside ``parts``."""
    return _blocks(
        [{"role": item["info"].get("role"), "parts": item["parts"]} for item in raw],
        _opencode_block,
    )


def _opencode_block(block: Mapping[str, Any], reading: _Reading) -> None:
    kind = block.get("type")
    if kind == "tool":
        state = block.get("state") or {}
        output = state.get("output", state.get("error"))
        tool_call = call(block.get("callID"), block.get("tool"), state.get("input", {}))
        reading.turn.call(tool_call, None if output is None else output_text(output))
    elif kind in ("step-start", "step-finish"):
        reading.turn.step()
    elif kind in ("snapshot", "patch", "agent", "subtask", "retry", "compaction"):
        reading.notes[f"parts of the type {kind}"] += 1
    elif kind == "text" and block.get("ignored"):
        reading.notes["texts that the model is not shown"] += 1
    else:
        reading.plain(block)


def gemini(raw: Raw) -> Read:
    """Return the contents of Gemini's interface: ``functionCall`` and ``functionResponse`` parts."""
    return _blocks(raw, _gemini_block)


def _gemini_block(block: Mapping[str, Any], reading: _Reading) -> None:
    if block.get("thought") is True:
        reading.notes[REASONING] += 1
    elif "functionCall" in block:
        tool_call = block["functionCall"]
        identity = reading.pairing.of_call(tool_call.get("id"), tool_call.get("name"))
        reading.call(identity, tool_call.get("name"), tool_call.get("args", {}))
    elif "functionResponse" in block:
        answer = block["functionResponse"]
        response = answer.get("response")
        if isinstance(response, Mapping):
            response = response.get("output", response.get("error", response))
        identity = reading.pairing.of_result(answer.get("id"), answer.get("name"))
        reading.result(identity, output_text(response))
    elif {"inlineData", "fileData"} & block.keys():
        reading.say(IMAGE)
        reading.notes[SHOWN_AS_IMAGE] += 1
    elif "executableCode" in block:
        reading.say(text_of((block["executableCode"] or {}).get("code")))
    elif "codeExecutionResult" in block:
        reading.say(text_of((block["codeExecutionResult"] or {}).get("output")))
    else:
        reading.plain(block)


def gemini_cli(raw: Raw) -> Read:
    """Return the messages of a chat that Gemini CLI recorded: the answer, with the calls that it made."""
    messages: list[Message] = []
    notes: Counter[str] = Counter()
    pairing = Pairing()
    for item in raw:
        kind = item.get("type")
        if kind in ("info", "error", "warning", "about", "help", "stats", "quit", "compression"):
            notes[_OWN_WORDS] += 1
            continue
        if kind not in ("user", "gemini"):
            raise UnknownPartError(f"a message of the type {kind!r} is not known")
        notes += account(item.get("content"))
        text = text_of(item.get("content"))
        if kind == "user":
            messages.append(spoken("user", text))
            continue
        notes[REASONING] += len(item.get("thoughts") or ())
        turn = Turn()
        turn.say(text)
        for tool_call in mappings(item.get("toolCalls")):
            identity = pairing.of_call(tool_call.get("id"), tool_call.get("name"))
            outputs = [_gemini_output(part) for part in mappings(tool_call.get("result"))]
            output = "\n".join(outputs) if tool_call.get("result") is not None else None
            turn.call(call(identity, tool_call.get("name"), tool_call.get("args", {})), output)
        messages += turn.messages()
    return messages, +notes


def _gemini_output(part: Mapping[str, Any]) -> str:
    answer = part.get("functionResponse")
    if not isinstance(answer, Mapping):
        return text_of(part)
    response = answer.get("response")
    if isinstance(response, Mapping):
        response = response.get("output", response.get("error", response))
    return output_text(response)


class _Reading:
    """The messages of a session while they are read."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.notes: Counter[str] = Counter()
        self.pairing = Pairing()
        self.turn = Turn()
        self._role = "user"
        self._texts: list[str] = []

    def begin(self, role: str) -> None:
        self._role = {"model": "assistant", "developer": "system", "function": "tool"}.get(
            role, role
        )
        if self._role not in ("user", "assistant", "system", "tool"):
            raise UnknownPartError(f"a message of the role {role!r} is not known")
        self._texts = []
        self.turn = Turn()

    def end(self) -> None:
        if self._role == "assistant":
            self.messages += self.turn.messages()
        elif self._texts or not (self.messages and self.messages[-1]["role"] == "tool"):
            role = "system" if self._role == "system" else "user"
            self.messages.append(spoken(role, "\n".join(self._texts)))

    def say(self, text: str) -> None:
        if self._role == "assistant":
            self.turn.say(text)
        elif text:
            self._texts.append(text)

    def call(self, identity: object, name: object, arguments: object) -> None:
        self.turn.call(call(identity, name, arguments), None)

    def result(self, identity: object, text: str) -> None:
        if self._role == "assistant":
            self.messages += self.turn.messages()
            self.turn = Turn()
        self.messages.append(result(identity, text))

    def plain(self, block: Mapping[str, Any]) -> None:
        """Read a block that has the same form everywhere."""
        self.notes += account(block)
        self.say(text_of(block))


def _blocks(raw: Raw, read_block: Callable[[Mapping[str, Any], _Reading], None]) -> Read:
    reading = _Reading()
    for item in raw:
        reading.begin(str(item.get("role")))
        for block in _blocks_of(item):
            read_block(block, reading)
        reading.end()
    return reading.messages, +reading.notes


def _blocks_of(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    content = message.get("parts", message.get("content"))
    if isinstance(content, str):
        yield {"type": "text", "text": content}
        return
    for block in content or ():
        yield block if isinstance(block, Mapping) else {"type": "text", "text": str(block)}


def _shown(value: object, reading: _Reading) -> str:
    """Return what a tool gave: blocks as text, anything else as JSON."""
    if isinstance(value, list) and all(
        isinstance(item, Mapping) and "type" in item for item in value
    ):
        reading.notes += account(value)
        return text_of(value)
    return output_text(value)
