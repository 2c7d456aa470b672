"""The headers of a request: the key, who is billed, and what the user adds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from context_bench_http.endpoint import Endpoint, names_a_secret
from context_bench_http.redaction import Redactor
from context_bench_http.request_headers import check_header_value, header_mapping

KEY_VARIABLE = "OPENAI_API_KEY"
ORGANIZATION_VARIABLE = "OPENAI_ORG_ID"
PROJECT_VARIABLE = "OPENAI_PROJECT_ID"
HEADERS_VARIABLE = "OPENAI_EXTRA_HEADERS"


def request_headers(
    endpoint: Endpoint,
    api_key: str | None,
    extra_headers: Mapping[str, str],
    organization: str | None = None,
    project: str | None = None,
    secrets: Iterable[str] = (),
) -> tuple[dict[str, str], Redactor]:
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
    check_header_value("The API key", key)
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
        check_header_value(f"The header {name!r}", account)
        if account:
            headers[name] = account
    headers.update(extra_headers)
    secrets = [
        *secrets,
        key,
        *endpoint.secrets,
        *(value for name, value in extra_headers.items() if names_a_secret(name)),
    ]
    return headers, Redactor(secrets)


def extra_header_mapping(headers: Mapping[str, str] | Iterable[str] | None) -> dict[str, str]:
    """Return the headers that a user adds; None takes the lines of ``OPENAI_EXTRA_HEADERS`` from the environment.

    Raises:
        ValueError: One of them cannot be sent.
    """
    return header_mapping(os.environ.get(HEADERS_VARIABLE, "") if headers is None else headers)
