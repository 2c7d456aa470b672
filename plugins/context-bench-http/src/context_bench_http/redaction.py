"""Keeps secrets out of everything that is shown or stored."""

from __future__ import annotations

from collections.abc import Iterable

_SHORTEST_SECRET = 4


class Redaction:
    """Replaces secrets in texts that others wrote: servers like to repeat the key that they refuse.

    >>> Redaction(["sk-secret"]).of("Incorrect key: sk-secret.")
    'Incorrect key: ***.'

    Args:
        secrets: The texts to hide. Those below four characters are left: hiding them would mangle every message.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = sorted(
            {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}, key=len, reverse=True
        )

    def of(self, text: str) -> str:
        """Return the text without the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def of_bytes(self, body: bytes) -> bytes:
        """Return a body without the secrets."""
        for secret in self._secrets:
            body = body.replace(secret.encode("utf-8", "surrogatepass"), b"***")
        return body
