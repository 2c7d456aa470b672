"""A request on its way out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from context_bench_http.endpoint import Endpoint


@dataclass(frozen=True)
class HttpRequest:
    """One request.

    Attributes:
        method: ``GET`` or ``POST``.
        endpoint: Where it goes.
        headers: Its headers, names in lower case.
        body: Its body; None for none.
    """

    method: str
    endpoint: Endpoint
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
