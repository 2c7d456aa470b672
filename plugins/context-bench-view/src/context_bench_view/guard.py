"""Who may ask: only a browser of this machine that was given the token, and no page of another site in it."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from starlette.responses import PlainTextResponse

HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""What every answer says."""


class Guard:
    """An application around another one, which lets a request through when nothing is wrong with it.

    The ``Host`` must be the server's own address, so that no name that resolves to this machine leads here (DNS rebinding);
    ``Origin``, where there is one, must be the server's; the first part of the path must be the token; only reading is possible.

    Args:
        app: The application.
        token: The token.
        address: Host and port of the server.
    """

    def __init__(self, app: Any, token: str, address: str) -> None:
        self._app, self._token, self._address = app, token, address

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        refused = self._refusal(scope["method"], scope["path"], headers)
        if refused is not None:
            await PlainTextResponse(refused[1], refused[0], HEADERS)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(
        self, method: str, path: str, headers: Mapping[str, str]
    ) -> tuple[int, str] | None:
        if method not in ("GET", "HEAD"):
            return 405, "This server only shows."
        if headers.get("host") != self._address:
            return 403, "This server is reached by its own address only."
        if headers.get("origin", f"http://{self._address}") != f"http://{self._address}":
            return 403, "Other pages may not ask this server."
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "Other pages may not ask this server."
        given = path.lstrip("/").partition("/")[0]
        if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self._token.encode()):
            return (
                403,
                "The token is missing or wrong: open the address that context-bench view printed.",
            )
        return None
