"""SWE-agent's trajectories: ``history`` is what the model saw; demonstrations in it are not part of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from context_bench_sessions.formats.chat import openai_calls
from context_bench_sessions.messages import Message, Session, account, assistant, result, text_of


def read(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield the session of a trajectory; where actions are text, observations are messages of the user.

    Args:
        documents: Line number and parsed trajectory.
    """
    for line, document in documents:
        history = [entry for entry in document.get("history", ()) if isinstance(entry, Mapping)]
        agents = Counter(
            str(entry.get("agent", "")) for entry in history if not entry.get("is_demo")
        )
        main = next((name for name in ("primary", "main") if name in agents), None)
        notes: Counter[str] = Counter()
        messages: list[Message] = []
        for entry in history:
            if entry.get("is_demo") or (main is not None and entry.get("agent", main) != main):
                notes["entries of demonstrations and other agents"] += 1
                continue
            notes += account(entry.get("content"))
            messages.append(_message(entry))
        if messages:
            name = document.get("instance_id") or document.get("environment") or line
            yield Session(
                f"{name}-{line}" if name != line else str(line), messages, "openai", notes=notes
            )


def _message(entry: Mapping[str, Any]) -> Message:
    role, content = entry.get("role"), text_of(entry.get("content"))
    if role == "assistant":
        return assistant(content, openai_calls(entry))
    if role == "tool":
        return result((entry.get("tool_call_ids") or [""])[0], content)
    return {"role": "system" if role == "system" else "user", "content": content}
