"""The system ``policy``: what a policy answers to one request, without an agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench_agents_live.policy import OraclePolicy
from context_bench_agents_live.tools import TOOLS


class Policy:
    """Answers one request as the oracle does: a text, or the next call of a tool.

    As a reader it follows a context transformer, and shows whether the next step is still the same.

    Args:
        config: ``oracle``, the only policy.
        notes: Whether it writes down what it found.
        max_turns: Maximum number of turns.
        name: Display name.

    Raises:
        ConfigurationError: An option cannot be used.
    """

    reads = ("messages", "tools", "context", "question")

    def __init__(
        self,
        config: str = "oracle",
        notes: bool = False,
        max_turns: int = 60,
        name: str = "policy",
    ) -> None:
        if config != "oracle":
            raise ConfigurationError(f"Unknown policy {config!r}. Choose from: oracle.")
        if max_turns < 1:
            raise ConfigurationError(f"max_turns is {max_turns}, but must be at least 1.")
        self.name = name
        self._policy = OraclePolicy(notes, max_turns)

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``response``, the text, and ``tool_calls``, each with ``name`` and ``arguments``.

        Args:
            example: ``messages`` with ``tools``, or ``context`` and ``question``.
        """
        messages = example.get("messages")
        if not messages:
            texts = [str(example.get(name) or "") for name in ("context", "question")]
            messages = [{"role": "user", "content": "\n\n".join(filter(None, texts))}]
        body = {"messages": messages, "tools": example.get("tools") or list(TOOLS)}
        reply = self._policy.reply("chat", body)
        calls = [
            {"id": call.id, "name": call.name, "arguments": dict(call.arguments)}
            for call in reply.calls
        ]
        return {"response": reply.text, "tool_calls": calls}
