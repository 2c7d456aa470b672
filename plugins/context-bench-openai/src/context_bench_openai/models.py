"""Which models a server offers: ``GET /models`` beside the address that chats are posted to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from context_bench_http.errors import EndpointError, UnusableReplyError
from context_bench_openai.refusals import refusal

if TYPE_CHECKING:
    from context_bench_openai.client import ChatClient

_CHAT = "/chat/completions"


def offered_models(client: ChatClient) -> list[str]:
    """Return the names of a server's models; it is asked once, and nothing is generated.

    Raises:
        EndpointError: It cannot be reached, refuses the key, or has no such list.
    """
    where = client.endpoint.shown.replace(_CHAT, "/models")
    endpoint = replace(client.endpoint, url=_models_url(client.endpoint.url), shown=where)
    response = client.fetch(endpoint)
    if not 200 <= response.status < 300:
        raise client.without_secrets(
            refusal(where, response.status, response.headers, response.body)
        )
    try:
        content = json.loads(response.body)
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, Mapping):  # Ollama's own list has the name `models`
        content = content.get("data", content.get("models"))
    if not isinstance(content, list):
        raise UnusableReplyError(
            f"{where} answered with no list of models.", status=response.status
        )
    return [name for name in map(_name, content) if name]


def _models_url(url: str) -> str:
    parts = urlsplit(url)
    if not parts.path.endswith(_CHAT):
        raise EndpointError(
            "The address of this endpoint does not say where its models are listed."
        )
    return urlunsplit(parts._replace(path=parts.path.removesuffix(_CHAT) + "/models"))


def _name(entry: Any) -> str:
    name = (entry.get("id") or entry.get("name")) if isinstance(entry, Mapping) else entry
    return name if isinstance(name, str) else ""
