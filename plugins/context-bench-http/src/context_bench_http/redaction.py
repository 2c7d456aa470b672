"""Keeps secrets out of everything that is shown or stored."""

from __future__ import annotations

from collections.abc import Iterable

_SHORTEST_SECRET = 4


class Redactor:
    """Replaces secrets in texts that others wrote: servers like to repeat the key that they refuse.

    >>> Redactor(["sk-secret"]).redact("Incorrect key: sk-secret.")
    'Incorrect key: ***.'

    Args:
        secrets: The texts to hide. Those below four characters are left: hiding them would mangle every message.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        long_enough = {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}
        self._secrets = sorted(long_enough, key=len, reverse=True)

    def redact(self, text: str) -> str:
        """Return the text without the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def redact_bytes(self, body: bytes) -> bytes:
        """Return a body without the secrets."""
        for secret in self._secrets:
            body = body.replace(secret.encode("utf-8", "surrogatepass"), b"***")
        return body
