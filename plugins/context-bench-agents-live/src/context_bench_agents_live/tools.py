"""The tools of the loop: list, read and write files of a workspace. None of them runs a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench_agents_live.conversation import ToolCall
from context_bench_agents_live.workspace import Workspace, WorkspaceError

_PATH = {"type": "string", "description": "Path in the workspace, such as logs/a.log."}
_CONTENT = {"type": "string", "description": "The whole content of the file."}


def _tool(name: str, description: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": dict(properties), "required": list(properties)}
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


TOOLS = (
    _tool("list", "List the paths of all files.", {}),
    _tool("read", "Return the content of a file.", {"path": _PATH}),
    _tool("write", "Write a file.", {"path": _PATH, "content": _CONTENT}),
)
"""The tools as chat completions describe them."""


def run_tool(call: ToolCall, workspace: Workspace) -> str:
    """Return the result of a call; what was wrong with the call is a result, too."""
    path = call.arguments.get("path")
    content = call.arguments.get("content")
    try:
        if call.name == "list":
            return workspace.list()
        if call.name == "read" and isinstance(path, str):
            return workspace.read(path)
        if call.name == "write" and isinstance(path, str) and isinstance(content, str):
            workspace.write(path, content)
            return f"wrote {path}"
    except WorkspaceError as error:
        return f"error: {error}"
    return f"error: {call.name} with these arguments is not a call of a tool."
