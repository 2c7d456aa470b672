"""Every compressor of texts, message by message: what an agent's tools returned is compressed, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.catalog import open_catalog
from context_bench.config import SystemConfig, load_config
from context_bench.errors import ConfigurationError

ROLES = ("system", "user", "assistant", "tool")


class ByMessage:
    """Gives the text of each message with a role that is named to a compressor of texts, and puts back what it leaves.

    Of a content of parts each text is compressed, and pictures stay. Calls, ids and arguments stay as they are, so
    every call keeps its result. The compressor is asked with the last message of the user as the question. What it
    leaves empty stays as an empty result.

    Args:
        of: Name of a system that compresses texts, such as ``bm25``.
        roles: Roles whose texts are compressed: ``tool``, ``user``, ``assistant``, ``system``.
        options: Options of that system.

    Raises:
        ConfigurationError: A role is unknown, or the system cannot be set up.
    """

    reads = ("messages", "tools", "region")

    def __init__(self, of: str, roles: Sequence[str] = ("tool",), **options: Any) -> None:
        unknown = [role for role in roles if role not in ROLES]
        if unknown or not roles:
            raise ConfigurationError(
                f"by-message: roles is {'/'.join(roles)!r}; name some of {', '.join(ROLES)}."
            )
        written = ",".join(f"{name}={value}" for name, value in options.items())
        config = load_config(systems=[f"{of}:{written}" if written else of], project={})
        self.inner = SystemConfig.all_of(open_catalog(), config)[0].build()
        self.roles = tuple(roles)
        self.name = f"by-message({self.inner.name})"
        if hasattr(self.inner, "fingerprint"):
            parameters = {
                "of": self.inner.name,
                "options": self.inner.fingerprint(),
                "roles": list(self.roles),
            }
            self.fingerprint = lambda: parameters

    def transform(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] = ()
    ) -> list[dict[str, Any]]:
        """Return the messages, the texts of the named roles compressed.

        Raises:
            TypeError: The system gave back no text: it is no compressor of texts.
        """
        asked = next(
            (
                _text_in(one.get("content"))
                for one in reversed(messages)
                if one.get("role") == "user"
            ),
            "",
        )
        return [
            {**message, "content": self._content(message["content"], asked)}
            if message.get("role") in self.roles and message.get("content")
            else dict(message)
            for message in messages
        ]

    def _content(self, content: Any, question: str) -> Any:
        """Return a content with its text compressed; of a list of parts the text of each, and no other part."""
        if isinstance(content, str):
            return self._compressed(content, question) if content.strip() else content
        if not isinstance(content, (list, tuple)):
            return content
        return [
            {**part, "text": self._content(part["text"], question)}
            if _is_text(part)
            else self._content(part, question)
            if isinstance(part, str)
            else part
            for part in content
        ]

    def _compressed(self, text: str, question: str) -> str:
        found = self.inner.process({"context": text, "question": question}).get("context")
        if isinstance(found, (list, tuple)):
            found = "\n".join(map(str, found))
        if not isinstance(found, str):
            raise TypeError(
                f"{self.name}: {self.inner.name} gave back no context. Name a compressor of texts in of=."
            )
        return found


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("text"), str)


def _text_in(content: Any) -> str:
    if isinstance(content, (list, tuple)):
        return "\n".join(
            part if isinstance(part, str) else part["text"]
            for part in content
            if isinstance(part, str) or _is_text(part)
        )
    return content if isinstance(content, str) else ""
