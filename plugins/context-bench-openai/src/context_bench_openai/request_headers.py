"""The headers of a request: the key, and what the user adds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from context_bench_openai.endpoint import Endpoint, names_a_secret
from context_bench_openai.redaction import Redaction

KEY_VARIABLE = "OPENAI_API_KEY"
ORGANIZATION_VARIABLE = "OPENAI_ORG_ID"
PROJECT_VARIABLE = "OPENAI_PROJECT_ID"
HEADERS_VARIABLE = "OPENAI_EXTRA_HEADERS"

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OF_THE_TRANSPORT = ("content-length", "transfer-encoding", "connection", "upgrade", "expect", "te", "trailer")


def request_headers(
    endpoint: Endpoint,
    api_key: str | None,
    extra_headers: Mapping[str, str],
    organization: str | None = None,
    project: str | None = None,
    secrets: Iterable[str] = (),
) -> tuple[dict[str, str], Redaction]:
    """Return the headers of every request, and what hides the secrets in them.

    Args:
        endpoint: Where they go.
        api_key: The key; None takes the environment's.
        extra_headers: Further headers, names in lower case; they win.
        organization, project: Who is billed; None takes the environment's.
        secrets: Further texts to hide.
    """
    of_environment = os.environ.get(KEY_VARIABLE, "")
    key = (of_environment if api_key is None else api_key).strip()
    if endpoint.authorization and key not in ("", of_environment.strip()):
        raise ValueError(
            "Give an api_key or a user name in the base URL, not both: each would be the Authorization header."
        )
    _check_header_value("The API key", key)
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    headers["user-agent"] = "context-bench-openai/1.0"
    authorization = endpoint.authorization or (f"Bearer {key}" if key else None)
    if authorization:
        headers["authorization"] = authorization
    for name, given, variable in (
        ("openai-organization", organization, ORGANIZATION_VARIABLE),
        ("openai-project", project, PROJECT_VARIABLE),
    ):
        account = (os.environ.get(variable, "") if given is None else given).strip()
        _check_header_value(f"The header {name!r}", account)
        if account:
            headers[name] = account
    headers.update(extra_headers)
    secrets = [
        *secrets,
        key,
        *endpoint.secrets,
        *(value for name, value in extra_headers.items() if names_a_secret(name)),
    ]
    return headers, Redaction(secrets)


def header_mapping(headers: Mapping[str, str] | Iterable[str] | None) -> dict[str, str]:
    """Return headers that are given as a mapping or as ``name: value`` lines as a mapping, names in lower case.

    None takes the lines of ``OPENAI_EXTRA_HEADERS`` from the environment.

    Raises:
        ValueError: A header lacks its name or its value, or HTTP cannot carry it.
    """
    if headers is None:
        headers = os.environ.get(HEADERS_VARIABLE, "")
    if isinstance(headers, str):
        headers = [line for line in headers.splitlines() if line.strip()]
    pairs = headers.items() if isinstance(headers, Mapping) else (line.partition(":")[::2] for line in headers)
    mapping = {str(name).strip().lower(): str(value).strip() for name, value in pairs}
    for name, value in mapping.items():
        if not name or not value:
            raise ValueError(f"A request header is written 'name: value'; one named {name!r} lacks a half.")
        if not _TOKEN.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a request header: it holds a character that HTTP does not allow.")
        if name in _OF_THE_TRANSPORT:
            raise ValueError(f"The header {name!r} belongs to the connection and cannot be set.")
        _check_header_value(f"The header {name!r}", value)
    return mapping


def _check_header_value(what: str, value: str) -> None:
    if not value.isascii() or not value.isprintable():
        raise ValueError(f"{what} holds a character that an HTTP header cannot carry. Was it copied with a line break?")
