"""The headers of a request: the key, the version of the interface, and what the user adds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from context_bench_http import Endpoint, Redactor, check_header_value, names_a_secret

KEY_VARIABLE = "ANTHROPIC_API_KEY"


def request_headers(
    endpoint: Endpoint,
    api_key: str | None,
    version: str,
    extra: Mapping[str, str],
    secrets: Iterable[str] = (),
) -> tuple[dict[str, str], Redactor]:
    """Return the headers of every request, and what hides the secrets among them.

    Args:
        endpoint: Where they go.
        api_key: The key; None takes the environment's.
        version: The ``anthropic-version``.
        extra: Further headers, names in lower case; they win.
        secrets: Further texts to hide.

    Raises:
        ValueError: The key or the version cannot stand in a header.
    """
    key = (os.environ.get(KEY_VARIABLE, "") if api_key is None else api_key).strip()
    check_header_value("The API key", key)
    check_header_value("anthropic_version", version)
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "user-agent": "context-bench-anthropic/1.0",
        "anthropic-version": version,
    }
    if key:
        headers["x-api-key"] = key
    if endpoint.authorization:
        headers["authorization"] = endpoint.authorization
    headers.update(extra)
    named = (value for name, value in extra.items() if names_a_secret(name))
    return headers, Redactor([*secrets, key, *endpoint.secrets, *named])
