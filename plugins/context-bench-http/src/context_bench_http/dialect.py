"""What differs between the interfaces of model servers, as far as the transport must know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from context_bench_http.errors import EndpointError


class Stream(Protocol):
    """Server-sent events on their way in."""

    @property
    def has_token(self) -> bool:
        """Whether the model has said something yet."""
        ...

    @property
    def has_finished(self) -> bool:
        """Whether the model has finished, so that only counts or the end of the stream may be to come."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the server has ended the stream, also where it leaves the connection open."""
        ...

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body."""
        ...

    def content(self) -> Mapping[str, Any]:
        """Return what the server would have sent at once.

        Raises:
            EndpointUnreachableError: The stream ended too early.
        """
        ...


@dataclass(frozen=True)
class Dialect:
    """One interface.

    Attributes:
        stream: Makes the collector of a stream, of the endpoint as it may be shown.
        refusal: Makes the error for a response that is no success, of the endpoint, the status, the headers and the body.
    """

    stream: Callable[[str], Stream]
    refusal: Callable[[str, int, Mapping[str, str], bytes], EndpointError]
