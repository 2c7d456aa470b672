"""Tasks that go on from a recorded session: its messages up to a cut, as a request for chat completions has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from context_bench.console import warn
from context_bench.errors import ConfigurationError, DatasetError

_WRITERS = ("write", "write_file", "Write")
_READERS = ("read", "read_file", "Read", "view", "cat")
_PATHS = ("path", "file_path", "filePath")


def read_continuation(
    folder: Path, settings: Mapping[str, Any], files: Mapping[str, str]
) -> dict[str, Any]:
    """Return the session of a task, as the field ``session`` of its row has it.

    Args:
        folder: Folder of the task.
        settings: Its ``task.toml``: ``session``, a file beside it, and ``cut``, how many messages are kept, a share of the
            session's tokens, or ``"last"``.
        files: The workspace at the cut.

    Returns:
        ``messages``, ``cut`` (how many of the recorded messages they are), ``recorded`` (how many there are), and ``format``.

    Raises:
        DatasetError: The session cannot be read, or cannot be cut there.
    """
    from context_bench_sessions import count_pairs, read_sessions

    file = folder / str(settings["session"])
    if file.is_symlink() or folder.resolve() not in file.resolve().parents:
        raise DatasetError(f"{folder}: session must be a file in the folder of the task.")
    sessions = list(read_sessions(file))
    if len(sessions) != 1:
        raise DatasetError(f"{file}: {len(sessions)} sessions, but a task goes on from one.")
    found, session = sessions[0]
    at = _place(file, settings.get("cut", "last"), session.messages)
    prefix = session.messages[:at]
    _, _, unanswered, orphans = count_pairs(list(prefix))
    if unanswered or orphans:
        raise DatasetError(
            f"{file}: {unanswered} calls have no result and {orphans} results no call before message {at}, so no model would "
            "accept them. Choose another cut."
        )
    _compare_files(folder, prefix, files)
    return {
        "messages": [_chat_message(message) for message in prefix],
        "cut": at,
        "recorded": len(session.messages),
        "format": found,
    }


def first_request(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of the first message of the user; empty where there is none."""
    return next((str(one["content"]) for one in messages if one["role"] == "user"), "")


def _place(file: Path, cut: object, messages: Sequence[dict[str, Any]]) -> int:
    """Return how many messages are kept. The agent writes the next one."""
    from context_bench_sessions.cutting import COMPACTION, cut_session, read_cuts

    if isinstance(cut, int) and not isinstance(cut, bool):
        is_inside = 0 < cut <= len(messages)
        if not is_inside or messages[cut - 1]["role"] == "assistant":
            raise DatasetError(
                f"{file}: cut is {cut}, but must be a number of messages, 1 to {len(messages)}, behind which the agent speaks."
            )
        return cut
    try:
        (wanted,) = read_cuts([None if isinstance(cut, bool) else cut])
    except ConfigurationError as error:
        raise DatasetError(f"{file}: {error}") from error
    places = [] if wanted == COMPACTION else cut_session(messages, [wanted], 0.0, 0)
    if not places or places[0].at == 0:
        raise DatasetError(f"{file}: there is no message of the agent at the cut {cut!r}.")
    return places[0].at


def _chat_message(message: Mapping[str, Any]) -> dict[str, Any]:
    chat = {name: message[name] for name in ("role", "content", "tool_call_id") if name in message}
    if message.get("tool_calls"):
        if not chat.get("content"):  # some endpoints refuse an empty text
            chat.pop("content", None)
        chat["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in message["tool_calls"]
        ]
    return chat


def _compare_files(
    folder: Path, messages: Sequence[Mapping[str, Any]], files: Mapping[str, str]
) -> None:
    """Warn where a file of the workspace is not what the session wrote last, as far as its calls show it."""
    written: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls", ()):
            arguments = _arguments(call["arguments"])
            path = next((arguments[name] for name in _PATHS if name in arguments), None)
            if not isinstance(path, str) or call["name"] in _READERS:
                continue
            content = arguments.get("content")
            written.pop(path, None)
            if call["name"] in _WRITERS and isinstance(content, str) and not path.startswith("/"):
                written[path] = content
    wrong = sorted(path for path, content in written.items() if files.get(path) != content)
    if wrong:
        warn(
            f"{folder}: the session wrote {', '.join(wrong)} before the cut, but files/ has another content. Bring the workspace "
            "as it was at the cut."
        )


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, Mapping) else {}
